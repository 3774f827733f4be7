import pytest

from doctor.evidence.blocks import commands
from doctor.evidence.text import document
from doctor.model.facts import ABSENT
from tests.evidence.tickets import facts

PROMPTS = ["$ ", "user@host:~/x$ ", "[root@node ~]# ", "(env) user@MacBook-Pro app % ", "% ", "PS C:\\app> ", "C:\\app>", "(venv) C:\\app>", "# ",
           "root@0123456789ab:/workspace# ", "/pytorch$ ", "+ ", "(venv) > ", "!"]  # fmt: skip


@pytest.mark.parametrize("prompt", PROMPTS)
def test_prompts(prompt: str) -> None:
    found = commands(document("x", f"{prompt}pip list\ntorch 2.0.0\n".encode()))
    assert [(c.kind, c.text) for c in found] == [("shell", "pip list")]


@pytest.mark.parametrize("text", ["# a heading of prose", "> said somebody", "100% of them", "Total: 5 $ each"])
def test_prose_is_no_command(text: str) -> None:
    assert not commands(document("x", text.encode()))


def test_values_of_a_session() -> None:
    seen = facts(
        ">>> import torch\n>>> torch.__version__\n'2.9.1'\n>>> torch.version.cuda\n>>> torch.cuda.is_available()\nFal"
        "se\n"
        ">>> torch.cuda.get_arch_list()\n['sm_80', 'sm_90', 'compute_90']\n>>> platform.platform(), platform.machine("
        ")\n"
        "('macOS-26.0-arm64-arm-64bit', 'arm64')\n>>> torch.backends.mps.is_built()\nTrue\n"
    )
    assert (seen.torch.version, seen.torch.cuda_available, seen.torch.mps_built) == ("2.9.1", False, True)
    assert seen.torch.arch_list == ("sm_80", "sm_90", "compute_90")
    assert (seen.host.macos, seen.host.architecture) == ("26.0", "arm64")


def test_print_in_one_line() -> None:
    seen = facts(
        '$ python -c "import torch; print(torch.__version__, torch.version.cuda, torch.cuda.is_available())"\n2.6.0+c'
        "pu None False\n"
    )
    assert (seen.torch.version, seen.torch.cuda, seen.torch.cuda_available) == ("2.6.0+cpu", ABSENT, False)


def test_prints_line_by_line_and_labels() -> None:
    seen = facts(
        "$ python -c 'import torch; print(torch.__version__); print(\"cuda\", torch.cuda.is_available())'\n2.6.0\ncud"
        "a True\n"
    )
    assert (seen.torch.version, seen.torch.cuda_available) == ("2.6.0", True)


def test_ipython_and_labelled_lines() -> None:
    assert facts("In [1]: torch.__version__\nOut[1]: '1.12.0'\n").torch.version == "1.12.0"
    assert facts("torch.cuda.is_available(): False\ntorch.__version__ = 2.1.0+cpu\n").torch.version == "2.1.0+cpu"


def test_banners() -> None:
    seen = facts(
        "Ultralytics YOLOv8.1.19 Python-3.10.12 torch-2.2.1+cu121 CUDA:0 (NVIDIA GeForce RTX 3060, 12036MiB)\n"
    )
    assert (seen.torch.version, seen.interpreter.version, seen.gpus[0].name) == (
        "2.2.1+cu121",
        "3.10.12",
        "NVIDIA GeForce RTX 3060",
    )
    assert (
        facts("Python 3.10.6 (tags/v3.10.6:9c7b4bd, Aug  1 2022) [MSC v.1932 32 bit (Intel)]\n").interpreter.bits == 32
    )


@pytest.mark.parametrize(("text", "value"), [
    ("$ CUDA_VISIBLE_DEVICES=2 python main.py", "2"), ("export CUDA_VISIBLE_DEVICES=-1", "-1"), ("C:\\>set CUDA_VISIB"
        "LE_DEVICES=", ""),
    ("PS C:\\> $env:CUDA_VISIBLE_DEVICES = \"\"", ""), ("os.environ[\"CUDA_VISIBLE_DEVICES\"] = \"0,1\"", "0,1"),
    ("os.environ['CUDA_VISIBLE_DEVICES']: 0", "0"), ("$ docker run -e CUDA_VISIBLE_DEVICES=3 --gpus all x", "3"), ("CUDA_VISIBLE_DEVICES: 1", "1"),
    ("$ echo $CUDA_VISIBLE_DEVICES\n1\n$ ls", "1"), ("ENV CUDA_VISIBLE_DEVICES 0", "0"),
])  # fmt: skip
def test_variables(text: str, value: str) -> None:
    assert facts(text).environ == {"CUDA_VISIBLE_DEVICES": value}


