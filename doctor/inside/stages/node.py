"""What a fleet asks besides. Of a GPU what the driver says of its health and settings: errors of its memory, its links,
its firmware (NVIDIA, by the management library NVML; what it can't say is left out). Of a CPU its rate once more.
"""

ECC_UNCORRECTED, ECC_VOLATILE = 1, 0
LINKS = 18  # NVLinks of a GPU at most


def state(probe):
    """Numbers and words; see docs/probes.md."""
    nvml = probe.pieces["monitor"].nvml_of(probe)
    data = {"wrong": []}
    if nvml is None:
        return data
    ctypes = nvml.ctypes
    data["ecc_uncorrected_count"] = nvml.number("GetTotalEccErrors", ECC_UNCORRECTED, ECC_VOLATILE, wide=True)
    data.update(remapped(nvml), **links(nvml))
    data["mig_mode"] = mig(nvml)
    data["persistence_mode"] = on_or_off(nvml.number("GetPersistenceMode"))
    data["clock_limit_mhz"] = nvml.number("GetMaxClockInfo", 1)
    for name, key in (("GetVbiosVersion", "firmware"), ("GetUUID", "uuid")):
        text = ctypes.create_string_buffer(96)
        try:
            nvml.call("nvmlDevice" + name, nvml.handle, text, 96)
            data[key] = text.value.decode("ascii", "replace")
        except (ValueError, AttributeError):
            continue
    version = ctypes.create_string_buffer(96)
    try:
        nvml.call("nvmlSystemGetDriverVersion", version, 96)
        data["driver"] = version.value.decode("ascii", "replace")
    except (ValueError, AttributeError):
        pass
    count = ctypes.c_uint()
    try:
        nvml.call("nvmlDeviceGetCount_v2", ctypes.byref(count))
        data["gpus_there"] = int(count.value)
    except (ValueError, AttributeError):
        pass
    return {key: value for key, value in data.items() if value is not None}


def again(probe):
    """A CPU's rate on one thread, a while after the first time: who is slow once only had bad luck."""
    speed = probe.pieces["speed"]
    single = speed.Repeated(probe, "float32", speed.ONE_THREAD_SIZE)
    single.calibrate()
    rate, _ = speed.alone_rate(single)
    return {
        "wrong": [],
        "float32_tflops_one_thread_again": round(rate, 6),
        "float32_agreeing_one_thread_again_count": single.agreeing(rate),
    }


def on_or_off(value):
    return None if value is None else "on" if value else "off"


def remapped(nvml):
    """Rows of memory that were replaced, and what is wrong with that."""
    values = [nvml.ctypes.c_uint() for _ in range(4)]
    try:
        nvml.call("nvmlDeviceGetRemappedRows", nvml.handle, *[nvml.ctypes.byref(v) for v in values])
    except (ValueError, AttributeError):
        return {}
    names = ("rows_corrected_count", "rows_uncorrected_count", "rows_pending_count", "rows_failed_count")
    return {name: int(value.value) for name, value in zip(names, values)}


def links(nvml):
    """NVLinks: how many there are, how many of those are down, and their version."""
    found = []
    for number in range(LINKS):
        active = nvml.number("GetNvLinkState", number)
        if active is None:
            break
        found.append(active)
    if not found:
        return {}
    version = nvml.number("GetNvLinkVersion", found.index(1) if 1 in found else 0)
    return {"nvlinks_count": len(found), "nvlinks_down_count": found.count(0), "nvlink_version": version}


def mig(nvml):
    now, later = nvml.ctypes.c_uint(), nvml.ctypes.c_uint()
    try:
        nvml.call("nvmlDeviceGetMigMode", nvml.handle, nvml.ctypes.byref(now), nvml.ctypes.byref(later))
    except (ValueError, AttributeError):
        return None
    return on_or_off(now.value)


STAGES = (("state", state, ("fleet",), ("cuda",)), ("again", again, ("fleet",), ("cpu",)))
