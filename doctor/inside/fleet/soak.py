"""Minutes of products and all-reduces, in rounds."""

import time

SOAK_ROUND_S = 20.0


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


def soak(rank):
    """Minutes of products and all-reduces, in rounds."""
    minutes = float(rank.plan["soak_minutes"] or 0)
    waiting = rank.pieces["fleet/waiting"]
    began = time.time()
    number = 0
    product = Product(rank.torch, rank.device) if minutes else None
    while time.time() - began < 60 * minutes:
        number += 1
        rank.begin("soak round %d" % number, SOAK_ROUND_S + rank.limit + rank.MARGIN_S)
        until = time.time() + min(SOAK_ROUND_S, 20 * minutes)
        delay, started = waiting.run_delay(), time.perf_counter()
        rate, wrong = product.rate(until, rank.wait)
        waited = (waiting.run_delay() - delay) / (time.perf_counter() - started)
        found = rank.collectives.collective("all-reduce", quietly="soak %d" % number) or {}
        if found.get("wrong") or found.get("input_wrong"):
            rank.collectives.say(found)
        rank.talk.say(event="soak", data={
            "at_s": round(time.time() - began, 1), "tflops": rate, "busbw_gbs": found.get("busbw_gbs"),
            "wrong": wrong + found.get("wrong", 0), "disturbed": waited > waiting.WAITED_SHARE,
        })
    rank.close()