@pytest.mark.parametrize("text", [
    "you can set the environment variable `PYTORCH_ENABLE_MPS_FALLBACK=1` to use the CPU",
    "As a workaround you can set the environment variable KMP_DUPLICATE_LIB_OK=TRUE to allow the program",
    "Use PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0 to disable upper limit", "For debugging consider passing CUDA_LAUNCH_BL"
        "OCKING=1.",
])  # fmt: skip
def test_advice_is_no_setting(text: str) -> None:
    assert facts(text).environ is None


def test_tools_of_the_system() -> None:
    seen = facts(
        "% sw_vers\nProductName:\t\tmacOS\nProductVersion:\t\t14.5\n% sysctl -n machdep.cpu.brand_string\nApple M4\n%"
        " uname -m\nx86_64\n"
        "% sysctl sysctl.proc_translated\nsysctl.proc_translated: 1\n"
    )
    assert (seen.host.macos, seen.host.cpu_model, seen.host.architecture, seen.interpreter.translated) == (
        "14.5",
        "Apple M4",
        "arm64",
        True,
    )
    seen = facts(
        '$ cat /etc/os-release\nPRETTY_NAME="Alpine Linux v3.18"\nID=alpine\nVERSION_ID=3.18.4\n$ ldd --version\nmusl'
        " libc (x86_64)\nVersion 1.2.4\n"
    )
    assert (seen.host.libc, seen.host.libc_version, seen.host.os_id) == ("musl", "1.2.4", "alpine")
    seen = facts(
        "$ uname -a\nLinux box 5.10.102.1-microsoft-standard-WSL2 #1 SMP Wed Mar 2 00:30:59 UTC 2022 x86_64 GNU/Linux\n"
    )
    assert (seen.host.wsl, seen.host.architecture) == (2, "x86_64")
    assert facts("$ groups\nuser sudo video\n").amd.groups == ("user", "sudo", "video")
    assert facts("$ ls -l /dev/kfd\nls: cannot access '/dev/kfd': No such file or directory\n").amd.kfd is False


def test_a_cpu_without_avx() -> None:
    seen = facts(
        "$ lscpu\nArchitecture:          x86_64\nModel name:            QEMU Virtual CPU version 1.5.3\nHypervisor ve"
        "ndor:     KVM\n"
        "Flags:                 fpu de pse tsc msr pae mce cx8 apic sep mtrr pge mca cmov pse36 sse sse2 sse4_1\n"
    )
    assert seen.host.cpu_flags == ("sse4_1",)
    assert (seen.host.cpu_model, seen.host.virtual_machine) == ("QEMU Virtual CPU version 1.5.3", "KVM")


def test_the_report_and_the_log_of_comfyui() -> None:
    report = (
        "- **OS:** nt\n- **Python Version:** 3.11.9 (tags/v3.11.9:de54cf5)\n- **PyTorch Version:** 2.4.1+cu124\n"
        "- **Name:** cuda:0 NVIDIA GeForce RTX 2060 : cudaMallocAsync\n"
    )
    log = (
        "2024-11-01 12:06:46,194 - root - INFO - pytorch version: 2.5.0+cu124\n"
        "2024-11-01 12:06:47,154 - root - INFO - Device: cuda:0 NVIDIA GeForce RTX 4090 : native\n"
    )
    for text, version, name in ((report, "2.4.1+cu124", "2060"), (log, "2.5.0+cu124", "4090")):
        found = facts(text)
        assert (found.torch.version, found.torch.cuda_available) == (version, True)
        assert [g.name for g in found.gpus] == [f"NVIDIA GeForce RTX {name}"]
    assert facts(report).interpreter.version == "3.11.9"


def test_an_expression_with_a_call_in_its_brackets() -> None:
    text = "In [6]: torch.cuda.get_device_name(torch.cuda.current_device())\nOut[6]: 'AMD Radeon RX 6700 XT'\n"
    assert [g.name for g in facts(text).gpus] == ["AMD Radeon RX 6700 XT"]


def test_what_a_sentence_says_of_cuda() -> None:
    assert facts("with pip, torch.cuda.is_available() is false.\n").torch.cuda_available is False
    assert facts("`torch.cuda.is_available()` returns True\n").torch.cuda_available is True
    assert facts("if torch.cuda.is_available() is the right question\n").torch is None


def test_a_warning_above_a_value_is_none() -> None:
    said = """\
>>> torch.cuda.is_available()
/usr/lib/python3.10/dist-packages/torch/cuda/__init__.py:115: UserWarning: CUDA initialization: it failed
  return torch._C._cuda_getDeviceCount() > 0
False
>>> torch.backends.mps.is_available()
<stdin>:1: UserWarning: there is no Mac
True
"""
    torch = facts(said).torch
    assert (torch.cuda_available, torch.mps_available) == (False, True)
