"""Run by torchdoctor's own Python, on POSIX: `python -I -S guardian.py`, with a socket as descriptor 3. Starts the
doctor's children, and ends all that came of each: when the child ends, when it is asked to, or when the doctor is gone,
whatever ended that one.

One process waits for requests. For each it forks a guardian, which forks the program into a session of its own and
waits with it. On Linux both are subreapers (prctl(2), PR_SET_CHILD_SUBREAPER): daemons and double forks become the
guardian's children, not init's, so none is lost; where the guardian was killed, its program dies with it
(PR_SET_PDEATHSIG), and what else it had is ended by the first process. macOS has neither: there descendants are found
by ps, as long as their parents live, and by the process group.

A request is one byte on the socket, "c" where a channel follows, else "-", and with it descriptors (SCM_RIGHTS): the
guardian's end of a line to the doctor, stdin, stdout, stderr, the channel, and those that are to stay open until all is
over, such as a lock, which the program does not get. On the line come 8 bytes, the length of what follows, and
(arguments, environment or None, working folder or None) by marshal. The guardian answers there: the program's pid and,
at the end, its wait status, a line each; or "!ERRNO WORD" where it could not be started (WORD: folder, fork, program).
When the other end of the line is closed or shut down, it ends everything.

Imports only what is compiled in or light, for every run of the doctor waits for it.
"""

import gc
import marshal
import os
import select
import sys
import time

import _signal as signal
import _socket

SOCKET = 3
CHANNEL = 3  # of the program
FREE = 10  # descriptors that come by a request are never below it
PATIENCE_S = 10.0  # how long it tries to end what does not die
PS = "/bin/ps"
SUBREAPER, DEATH_SIGNAL = 36, 1  # options of prctl, <linux/prctl.h>
LINUX = sys.platform.startswith("linux")
QUIET = ("SIGPIPE", "SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT")  # a guardian ends by its line alone
DEFAULT = QUIET + ("SIGCHLD", "SIGXFSZ")  # what a program finds as the system has it


def load_prctl():
    """prctl(2); None where there is none."""
    if not LINUX:
        return None
    try:
        import ctypes

        function = ctypes.CDLL(None).prctl
        function.argtypes = (ctypes.c_int, ctypes.c_ulong)
        return function
    except (ImportError, OSError, AttributeError):
        return None


PRCTL = load_prctl()


def prctl(option, value):
    if PRCTL:
        PRCTL(option, value)


def number_of(name):
    return getattr(signal, name)


def serve(requests):
    """Until the doctor is gone: a guardian for each request."""
    guardians = set()
    woken = wake_on_children()
    watch = select.poll()
    watch.register(requests.fileno(), select.POLLIN)
    watch.register(woken, select.POLLIN)
    while True:
        ready = [descriptor for descriptor, _ in watch.poll()]
        if woken in ready:
            drain(woken)
            statuses = {}
            reap(statuses, guardians)
            if any(os.WIFSIGNALED(statuses[pid]) for pid in guardians.intersection(statuses)):
                end_all(guardians.difference(statuses))  # what is left of a guardian that was killed
            guardians.difference_update(statuses)
        if requests.fileno() in ready:
            try:
                word, descriptors = received(requests)
            except OSError:
                word = b""
            if not word:
                break
            start(word, descriptors, guardians, requests)
    requests.close()
    deadline = time.time() + 2 * PATIENCE_S
    statuses = {}
    while guardians and time.time() < deadline and reap(statuses, guardians):  # each has seen it on its own line
        guardians.difference_update(statuses)
        time.sleep(0.005)
    end_all(())


def received(requests):
    """(the byte, the descriptors) of the next request."""
    word, ancillary, _, _ = requests.recvmsg(1, 4096)
    descriptors = []
    for level, kind, data in ancillary:
        if level == _socket.SOL_SOCKET and kind == _socket.SCM_RIGHTS:
            whole = len(data) // 4 * 4
            descriptors += [int.from_bytes(data[i : i + 4], sys.byteorder) for i in range(0, whole, 4)]
    for descriptor in descriptors:
        os.set_inheritable(descriptor, False)
    return word, descriptors


