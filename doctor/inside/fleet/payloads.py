"""What ranks send each other, with an answer in closed form for everything that is computed of it.

Payloads are 32-bit integers, and sums wrap around, so every answer holds to the bit whatever the order of the
additions: member p of n contributes h(i) + (p + 1) g(i), and the sum is n h(i) + n (n + 1) / 2 g(i). h and g are hashes
of the index: data that repeats itself would hide a copy from a wrong place.
"""


class Payloads(object):
    """Makes and compares them on one device."""

    def __init__(self, torch, device):
        self.torch, self.device = torch, device

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

    def total(self, count, members, start=0):
        """The sum of what so many members contribute."""
        sum_of_g = self.pattern(count, 2, start).mul_(wrapped(members * (members + 1) // 2))
        return self.pattern(count, 1, start).mul_(wrapped(members)).add_(sum_of_g)

    def checksum(self, tensor):
        """The sum of all elements as 64-bit integers."""
        return int(tensor.sum(dtype=self.torch.int64))


def wrapped(number):
    """The same number modulo 2**32, as a signed 32-bit integer."""
    number &= 0xFFFFFFFF
    return number - (1 << 32) if number >> 31 else number


def differing(got, expected):
    """(how many differ, the index of the first)"""
    differs = got != expected
    count = int(differs.sum())
    return (count, int(differs.nonzero()[0])) if count else (0, None)
