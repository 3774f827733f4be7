from doctor.model.facts import TorchCopy
from tests.example_case import Case
from tests.examples import linux, with_error, with_torch

CONDA = TorchCopy(path="/opt/conda/lib/python3.7/site-packages", version="1.6.0", installer="conda")
HOME = TorchCopy(path="/home/u/.local/lib/python3.7/site-packages", version="1.9.0+cu102", installer="pip")
SAME = TorchCopy(path="/opt/conda/lib/python3.7/site-packages", version="1.9.0", installer="conda")
RECORD = TorchCopy(path=SAME.path, version="1.6.0", installer="pip", has_files=False)
NMS = "RuntimeError: No such operator torchvision::nms"

BAD = {
    "pip in the home folder over conda, with an error": with_error(
        with_torch(linux(python="3.7.9"), "1.9.0+cu102", copies=(HOME, CONDA)), "torchvision-nms-missing", NMS
    ),
    "registered twice": with_error(
        with_torch(linux(python="3.7.9"), "1.9.0+cu102", copies=(HOME, CONDA)),
        "torch-library-registered-twice", "Only a single TORCH_LIBRARY can be used to register the namespace prims",
    ),
    "the second one is only on record": Case(
        with_torch(linux(python="3.7.9"), "1.9.0", copies=(SAME, RECORD)), severity="warning"
    ),
    "without an error": Case(with_torch(linux(python="3.7.9"), "1.9.0+cu102", copies=(HOME, CONDA)), severity="warning"),
}  # fmt: skip
GOOD = {
    "one": with_torch(linux(), "1.9.0", copies=(SAME,)),
    "two tools list the same one": with_torch(linux(), "1.9.0+cu102", copies=(HOME, SAME)),
}
