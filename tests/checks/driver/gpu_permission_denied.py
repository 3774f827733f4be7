from dataclasses import replace

from doctor.model.facts import Gpu, Intel
from tests.example_case import Case
from tests.examples import linux, with_amd, with_nvidia, with_torch

RX = "AMD Radeon RX 6800"
DENIED = "ROCk module is loaded\nUnable to open /dev/kfd read-write: Permission denied\n"

BAD = {
    "rocminfo says so": "$ rocminfo\n" + DENIED,
    "in a container": "$ docker run -it --device=/dev/kfd --device=/dev/dri rocm/pytorch rocminfo\n" + DENIED,
    "live": with_torch(
        with_amd(linux(), RX, kfd_accessible=False, render_accessible=False, groups=("u", "sudo")),
        "2.6.0+rocm6.2.4",
        cuda_available=False,
    ),
    "named by group": 'u is not member of "render" group, the default DRM access group. Users must be a member of the "render" group\n',
    "by the user's groups": "RuntimeError: No HIP GPUs are available\n$ ls -l /dev/kfd\ncrw-rw---- 1 root render 235, 0 May  1 10:00 /dev/kfd\n"
    "$ groups\nu sudo\n",
    "with torch's own message": Case(
        "RuntimeError: No HIP GPUs are available\n$ rocminfo\n" + DENIED, first="gpu-permission-denied"
    ),
}
GOOD = {
    "in the group": with_torch(with_amd(linux(), RX, gfx="gfx1030"), "2.6.0+rocm6.2.4", cuda_available=True),
    "there is no node": with_torch(with_amd(linux(), RX, kfd=False, kfd_accessible=None), "2.6.0+rocm6.2.4"),
}
GOOD["the kernel leaves the GPU out"] = """\
$ rocminfo
ROCk module is loaded
Unable to open /dev/kfd read-write: Cannot allocate memory
u is member of render group
$ sudo dmesg | grep kfd
[    3.548555] kfd kfd: amdgpu: PITCAIRN  not supported in kfd
"""
BAD["a ROCm build finds nothing, and the user is not in the group"] = """\
$ id
uid=1000(u) gid=1000(u) groups=1000(u),27(sudo)
$ ls -l /dev/kfd
crw-rw---- 1 root render 235,   0 Feb  2 09:00 /dev/kfd
$ python3 -c "import torch; print(torch.__version__, torch.cuda.is_available())"
2.6.0+rocm6.2.4 False
"""
A10 = "NVIDIA A10"
CLOSED = ("/dev/nvidia0", "/dev/nvidiactl")


def closed(facts, **nvidia):
    given = {"nodes_accessible": False, "closed_nodes": CLOSED, "false_nodes": (), "cuinit": 100, **nvidia}
    return with_torch(with_nvidia(facts, A10, **given), "2.6.0+cu124", cuda_available=False)


BAD["NVIDIA's nodes are closed to an ordinary user"] = closed(linux(root=False))
BAD["and nvidia-smi finds no device"] = closed(linux(root=False), smi_error="No devices were found", gpus_seen=0)
BAD["AMD's render node alone is closed"] = with_torch(
    with_amd(linux(), RX, render_accessible=False, groups=("u",)), "2.6.0+rocm6.2.4", cuda_available=False
)
BAD["Intel's render node is closed"] = with_torch(
    replace(
        linux(),
        gpus=(Gpu(vendor="intel", name="Intel(R) Arc(TM) B580 Graphics", driver="xe"),),
        intel=Intel(kernel_driver="xe", level_zero=True, render_accessible=False),
    ),
    "2.9.0+xpu",
    xpu="20250201",
    xpu_available=False,
)
GOOD["closed to root: that is a sandbox"] = closed(linux(root=True))
GOOD["closed in a container: its start decides"] = closed(linux(container="docker", root=False))
GOOD["masked nodes are not a matter of groups"] = closed(
    linux(root=False), false_nodes=("/dev/nvidia0",), closed_nodes=()
)
GOOD["another job's GPUs are closed, ours is open"] = with_torch(
    with_nvidia(linux(root=False), A10, nodes_accessible=False, closed_nodes=("/dev/nvidia1",), false_nodes=()),
    "2.6.0+cu124",
    cuda_available=True,
)
