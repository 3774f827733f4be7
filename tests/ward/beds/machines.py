"""The machine and its limits: disks, folders that are not there, memory, files, processes, languages."""

from __future__ import annotations

from tests.ward.bed import bed
from tests.ward.place import Place

ROOT = ("unshare",)


@bed(None, fast=True)
def few_open_files(place: Place) -> None:
    """30 open files, enough for torch on the CPU."""
    place.wrapper = ("prlimit", "--nofile=30")


@bed("process-limits", action="raise-limit", details={"limit": "address-space"}, cure="hand")
def little_address_space(place: Place) -> None:
    """400 MB of addresses: torch's libraries do not fit."""
    place.wrapper = ("prlimit", f"--as={400 << 20}")


@bed("process-limits", action="raise-limit", cure="hand", needs=ROOT)
def few_processes(place: Place) -> None:
    """A control group with room for six processes and threads."""
    _in_group(place, "pids", "pids.max", "6")


def _in_group(place: Place, controller: str, file: str, value: str) -> None:
    group = f"/sys/fs/cgroup/{controller}/ward-{place.root.name}"
    script = f'mkdir -p {group}; echo {value} > {group}/{file}; echo $$ > {group}/cgroup.procs; exec "$@"'
    place.wrapper = ("sh", "-ec", script, "sh")


@bed(None, needs=("taskset", *ROOT), limit_s=180)
def small_machine(place: Place) -> None:
    """One CPU and 512 MB."""
    _in_group(place, "memory", "memory.limit_in_bytes", str(512 << 20))
    place.wrapper = ("taskset", "-c", "0", *place.wrapper)


@bed(None, needs=ROOT, fast=True)
def no_proc(place: Place) -> None:
    """/proc is not mounted."""
    place.mounted("umount -l /proc || mount -t tmpfs none /proc")


@bed(None, needs=ROOT)
def no_sys(place: Place) -> None:
    """/sys is empty."""
    place.mounted("mount -t tmpfs none /sys")


@bed(None, fast=True)
def no_home(place: Place) -> None:
    """HOME names a folder that is not there."""
    place.environ["HOME"] = "/nonexistent"


@bed(None, needs=ROOT)
def no_tmp(place: Place) -> None:
    """No folder for temporary files can be written."""
    place.environ["TMPDIR"] = "/nonexistent"
    place.mounted(f"{_empty(place, '/tmp')}; for d in /tmp /var/tmp /dev/shm; do mount -o remount,ro $d; done")


def _empty(place: Place, folder: str, options: str = "") -> str:
    """Shell commands that mount empty file systems over folders for temporary files; the place itself, which may lie in
    one of them, stays where it is."""
    root, aside = place.root, "/mnt"
    over = " ".join(dict.fromkeys((folder, "/var/tmp", "/dev/shm")))
    return (
        f"mount --bind {root} {aside}; for d in {over}; do mount -t tmpfs {options} none $d; done; "
        f"mkdir -p {root}; mount --bind {aside} {root}; cd {place.work}"
    )


@bed(None, needs=ROOT, fast=True)
def read_only_environment(place: Place) -> None:
    """The environment is on a read-only disk."""
    place.mounted(f"mount --bind {place.env} {place.env}; mount -o remount,ro,bind {place.env}")


@bed(None, needs=ROOT)
def full_disk(place: Place) -> None:
    """The home and /tmp are on a disk without a free byte."""
    home = place.root / "home"
    fill = "dd if=/dev/zero of={0}/full bs=4096 2>/dev/null || true"
    place.mounted(
        f"{_empty(place, '/tmp', '-o size=64k')}; {fill.format('/tmp')}; "
        f"mount -t tmpfs -o size=64k none {home}; {fill.format(home)}"
    )


@bed("torch-import-crashes", needs=ROOT, cure="none", why_not="how a disk is mounted is its administrator's to say")
def noexec_environment(place: Place) -> None:
    """The environment's disk is mounted noexec: no library of it can be loaded."""
    place.mounted(f"mount --bind {place.env} {place.env}; mount -o remount,noexec,bind {place.env}")


@bed(None, fast=True)
def plain_c_locale(place: Place) -> None:
    """LANG=C, and an environment whose path has spaces and umlauts."""
    place.environ |= {"LANG": "C", "LC_ALL": "C"}
    moved = place.root / "Müllers Umgebung $x"
    place.env.rename(moved)
    place.env = moved


