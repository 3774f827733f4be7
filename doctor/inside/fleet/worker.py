"""A rank's links and collectives: joins the others, measures pairs round by round, then the collective operations.

Run BY the target interpreter, as a piece of probe.py (mode "links") with the table PLAN. It says what it measures line
by line; whoever started it ends it when a step takes longer than the step had said. So nothing here needs a watchdog of
its own, and what was said is kept.

All ranks meet at a store (torch.distributed.TCPStore) before every step, and agree there on who takes part: who did not
come in time is named and left out, and the others go on. Every pair gets a process group of its own for its round, so
that a link that fails harms nothing but itself.

Payloads are 32-bit integers, and sums wrap around, so every answer has a closed form that holds to the bit whatever the
order of the additions: member p of n contributes h(i) + (p + 1) g(i), and the sum is n h(i) + n (n + 1) / 2 g(i). h and
g are hashes of the index: data that repeats itself would hide a copy from a wrong place.
"""

import os
import socket
import time

PAIR_BYTES = {"gloo": 8 << 20}  # of a message; others 256 MiB: links of GPUs are fast only with large ones
COLLECTIVE_BYTES = {"gloo": 8 << 20}  # others 1 GiB
DEVICE_BYTES, DEVICE_COLLECTIVE_BYTES = 256 << 20, 1 << 30
BURSTS = 4  # measurements of a pair
SLOW_SHARE = 0.1  # of the limit: a direction that takes longer is not measured on
MESSAGES = {"gloo": 1}  # of a burst; others 4: launching a kernel takes as long as 10 MB do
DEVICE_MESSAGES = 4
TIMES = 5  # of a collective operation, each compared; the first is the warm-up
IN_A_ROW = 20  # of them without a pause, for the bandwidth: alone, the launch and the start of the others count
AGAIN_AT_MOST = 8  # bad pairs that are measured again
MARGIN_S = 5.0  # that the others allow beyond a step's own limit
WAITED_SHARE = 0.05  # of the time; above, this process lacked a CPU, and its rates say nothing of a link
SOAK_ROUND_S = 20.0
MULTICAST_SUPPORTED = 132  # cuda.h, CUdevice_attribute
NAMES = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all")


class Out(Exception):
    """This rank does not take part any more; the text says why."""


def main(torch, talk, plan, pieces):
    """Says a line for everything; the last one is said by probe.py."""
    if plan["role"] == "store":
        keep_store(torch, talk, plan)
        return
    rank = Rank(torch, talk, plan, pieces)
    for name, work in (("config", rank.config), ("join", rank.join), ("device", rank.use_device),
                       ("pairs", rank.pairs), ("collectives", rank.collectives), ("soak", rank.soak),
                       ("end", rank.end)):
        try:
            work()
        except Out as reason:
            talk.say(event="failed", stage=rank.step or name, why=one_line(reason))
            return
        except Exception as error:  # of torch or the network: said as it is
            talk.say(event="failed", stage=rank.step or name, why="%s: %s" % (type(error).__name__, one_line(error)))
            return


def keep_store(torch, talk, plan):
    """The store of a launcher that has none, until it is ended."""
    import datetime

    store = torch.distributed.TCPStore(
        plan["address"], plan["port"], None, True, datetime.timedelta(seconds=300), wait_for_workers=False
    )
    talk.say(event="ready", limit=plan["store_s"])
    while store is not None:
        time.sleep(60)


def one_line(error):
    return " ".join(str(error).split())[:300]


