"""Every link, pair by pair: rounds in which each rank has one partner, and the bad pairs once more.

Every pair gets a process group of its own for its round, so that a link that fails harms nothing but itself.
"""

import time

PAIR_BYTES = {"gloo": 8 << 20}  # of a message; others DEVICE_BYTES: links of GPUs are fast only with large ones
DEVICE_BYTES = 256 << 20
BURSTS = 4  # measurements of a pair
SLOW_SHARE = 0.1  # of the limit: a direction that takes longer is not measured on
MESSAGES = {"gloo": 1}  # of a burst; others DEVICE_MESSAGES: launching a kernel takes as long as 10 MB do
DEVICE_MESSAGES = 4
AGAIN_AT_MOST = 8  # bad pairs that are measured again


class Pairs(object):
    """Measures this rank's part of every round."""

    def __init__(self, rank):
        self.rank, self.number, self.meeting = rank, rank.number, rank.meeting
        self.torch, self.dist = rank.torch, rank.dist
        self.rule, self.schedule = rank.pieces["fleet/rule"], rank.pieces["fleet/schedule"]
        self.errors, self.waiting = rank.pieces["fleet/errors"], rank.pieces["fleet/waiting"]
        self.payloads, self.differing = rank.payloads, rank.pieces["fleet/payloads"].differing
        self.found = {}  # (source, this rank): best rate, or None where it ended badly

    def measure(self):
        """All rounds, and once more the pairs that look bad, with partners that do not."""
        everyone = list(self.meeting.members)
        steps = self.schedule.steps([self.meeting.hosts[rank] for rank in everyone], self.rank.plan["between"])
        for number, (scope, partners) in enumerate(steps):
            mine = partners.get(everyone.index(self.number))
            self.round(number, scope, None if mine is None else everyone[mine])
        again = self.choose_again(everyone)
        for number, (scope, pairs) in enumerate(again, len(steps)):
            mine = [pair for pair in pairs if self.number in pair]
            partner = sum(mine[0]) - self.number if mine else None
            self.round(number, scope, partner, again=True)

    def round(self, number, scope, partner, again=False):
        """One round: nothing for who rests."""
        name = "round %d" % number
        absent = self.meeting.meet(name, self.limit())
        if partner is None:
            return
        if partner not in self.meeting.members:
            why = "rank %d did not come" % partner if partner in absent else "rank %d was gone before" % partner
            self.say(partner, scope, number, "absent", again, why=why)
            return
        self.rank.begin("pair %d-%d" % (min(self.number, partner), max(self.number, partner)), self.limit())
        try:
            found = self.exchange(number, partner)
        except Exception as error:
            state = "timed-out" if self.errors.is_timeout(error) else "failed"
            self.found[partner] = None
            self.say(partner, scope, number, state, again, why=self.errors.told(error))
            try:
                self.rank.close()
            except Exception as other:
                self.rank.talk.say(event="note", why=self.errors.one_line(other))
            return
        self.found[partner] = None if found["wrong"] else max(found["gbs"], self.found.get(partner) or 0.0)
        self.say(partner, scope, number, "wrong" if found["wrong"] else "ok", again, **found)

    def limit(self):
        """A pair is several messages: each ends in an error after the limit, and a slow pair stops early."""
        return 2 * self.rank.limit + self.rank.MARGIN_S

    def say(self, partner, scope, number, state, again, **data):
        self.rank.talk.say(event="pair", data=dict(data, source=partner, scope=scope, round=number, state=state,
                                                   again=again))

    def exchange(self, number, partner):
        """Both directions, one after the other, the lower rank first; then the sum of both, computed by the partner."""
        ranks = sorted((self.number, partner))
        self.rank.open("pair/%d/%d-%d" % (number, ranks[0], ranks[1]), ranks)
        size = self.rank.plan["pair_bytes"] or PAIR_BYTES.get(self.rank.backend, DEVICE_BYTES)
        count, messages = size // 4, MESSAGES.get(self.rank.backend, DEVICE_MESSAGES)
        mine, theirs = self.payloads.pattern(count, 1000 + self.number), self.payloads.pattern(count, 1000 + partner)
        there = ranks.index(partner)
        wrong, first = 0, None
        bursts = []
        for sender in ranks:
            if sender == self.number:
                self.send_all(mine, there, messages)
            else:
                bursts, wrong, first = self.receive_all(theirs, there, messages)
        added, at = self.sums(mine, theirs, there, self.number == ranks[0])
        self.rank.close()
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
                "disturbed": sum(w for _, w in bursts) > self.waiting.WAITED_SHARE * sum(took for took, _ in bursts),
                "most_gbs": max(gigabytes / max(took - waited, 0.02 * took) for took, waited in bursts)}

    def send_all(self, mine, there, messages):
        """A burst whenever the partner asks for one; then how long this end waited for a CPU in each."""
        token = self.torch.zeros(1, dtype=self.torch.int32, device=self.rank.device)
        waited = []
        while len(waited) <= BURSTS:
            delay = self.waiting.run_delay()
            self.dist.recv(token, there)
            if not int(token):
                break
            for _ in range(messages):
                self.dist.send(mine, there)
            self.rank.wait()
            waited.append(int(1e6 * (self.waiting.run_delay() - delay)))
        waited += [0] * (BURSTS + 1 - len(waited))
        self.dist.send(self.torch.tensor(waited, dtype=self.torch.int32, device=self.rank.device), there)
        self.rank.wait()

    def receive_all(self, theirs, there, messages):
        """([(seconds, seconds of them that one of both ends waited for a CPU)], elements that differ, the first)"""
        torch = self.torch
        token = torch.ones(1, dtype=torch.int32, device=self.rank.device)
        got = torch.zeros_like(theirs)
        bursts, wrong, first = [], 0, None
        began = time.perf_counter()
        for burst in range(BURSTS + 1):
            if burst > 1 and time.perf_counter() - began > SLOW_SHARE * self.rank.limit:
                self.dist.send(torch.zeros_like(token), there)  # it is slow: that is known by now
                break
            got.zero_()
            self.rank.wait()
            delay, started = self.waiting.run_delay(), time.perf_counter()
            self.dist.send(token, there)
            for _ in range(messages):
                self.dist.recv(got, there)
            self.rank.wait()
            took = time.perf_counter() - started
            bursts.append((took, self.waiting.run_delay() - delay))
            bad, at = self.differing(got, theirs)
            if bad and not wrong:
                wrong, first = bad, at
        partner = torch.zeros(BURSTS + 1, dtype=torch.int32, device=self.rank.device)
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
        self.rank.wait()
        return result

    def choose_again(self, everyone):
        """Rounds that measure bad pairs once more, and each end with a partner that was good. All get the same."""
        self.meeting.meet("choice", self.limit())
        self.rank.begin("choice", self.rank.limit + self.rank.MARGIN_S)
        self.meeting.board.put("rates/%d" % self.number, " ".join(
            "%d:%s" % (source, "bad" if rate is None else "%.6g" % rate) for source, rate in self.found.items()))
        chooser = self.meeting.members[0]
        if self.number == chooser:
            self.meeting.board.put("again", self.chosen())
        self.meeting.board.wait("again", self.rank.limit)
        rounds = []
        for line in self.meeting.board.text("again").splitlines():
            scope, _, pairs = line.partition(" ")
            rounds.append((scope, [tuple(map(int, pair.split("-"))) for pair in pairs.split()]))
        return rounds

    def chosen(self):
        """One line a round: the scope, then its pairs."""
        rates, hosts = {}, self.meeting.hosts
        for rank in self.meeting.members:
            try:
                self.meeting.board.wait("rates/%d" % rank, self.rank.limit)
            except Exception:  # gone meanwhile; its pairs are not chosen
                continue
            for word in self.meeting.board.text("rates/%d" % rank).split():
                source, _, rate = word.partition(":")
                if int(source) in self.meeting.members:
                    rates[(int(source), rank)] = None if rate == "bad" else float(rate)
        lines = []
        for scope in ("node", "between"):
            mine = {p: r for p, r in rates.items() if (hosts[p[0]] == hosts[p[1]]) == (scope == "node")}
            known = [rate for rate in mine.values() if rate is not None]
            limit = self.rule.threshold(known, self.rule.LINK_SHARE) if known else None
            bad = {tuple(sorted(p)) for p, r in mine.items() if r is None or (limit is not None and r < limit)}
            good = {tuple(sorted(p)) for p in mine} - bad
            wanted = sorted(bad)[:AGAIN_AT_MOST]
            for one in {end for pair in wanted for end in pair}:
                wanted += [pair for pair in sorted(good) if one in pair and pair not in wanted][:1]
            lines += ["%s %s" % (scope, " ".join("%d-%d" % pair for pair in pairs)) for pairs in disjoint(wanted)]
        return "\n".join(lines)


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
