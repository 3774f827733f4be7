"""The collective operations of all members: right to the bit, and their bandwidth."""

import os
import time

COLLECTIVE_BYTES = {"gloo": 8 << 20}  # others DEVICE_BYTES
DEVICE_BYTES = 1 << 30
TIMES = 5  # of an operation, each compared; the first is the warm-up
IN_A_ROW = 20  # of them without a pause, for the bandwidth: alone, the launch and the start of the others count
NAMES = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all")


class Collectives(object):
    """Measures them among those who are members at the time."""

    def __init__(self, rank):
        self.rank, self.number, self.meeting = rank, rank.number, rank.meeting
        self.torch, self.dist = rank.torch, rank.dist
        self.errors, self.waiting = rank.pieces["fleet/errors"], rank.pieces["fleet/waiting"]
        self.payloads, self.differing = rank.payloads, rank.pieces["fleet/payloads"].differing

    def measure(self):
        """All four, one after the other."""
        for name in NAMES:
            self.collective(name)
        self.rank.close()

    def collective(self, name, quietly=False):
        """One operation of all members: right to the bit, and its bandwidth."""
        absent = self.meeting.meet(name if not quietly else "%s %s" % (name, quietly))
        members = list(self.meeting.members)
        data = {"name": name, "members": len(members), "missing": absent}
        if len(members) < 2:
            self.say(dict(data, state="absent", why="no other rank is left"))
            return None
        self.rank.begin(name, self.rank.limit + self.rank.MARGIN_S)
        try:
            if self.rank.group != members:
                self.rank.open("all/%s/%d" % (name, len(members)), members)
            data.update(self.measured(name, len(members), members.index(self.number)))
        except Exception as error:
            state = "unsupported" if self.errors.is_unsupported(error) else "failed"
            state = "timed-out" if self.errors.is_timeout(error) else state
            data.update(state=state, why=self.errors.told(error))
            if state != "unsupported":
                self.say(data)
                self.rank.leave("%s: %s" % (name, data["why"]))
        data["wrong_from"] = [members[position] for position in data.get("wrong_from", ())]
        if not quietly:
            self.say(data)
        return data

    def say(self, data):
        self.rank.talk.say(event="collective", data=data)

    def measured(self, name, count, position):
        """The operation, TIMES times; every answer is compared."""
        size = self.rank.plan["collective_bytes"] or COLLECTIVE_BYTES.get(self.rank.backend, DEVICE_BYTES)
        whole = max(1, size // 4 // count) * count  # elements, a multiple of the members
        operation = getattr(self, name.replace("-", "_"))
        torch = self.torch
        mine = self.contribution(name, whole, count, position)
        before = self.payloads.checksum(mine)
        best, waited, spent = None, 0.0, 0.0
        data = {"state": "ok", "bytes": 4 * whole, "wrong": 0, "first_wrong": None, "wrong_from": []}
        expected = self.expected(name, whole, count, position)
        for turn in range(TIMES):
            given = mine.clone()
            out = given if name == "all-reduce" else torch.zeros(expected.numel(), dtype=torch.int32,
                                                                 device=self.rank.device)
            self.rank.wait()
            delay, started = self.waiting.run_delay(), time.perf_counter()
            operation(out, given)
            self.rank.wait()
            took = time.perf_counter() - started
            if turn:
                best = took if best is None else min(best, took)
                waited, spent = waited + self.waiting.run_delay() - delay, spent + took
            bad, at = self.differing(out, expected)
            if bad and not data["wrong"]:
                data.update(state="wrong", wrong=bad, first_wrong=at,
                            wrong_from=self.sources(name, out, expected, count))
            data["output_sum"] = self.payloads.checksum(out)
            if name != "all-reduce" and self.payloads.checksum(given) != before:
                data["input_wrong"] = True
        best = self.repeated(operation, out, mine.clone(), best)
        again = self.contribution(name, whole, count, position)
        spoiled = self.payloads.checksum(mine) != before or bool((mine != again).any())
        data["input_wrong"] = data.get("input_wrong", False) or spoiled
        factor = 2.0 * (count - 1) / count if name == "all-reduce" else (count - 1) / float(count)
        rate = 4e-9 * whole / best
        data.update(ms=1000 * best, algbw_gbs=rate, busbw_gbs=rate * factor, input_sum=before,
                    algorithm=self.algorithm(), disturbed=waited > self.waiting.WAITED_SHARE * spent)
        return data

    def algorithm(self):
        """What is known of NCCL's algorithm; None for other backends."""
        known = self.rank.pieces["fleet/support"].algorithm
        return known(os.environ, self.rank.multicast) if self.rank.backend == "nccl" else None

    def repeated(self, operation, out, given, best):
        """Seconds of one of several operations in a row, begun together; at most what a single one took. What an
        all-reduce adds up meanwhile wraps around, and nobody reads it."""
        token = self.torch.zeros(1, dtype=self.torch.int32, device=self.rank.device)
        times = IN_A_ROW if self.rank.device.type != "cpu" else 2
        for turn in range(2):
            self.dist.all_reduce(token)
            self.rank.wait()
            started = time.perf_counter()
            for _ in range(times):
                operation(out, given)
            self.rank.wait()
            best = min(best, (time.perf_counter() - started) / times)
        return best

    def contribution(self, name, whole, count, position):
        """What this member gives: of an all-gather its part, of the others a whole buffer."""
        if name == "all-gather":
            return self.payloads.member(position, whole // count, position * (whole // count))
        return self.payloads.member(position, whole)

    def expected(self, name, whole, count, position):
        """The answer, in closed form."""
        part = whole // count
        if name in ("all-reduce", "reduce-scatter"):
            length, start = (whole, 0) if name == "all-reduce" else (part, position * part)
            return self.payloads.total(length, count, start)
        at = {member: member if name == "all-gather" else position for member in range(count)}
        return self.torch.cat([self.payloads.member(member, part, at[member] * part) for member in range(count)])

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
            self.dist.all_gather(list(out.chunk(len(self.rank.group))), given)

    def reduce_scatter(self, out, given):
        if hasattr(self.dist, "reduce_scatter_tensor"):
            self.dist.reduce_scatter_tensor(out, given)
        else:
            self.dist.reduce_scatter(out, list(given.chunk(len(self.rank.group))))

    def all_to_all(self, out, given):
        self.dist.all_to_all_single(out, given)
