from dataclasses import replace

from doctor.model.facts import ProbeResult
from tests.examples import linux, mac, with_error, with_torch
from tests.tickets import collect_env

WRONG = ProbeResult(
    id="mps:0",
    device="mps:0",
    status="failed",
    stage="correct",
    reason="wrong results",
    data={"wrong": ["float32 mm: 3 of 9 integers differ"]},
)
CPU = replace(WRONG, id="cpu", device="cpu")

BAD = {
    "the probe, in a known range": replace(
        with_torch(mac(macos="26.1"), "2.10.0", mps_available=True), probes=(WRONG,)
    ),
    "a ticket": with_error(with_torch(mac(macos="14.4"), "2.2.1"), "mps-differs", "cpu and mps differ by 0.5964"),
    "pasted: RuntimeError: Tensor-likes are not close!": (
        "RuntimeError: Tensor-likes are not close!\n"
        "Mismatched elements: 512 / 1024 (50.0%)\n"
        "Greatest absolute difference: 3.2 (mps vs cpu)\n"
        ">>> y_cpu = m(x); y_mps = m.to('mps')(x.to('mps')).cpu()\n"
        ">>> torch.allclose(y_cpu, y_mps, atol=1e-3)\n"
        "False\n" + collect_env("2.2.0", "mac")
    ),
}
GOOD = {
    "a known range, and right results": with_torch(mac(macos="26.1"), "2.10.0", mps_available=True),
    "the CPU is wrong": replace(with_torch(mac(), "2.10.0"), probes=(CPU,)),
    "Linux": replace(with_torch(linux(), "2.10.0+cpu"), probes=(CPU,)),
}
BAD["zeros in place of values"] = """\
torch 2.3.1, device mps
tensor([[0.3133, 0.7981],
        [0.4375, 1.0375]])
tensor([[0., 0.],
        [0., 0.]], device='mps:0')
"""
BAD["elements that differ"] = """\
>>> torch.testing.assert_close(cpu_out, mps_out.cpu())
Mismatched elements: 12 / 24 (50.0%)
"""