def start(word, descriptors, guardians, requests):
    line = descriptors[0]
    try:
        pid = os.fork()
    except OSError as error:
        say(line, "!%d fork" % error.errno)
        pid = None
    if pid == 0:
        try:
            gc.disable()
            requests.close()
            guard(word, descriptors)
        finally:
            os._exit(0)
    if pid:
        guardians.add(pid)
    for descriptor in descriptors:
        os.close(descriptor)


# ---- a guardian


def guard(word, descriptors):
    """Start the program; wait for its end or for that of the line; then end all, and say how the program ended."""
    line, streams, rest = descriptors[0], descriptors[1:4], descriptors[4:]
    channel = rest[0] if word == b"c" else None
    os.setsid()
    prctl(SUBREAPER, 1)
    woken = wake_on_children()
    length = int.from_bytes(exactly(line, 8), "big")
    arguments, environment, folder = marshal.loads(exactly(line, length))
    guardian = os.getpid()
    try:
        program = os.fork()
    except OSError as error:
        say(line, "!%d fork" % error.errno)
        return
    if program == 0:
        become(guardian, line, streams, channel, arguments, environment, folder)
    for descriptor in streams:
        os.close(descriptor)
    if channel is not None:
        os.close(channel)
    say(line, "%d" % program)
    watch = select.poll()
    watch.register(line, select.POLLIN)
    watch.register(woken, select.POLLIN)
    statuses = {}
    reap(statuses)
    while program not in statuses:
        if any(descriptor == line for descriptor, _ in watch.poll()):
            break
        drain(woken)
        reap(statuses)
    end_all((), program, statuses)
    if program in statuses:
        say(line, "%d" % statuses[program])


def become(guardian, line, streams, channel, arguments, environment, folder):
    """The program, in this process; or say on the line what kept us from it."""
    word = "fork"
    try:
        os.setsid()
        prctl(DEATH_SIGNAL, number_of("SIGKILL"))
        if os.getppid() != guardian:  # it died before we could ask to die with it
            os._exit(127)
        signal.set_wakeup_fd(-1)
        for name in DEFAULT:
            if hasattr(signal, name):
                signal.signal(number_of(name), signal.SIG_DFL)
        for number, descriptor in enumerate(streams):
            os.dup2(descriptor, number)
        if channel is not None:
            os.dup2(channel, CHANNEL)
        word = "folder"
        if folder is not None:
            os.chdir(folder)
        word = "program"
        os.execvpe(arguments[0], arguments, os.environ if environment is None else environment)
    except OSError as error:
        say(line, "!%d %s" % (error.errno or 0, word))
    except BaseException:
        say(line, "!0 %s" % word)
    finally:
        os._exit(127)


def exactly(line, count):
    """So many bytes; the end of the line is the end of us."""
    data = b""
    while len(data) < count:
        piece = os.read(line, count - len(data))
        if not piece:
            os._exit(0)
        data += piece
    return data


def say(line, text):
    try:
        os.write(line, text.encode("ascii") + b"\n")
    except OSError:  # nobody hears us any more
        pass


def wake_on_children():
    """A descriptor that can be read when a child has ended."""
    for name in QUIET:
        signal.signal(number_of(name), signal.SIG_IGN)
    woken, wake = os.pipe()
    os.set_blocking(woken, False)
    os.set_blocking(wake, False)
    signal.signal(number_of("SIGCHLD"), lambda number, frame: None)
    signal.set_wakeup_fd(wake)
    return woken


def drain(descriptor):
    try:
        while os.read(descriptor, 4096):
            pass
    except OSError:
        pass


