"""What the driver and the system say of a device while it works: clocks, power, throttling, link, other users of it.

NVIDIA: the management library (NVML) by ctypes, which is what nvidia-smi and its Python binding call too; CUDA's own
number of a device is found by its PCI address. CPU: the counters of the control group, and the pressure of other work.
A value that can't be read is left out.
"""

import os
import time

NVML = "libnvidia-ml.so.1"
OWN_SHARE_PERCENT = 10  # a GPU that is busier than this without our own work has another user
TOO_SMALL = 7  # there are more than fit, and the count says how many
INTERVAL_S = 0.1
# bits of nvmlDeviceGetCurrentClocksThrottleReasons; idle (1) and application clocks (2) are no trouble
THROTTLES = (
    (0x4, "power cap"),
    (0x8, "hardware slowdown"),
    (0x10, "sync boost"),
    (0x20, "temperature"),
    (0x40, "temperature (hardware)"),
    (0x80, "power brake"),
    (0x100, "display clocks"),
)
GRAPHICS, SM, MEMORY_CLOCK = 0, 1, 2


class Nvml(object):
    """One GPU, as the management library sees it. Raises OSError, AttributeError or ValueError where it can't."""

    def __init__(self, index):
        import ctypes

        self.ctypes = ctypes
        self.library = ctypes.CDLL(NVML)
        self.call("nvmlInit_v2")
        self.handle = ctypes.c_void_p()
        address = self.address(index)
        self.call("nvmlDeviceGetHandleByPciBusId_v2", address, ctypes.byref(self.handle))

    def address(self, index):
        """The PCI address of CUDA's device; the driver's numbering knows CUDA_VISIBLE_DEVICES."""
        ctypes = self.ctypes
        driver = ctypes.CDLL("libcuda.so.1")
        device, text = ctypes.c_int(), ctypes.create_string_buffer(32)
        for name, arguments in (
            ("cuInit", (0,)),
            ("cuDeviceGet", (ctypes.byref(device), index)),
            ("cuDeviceGetPCIBusId", (text, 32, device)),
        ):
            code = getattr(driver, name)(*arguments)
            if code:
                raise ValueError("%s: %d" % (name, code))
        return text.value

    def call(self, name, *arguments):
        code = getattr(self.library, name)(*arguments)
        if code:
            raise ValueError("%s: %d" % (name, code))

    def number(self, name, *arguments, **options):
        """The number that a function writes to its last argument; None where it can't say."""
        kind = self.ctypes.c_ulonglong if options.get("wide") else self.ctypes.c_uint
        value = kind()
        try:
            self.call("nvmlDevice" + name, self.handle, *(arguments + (self.ctypes.byref(value),)))
        except (ValueError, AttributeError):
            return None
        return int(value.value)

    def utilization(self):
        """Percent of the last sampling period in which something ran on it."""
        values = (self.ctypes.c_uint * 2)()
        try:
            self.call("nvmlDeviceGetUtilizationRates", self.handle, self.ctypes.byref(values))
        except (ValueError, AttributeError):
            return None
        return int(values[0])

    def memory_used(self):
        """Bytes that anybody holds, without what the driver keeps for itself."""
        ctypes = self.ctypes

        class Memory(ctypes.Structure):
            _fields_ = [("version", ctypes.c_uint)] + [
                (name, ctypes.c_ulonglong) for name in ("total", "reserved", "free", "used")
            ]

        memory = Memory()
        memory.version = ctypes.sizeof(Memory) | 2 << 24
        try:
            self.call("nvmlDeviceGetMemoryInfo_v2", self.handle, ctypes.byref(memory))
        except (ValueError, AttributeError):
            return None
        return int(memory.used)

    def processes(self):
        """How many processes have a compute context on it."""
        count = self.ctypes.c_uint(0)
        try:
            code = self.library.nvmlDeviceGetComputeRunningProcesses_v3(self.handle, self.ctypes.byref(count), None)
        except AttributeError:
            return None
        return int(count.value) if code in (0, TOO_SMALL) else None

    def shares(self, since):
        """Percent of the time in which each process computed on it, at most, by process id, since that time (seconds of
        the epoch). None where the driver can't say, or has sampled nothing yet."""
        ctypes = self.ctypes

        class Share(ctypes.Structure):
            _fields_ = [("pid", ctypes.c_uint), ("time_us", ctypes.c_ulonglong)] + [
                (name, ctypes.c_uint) for name in ("computing", "memory", "encoder", "decoder")
            ]

        count, after = ctypes.c_uint(0), ctypes.c_ulonglong(int(since * 1e6))
        try:
            read = self.library.nvmlDeviceGetProcessUtilization
        except AttributeError:
            return None
        if read(self.handle, None, ctypes.byref(count), after) not in (0, TOO_SMALL) or not count.value:
            return None
        found = (Share * count.value)()
        if read(self.handle, found, ctypes.byref(count), after):
            return None
        highest = {}
        for one in found[: count.value]:
            if one.pid and one.computing <= 100 and one.time_us > after.value:
                highest[one.pid] = max(one.computing, highest.get(one.pid, 0))
        return highest or None

    def sample(self):
        return {
            "sm_clock_mhz": self.number("GetClockInfo", SM),
            "power_w": scaled(self.number("GetPowerUsage"), 0.001),
            "utilization_percent": self.utilization(),
            "temperature_c": self.number("GetTemperature", 0),
            "throttles": self.number("GetCurrentClocksThrottleReasons", wide=True),
            "pcie_generation": self.number("GetCurrPcieLinkGeneration"),
            "pcie_width": self.number("GetCurrPcieLinkWidth"),
        }

    def limits(self):
        return {
            "sm_clock_max_mhz": self.number("GetMaxClockInfo", SM),
            "power_limit_w": scaled(self.number("GetEnforcedPowerLimit"), 0.001),
            "power_limit_default_w": scaled(self.number("GetPowerManagementDefaultLimit"), 0.001),
            "pcie_generation_max": self.number("GetMaxPcieLinkGeneration"),
            "pcie_width_max": self.number("GetMaxPcieLinkWidth"),
        }


