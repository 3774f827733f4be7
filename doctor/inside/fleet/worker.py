"""A rank's links and collectives: joins the others, measures pairs round by round, then the collective operations.

Run BY the target interpreter, as a piece of probe.py (mode "links") with the table PLAN. It says what it measures line
by line; whoever started it ends it when a step takes longer than the step had said. So nothing here needs a watchdog of
its own, and what was said is kept.

This file is the rank and the order of its steps. Each step's work is a piece beside it: meeting.py, pairs.py,
collectives.py, soak.py; what they share is payloads.py, errors.py, waiting.py and support.py.
"""


class Out(Exception):
    """This rank does not take part any more; the text says why."""


def main(torch, talk, plan, pieces):
    """Says a line for everything; the last one is said by probe.py."""
    if plan["role"] == "store":
        pieces["fleet/meeting"].keep_store(torch, talk, plan)
        return
    rank, errors = Rank(torch, talk, plan, pieces), pieces["fleet/errors"]
    for name, work in rank.steps():
        try:
            work()
        except Out as reason:
            talk.say(event="failed", stage=rank.step or name, why=errors.one_line(reason))
            return
        except Exception as error:  # of torch or the network: said as it is
            talk.say(event="failed", stage=rank.step or name, why=errors.told(error))
            return


class Rank(object):
    """This rank: its device, its process group, and the step at which it works."""

    MARGIN_S = 5.0  # that the others allow beyond a step's own limit

    def __init__(self, torch, talk, plan, pieces):
        self.torch, self.talk, self.plan, self.pieces = torch, talk, plan, pieces
        self.dist = torch.distributed
        self.number, self.backend = plan["rank"], plan["backend"]
        self.limit = float(plan["limit_s"])
        self.device = torch.device(plan["device"])
        self.step = ""
        self.group = None  # the members of the process group that is open
        self.multicast = None  # whether this GPU can add up inside the NVLink switch, which NVLS needs
        self.payloads = pieces["fleet/payloads"].Payloads(torch, self.device)
        self.meeting = pieces["fleet/meeting"].Meeting(self)
        self.pairs = pieces["fleet/pairs"].Pairs(self)
        self.collectives = pieces["fleet/collectives"].Collectives(self)

    def steps(self):
        """(name, work) in order."""
        return (("config", self.config), ("join", self.meeting.join), ("device", self.use_device),
                ("pairs", self.pairs.measure), ("collectives", self.collectives.measure),
                ("soak", lambda: self.pieces["fleet/soak"].soak(self)), ("end", lambda: self.meeting.meet("the end")))

    def begin(self, step, limit):
        """From here on this step is at work, and may take so many seconds."""
        self.step = step
        self.talk.say(event="begin", stage=step, limit=limit)

    def leave(self, why):
        """Take no part any more."""
        raise Out(why)

    def config(self):
        """What only torch knows."""
        self.begin("config", self.limit)
        torch, support = self.torch, self.pieces["fleet/support"]
        self.multicast = support.multicast(self.device) if self.backend == "nccl" else None
        found = {"torch": str(torch.__version__), "cuda": getattr(torch.version, "cuda", None),
                 "hip": getattr(torch.version, "hip", None), "nccl": support.nccl_version(torch),
                 "nvlink_multicast": {True: "yes", False: "no"}.get(self.multicast)}
        self.talk.say(event="config", data={k: str(v) for k, v in found.items() if v})

    def use_device(self):
        """This process's device; a step of its own, for a device that fails is no failure of the rendezvous."""
        self.begin("device", self.limit)
        if self.device.type == "cpu":
            self.torch.set_num_threads(1)  # ranks share the machine's cores
        else:
            getattr(self.torch, self.device.type).set_device(self.device)

    def open(self, name, ranks):
        """The process group of these ranks; it ends in an error after the limit."""
        self.close()
        store = self.dist.PrefixStore("group/" + name, self.meeting.store)
        named = self.device.type != "cpu" and self.pieces["fleet/support"].takes_device(self.torch)
        options = {"device_id": self.device} if named else {}
        self.dist.init_process_group(self.backend, store=store, rank=ranks.index(self.number), world_size=len(ranks),
                                     timeout=self.pieces["fleet/meeting"].span(self.limit), **options)
        self.group = list(ranks)

    def close(self):
        if self.group is not None:
            self.group = None
            self.dist.destroy_process_group()

    def wait(self):
        """Until the device has done what it was given."""
        if self.device.type in ("cuda", "xpu"):
            getattr(self.torch, self.device.type).synchronize()


STAGES = ()
