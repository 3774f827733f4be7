from dataclasses import replace

from doctor.model.facts import ProbeResult
from tests.examples import linux, with_nvidia, with_torch

machine = with_torch(with_nvidia(linux(), "NVIDIA A100-SXM4-40GB"), "2.6.0+cu124", cuda_available=True)


def probe(**data):
    return replace(machine, probes=(ProbeResult(id="cuda:0", device="cuda:0", status="ok", data=data),))


BAD = {
    "TF32 in convolutions": probe(float32_bits_effective=24, float32_conv2d_bits=11),
    "TF32 everywhere": probe(float32_bits_effective=11, float32_conv2d_bits=11),
    "TF32 in the backward pass alone": probe(float32_bits_effective=24, float32_mm_bits=11),
    "bf16": probe(float32_bits_effective=8),
}
GOOD = {
    "full": probe(float32_bits_effective=24, float32_conv2d_bits=24),
    "not measured": machine,
    "wrong": probe(float32_bits_effective=0),
}
