"""Small machines for tests: start with linux(), mac() or windows(), add to it with the with_… functions.

    with_torch(with_nvidia(linux(), "NVIDIA GeForce RTX 4090", driver="470.82"), "2.6.0+cu124", cuda_available=False)

What is not said is not known (None), except where a function's docstring says otherwise.
"""

from __future__ import annotations

from dataclasses import replace

from doctor.model.facts import (
    ABSENT,
    Amd,
    ErrorText,
    Facts,
    Gpu,
    Host,
    Intel,
    Interpreter,
    Limits,
    Metal,
    Nvidia,
    Package,
    ProbeResult,
    Source,
    Stage,
    Torch,
    TorchDevice,
)  # fmt: skip


def in_venv(folder: str, python: str, architecture: str) -> Interpreter:
    """A healthy CPython in a venv made by pip."""
    return Interpreter(
        executable=f"{folder}/.venv/bin/python",
        version=python,
        implementation="cpython",
        bits=64,
        architecture=architecture,
        translated=False,
        environment="venv",
        manager="pip",
        pip="24.0",
        start_failure=ABSENT,
        shadowed=(),
        shadowed_packages=(),
        free_threaded=False,
    )


def linux(*, python: str = "3.12.4", architecture: str = "x86_64", **host: object) -> Facts:
    """A healthy Ubuntu 22.04 without a GPU or a driver, in a venv made by pip, all known; no torch facts yet."""
    return Facts(
        host=Host(
            **{
                "system": "linux",
                "os_name": "Ubuntu 22.04.4 LTS",
                "os_id": "ubuntu",
                "os_version": "22.04",
                "macos": ABSENT,
                "architecture": architecture,
                "libc": "glibc",
                "libc_version": "2.35",
                "container": ABSENT,
                "wsl": ABSENT,
                "jetson": ABSENT,
                "virtual_machine": ABSENT,
                "sandbox": ABSENT,
                "memory_bytes": 64 << 30,
                "limits": Limits(
                    open_files=1024,
                    processes=255_000,
                    address_space_bytes=ABSENT,
                    data_bytes=ABSENT,
                    cgroup_processes=ABSENT,
                ),
                "cpu_flags": ("avx", "avx2", "fma") if architecture == "x86_64" else (),
                **host,
            }
        ),
        interpreter=in_venv("/home/u/ml", python, architecture),
        packages=(),
        gpus=(),
        environ={},
        nvidia=Nvidia(
            driver=ABSENT,
            libcuda=ABSENT,
            kernel_module=ABSENT,
            device_nodes=(),
            false_nodes=(),
            closed_nodes=(),
            smi_error=ABSENT,
        ),
        amd=Amd(kernel_driver=False, kfd=False),
        intel=Intel(kernel_driver=ABSENT),
        metal=Metal(device=ABSENT),
    )


def mac(*, macos: str = "14.5", chip: str = "Apple M1 Pro", python: str = "3.12.4", rosetta: bool = False) -> Facts:
    """A Mac. A chip that does not begin with Apple makes it an Intel Mac."""
    hardware = "arm64" if chip.startswith("Apple") else "x86_64"
    own = "x86_64" if rosetta else hardware
    return Facts(
        host=Host(
            system="darwin",
            os_name=f"macOS {macos}",
            os_id="macos",
            os_version=macos,
            macos=macos,
            architecture=hardware,
            cpu_model=chip,
            container=ABSENT,
            wsl=ABSENT,
            jetson=ABSENT,
            virtual_machine=ABSENT,
            sandbox=ABSENT,
            memory_bytes=16 << 30,
        ),
        interpreter=replace(
            in_venv("/Users/u/ml", python, own), translated=rosetta, platform_tag=f"macosx-11.0-{own}"
        ),
        packages=(),
        gpus=(Gpu(vendor="apple", name=chip),) if hardware == "arm64" else (),
        environ={},
        metal=Metal(device=chip if hardware == "arm64" else None),
    )


def windows(*, python: str = "3.12.4", build: int = 22631) -> Facts:
    """Windows 11 on x86-64 without a GPU."""
    facts = linux(python=python)
    return replace(
        facts,
        host=replace(
            facts.host,
            system="windows",
            os_name="Windows 11",
            os_id="windows",
            os_version="10.0",
            os_like=(),
            windows_build=build,
            libc=None,
            libc_version=None,
            wsl=ABSENT,
        ),
        interpreter=replace(facts.interpreter, executable=r"C:\Users\u\ml\.venv\Scripts\python.exe"),
    )


