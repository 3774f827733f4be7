"""How long this process waited for a CPU: a rate that was measured meanwhile says nothing of a link."""

import os

WAITED_SHARE = 0.05  # of the time; above, this process lacked a CPU


def run_delay():
    """Seconds for which threads of this process could have run and had no CPU; 0 where the kernel does not say."""
    total = 0
    try:
        for task in os.listdir("/proc/self/task"):
            with open("/proc/self/task/%s/schedstat" % task) as file:
                total += int(file.read().split()[1])
    except (IOError, OSError, ValueError, IndexError):
        return 0.0
    return total / 1e9