def scaled(value, factor):
    return None if value is None else round(value * factor, 1)


def nvml_of(probe):
    if probe.device.type != "cuda" or getattr(probe.torch.version, "hip", None):
        return None
    try:
        return Nvml(probe.device.index or 0)
    except (OSError, AttributeError, ValueError):
        return None


def before(probe):
    """Who uses the device before we do."""
    nvml = nvml_of(probe)
    return {} if nvml is None else used_before(nvml)


def used_before(nvml):
    """Who uses that GPU now; `foreign_load` where it is much."""
    known = {
        "utilization_before_percent": nvml.utilization(),
        "processes_before": nvml.processes(),
        "memory_used_before_bytes": nvml.memory_used(),
    }
    known = {name: value for name, value in known.items() if value is not None}
    if known.get("utilization_before_percent", 0) > OWN_SHARE_PERCENT:
        known["foreign_load"] = True
    return known


class Watch(object):
    """Samples while a device works. Call `look` between queueing work and waiting for it, `others` after it."""

    def __init__(self, probe):
        self.nvml = nvml_of(probe)
        self.last = 0.0
        self.kept = []
        self.began = time.time()

    def look(self):
        if self.nvml is None or time.perf_counter() - self.last < INTERVAL_S:
            return
        self.last = time.perf_counter()
        self.kept.append(self.nvml.sample())

    def others(self):
        """How much other processes computed on a GPU meanwhile, and `busy` where that was much. Nothing where this
        process is not among those that the driver names: in a container it goes by other numbers there."""
        shares = (self.nvml.shares(self.began) if self.nvml else None) or {}
        if shares.pop(os.getpid(), None) is None:
            return {}
        most = max(shares.values()) if shares else 0
        return dict({"foreign_utilization_percent": most}, **({"busy": True} if most > OWN_SHARE_PERCENT else {}))

    def others_after(self):
        """How many processes other than this one have the GPU open now: some began after `before` was asked."""
        count = self.nvml.processes() if self.nvml else None
        return {} if count is None else {"processes_after": max(0, count - 1)}

    def summary(self):
        """Lowest and highest clock, highest power and temperature, all reasons of throttling, the best link."""
        if self.nvml is None or not self.kept:
            return {}
        found = dict(self.nvml.limits())
        for key, name, pick in (
            ("sm_clock_mhz", "sm_clock_min_mhz", min),
            ("sm_clock_mhz", "sm_clock_mhz", max),
            ("power_w", "power_w", max),
            ("temperature_c", "temperature_c", max),
            ("pcie_generation", "pcie_generation", max),
            ("pcie_width", "pcie_width", max),
        ):
            values = [s[key] for s in self.kept if s[key] is not None]
            found[name] = pick(values) if values else None
        bits = 0
        for sample in self.kept:
            bits |= sample["throttles"] or 0
        found["throttles"] = [name for bit, name in THROTTLES if bits & bit]
        return {name: value for name, value in found.items() if value is not None}


