from dataclasses import replace

from doctor.model.facts import ProbeResult
from tests.example_case import Case
from tests.examples import device, linux, with_error, with_nvidia, with_torch

NAME = "NVIDIA A100-SXM4-40GB"
machine = with_torch(
    with_nvidia(linux(), NAME), "2.6.0+cu124", cuda_available=True, devices=(device("cuda", NAME, capability="8.0"),)
)


def probe(facts=machine, **data):
    return replace(
        facts,
        probes=(ProbeResult(id="cuda:0", device="cuda:0", status="ok", data={"float32_bits_effective": 24, **data}),),
    )


BAD = {
    "half as fast": Case(probe(float32_tflops_burst=5.5, bfloat16_tflops_burst=110.0), severity="warning"),
    "a tenth": Case(probe(float32_tflops_burst=1.3, bfloat16_tflops_burst=22.0), severity="fault"),
    "what nvidia-smi says": with_error(machine, "e148", "SW Thermal Slowdown : Active"),
}
GOOD = {
    "as fast as it should be": probe(float32_tflops_burst=18.5, bfloat16_tflops_burst=260.0),
    "one type is slow, another is not": probe(float32_tflops_burst=18.5, float16_tflops_burst=10.0),
    "a model that the tables don't know": probe(
        with_torch(
            with_nvidia(linux(), "NVIDIA Whatever 1"), "2.6.0+cu124", devices=(device("cuda", "NVIDIA Whatever 1"),)
        ),
        float32_tflops_burst=0.1,
    ),
    "not probed": machine,
}