def reap(statuses, awake=()):
    """Take leave of the children that have ended; False where there is no child left at all. Those of `awake` that were
    stopped go on."""
    try:
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG | os.WUNTRACED)
            if pid == 0:
                return True
            if os.WIFSTOPPED(status):
                if pid in awake:  # a guardian, which nobody but its program would stop
                    os.kill(pid, number_of("SIGCONT"))
            else:
                statuses[pid] = status
    except OSError:
        return False


def end_all(spared, program=None, statuses=None):
    """Kill all descendants but those spared until there are none. Those that fork meanwhile are found in the next
    round."""
    statuses = {} if statuses is None else statuses
    deadline, pause = time.time() + PATIENCE_S, 0.001
    while reap(statuses) or not LINUX:
        if program is not None and not LINUX:
            kill(os.killpg, program)
        doomed = descendants(os.getpid(), spared)
        for pid in doomed:
            kill(os.kill, pid)
        if time.time() > deadline or (not doomed and (spared or not LINUX)):
            return
        time.sleep(pause)
        pause = min(2 * pause, 0.05)


def kill(function, pid):
    try:
        function(pid, number_of("SIGKILL"))
    except OSError:
        pass


def descendants(pid, spared):
    """All processes below one, the nearest first."""
    children = children_of if os.path.exists("/proc/self/task/%d/children" % os.getpid()) else by_table().get
    found, known = [pid], set(spared)
    for one in found:
        for child in children(one) or ():
            if child not in known:
                known.add(child)
                found.append(child)
    return found[1:]


def children_of(pid):
    """From /proc/PID/task/TID/children of Linux (CONFIG_PROC_CHILDREN)."""
    found = []
    try:
        for task in os.listdir("/proc/%d/task" % pid):
            found += [int(word) for word in read("/proc/%d/task/%s/children" % (pid, task)).split()]
    except OSError:
        pass
    return found


def by_table():
    """parent -> children, of all processes."""
    pairs = []
    if LINUX:
        try:
            names = os.listdir("/proc")
        except OSError:
            names = []
        for name in names:
            words = read("/proc/%s/stat" % name).rpartition(b")")[2].split() if name.isdigit() else ()
            if len(words) > 1:
                pairs.append((int(name), int(words[1])))
    else:
        lines = [line.split() for line in said_by_ps().splitlines()]
        pairs = [(int(words[0]), int(words[1])) for words in lines if len(words) == 2]
    children = {}
    for pid, parent in pairs:
        children.setdefault(parent, []).append(pid)
    return children


def read(path):
    """A file of /proc; nothing where its process is gone."""
    try:
        with open(path, "rb", 0) as file:
            return file.read()
    except OSError:
        return b""


def said_by_ps():
    """PID and parent of all processes."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.dup2(writer, 1)
            os.execv(PS, [PS, "-axo", "pid=,ppid="])
        finally:
            os._exit(127)
    os.close(writer)
    with open(reader, "rb") as file:
        text = file.read()
    try:
        os.waitpid(pid, 0)
    except OSError:
        pass
    return text


def close_all_but(kept):
    names = ()
    for folder in ("/proc/self/fd", "/dev/fd"):
        if not names and os.path.isdir(folder):
            names = os.listdir(folder)
    for descriptor in [int(name) for name in names] or range(1024):
        if descriptor not in kept:
            try:
                os.close(descriptor)
            except OSError:
                pass


def main():
    os.setsid()
    prctl(SUBREAPER, 1)
    close_all_but((0, 1, 2, SOCKET))  # what the doctor was given by its own parent is nobody's business
    requests = _socket.socket(fileno=os.dup(SOCKET))
    os.set_inheritable(requests.fileno(), False)
    os.dup2(os.open(os.devnull, os.O_RDWR), SOCKET, False)
    while os.open(os.devnull, os.O_RDWR) < FREE - 1:
        pass
    serve(requests)


if __name__ == "__main__":
    main()