def with_nvidia(
    facts: Facts, *names: str, driver: str = "580.65.06", capability: str | None = None, **nvidia: object
) -> Facts:
    """NVIDIA GPUs with a driver that answers. driver=None and driver=ABSENT are possible too."""
    return replace(
        facts,
        gpus=(
            *(facts.gpus or ()),
            *(Gpu(vendor="nvidia", name=n, capability=capability, driver="nvidia") for n in names),
        ),
        nvidia=Nvidia(
            **{
                "driver": driver,
                "kernel_module": driver,
                "library": driver,
                "libcuda": "/usr/lib/libcuda.so.1" if driver else driver,
                "smi_error": ABSENT,
                "gpus_seen": len(names),
                "cuinit": 0 if driver else None,
                "uvm_node": bool(driver),
                "device_nodes": ("/dev/nvidia0", "/dev/nvidiactl") if driver else (),
                "nodes_accessible": True,
                "false_nodes": (),
                "closed_nodes": (),
                "nouveau": False,
                "sources": (Source(name="nvidia-smi", status="ok" if driver else "absent"),),
                **nvidia,
            }
        ),
    )


def with_amd(facts: Facts, *names: str, gfx: str | None = None, **amd: object) -> Facts:
    """AMD GPUs with a working kernel driver."""
    return replace(
        facts,
        gpus=(*(facts.gpus or ()), *(Gpu(vendor="amd", name=n, gfx=gfx, driver="amdgpu") for n in names)),
        amd=Amd(
            **{
                "kernel_driver": True,
                "kfd": True,
                "kfd_accessible": True,
                "render_accessible": True,
                "groups": ("render", "video"),
                **amd,
            }
        ),
    )


def with_torch(facts: Facts, version: str, *, cuda_available: bool | None = None, **torch: object) -> Facts:
    """An installed torch that imports. cuda and hip follow from the version's local part, or are ABSENT."""
    local = version.partition("+")[2]
    cuda = f"{local[2:-1]}.{local[-1]}" if local.startswith("cu") else ABSENT
    hip = local[4:] if local.startswith("rocm") else ABSENT
    return replace(
        facts,
        torch=Torch(
            **{
                "version": version,
                "cuda": cuda,
                "hip": hip,
                "xpu": ABSENT,
                "imports": True,
                "import_failure": ABSENT,
                "shadowed_by": ABSENT,
                "missing_files": (),
                "leftovers": (),
                "installer": facts.interpreter.manager,
                "cuda_built": bool(cuda or hip),
                "cuda_available": bool(cuda_available) if cuda_available is not None else None,
                "mps_built": False if facts.host.system != "darwin" else None,
                **torch,
            }
        ),
    )


def with_packages(facts: Facts, **versions: str) -> Facts:
    """Installed packages: with_packages(f, numpy="2.1.3"); an underscore in a name stands for a hyphen."""
    more = tuple(Package(name=n.replace("_", "-"), version=v) for n, v in versions.items())
    return replace(facts, packages=(*(facts.packages or ()), *more))


def with_error(facts: Facts, pattern: str, text: str, *groups: str, path: str | None = None) -> Facts:
    """A recognised message."""
    return replace(facts, errors=(*facts.errors, ErrorText(pattern=pattern, text=text, groups=groups, path=path)))


def device(backend: str, name: str, index: int = 0, **more: object) -> TorchDevice:
    """A device as torch lists it."""
    return TorchDevice(backend=backend, index=index, name=name, **more)  # type: ignore[arg-type]


def proven(facts: Facts, *devices: str, torch_devices: tuple[TorchDevice, ...] | None = None) -> Facts:
    """The machine after its probes: the CPU and each of `devices` ("cuda:0") computed right."""
    torch = facts.torch
    if isinstance(torch, Torch) and torch_devices is not None:
        torch = replace(torch, devices=torch_devices)
    return replace(facts, torch=torch, probes=tuple(probe(d) for d in ("cpu", *devices)))


def probe(device: str, status: str = "ok", **more: object) -> ProbeResult:
    """The result of one probe; one that passed has compared its results."""
    stages = (Stage(name="correct", ok=True, ms=1.0),) if status == "ok" else ()
    return ProbeResult(**{"id": device, "device": device, "status": status, "stages": stages, **more})


def of_a_text(facts: Facts) -> Facts:
    """The same facts, as a text tells them: what is said there was said to a program, not to torchdoctor."""
    return replace(facts, live=False)


def with_failures(facts: Facts, stage: str, *texts: str, device: str = "cpu") -> Facts:
    """A full probe whose device is sound, and in which one feature of torch failed with those texts («what: text»)."""
    data = {"wrong": [], "failures": list(texts), "not_here": [], "tried": []}
    sound = (Stage(name=name, ok=True, ms=1.0) for name in ("kernel", "correct"))
    stages = (*sound, Stage(name=stage, ok=True, ms=1.0, data=data))
    return replace(facts, probes=(ProbeResult(id=device, device=device, status="ok", stage=stage, stages=stages,
                                              data={"failures": list(texts)}),))  # fmt: skip
