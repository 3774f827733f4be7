from doctor.model.facts import ABSENT
from tests.evidence.tickets import facts, patterns


def test_a_message_keeps_its_file_and_line() -> None:
    text = (
        'Traceback (most recent call last):\n  File "/opt/e/lib/python3.11/site-packages/torch/__init__.py", line 367'
        ", in <module>\n    from torch._C import *\n"
        "ImportError: /opt/e/lib/python3.11/site-packages/torch/lib/libtorch_cpu.so: undefined symbol: iJIT_NotifyEve"
        "nt\n"
    )
    error = next(e for e in facts(text).errors if e.pattern == "mkl-ijit-undefined-symbol")
    assert (error.line, error.groups) == (4, ("NotifyEvent",))
    assert error.path == "/opt/e/lib/python3.11/site-packages/torch/lib/libtorch_cpu.so"


def test_an_import_that_fails() -> None:
    text = (
        'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\n  File "/e/lib/python3.11/site-pa'
        'ckages/torch/__init__.py", line 367, in <module>\nImportError: libx.so.1: cannot open shared object file'
        "\n"
    )
    torch = facts(text).torch
    assert (torch.imports, torch.import_failure.kind, torch.import_failure.exception) == (
        False,
        "exception",
        "ImportError",
    )
    assert facts('$ python -c "import torch"\nIllegal instruction (core dumped)\n').torch.import_failure.signal == 4


def test_an_error_at_run_time_is_no_failing_import() -> None:
    text = (
        'Traceback (most recent call last):\n  File "/e/lib/python3.9/site-packages/torch/cuda/__init__.py", line '
        "214, in _lazy_init\nRuntimeError: No CUDA GPUs are available\n"
    )
    assert facts(text).torch.imports is None


def test_the_last_line_of_a_traceback() -> None:
    error = next(
        e for e in facts('  File "/a/b.py", line 3, in f\nValueError: bad shape\n').errors if e.pattern == "exception"
    )
    assert (error.groups, error.path) == (("ValueError", "bad shape"), "/a/b.py")


def test_a_message_that_ends_with_a_colon_goes_on() -> None:
    text = (
        "WARNING[XFORMERS]: xFormers can't load C++/CUDA extensions. xFormers was built for:\n    PyTorch 2.0.1+cu"
        "118 with CUDA 1108 (you have 2.1.0+cu121)\n"
    )
    assert (
        "you have 2.1.0+cu121"
        in next(e for e in facts(text).errors if e.pattern == "xformers-extensions-not-loaded").text
    )


def test_the_python_by_a_path() -> None:
    assert facts('  File "C:\\Python313\\Lib\\subprocess.py", line 419, in check_call\n').interpreter.version == "3.13"
    seen = facts('  File "/Users/u/miniconda3/envs/x/lib/python3.9/site-packages/a.py", line 1, in f\n')
    assert (seen.interpreter.version, seen.interpreter.manager, seen.host.system) == ("3.9", "conda", "darwin")


def test_the_machine_that_built_torch_is_not_this_one() -> None:
    assert (
        facts(
            "UserWarning: x (Triggered internally at /Users/distiller/project/pytorch/aten/src/a.cpp:1.)\n"
        ).host.system
        is None
    )


def test_musl_and_dlopen() -> None:
    assert facts("OSError: Error relocating /usr/lib/libgomp.so.1: pthread_x: symbol not found\n").host.libc == "musl"
    seen = facts(
        "dlopen(/Users/u/a.so, 2): (mach-o file, but is an incompatible architecture (have 'x86_64', need 'arm64'))\n"
    )
    assert (seen.host.system, seen.interpreter.architecture, seen.host.architecture) == ("darwin", "arm64", "arm64")


def test_results_that_differ_on_mps() -> None:
    assert "mps-differs" in patterns('>>> y2 = f(x.to("mps")).cpu()\n>>> (y - y2).abs().max()\ntensor(0.5964)\n')
    assert "mps-differs" not in patterns(
        '>>> y2 = f(x.to("mps")).cpu()\n>>> (y - y2).abs().max()\ntensor(1.1921e-07)\n'
    )
    assert "mps-differs" in patterns("sum cpu: tensor([1., 2.])\nsum mps: tensor([1., 9.], device='mps:0')\n")


def test_memory_that_grows_on_mps() -> None:
    assert "mps-memory-grows" in patterns(
        "nn.MaxPool2d torch.mps.driver_allocated_memory() before 545751040 after 1628192768\n"
    )
    assert "mps-memory-grows" not in patterns(
        "nn.Linear torch.mps.driver_allocated_memory() before 545751040 after 545751040\n"
    )