class Rank(object):
    def __init__(self, torch, talk, plan, pieces):
        self.torch, self.talk, self.plan = torch, talk, plan
        self.dist = torch.distributed
        self.rule, self.schedule, self.pieces = pieces["fleet/rule"], pieces["fleet/schedule"], pieces
        self.rank, self.backend = plan["rank"], plan["backend"]
        self.limit = float(plan["limit_s"])
        self.device = torch.device(plan["device"])
        self.step = ""
        self.hosts = {}
        self.members = []
        self.store = None  # of the process groups, and under the board
        self.board = None
        self.group = None  # the members of the process group that is open
        self.multicast = None  # whether this GPU can add up inside the NVLink switch, which NVLS needs
        self.found = {}  # (source, this rank): best rate, or None where it ended badly

    # ---- talk

    def begin(self, step, limit):
        """From here on this step is at work, and may take so many seconds."""
        self.step = step
        self.talk.say(event="begin", stage=step, limit=limit)

    # ---- B: what only torch knows

    def config(self):
        self.begin("config", self.limit)
        torch = self.torch
        self.multicast = multicast(self.device) if self.backend == "nccl" else None
        found = {"torch": str(torch.__version__), "cuda": getattr(torch.version, "cuda", None),
                 "hip": getattr(torch.version, "hip", None), "nccl": nccl_version(torch),
                 "nvlink_multicast": {True: "yes", False: "no"}.get(self.multicast)}
        self.talk.say(event="config", data={k: str(v) for k, v in found.items() if v})

    # ---- meeting

    def join(self):
        """Reach the store, say who is here, and learn who takes part."""
        plan, seconds = self.plan, float(self.plan["join_s"])
        self.begin("join", seconds + MARGIN_S + 30.0)
        import datetime

        self.span = lambda s: datetime.timedelta(seconds=s)
        where = "%s:%d" % (plan["address"], plan["port"])
        started = time.time()
        while True:
            try:
                store = self.dist.TCPStore(plan["address"], plan["port"], None, False,
                                           self.span(max(1.0, seconds - (time.time() - started))))
                break
            except Exception as error:
                if time.time() - started > seconds - 1.0:
                    raise Out("no rendezvous at %s: %s" % (where, one_line(error)))
                time.sleep(1.0)
        self.store = self.dist.PrefixStore("torchdoctor/" + plan["run"], store)
        self.board = self.pieces["fleet/board"].Board(self.store, self.span)
        said = "%s %s" % ("in" if plan["takes_part"] else "out", plan["host"])
        self.board.put("who/%d" % self.rank, said)
        if not plan["takes_part"]:
            self.board.put("facts/%d" % self.rank, self.facts(0.0))
        agreed = self.agree("join", list(range(plan["world"])), seconds, self.those_who_came)
        now = time.time()
        nonce, _, rest = agreed.partition("\n")
        for line in rest.splitlines():
            number, _, host = line.partition(" ")
            self.hosts[int(number)] = host
        self.members = sorted(self.hosts)
        self.talk.say(event="joined", nonce=nonce, members=self.members if self.collects() else [],
                      member=self.rank in self.members)
        if not plan["takes_part"]:
            raise Out(plan["why"])
        self.must_be_member()
        self.board.put("facts/%d" % self.rank, self.facts(now))
        if self.collects():
            self.hear(now)

    def use_device(self):
        """This process's device; a step of its own, for a device that fails is no failure of the rendezvous."""
        self.begin("device", self.limit)
        if self.device.type == "cpu":
            self.torch.set_num_threads(1)  # ranks share the machine's cores
        else:
            getattr(self.torch, self.device.type).set_device(self.device)

    def facts(self, now):
        return "%r %s\n%s" % (now, self.plan["host"], self.plan["problem"])

    def collects(self):
        """The first and the last member hear of all others: if one cannot write, the other can."""
        return self.members and self.rank in (self.members[0], self.members[-1])

    def hear(self, now):
        """What all others said of themselves. All were released at the same time, so their clocks can be compared."""
        heard = []
        for rank in range(self.plan["world"]):
            if not self.board.has("who/%d" % rank):
                continue
            host = self.board.text("who/%d" % rank).partition(" ")[2]
            problem, clock = "", None
            try:
                self.board.wait("facts/%d" % rank, self.limit)
                first, _, problem = self.board.text("facts/%d" % rank).partition("\n")
                at = float(first.partition(" ")[0])
                clock = round(at - now, 3) if at else None
            except Exception as error:
                problem = "it joined, and then said no more (%s)" % one_line(error)[:100]
            heard.append({"rank": rank, "host": host, "problem": problem, "clock_s": clock})
        for start in range(0, len(heard), 500):
            self.talk.say(event="heard", heard=heard[start : start + 500])

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
        self.board.put("came/%s/%d" % (step, self.rank), "1")
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
        seconds = self.limit + MARGIN_S if seconds is None else seconds
        self.begin("meeting before " + step, seconds + MARGIN_S)
        before = self.members
        self.members = [int(word) for word in self.agree(step, before, seconds).split()]
        self.must_be_member()
        return [rank for rank in before if rank not in self.members]

    def must_be_member(self):
        if self.rank not in self.members:
            raise Out("this rank came late: the others had gone on without it")

    # ---- groups

    def open(self, name, ranks):
        """The process group of these ranks; it ends in an error after the limit."""
        self.close()
        store = self.dist.PrefixStore("group/" + name, self.store)
        options = {"device_id": self.device} if self.device.type != "cpu" and takes_device(self.torch) else {}
        self.dist.init_process_group(self.backend, store=store, rank=ranks.index(self.rank), world_size=len(ranks),
                                     timeout=self.span(self.limit), **options)
        self.group = list(ranks)

    def close(self):
        if self.group is not None:
            self.group = None
            self.dist.destroy_process_group()

    def wait(self):
        if self.device.type in ("cuda", "xpu"):
            getattr(self.torch, self.device.type).synchronize()

    # ---- pairs

    def pairs(self):
        """All rounds, and once more the pairs that look bad, with partners that do not."""
        steps = self.schedule.steps([self.hosts[rank] for rank in self.members], self.plan["between"])
        everyone = list(self.members)
        for number, (scope, partners) in enumerate(steps):
            mine = partners.get(everyone.index(self.rank))
            self.round(number, scope, None if mine is None else everyone[mine])
        again = self.choose_again(everyone)
        for number, (scope, pairs) in enumerate(again, len(steps)):
            mine = [pair for pair in pairs if self.rank in pair]
            partner = sum(mine[0]) - self.rank if mine else None
            self.round(number, scope, partner, again=True)

    def round(self, number, scope, partner, again=False):
        """One round: nothing for who rests."""
        name = "round %d" % number
        absent = self.meet(name, self.pair_limit())
        if partner is None:
            return
        if partner not in self.members:
            why = "rank %d did not come" % partner if partner in absent else "rank %d was gone before" % partner
            self.say_pair(partner, scope, number, "absent", again, why=why)
            return
        self.begin("pair %d-%d" % (min(self.rank, partner), max(self.rank, partner)), self.pair_limit())
        try:
            found = self.exchange(number, partner)
        except Exception as error:
            state = "timed-out" if is_timeout(error) else "failed"
            self.found[partner] = None
            self.say_pair(partner, scope, number, state, again, why="%s: %s" % (type(error).__name__, one_line(error)))
            try:
                self.close()
            except Exception as other:
                self.talk.say(event="note", why=one_line(other))
            return
        self.found[partner] = None if found["wrong"] else max(found["gbs"], self.found.get(partner) or 0.0)
        self.say_pair(partner, scope, number, "wrong" if found["wrong"] else "ok", again, **found)

    def pair_limit(self):
        """A pair is several messages: each ends in an error after the limit, and a slow pair stops early."""
        return 2 * self.limit + MARGIN_S

    def say_pair(self, partner, scope, number, state, again, **data):
        self.talk.say(event="pair", data=dict(data, source=partner, scope=scope, round=number, state=state,
                                              again=again))

    def exchange(self, number, partner):
        """Both directions, one after the other, the lower rank first; then the sum of both, computed by the partner."""
        ranks = sorted((self.rank, partner))
        self.open("pair/%d/%d-%d" % (number, ranks[0], ranks[1]), ranks)
        size = self.plan["pair_bytes"] or PAIR_BYTES.get(self.backend, DEVICE_BYTES)
        count, messages = size // 4, MESSAGES.get(self.backend, DEVICE_MESSAGES)
        mine, theirs = self.pattern(count, 1000 + self.rank), self.pattern(count, 1000 + partner)
        there = ranks.index(partner)
        wrong, first = 0, None
        bursts = []
        for sender in ranks:
            if sender == self.rank:
                self.send_all(mine, there, messages)
            else:
                bursts, wrong, first = self.receive_all(theirs, there, messages)
        added, at = self.sums(mine, theirs, there, self.rank == ranks[0])
        self.close()
        why = ""
        if wrong:
            why = "%d of %d elements from rank %d differ, the first at %d" % (wrong, count, partner, first)
        elif added:
            why = "rank %d added wrongly: %d of %d elements differ, the first at %d" % (partner, added, count, at)
            wrong, first = added, at
        gigabytes = 4e-9 * count * messages
        rates = [gigabytes / took for took, _ in bursts]
        return {"bytes": size * messages, "gbs": max(rates), "median_gbs": self.rule.median(rates), "wrong": wrong,
                "first_wrong": first, "why": why,
                "disturbed": sum(w for _, w in bursts) > WAITED_SHARE * sum(took for took, _ in bursts),
                "most_gbs": max(gigabytes / max(took - waited, 0.02 * took) for took, waited in bursts)}

    def send_all(self, mine, there, messages):
        token = self.torch.zeros(1, dtype=self.torch.int32, device=self.device)
        waited = []
        while len(waited) <= BURSTS:
            delay = run_delay()
            self.dist.recv(token, there)
            if not int(token):
                break
            for _ in range(messages):
                self.dist.send(mine, there)
            self.wait()
            waited.append(int(1e6 * (run_delay() - delay)))
        waited += [0] * (BURSTS + 1 - len(waited))
        self.dist.send(self.torch.tensor(waited, dtype=self.torch.int32, device=self.device), there)
        self.wait()

    def receive_all(self, theirs, there, messages):
        """([(seconds, seconds of them that one of both ends waited for a CPU)], elements that differ, the first)"""
        torch = self.torch
        token = torch.ones(1, dtype=torch.int32, device=self.device)
        got = torch.zeros_like(theirs)
        bursts, wrong, first = [], 0, None
        began = time.perf_counter()
        for burst in range(BURSTS + 1):
            if burst > 1 and time.perf_counter() - began > SLOW_SHARE * self.limit:
                self.dist.send(torch.zeros_like(token), there)  # it is slow: that is known by now
                break
            got.zero_()
            self.wait()
            delay, started = run_delay(), time.perf_counter()
            self.dist.send(token, there)
            for _ in range(messages):
                self.dist.recv(got, there)
            self.wait()
            took = time.perf_counter() - started
            bursts.append((took, run_delay() - delay))
            bad, at = self.differing(got, theirs)
            if bad and not wrong:
                wrong, first = bad, at
        partner = torch.zeros(BURSTS + 1, dtype=torch.int32, device=self.device)
        self.dist.recv(partner, there)
        both = [(took, waited + us / 1e6) for (took, waited), us in zip(bursts, partner.tolist())]
        return both[1:], wrong, first  # the first one connects

    def sums(self, mine, theirs, there, begins):
        """The partner adds its own to what it got and sends it back. (elements that differ, the first)"""
        got = self.torch.zeros_like(mine)
        result = (0, None)
        for turn in (begins, not begins):
            if turn:
                self.dist.send(mine, there)
                self.dist.recv(got, there)
                result = self.differing(got, mine + theirs)
            else:
                self.dist.recv(got, there)
                self.dist.send(got + mine, there)
        self.wait()
        return result

    def choose_again(self, everyone):
        """Rounds that measure bad pairs once more, and each end with a partner that was good. All get the same."""
        self.meet("choice", self.pair_limit())
        self.begin("choice", self.limit + MARGIN_S)
        self.board.put("rates/%d" % self.rank, " ".join(
            "%d:%s" % (source, "bad" if rate is None else "%.6g" % rate) for source, rate in self.found.items()))
        chooser = self.members[0]
        if self.rank == chooser:
            self.board.put("again", self.chosen())
        self.board.wait("again", self.limit)
        rounds = []
        for line in self.board.text("again").splitlines():
            scope, _, pairs = line.partition(" ")
            rounds.append((scope, [tuple(map(int, pair.split("-"))) for pair in pairs.split()]))
        return rounds

    def chosen(self):
        """One line a round: the scope, then its pairs."""
        rates = {}
        for rank in self.members:
            try:
                self.board.wait("rates/%d" % rank, self.limit)
            except Exception:  # gone meanwhile; its pairs are not chosen
                continue
            for word in self.board.text("rates/%d" % rank).split():
                source, _, rate = word.partition(":")
                if int(source) in self.members:
                    rates[(int(source), rank)] = None if rate == "bad" else float(rate)
        lines = []
        for scope in ("node", "between"):
            mine = {p: r for p, r in rates.items() if (self.hosts[p[0]] == self.hosts[p[1]]) == (scope == "node")}
            known = [rate for rate in mine.values() if rate is not None]
            limit = self.rule.threshold(known, self.rule.LINK_SHARE) if known else None
            bad = {tuple(sorted(p)) for p, r in mine.items() if r is None or (limit is not None and r < limit)}
            good = {tuple(sorted(p)) for p in mine} - bad
            wanted = sorted(bad)[:AGAIN_AT_MOST]
            for one in {end for pair in wanted for end in pair}:
                wanted += [pair for pair in sorted(good) if one in pair and pair not in wanted][:1]
            lines += ["%s %s" % (scope, " ".join("%d-%d" % pair for pair in pairs)) for pairs in disjoint(wanted)]
        return "\n".join(lines)

    # ---- collective operations

    def collectives(self):
        for name in NAMES:
            self.collective(name)
        self.close()

    def collective(self, name, quietly=False):
        """One operation of all members: right to the bit, and its bandwidth."""
        absent = self.meet(name if not quietly else "%s %s" % (name, quietly))
        members = list(self.members)
        data = {"name": name, "members": len(members), "missing": absent}
        if len(members) < 2:
            self.say_collective(dict(data, state="absent", why="no other rank is left"))
            return None
        self.begin(name, self.limit + MARGIN_S)
        try:
            if self.group != members:
                self.open("all/%s/%d" % (name, len(members)), members)
            data.update(self.measured(name, len(members), members.index(self.rank)))
        except Exception as error:
            state = "timed-out" if is_timeout(error) else "unsupported" if is_unsupported(error) else "failed"
            data.update(state=state, why="%s: %s" % (type(error).__name__, one_line(error)))
            if state != "unsupported":
                self.say_collective(data)
                raise Out("%s: %s" % (name, data["why"]))
        data["wrong_from"] = [members[position] for position in data.get("wrong_from", ())]
        if not quietly:
            self.say_collective(data)
        return data

    def say_collective(self, data):
        self.talk.say(event="collective", data=data)

    def measured(self, name, count, position):
        """The operation, TIMES times; every answer is compared."""
        size = self.plan["collective_bytes"] or COLLECTIVE_BYTES.get(self.backend, DEVICE_COLLECTIVE_BYTES)
        whole = max(1, size // 4 // count) * count  # elements, a multiple of the members
        operation = getattr(self, name.replace("-", "_"))
        torch = self.torch
        mine = self.contribution(name, whole, count, position)
        before = checksum(mine)
        best, waited, spent = None, 0.0, 0.0
        data = {"state": "ok", "bytes": 4 * whole, "wrong": 0, "first_wrong": None, "wrong_from": []}
        expected = self.expected(name, whole, count, position)
        for turn in range(TIMES):
            given = mine.clone()
            out = given if name == "all-reduce" else torch.zeros(expected.numel(), dtype=torch.int32,
                                                                 device=self.device)
            self.wait()
            delay, started = run_delay(), time.perf_counter()
            operation(out, given)
            self.wait()
            took = time.perf_counter() - started
            if turn:
                best = took if best is None else min(best, took)
                waited, spent = waited + run_delay() - delay, spent + took
            bad, at = self.differing(out, expected)
            if bad and not data["wrong"]:
                data.update(state="wrong", wrong=bad, first_wrong=at,
                            wrong_from=self.sources(name, out, expected, count))
            data["output_sum"] = checksum(out)
            if name != "all-reduce" and checksum(given) != before:
                data["input_wrong"] = True
        best = self.repeated(operation, out, mine.clone(), best)
        again = self.contribution(name, whole, count, position)
        data["input_wrong"] = data.get("input_wrong", False) or checksum(mine) != before or bool((mine != again).any())
        factor = 2.0 * (count - 1) / count if name == "all-reduce" else (count - 1) / float(count)
        rate = 4e-9 * whole / best
        data.update(ms=1000 * best, algbw_gbs=rate, busbw_gbs=rate * factor, input_sum=before,
                    algorithm=algorithm(os.environ, self.multicast) if self.backend == "nccl" else None,
                    disturbed=waited > WAITED_SHARE * spent)
        return data

    def repeated(self, operation, out, given, best):
        """Seconds of one of several operations in a row, begun together; at most what a single one took. What an
        all-reduce adds up meanwhile wraps around, and nobody reads it."""
        token = self.torch.zeros(1, dtype=self.torch.int32, device=self.device)
        times = IN_A_ROW if self.device.type != "cpu" else 2
        for turn in range(2):
            self.dist.all_reduce(token)
            self.wait()
            started = time.perf_counter()
            for _ in range(times):
                operation(out, given)
            self.wait()
            best = min(best, (time.perf_counter() - started) / times)
        return best

    def contribution(self, name, whole, count, position):
        """What this member gives: of an all-gather its part, of the others a whole buffer."""
        if name == "all-gather":
            return self.member(position, whole // count, position * (whole // count))
        return self.member(position, whole)

    def expected(self, name, whole, count, position):
        """The answer, in closed form."""
        part = whole // count
        if name in ("all-reduce", "reduce-scatter"):
            length, start = (whole, 0) if name == "all-reduce" else (part, position * part)
            sum_of_g = self.pattern(length, 2, start).mul_(wrapped(count * (count + 1) // 2))
            return self.pattern(length, 1, start).mul_(wrapped(count)).add_(sum_of_g)
        at = {member: member if name == "all-gather" else position for member in range(count)}
        return self.torch.cat([self.member(member, part, at[member] * part) for member in range(count)])

    def sources(self, name, out, expected, count):
        """Whose parts are wrong, where the operation keeps them apart."""
        if name not in ("all-gather", "all-to-all"):
            return []
        part = out.numel() // count
        return [p for p in range(count) if bool((out[p * part : (p + 1) * part] !=
                                                 expected[p * part : (p + 1) * part]).any())]

    def all_reduce(self, out, given):
        self.dist.all_reduce(given)

    def all_gather(self, out, given):
        if hasattr(self.dist, "all_gather_into_tensor"):
            self.dist.all_gather_into_tensor(out, given)
        else:
            self.dist.all_gather(list(out.chunk(len(self.group))), given)

    def reduce_scatter(self, out, given):
        if hasattr(self.dist, "reduce_scatter_tensor"):
            self.dist.reduce_scatter_tensor(out, given)
        else:
            self.dist.reduce_scatter(out, list(given.chunk(len(self.group))))

    def all_to_all(self, out, given):
        self.dist.all_to_all_single(out, given)

    # ---- soak

    def soak(self):
        """Minutes of products and all-reduces, in rounds."""
        minutes = float(self.plan["soak_minutes"] or 0)
        began = time.time()
        number = 0
        product = Product(self.torch, self.device) if minutes else None
        while time.time() - began < 60 * minutes:
            number += 1
            self.begin("soak round %d" % number, SOAK_ROUND_S + self.limit + MARGIN_S)
            until, delay, started = time.time() + min(SOAK_ROUND_S, 20 * minutes), run_delay(), time.perf_counter()
            rate, wrong = product.rate(until, self.wait)
            waited = (run_delay() - delay) / (time.perf_counter() - started)
            found = self.collective("all-reduce", quietly="soak %d" % number) or {}
            if found.get("wrong") or found.get("input_wrong"):
                self.say_collective(found)
            self.talk.say(event="soak", data={
                "at_s": round(time.time() - began, 1), "tflops": rate, "busbw_gbs": found.get("busbw_gbs"),
                "wrong": wrong + found.get("wrong", 0), "disturbed": waited > WAITED_SHARE,
            })
        self.close()

    def end(self):
        """Nobody leaves before all are done: the store goes with rank 0."""
        self.meet("the end")

    # ---- payloads

    def pattern(self, count, salt, start=0):
        """A hash of each index from `start` on, as 32-bit integers: the multiplications wrap around (constants:
        Knuth's and those of MurmurHash3's finaliser)."""
        torch = self.torch
        x = torch.arange(start, start + count, dtype=torch.int32, device=self.device)
        x.mul_(wrapped(0x9E3779B1)).add_(wrapped(salt * 0x85EBCA6B))
        x.bitwise_xor_(x >> 16)
        x.mul_(wrapped(0xC2B2AE35))
        x.bitwise_xor_(x >> 13)
        return x

    def member(self, position, count, start=0):
        """What the member at that position contributes, a part of it."""
        return self.pattern(count, 1, start).add_(self.pattern(count, 2, start).mul_(wrapped(position + 1)))

    def differing(self, got, expected):
        """(how many differ, the index of the first)"""
        differs = got != expected
        count = int(differs.sum())
        return (count, int(differs.nonzero()[0])) if count else (0, None)


class Product(object):
    """A product that is computed again and again, and compared with the first."""

    def __init__(self, torch, device):
        n, kind = (256, torch.float32) if device.type == "cpu" else (8192, torch.bfloat16)
        self.torch, self.n = torch, n
        generator = torch.Generator()
        generator.manual_seed(1)
        self.x, self.y = [torch.randn(n, n, generator=generator).to(device, kind) for _ in range(2)]
        self.first = torch.mm(self.x, self.y)

    def rate(self, until, wait):
        """(TFLOP/s, elements that differ from the first product)"""
        wait()
        calls, started = 0, time.perf_counter()
        wrong = 0
        while time.time() < until:
            for _ in range(10):
                got = self.torch.mm(self.x, self.y)
            wait()
            calls += 10
            if not self.torch.equal(got, self.first):
                wrong += int((got != self.first).sum())
        return 2e-12 * self.n ** 3 * calls / (time.perf_counter() - started), wrong


def wrapped(number):
    """The same number modulo 2**32, as a signed 32-bit integer."""
    number &= 0xFFFFFFFF
    return number - (1 << 32) if number >> 31 else number


def checksum(tensor):
    """The sum of all elements as 64-bit integers."""
    return int(tensor.sum(dtype=__import__("torch").int64))


def disjoint(pairs):
    """Pairs put into rounds in which nobody meets two others."""
    rounds = []
    for pair in pairs:
        for one in rounds:
            if not any(set(pair) & set(other) for other in one):
                one.append(pair)
                break
        else:
            rounds.append([pair])
    return rounds


def run_delay():
    """Seconds for which threads of this process could have run and had no CPU; 0 where the kernel does not say."""
    total = 0
    try:
        for task in os.listdir("/proc/self/task"):
            with open("/proc/self/task/%s/schedstat" % task) as file:
                total += int(file.read().split()[1])
    except (IOError, OSError, ValueError, IndexError):
        return 0.0
    return total / 1e9


def is_timeout(error):
    text = str(error).lower()
    return isinstance(error, socket.timeout) or "timeout" in text or "timed out" in text


def is_unsupported(error):
    text = str(error)
    return isinstance(error, NotImplementedError) or "does not support" in text or "not supported" in text


def takes_device(torch):
    """Whether a process group can be told its device without harm: torch 2.3 and later, but 2.6.0 to 2.7.0, which may
    hang then (github.com/pytorch/pytorch/issues/153960)."""
    import inspect

    try:
        known = "device_id" in inspect.signature(torch.distributed.init_process_group).parameters
        version = tuple(int(part) for part in str(torch.__version__).split("+")[0].split(".")[:2])
    except (TypeError, ValueError):
        return False
    return known and not (version == (2, 6) or str(torch.__version__).startswith("2.7.0"))


def algorithm(environ, multicast):
    """What is known of the algorithm, for NCCL does not say which one it chose: NCCL_ALGO as it is set, else that NVLS
    is not possible; None where either can be."""
    if environ.get("NCCL_ALGO"):
        return environ["NCCL_ALGO"][:100]
    if environ.get("NCCL_NVLS_ENABLE") == "0" or multicast is False:
        return "without NVLS"
    return None


def multicast(device):
    """CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED of the driver's library; None where it does not say."""
    import ctypes

    number, value = ctypes.c_int(), ctypes.c_int()
    try:
        driver = ctypes.CDLL("libcuda.so.1")
        for code in (driver.cuInit(0), driver.cuDeviceGet(ctypes.byref(number), device.index or 0),
                     driver.cuDeviceGetAttribute(ctypes.byref(value), MULTICAST_SUPPORTED, number)):
            if code:
                return None
    except (OSError, AttributeError):
        return None
    return bool(value.value)


def nccl_version(torch):
    """ "2.28.9"; None where this build has none."""
    try:
        version = torch.cuda.nccl.version()
    except Exception:
        return None
    return ".".join(map(str, version)) if isinstance(version, tuple) else str(version)


STAGES = ()
