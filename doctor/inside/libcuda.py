"""Run in a child of torchdoctor's own Python: asks the NVIDIA driver's libraries, libcuda and NVML.

One JSON line a step, so that a hang in a later one loses nothing. Driver API: cuInit, cuDriverGetVersion, cuDeviceGet*;
NVML: nvmlInit_v2, nvmlSystemGetDriverVersion, nvmlDeviceGetCount_v2. Neither creates a context nor takes GPU memory.
"""

import ctypes
import json
import os
import sys

WINDOWS = sys.platform == "win32"
CUDA = ["nvcuda.dll"] if WINDOWS else ["libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1"]
NVML = ["nvml.dll"] if WINDOWS else ["libnvidia-ml.so.1", "/usr/lib/wsl/lib/libnvidia-ml.so.1"]
MAJOR, MINOR, INTEGRATED = 75, 76, 18  # CUdevice_attribute


def say(**facts):
    print(json.dumps(facts), flush=True)


def load(names):
    """(library, None) or (None, why not)."""
    why = ""
    for name in names:
        try:
            return ctypes.CDLL(name), None
        except OSError as error:
            why = why or str(error)
    return None, why


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
        say(absent=why)
        return
    say(libcuda=mapped("libcuda.so") or CUDA[0])
    version = ctypes.c_int()
    if cuda.cuDriverGetVersion(ctypes.byref(version)) == 0 and version.value:
        say(driver_cuda="%d.%d" % (version.value // 1000, version.value % 1000 // 10))
    code = cuda.cuInit(0)
    say(cuinit=code)
    count = ctypes.c_int()
    if code == 0 and cuda.cuDeviceGetCount(ctypes.byref(count)) == 0:
        say(devices=[one for one in (device(cuda, index) for index in range(count.value)) if one])


def ask_nvml():
    nvml, _ = load(NVML)
    if nvml is None:
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


ask_cuda()
ask_nvml()
say(done=True)
