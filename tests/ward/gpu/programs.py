"""Programs that run beside the doctor. Each prints «ready» when it does what it is for, and goes on until it is
ended."""

from __future__ import annotations

HOLD = """
import sys, time, torch
device, share = torch.device(sys.argv[1]), float(sys.argv[2])
torch.zeros(1, device=device)
free, total = torch.cuda.mem_get_info(device)
left, kept = int(free * share), []
for size in (1 << 30, 64 << 20, 2 << 20):
    try:
        while left >= size:
            kept.append(torch.empty(size, dtype=torch.uint8, device=device))
            left -= size
    except RuntimeError:
        pass
print("ready", flush=True)
time.sleep(600)
"""

COMPUTE = """
import sys, time, torch
device = torch.device(sys.argv[1])
a = torch.randn(8192, 8192, device=device, dtype=torch.bfloat16)
(a @ a).sum().item()
print("ready", flush=True)
end = time.monotonic() + 600
while time.monotonic() < end:
    for _ in range(50):
        a @ a
    torch.cuda.synchronize(device)
"""

STOP = """
import os, signal, sys, torch
torch.zeros(1 << 28, device=sys.argv[1])
print("ready", flush=True)
os.kill(os.getpid(), signal.SIGSTOP)
"""

PROGRAMS = {"hold": HOLD, "compute": COMPUTE, "stop": STOP}
