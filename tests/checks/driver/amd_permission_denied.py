from tests.example_case import Case
from tests.examples import linux, with_amd, with_torch

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
        "RuntimeError: No HIP GPUs are available\n$ rocminfo\n" + DENIED, first="amd-permission-denied"
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
