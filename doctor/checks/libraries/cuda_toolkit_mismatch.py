"""An extension is being built with a CUDA toolkit that does not fit torch.

What it means
    Building a CUDA extension takes nvcc of the major version with which torch was built (torch.version.cuda), and a
    C++ compiler that this nvcc knows. Running torch needs no toolkit at all.

How to see it yourself
    nvcc --version; python -c "import torch; print(torch.version.cuda)"; echo $CUDA_HOME

What to do
    Install the toolkit of torch's CUDA version (conda: cuda-nvcc; else NVIDIA's package), and point CUDA_HOME at
    it.

References
    https://docs.pytorch.org/docs/stable/cpp_extension.html
    https://docs.nvidia.com/cuda/cuda-installation-guide-linux/#host-compiler-support-policy
"""

from doctor.checks import Check, Judgement
from doctor.checks._machine import heard
from doctor.checks._torch import build, quote, search
from doctor.fixes import tools
from doctor.model.facts import Facts
from doctor.model.finding import Evidence, Remedy
from doctor.regex import Regex

check = Check(
    severity="fault",
    needs=("messages",),
    systems=("linux", "windows"),
    usual=(Remedy(action="install-system-package", details={"package": "cuda-toolkit"}),),
    explains=("build-isolation",),
    instead_of=("program-error", "compiler-missing", "no-accelerator"),
)

PATTERNS = (
    "build-cuda-differs",
    "cuda-home-not-set",
    "nvcc-unsupported-architecture",
    "nvcc-unsupported-host-compiler",
    "deepspeed-cuda-differs",
    "cuda-header-missing",
    "nvcc-missing-in-build",
    "nvcc-not-found-in-setup",
    "cmake-without-cuda",
    "toolkit-header-differs",
)
VERSIONS = Regex(r"CUDA version \(([\d.]+)\)[\s\S]*?PyTorch\s*\(([\d.]+\d)")
UNFILLED = Regex(r"CUDA version \(%s\)[\s\S]*?', '([\d.]+)', '([\d.]+)'")  # torch 2.9 and newer
BY_DEEPSPEED = Regex(r"Installed CUDA version ([\d.]+) does not match the version torch was compiled with ([\d.]+\d)")
TOOLKIT = Regex(r"CUDA version \(([\d.]+)\)")


@check
def judge(facts: Facts) -> Judgement:
    error = heard(facts, *PATTERNS)
    if error is None or facts.host.system == "darwin":  # no Mac can have the toolkit
        return None
    made = build(facts)
    cuda = made.cuda if made else None
    toolkit = facts.nvidia.toolkit or None
    if (said := search(facts, VERSIONS) or search(facts, UNFILLED) or search(facts, BY_DEEPSPEED)) or (
        said := search(facts, TOOLKIT)
    ):  # the line may end before torch's
        toolkit, cuda = said[1][1], (said[1][2] if said[1].re.groups > 1 else None) or cuda
    toolkit = str(toolkit) if toolkit else None
    return check.found(
        facts,
        _detail(error.pattern, toolkit, cuda),
        evidence=(
            quote(error),
            Evidence(fact="torch.cuda", value=cuda) if cuda else None,
            Evidence(fact="nvcc", value=toolkit) if toolkit else "nvidia.toolkit",
        ),
        remedies=_remedies(error.pattern, cuda, facts),
        toolkit=toolkit,
        cuda=cuda,
    )


def _detail(pattern: str, toolkit: str | None, cuda: str | None) -> str:
    if pattern == "cuda-home-not-set":
        return f"Building needs the CUDA toolkit{f' {cuda}' if cuda else ''}, and CUDA_HOME does not say where it is."
    if pattern == "nvcc-unsupported-architecture":
        return (
            f"nvcc{f' {toolkit}' if toolkit else ''} does not know the GPU architecture for which the "
            f"extension is being built."
        )
    if pattern == "nvcc-unsupported-host-compiler":
        return f"The C++ compiler is not one that nvcc{f' {toolkit}' if toolkit else ''} works with."
    if pattern == "toolkit-header-differs":
        return "The headers of the installed toolkit are not those of the release for which the sources were written."
    if pattern == "nvcc-not-found-in-setup":
        return f"Building needs the CUDA toolkit{f' {cuda}' if cuda else ''}; setup.py finds none that fits torch."
    if pattern in ("cuda-header-missing", "nvcc-missing-in-build", "cmake-without-cuda"):
        return f"Building needs the CUDA toolkit{f' {cuda}' if cuda else ''}; a part of it is not there."
    return f"nvcc is of CUDA {toolkit or '?'}; torch was built with CUDA {cuda or '?'}."


def _remedies(pattern: str, cuda: str | None, facts: Facts) -> tuple[Remedy, ...]:
    if pattern == "nvcc-unsupported-host-compiler":
        return (
            Remedy(action="install-system-package", details={"package": "an older g++"}),
            Remedy(action="install-package", details={"package": "cuda-nvcc"}),
        )
    nvcc = Remedy(
        action="install-package",
        details={"package": "cuda-nvcc", "spec": f"=={cuda}.*"} if cuda else {"package": "cuda-nvcc"},
    )
    folder = (
        rf"C:\Program Files\NVIDIA GPU Computing Toolkit\CUDA\v{cuda}"
        if facts.host.system == "windows"
        else f"/usr/local/cuda-{cuda}"
    )
    home = Remedy(
        action="set-env", details={"name": "CUDA_HOME", "value": folder if cuda else "the folder of the toolkit"}
    )
    toolkit = Remedy(
        action="install-system-package",
        details={"package": f"cuda-toolkit-{cuda.replace('.', '-')}" if cuda else "cuda-toolkit"},
    )
    manager, environment = facts.interpreter.manager, facts.interpreter.environment
    tool = tools.find(manager)
    in_conda = bool(tool and tool.channel) or (manager is None and environment != "venv")
    return (nvcc, home, toolkit) if in_conda else (toolkit, home)
