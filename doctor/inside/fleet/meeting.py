"""How ranks meet: at a store (torch.distributed.TCPStore) before every step.

They agree there on who takes part: who did not come in time is named and left out, and the others go on.
"""

import datetime
import os
import time


def span(seconds):
    """What torch.distributed takes for a time."""
    return datetime.timedelta(seconds=seconds)


class Meeting(object):
    """The place where this rank meets the others, and who has come so far."""

    def __init__(self, rank):
        self.rank, self.plan, self.number = rank, rank.plan, rank.number
        self.errors = rank.pieces["fleet/errors"]
        self.hosts = {}  # of the members, by rank
        self.members = []
        self.store = None  # of the process groups, and under the board
        self.board = None

    def join(self):
        """Reach the store, say who is here, and learn who takes part."""
        plan, seconds = self.plan, float(self.plan["join_s"])
        self.rank.begin("join", seconds + self.rank.MARGIN_S + 30.0)
        where = "%s:%d" % (plan["address"], plan["port"])
        started = time.time()
        while True:
            try:
                store = self.rank.dist.TCPStore(plan["address"], plan["port"], None, False,
                                                span(max(1.0, seconds - (time.time() - started))))
                break
            except Exception as error:
                if time.time() - started > seconds - 1.0:
                    self.rank.leave("no rendezvous at %s: %s" % (where, self.errors.one_line(error)))
                time.sleep(1.0)
        self.store = self.rank.dist.PrefixStore("torchdoctor/" + plan["run"], store)
        self.board = self.rank.pieces["fleet/board"].Board(self.store, span)
        said = "%s %s" % ("in" if plan["takes_part"] else "out", plan["host"])
        self.board.put("who/%d" % self.number, said)
        if not plan["takes_part"]:
            self.board.put("facts/%d" % self.number, self.facts(0.0))
        agreed = self.agree("join", list(range(plan["world"])), seconds, self.those_who_came)
        now = time.time()
        nonce, _, rest = agreed.partition("\n")
        for line in rest.splitlines():
            number, _, host = line.partition(" ")
            self.hosts[int(number)] = host
        self.members = sorted(self.hosts)
        self.rank.talk.say(event="joined", nonce=nonce, members=self.members if self.collects() else [],
                           member=self.number in self.members)
        if not plan["takes_part"]:
            self.rank.leave(plan["why"])
        self.must_be_member()
        self.board.put("facts/%d" % self.number, self.facts(now))
        if self.collects():
            self.hear(now)

    def facts(self, now):
        """What this rank says of itself: its clock and host, then its problem."""
        return "%r %s\n%s" % (now, self.plan["host"], self.plan["problem"])

    def collects(self):
        """The first and the last member hear of all others: if one cannot write, the other can."""
        return self.members and self.number in (self.members[0], self.members[-1])

    def hear(self, now):
        """What all others said of themselves. All were released at the same time, so their clocks can be compared."""
        heard = []
        for rank in range(self.plan["world"]):
            if not self.board.has("who/%d" % rank):
                continue
            host = self.board.text("who/%d" % rank).partition(" ")[2]
            problem, clock = "", None
            try:
                self.board.wait("facts/%d" % rank, self.rank.limit)
                first, _, problem = self.board.text("facts/%d" % rank).partition("\n")
                at = float(first.partition(" ")[0])
                clock = round(at - now, 3) if at else None
            except Exception as error:
                problem = "it joined, and then said no more (%s)" % self.errors.one_line(error)[:100]
            heard.append({"rank": rank, "host": host, "problem": problem, "clock_s": clock})
        for start in range(0, len(heard), 500):
            self.rank.talk.say(event="heard", heard=heard[start : start + 500])

    def those_who_came(self, present):
        """The word of this run, and who takes part, with hosts: one line each."""
        lines = [os.urandom(8).hex()]
        for rank in present:
            kind, _, host = self.board.text("who/%d" % rank).partition(" ")
            if kind == "in":
                lines.append("%d %s" % (rank, host))
        return "\n".join(lines)

    def agree(self, step, candidates, seconds, answer=None):
        """What all agree on: by default who of the candidates came in time, as words. The last to come says it; where
        somebody does not come, the first whose time is over."""
        key = "agreed/" + step
        self.board.put("came/%s/%d" % (step, self.number), "1")
        say = answer or (lambda present: " ".join(map(str, present)))
        if self.board.count(step) == len(candidates):
            self.board.put_once(key, say(candidates))
        else:
            try:
                self.board.wait(key, seconds)
            except Exception:
                if not self.board.has(key):
                    present = [r for r in candidates if self.board.has("came/%s/%d" % (step, r))]
                    self.board.put_once(key, say(present))
        return self.board.text(key)

    def meet(self, step, seconds=None):
        """All members meet; who did not come is left out from here on. Those who did not."""
        seconds = self.rank.limit + self.rank.MARGIN_S if seconds is None else seconds
        self.rank.begin("meeting before " + step, seconds + self.rank.MARGIN_S)
        before = self.members
        self.members = [int(word) for word in self.agree(step, before, seconds).split()]
        self.must_be_member()
        return [rank for rank in before if rank not in self.members]

    def must_be_member(self):
        if self.number not in self.members:
            self.rank.leave("this rank came late: the others had gone on without it")


def keep_store(torch, talk, plan):
    """The store of a launcher that has none, until it is ended."""
    store = torch.distributed.TCPStore(
        plan["address"], plan["port"], None, True, span(300), wait_for_workers=False
    )
    talk.say(event="ready", limit=plan["store_s"])
    while store is not None:
        time.sleep(60)
