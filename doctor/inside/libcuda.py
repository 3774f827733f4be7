"""Run in a child of torchdoctor's own Python: asks the NVIDIA driver's libraries, libcuda and NVML.

One JSON line a step, so that a hang in a later one loses nothing. Driver API: cuInit, cuDriverGetVersion, cuDeviceGet*;
NVML: nvmlInit_v2, nvmlSystemGetDriverVersion, nvmlDeviceGetCount_v2. Neither creates a context nor takes GPU memory.
At the end it opens and closes the device nodes: what access(2) allows, a device rule of a container may still refuse.
"""

import ctypes
import errno
import json
import os
import re
import stat
import sys

WINDOWS = sys.platform == "win32"
CUDA = ["nvcuda.dll"] if WINDOWS else ["libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1"]
NVML = ["nvml.dll"] if WINDOWS else ["libnvidia-ml.so.1", "/usr/lib/wsl/lib/libnvidia-ml.so.1"]
MAJOR, MINOR, INTEGRATED = 75, 76, 18  # CUdevice_attribute
NODE = re.compile(r"nvidia(\d+|ctl|-uvm)$")
NOT_FOUND = "No such file or directory"


def say(**facts):
    print(json.dumps(facts), flush=True)


def load(names):
    """(library, None) or (None, why not). A file that the loader takes for the library and can't load is «broken»."""
    why = ""
    for name in names:
        try:
            return ctypes.CDLL(name), None
        except OSError as error:
            said = str(error)
            if not WINDOWS and not (NOT_FOUND in said and os.path.basename(name) in said):
                return None, {"broken": said}
            why = why or said
    return None, {"absent": why}


def library(name):
    """The library, or None."""
    try:
        return ctypes.CDLL(name)
    except OSError:
        return None


def mapped(word):
    """The file of a loaded library."""
    try:
        with open("/proc/self/maps") as maps:
            for line in maps:
                if word in line:
                    return os.path.realpath(line.split(None, 5)[5].strip())
    except (OSError, IndexError):
        pass
    return None


def device(cuda, index):
    handle, name, bus = ctypes.c_int(), ctypes.create_string_buffer(256), ctypes.create_string_buffer(64)
    memory = ctypes.c_size_t()
    if cuda.cuDeviceGet(ctypes.byref(handle), index):
        return None
    cuda.cuDeviceGetName(name, 256, handle)
    cuda.cuDeviceGetPCIBusId(bus, 64, handle)
    cuda.cuDeviceTotalMem_v2(ctypes.byref(memory), handle)
    numbers = []
    for attribute in (MAJOR, MINOR, INTEGRATED):
        value = ctypes.c_int()
        cuda.cuDeviceGetAttribute(ctypes.byref(value), attribute, handle)
        numbers.append(value.value)
    return {
        "name": name.value.decode("utf-8", "replace"),
        "address": bus.value.decode("ascii", "replace"),
        "capability": "%d.%d" % (numbers[0], numbers[1]),
        "integrated": bool(numbers[2]),
        "memory_bytes": memory.value,
    }


def ask_cuda():
    cuda, why = load(CUDA)
    if cuda is None:
        say(**why)
        return
    say(libcuda=mapped("libcuda.so") or CUDA[0])
    if not hasattr(cuda, "cuInit"):
        say(broken="%s has no cuInit: it is not the driver's library" % (mapped("libcuda.so") or CUDA[0]))
        return
    version = ctypes.c_int()
    if cuda.cuDriverGetVersion(ctypes.byref(version)) == 0 and version.value:
        say(driver_cuda="%d.%d" % (version.value // 1000, version.value % 1000 // 10))
    code = cuda.cuInit(0)
    say(cuinit=code)
    count = ctypes.c_int()
    if code == 0 and cuda.cuDeviceGetCount(ctypes.byref(count)) == 0:
        say(devices=[one for one in (device(cuda, index) for index in range(count.value)) if one])


def ask_nvml():
    nvml = next((one for one in map(library, NVML) if one is not None), None)
    if nvml is None or not hasattr(nvml, "nvmlInit_v2"):
        return
    code = nvml.nvmlInit_v2()
    answer = {"nvml": code, "library_file": mapped("libnvidia-ml.so")}
    if code == 0:
        text, count = ctypes.create_string_buffer(96), ctypes.c_uint()
        if nvml.nvmlSystemGetDriverVersion(text, 96) == 0:
            answer["driver"] = text.value.decode("ascii", "replace")
        if nvml.nvmlDeviceGetCount_v2(ctypes.byref(count)) == 0:
            answer["count"] = count.value
    say(**answer)


def nodes():
    """Paths of the driver's device nodes."""
    try:
        return ["/dev/" + name for name in sorted(os.listdir("/dev")) if NODE.match(name)]
    except OSError:
        return []


def majors():
    """The numbers under which the kernel lists the driver's devices in /proc/devices."""
    try:
        with open("/proc/devices") as devices:
            return {int(one) for one, name in (line.split()[:2] for line in devices if "nvidia" in line)}
    except (OSError, ValueError):
        return set()


def look_at_nodes():
    """Which nodes are none of the driver's devices. Opens nothing."""
    known, false = majors(), []
    for path in nodes():
        try:
            seen = os.stat(path)
        except OSError:
            continue
        is_device = stat.S_ISCHR(seen.st_mode)
        if not is_device or (known and os.major(seen.st_rdev) not in known):
            false.append(path)
    say(false_nodes=false)
    return false


def open_nodes(false):
    """Which of the others may not be opened."""
    closed = []
    for path in nodes():
        if path in false:
            continue
        try:
            os.close(os.open(path, os.O_RDWR | os.O_NONBLOCK))
        except OSError as error:
            if error.errno in (errno.EPERM, errno.EACCES):
                closed.append(path)
    say(closed_nodes=closed)


false = [] if WINDOWS else look_at_nodes()
ask_cuda()
ask_nvml()
if not WINDOWS:
    open_nodes(false)
say(done=True)