def test_rosetta_is_not_claimed_without_the_hardware() -> None:
    seen = facts("OS: macOS 13.0 (x86_64)\nPython platform: macOS-13.0-x86_64-i386-64bit\nIs CUDA available: False\n")
    assert seen.interpreter.translated is None
    assert seen.host.wsl is ABSENT


def test_a_message_that_a_console_broke_over_lines() -> None:
    rich = (
        "02:54:16-476773 INFO     nVidia toolkit detected\n"
        "02:54:18-197331 ERROR    Could not load torch: [WinError 126] Das angegebene Modul wurde nicht gefunden. Error loading\n"
        '                         "P:\\AI\\venv\\lib\\site-packages\\torch\\lib\\fbgemm.dll" or one of its dependencies.\n'
    )
    error = next(e for e in facts(rich).errors if e.pattern == "winerror-126")
    assert error.line == 2
    assert error.path is not None
    assert error.path.endswith("fbgemm.dll")
    mail = (
        'It stops with\n "RuntimeError: DataLoader worker (pid 47) is killed by signal: Bus\nerror. It is possible that'
        " dataloader's workers are out of shared\nmemory.\"\n"
    )
    assert "dataloader-shared-memory" in patterns(mail)


def test_a_message_is_not_put_together_from_lines_that_are_apart() -> None:
    assert "winerror-126" not in patterns("[WinError 126] x\n\nError loading fbgemm.dll\n")
    apart = "[WinError 126] x\nanother line\na third line\nand then c10.dll\n"
    assert "winerror-126" not in patterns(apart)


def test_pip_that_is_killed() -> None:
    bar = "    99% |████████████████| 360.3MB 32.1MB/s eta 0:00:01Killed\n"
    assert "memory-error-or-killed" in patterns(bar)
    assert "memory-error-or-killed" in patterns("[326093.95] Killed process 14093 (pip) total-vm:5029612kB\n")
    assert "memory-error-or-killed" not in patterns("[326093.95] Killed process 14093 (firefox) total-vm:5029612kB\n")


def test_a_message_over_several_lines_is_found_wherever_it_stands() -> None:
    log = "".join(f"step {i} of the work\n" for i in range(2_000))
    text = f"{log}Preparing metadata (pyproject.toml): started\n{log}No module named 'torch'\n{log}"
    error = next(e for e in facts(text).errors if e.pattern == "build-without-torch")
    assert (error.line, error.text) == (4_002, "No module named 'torch'")


def test_the_halves_of_a_message_in_the_wrong_order_are_none() -> None:
    assert "build-without-torch" not in patterns("No module named 'torch'\nPreparing metadata (pyproject.toml)\n")


def test_a_group_is_not_longer_than_a_message() -> None:
    text = f"{'x' * 3_000}flash_attn {'y' * 200} undefined symbol: _ZN{'z' * 900}"
    assert all(len(g) <= 500 for e in facts(text).errors for g in e.groups)


def test_a_place_behind_what_a_build_machine_left_is_its_own() -> None:
    """Paths of the machine that built torch are not the user's; what stands behind them keeps its line."""
    text = (
        "frame #0: /pytorch/aten/src/ATen/native/cuda/Loss.cu:250\n" * 50
        + "a line\nbash-5.1# uname -r\n5.15.153.1-microsoft-standard-WSL2\nthe end\n"
    )
    seen = facts(text)
    assert seen.origins["host.kernel"].quote == "5.15.153.1-microsoft-standard-WSL2"


def test_a_message_tells_facts() -> None:
    assert facts("Using device: cpu\n").torch.cuda_available is False
    assert facts("$ python main.py --cpu\nUsing device: cpu\n").torch is None, "somebody told it to"
    said = "torch>=2.2.0 has no wheels with a matching Python ABI tag (e.g., `cp313`)\n"
    assert facts(said).interpreter.version == "3.13"
    seen = facts("NVIDIA GeForce RTX 3060\nWarning: no GPU has been detected.\n")
    assert seen.torch.cuda_available is False
    assert facts("RuntimeError: No CUDA GPUs are available\n").torch is None, "what a driver says may be a hidden GPU"


def test_illegal_instruction_in_other_languages() -> None:
    for said in ("Ungültiger Maschinenbefehl", "Instrucción ilegal", "非法指令", "Недопустимая инструкция"):
        assert "illegal-instruction" in patterns(f"$ python -c 'import torch'\n{said}\n"), said