# --- the CPU ------------------------------------------------------------------------------------------------


def text_of(path):
    try:
        with open(path) as file:
            return file.read()
    except (IOError, OSError, UnicodeDecodeError):
        return ""


def control_group():
    """The folders that limit this process's CPU time, of version 2 and of version 1, from its own group upwards."""
    folders = []
    for line in text_of("/proc/self/cgroup").splitlines():
        number, controllers, path = (line.split(":", 2) + ["", ""])[:3]
        if controllers == "":
            root = "/sys/fs/cgroup"
        elif "cpu" in controllers.split(","):
            root = "/sys/fs/cgroup/" + controllers
        else:
            continue
        while True:
            folders.append(root + path)
            if path in ("", "/"):
                break
            path = path.rsplit("/", 1)[0]
    return folders


def quota_cpus():
    """CPUs' worth of time that the control group allows; None: no limit, or not known."""
    allowed = []
    for folder in control_group():
        words = text_of(folder + "/cpu.max").split()
        if len(words) == 2 and words[0].isdigit() and words[1].isdigit():
            allowed.append(int(words[0]) / float(words[1]))
        quota = text_of(folder + "/cpu.cfs_quota_us").strip()
        period = text_of(folder + "/cpu.cfs_period_us").strip()
        if quota.isdigit() and period.isdigit() and int(period):
            allowed.append(int(quota) / float(period))
    return round(min(allowed), 3) if allowed else None


def throttled_periods():
    """How often the control group stopped its processes so far."""
    return sum(
        int(line.split()[1])
        for folder in control_group()
        for line in text_of(folder + "/cpu.stat").splitlines()
        if line.startswith("nr_throttled ")
    )


def pressure_ms():
    """Milliseconds in which some process of the machine waited for a CPU so far; None where the kernel doesn't say."""
    for line in text_of("/proc/pressure/cpu").splitlines():
        if line.startswith("some") and "total=" in line:
            return int(line.rpartition("total=")[2]) / 1000.0
    return None


def usable_cpus():
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count()


def waited_s():
    """Seconds that the threads of this process have waited for a CPU that others had, all together (Linux: the second
    number of schedstat, the time in a run queue); None where the system does not say."""
    total, found = 0, False
    try:
        for thread in os.listdir("/proc/self/task"):
            words = text_of("/proc/self/task/%s/schedstat" % thread).split()
            if len(words) == 3:
                total, found = total + int(words[1]), True
    except (OSError, ValueError):
        return None
    return total / 1e9 if found else None


def machine_cpu_s():
    """(seconds that all CPUs of the machine have worked since it started, number of CPUs), also for other containers
    (Linux: /proc/stat); None where the system does not say."""
    lines = text_of("/proc/stat").splitlines()
    words = lines[0].split() if lines else []
    if len(words) < 9 or words[0] != "cpu":
        return None
    user, nice, system, _idle, _iowait, irq, softirq, steal = map(int, words[1:9])
    count = sum(line[:3] == "cpu" and line[3:4].isdigit() for line in lines)
    worked = user + nice + system + irq + softirq + steal
    return worked / float(os.sysconf("SC_CLK_TCK")), max(1, count)


def cpu_clock_mhz():
    """The highest clock that the system names: of cpufreq, else of /proc/cpuinfo (too low in many VMs)."""
    most = text_of("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq").strip()
    if most.isdigit():
        return int(most) // 1000
    listed = [
        float(line.partition(":")[2]) for line in text_of("/proc/cpuinfo").splitlines() if line.startswith("cpu MHz")
    ]
    return int(max(listed)) if listed else None


def cpu_facts(probe):
    """What bears on the speed of the CPU. Left out where not known."""
    facts = {
        "cpus_usable": usable_cpus(),
        "quota_cpus": quota_cpus(),
        "omp_num_threads": os.environ.get("OMP_NUM_THREADS"),
        "cpu_capability": probe.ask("backends.cpu.get_cpu_capability"),
        "cpu_clock_mhz": cpu_clock_mhz(),
    }
    return {name: value for name, value in facts.items() if value is not None}


STAGES = ()
