"""What is left to the program, where nothing speaks of the environment."""

from doctor.accounting.judgement import Judgement, judged
from doctor.evidence.read import read

WORKING = """\
PyTorch version: 2.6.0+cu124
CUDA used to build PyTorch: 12.4
OS: Ubuntu 22.04.4 LTS (x86_64)
Python version: 3.12.10 (64-bit runtime)
Is CUDA available: True
GPU models and configuration: GPU 0: NVIDIA RTX A5000
Nvidia driver version: 550.144.03
"""


def from_text(text: str) -> Judgement:
    return judged(read((("ticket", text.encode()),)).facts)


def ids(made: Judgement) -> list[str]:
    return [f.id for f in made.account.findings if f.id != "known-errata"]


def test_a_packages_own_exception() -> None:
    made = from_text("lightning.exceptions.MisconfigurationException: could not find the monitored key 'val/loss'\n")
    assert ids(made) == ["program-error"]
    assert made.verdict.value == "unknown", "which torch runs here is not known"


def test_a_complaint_beside_a_working_gpu() -> None:
    made = from_text(f"{WORKING}\n[Bug]: Grammar error: Pointer '/$defs/x' does not exist\n")
    assert ids(made) == ["program-error"]
    assert made.verdict.value == "unknown", "what nobody understood proves no health"


def test_what_may_be_the_environments_is_left_open() -> None:
    for said in ("it hangs after a minute", "the results are wrong", "it is slow", "Error: the GPU stopped answering"):
        assert "program-error" not in ids(from_text(f"{WORKING}\n{said}\n")), said


def test_an_erratum_explains_no_complaint() -> None:
    made = from_text("ComfyUI does not use my GPU. At the start it says 2.6.0+cpu, and nothing else.\n")
    assert ids(made)[0] == "torch-cpu-only"
