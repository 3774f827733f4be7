"""Memory patterns: written everywhere first, then read back, so that two addresses of one cell show.

A GPU is tested as far as it is free, less a margin for others; of a CPU's memory a piece, since others need the rest.
"""

CHUNK = 1 << 30
HOST_BYTES = 256 << 20
MARGIN = 1 << 30  # bytes left free, or a tenth of what is free
SHARED_PART = 4  # of a device that others use, a quarter


def patterns(probe):
    torch = probe.torch
    chunk = HOST_BYTES // 4 if probe.is_cpu else CHUNK
    chunks = take(probe, chunk, room(probe))
    wrong, checked = [], sum(c.numel() for c in chunks) * 4
    for value in (0, -1, 0x55555555, -0x55555556):
        for c in chunks:
            c.fill_(value)
        bad = sum(int((c != value).sum()) for c in chunks)
        if bad:
            wrong.append("memory: %d of %d words do not hold %08x" % (bad, checked // 4, value & 0xFFFFFFFF))
    address = torch.arange(chunk // 4, dtype=torch.int32, device=probe.device)
    for number, c in enumerate(chunks):
        torch.bitwise_xor(address, mask(number), out=c)
    for number, c in enumerate(chunks):
        bad = int((c.bitwise_xor_(mask(number)) != address).sum())
        if bad:
            wrong.append("memory: %d of %d addresses in chunk %d of %d did not come back" % (
                bad, chunk // 4, number, len(chunks)))
    del chunks, address
    probe.ask(probe.device.type + ".empty_cache")
    return {"wrong": wrong, "memory_checked_bytes": checked}


def mask(number):
    """Different bits for every chunk, so that a chunk found at the place of another shows."""
    return (number * 0x9E3779B1) & 0x7FFFFFFF


def room(probe):
    """Bytes to test. A comparison needs a quarter of a chunk (and a chunk of addresses lies beside)."""
    if probe.is_cpu:
        return HOST_BYTES
    free = probe.memory_free()
    if free is None:
        return CHUNK
    if "foreign_load" in probe.before:
        return free // SHARED_PART
    return free - max(MARGIN, free // 10) - 2 * CHUNK


def take(probe, chunk, limit):
    """As many chunks as fit within the limit; at least one."""
    chunks = []
    while not chunks or (len(chunks) + 1) * chunk <= limit:
        try:
            chunks.append(probe.torch.empty(chunk // 4, dtype=probe.torch.int32, device=probe.device))
        except RuntimeError as error:
            if chunks and "memory" in str(error):
                break
            raise
    return chunks


STAGES = (("memory", patterns, ("full",), ()), ("memory", patterns, ("fleet",), ("cuda", "xpu")))