@bed(None)
def odd_encodings(place: Place) -> None:
    """A Turkish locale, and Python told to speak UTF-16."""
    place.environ |= {"LC_ALL": "tr_TR.ISO-8859-9", "LANG": "tr_TR", "PYTHONIOENCODING": "utf-16"}


@bed(None, fast=True)
def noisy_startup(place: Place) -> None:
    """sitecustomize prints, and writes a broken line to stderr."""
    lines = ("import sys", "print('{\"torch\": null}')", "sys.stderr.write('\\\\udcff!')", "")
    place.write(place.site / "sitecustomize.py", "\n".join(lines * 3))


@bed("interpreter-broken", cure="none", why_not="what stands in one's sitecustomize is the user's to mend")
def startup_that_exits(place: Place) -> None:
    """sitecustomize ends every Python of the environment."""
    place.write(place.site / "sitecustomize.py", "raise SystemExit('licence server not reached')\n")


@bed("torch-import-crashes", cure="none", why_not="what hangs is the user's own code", limit_s=120)
def import_that_hangs(place: Place) -> None:
    """A plugin of torch's (entry point torch.backends) never returns."""
    place.write(place.site / "plug.py", "import time\ndef load():\n    time.sleep(10_000)\n")
    info = place.site / "plug-1.0.dist-info"
    place.write(info / "METADATA", "Metadata-Version: 2.1\nName: plug\nVersion: 1.0\n")
    place.write(info / "entry_points.txt", "[torch.backends]\nplug = plug:load\n")
    place.write(info / "RECORD", "plug.py,,\nplug-1.0.dist-info/METADATA,,\n")


@bed(None, needs=ROOT)
def no_network(place: Place) -> None:
    """A network namespace without an interface that is up, not even the loopback."""
    place.wrapper = ("unshare", "-n")


@bed(None, needs=("setpriv", "unshare"))
def user_without_a_home(place: Place) -> None:
    """The user nobody, to whom nothing belongs, with HOME=/."""
    place.environ["HOME"] = "/"
    place.as_nobody()


@bed("process-limits", action="raise-limit", details={"limit": "processes"}, cure="hand", needs=("setpriv", "unshare"))
def few_processes_of_a_user(place: Place) -> None:
    """ulimit -u: four processes and threads for this user."""
    place.as_nobody("prlimit", "--nproc=4")


@bed("process-limits", action="raise-limit", details={"limit": "cpu-seconds"}, cure="hand")
def one_second_of_cpu(place: Place) -> None:
    """ulimit -t: one second of CPU time, as on some login nodes; importing torch takes more."""
    place.wrapper = ("prlimit", "--cpu=1")


@bed(None)
def no_file_may_grow(place: Place) -> None:
    """ulimit -f 0: nothing can be written to a file."""
    place.wrapper = ("prlimit", "--fsize=0")


@bed(None)
def closed_streams(place: Place) -> None:
    """stdin and stderr are closed, as some services start programs."""
    place.wrapper = ("sh", "-c", 'exec "$@" <&- 2>&-', "sh")


@bed(None, needs=ROOT)
def hidden_processes(place: Place) -> None:
    """A process namespace of its own, in which /proc is still that of the machine."""
    place.wrapper = ("unshare", "-pf")


@bed(None, needs=ROOT)
def bare_dev(place: Place) -> None:
    """/dev holds null, zero and urandom, and no shm."""
    devices = " ".join(f"cp -a /dev/{name} /mnt/;" for name in ("null", "zero", "urandom"))
    place.mounted(f"mount -t tmpfs none /mnt; {devices} mount --move /mnt /dev")


@bed(None, needs=ROOT)
def small_shared_memory(place: Place) -> None:
    """/dev/shm of 64 kB: too small for a data loader's workers, which nothing here uses."""
    place.mounted("mount -t tmpfs -o size=64k none /dev/shm")


@bed(None)
def environment_behind_links(place: Place) -> None:
    """The environment is reached by a link in a link, and its site-packages lies on another disk behind a third."""
    far = place.root / "far"
    far.mkdir()
    (place.site / "torch").rename(far / "torch")
    (place.site / "torch").symlink_to(far / "torch")
    (place.root / "one").symlink_to(place.env)
    (place.root / "two").symlink_to(place.root / "one")
    place.target = str(place.root / "two" / "bin" / "python")
