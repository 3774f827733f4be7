"""The questions that can be asked, each with the facts that its answer holds. Pure.

Which question to ask first is not written down anywhere: it is the one whose answer holds what is missing for the
hypotheses that weigh most.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache

from doctor.model.facts import Facts
from doctor.model.symptom import Question
from doctor.model.values import dataclass

ANY = ("linux", "darwin", "windows")


@dataclass(frozen=True, kw_only=True)
class Ask:
    """A question. `holds`: dotted facts in the answer, or whole groups of them ("nvidia"); messages by the kind of
    symptom that they speak of ("messages/no-device"). `about`: systems on which it can be asked; `effort`: 1 a
    command, 2 something to do or to find again."""

    text: str
    command: str = ""
    holds: tuple[str, ...]
    about: tuple[str, ...] = ANY
    effort: float = 1.0


COLLECT_ENV = Ask(
    text="Paste what torch says of itself and of the machine.",
    command="python -m torch.utils.collect_env",
    holds=(
        "torch.version", "torch.cuda", "torch.hip", "torch.cuda_available", "torch.imports", "torch", "nvidia.driver",
        "gpus", "host.system", "host.os_name", "host.libc_version", "host.architecture", "host.cpu_model", "host.macos",
        "interpreter.version", "interpreter.bits", "interpreter.architecture", "packages", "nvidia.toolkit",
    ),
    effort=1.1,
)  # fmt: skip
MPS = Ask(
    text="Ask torch itself whether it can use the Mac's GPU.",
    command='python -c "import torch, platform; print(torch.__version__, platform.machine(), platform.mac_ver()[0], '
    'torch.backends.mps.is_built(), torch.backends.mps.is_available())"',
    holds=(
        "torch.mps_built", "torch.mps_available", "torch.version", "torch.imports", "torch", "interpreter.architecture",
        "interpreter.translated", "host.macos",
    ),
    about=("darwin",),
)  # fmt: skip
ERROR = Ask(
    text="Paste the complete message, from the command that was run to its last line.",
    holds=("messages", "errors", "torch.import_failure", "torch.imports", "attempts"),
    effort=1.2,
)
START_CUDA = Ask(
    text="Let torch start CUDA: the message that it ends with tells the causes apart.",
    command='python -c "import torch; print(torch.__version__, torch.version.cuda); torch.zeros(1).cuda()"',
    holds=(
        "messages/no-device", "messages/import", "torch.cuda_error", "nvidia.cuinit", "torch.cuda_available",
        "torch.version", "torch.cuda", "torch.imports",
    ),
    about=("linux", "windows"),
)  # fmt: skip
ASKS = (
    COLLECT_ENV,
    MPS,
    Ask(
        text="Is torch installed for this Python, which one, and does it see the GPU?",
        command='python -c "import sys, torch; print(sys.executable, torch.__version__, torch.version.cuda, '
        'torch.version.hip, torch.cuda.is_available(), torch.cuda.get_arch_list())"',
        holds=(
            "torch.version", "torch.cuda", "torch.hip", "torch.cuda_available", "torch.imports", "torch",
            "torch.arch_list", "torch.import_failure", "interpreter.executable",
        ),
    ),
    START_CUDA,
    Ask(
        text="What do the driver and its GPUs look like?",
        command="nvidia-smi",
        holds=(
            "nvidia.driver", "nvidia.driver_cuda", "nvidia.gpus_seen", "nvidia.smi_error", "nvidia.compute_mode",
            "nvidia.processes", "gpus", "nvidia.sources",
        ),
        about=("linux", "windows"),
    ),
    Ask(
        text="Which variables are set?",
        command="env | grep -E 'CUDA|NVIDIA|HIP|ROCR|HSA|ZE_|LD_|PYTORCH|PYTHON|NCCL'",
        holds=("environ",),
        about=("linux", "darwin"),
    ),
    Ask(
        text="Which variables are set?",
        command="set | findstr \"CUDA NVIDIA HIP PYTORCH PYTHON PATH\"",
        holds=("environ",),
        about=("windows",),
    ),
    Ask(
        text="What does the kernel say of the GPU?",
        command="sudo dmesg | grep -iE 'nvrm|xid|amdgpu|i915|oom'",
        holds=("nvidia.xids", "nvidia.kernel_module", "amd.kernel_driver", "intel.kernel_driver", "messages/hang",
               "messages/compute"),
        about=("linux",),
        effort=1.3,
    ),
    Ask(
        text="Are the GPU's device nodes there, and may this user open them?",
        command="ls -l /dev/nvidia* /dev/kfd /dev/dri; id",
        holds=(
            "nvidia.device_nodes", "nvidia.uvm_node", "nvidia.nodes_accessible", "amd.kfd", "amd.kfd_accessible",
            "amd.render_accessible", "amd.groups", "intel.render_accessible",
        ),
        about=("linux",),
    ),
    Ask(
        text="Is the fabric manager running?",
        command="systemctl status nvidia-fabricmanager",
        holds=("nvidia.fabric_manager", "nvidia.fabric_manager_version"),
        about=("linux",),
    ),
    Ask(
        text="Which GPUs are on the bus, and which kernel driver has them?",
        command="lspci -nnk | grep -iEA3 'vga|3d|display'",
        holds=("gpus", "nvidia.nouveau", "amd.kernel_driver", "intel.kernel_driver", "nvidia.kernel_module"),
        about=("linux",),
    ),
    Ask(
        text="Does it run in a container or a virtual machine, and with which command was that started?",
        holds=("host.container", "host.container_gpus", "host.virtual_machine", "host.wsl", "host.sandbox"),
        effort=1.5,
    ),
    Ask(
        text="Which packages are installed beside torch?",
        command="python -m pip list",
        holds=("packages", "torch.version", "torch"),
    ),
    Ask(
        text="Which Python is it, and for which processor?",
        command='python -c "import sys, platform, struct; print(sys.executable, sys.version, platform.machine(), '
        'struct.calcsize(\'P\') * 8, platform.platform())"',
        holds=(
            "interpreter.version", "interpreter.bits", "interpreter.architecture", "interpreter.executable",
            "interpreter.platform_tag", "host.system", "interpreter.implementation", "interpreter.free_threaded",
            "interpreter.environment",
        ),
    ),
    Ask(
        text="Which macOS and which chip?",
        command="sw_vers; sysctl -n machdep.cpu.brand_string sysctl.proc_translated",
        holds=("host.macos", "host.cpu_model", "host.architecture", "interpreter.translated", "host.virtual_machine"),
        about=("darwin",),
    ),
    Ask(
        text="Which system is it, with which C library?",
        command="cat /etc/os-release; ldd --version; uname -a",
        holds=("host.os_name", "host.os_id", "host.libc_version", "host.libc", "host.kernel", "host.architecture",
               "host.system"),
        about=("linux",),
    ),
    Ask(
        text="Which libraries does the loader take?",
        command='LD_DEBUG=libs python -c "import torch" 2>&1 | grep -iE "cuda|cudnn|nccl|calling init"',
        holds=("torch.loaded_libraries", "nvidia.libcuda"),
        about=("linux",),
        effort=1.5,
    ),
    Ask(
        text="Let torchdoctor compute on each device, and time it.",
        command="torchdoctor probe",
        holds=("probes", "messages/compute", "messages/wrong-result", "messages/slow", "messages/hang"),
        effort=1.5,
    ),
    Ask(
        text="Does this Python start, and does it have pip?",
        command="python -m pip --version",
        holds=("interpreter.start_failure", "interpreter.pip", "interpreter.environment", "interpreter.version",
               "interpreter.executable", "messages/start"),
    ),
    Ask(
        text="Which files lie in the folder that the program is started in?",
        command="ls",
        holds=("interpreter.shadowed", "interpreter.shadowed_packages", "torch.shadowed_by"),
    ),
    Ask(
        text="Which limits does the process have?",
        command="ulimit -a; cat /sys/fs/cgroup/pids.max",
        holds=("host.limits", "host.limits.open_files", "host.limits.address_space_bytes",
               "host.limits.cgroup_processes"),
        about=("linux",),
        effort=1.3,
    ),
    Ask(
        text="Was something installed since the notebook's kernel was started? Restart it, and try again.",
        holds=("interpreter.kernel", "torch.installed_at"),
        effort=1.5,
    ),
    Ask(
        text="Which of the driver's files does the loader find?",
        command="ldconfig -p | grep -E 'libcuda|libnvidia-ml'; ls -l /dev/nvidia*; cat /proc/driver/nvidia/version",
        holds=("nvidia.libcuda", "nvidia.false_nodes", "nvidia.device_nodes", "nvidia.module_flavour",
               "nvidia.kernel_module"),
        about=("linux",),
        effort=1.2,
    ),
    Ask(
        text="How large is the shared memory?",
        command="df -h /dev/shm",
        holds=("host.shm_bytes", "host.disk_free_bytes"),
        about=("linux",),
    ),
    Ask(
        text="Is it a Jetson, and with which release?",
        command="cat /etc/nv_tegra_release",
        holds=("host.jetson",),
        about=("linux",),
    ),
    Ask(
        text="Is Intel's compute runtime installed?",
        command="ls /usr/lib/*/libze_* /usr/lib64/libze_*",
        holds=("intel.level_zero",),
        about=("linux",),
    ),
    Ask(
        text="Which install command was run, and what did it print in full?",
        holds=("attempts", "messages/install"),
    ),
    ERROR,
)  # fmt: skip
CHECK = Ask(
    text="Run torchdoctor on that machine: it looks at all of it.",
    command="torchdoctor check",
    holds=(),
    effort=3.0,
)


def answers(ask: Ask, need: str) -> bool:
    """Whether the answer to a question holds a need of a check ("nvidia.cuinit|torch.cuda_error", "messages/import").

    >>> answers(COLLECT_ENV, "torch.version|torch.cuda"), answers(COLLECT_ENV, "environ")
    (True, False)
    """
    names = need.split("|")
    return any(n in ask.holds or n.partition(".")[0] in ask.holds or n.partition("/")[0] in ask.holds for n in names)


@cache
def _answered_by(need: str) -> frozenset[int]:
    """The places of the questions whose answers hold a need."""
    return frozenset(place for place, ask in enumerate(ASKS) if answers(ask, need))


def ranked(missing: Mapping[str, tuple[float, Iterable[str]]], facts: Facts) -> tuple[Ask, ...]:
    """The questions by how much they settle: `missing` gives for each hypothesis its weight and the needs that are not
    known. The effort of answering counts against a question. Those that settle nothing are left out."""
    system = facts.host.system
    open_needs = [(weight, [_answered_by(need) for need in needs]) for weight, needs in missing.values()]
    scored = []
    for place, ask in enumerate(ASKS):
        if system and system not in ask.about:
            continue
        if not system and ask.about not in (ANY, ("linux", "windows"), ("linux",), ("linux", "darwin")):
            continue
        settled = 0.0
        for weight, asked in open_needs:
            if asked:
                settled += weight * sum(place in places for places in asked) / len(asked)
        if settled > 0:
            scored.append((settled / ask.effort, -place, ask))
    return tuple(ask for _, _, ask in sorted(scored, key=lambda one: one[:2], reverse=True))


def question(ask: Ask) -> Question:
    """The question as the report has it."""
    return Question(text=ask.text, command=ask.command)
