"""A second interpreter for what may crash, hang or start programs: it is ended with all that it started.

A script says lines on its stdout: "ok NAME", "raised NAME: class: message" (function `attempt` of PREAMBLE), or words
of its own. A crash is then that of the last name that was begun.
"""

import os
import signal
import subprocess
import sys
import time

TAIL = 1500
PREAMBLE = r"""
import sys


def say(word, name, text=""):
    print("@@%s %s: %s" % (word, name, " ".join(str(text).split())))
    sys.stdout.flush()


def attempt(name, work):
    say("begin", name)
    try:
        said = work()
    except Exception as error:
        cause = error.__cause__
        why = " (from %s: %s)" % (type(cause).__name__, cause) if cause is not None else ""
        say("raised", name, "%s: %s%s" % (type(error).__name__, error, why))
    else:
        say("ok", name, "" if said is None else said)
"""


def within(probe, limit_s, parts=1):
    """Seconds for one of so many scripts of a stage. Less than the stage has: who kills us lets us remove nothing."""
    return limit_s if probe.limit_s is None else min(limit_s, max(1.0, 0.9 * probe.limit_s - 1) / parts)


def run(script, arguments, limit_s, environ=None):
    """Lines (word, name, text) that a script said, in order, and an ending: None where it ended well, else words."""
    started = start(script, arguments, environ)
    return finish(started, limit_s)


def start(script, arguments, environ=None):
    argv = [sys.executable, "-B", "-X", "faulthandler", "-c", PREAMBLE + script] + [str(a) for a in arguments]
    own = {"start_new_session": True} if os.name == "posix" else {}
    return subprocess.Popen(
        argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env=dict(os.environ, **(environ or {})), **own
    )


def finish(child, limit_s):
    began = time.time()
    try:
        out, err = child.communicate(timeout=limit_s)
        late = False
    except subprocess.TimeoutExpired:
        late = True
        end(child)
        out, err = child.communicate()
    end(child)
    lines = []
    for line in out.decode("utf-8", "replace").splitlines():
        if line.startswith("@@"):
            word, _, rest = line[2:].partition(" ")
            name, _, text = rest.partition(": ")
            lines.append((word, name.rstrip(":"), text))
    if late:
        return lines, "TimeoutError: it took longer than %d s" % (time.time() - began)
    if child.returncode == 0:
        return lines, None
    return lines, ending(child.returncode, err.decode("utf-8", "replace"))


def end(child):
    """End a script with all that it started."""
    if os.name != "posix":
        if child.poll() is None:
            child.kill()
        return
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except OSError:
        pass


def ending(code, err):
    """How a script ended that did not end well: a signal, or the last line that it wrote."""
    said = [line for line in err.splitlines() if line.strip()]
    fatal = next((line for line in said if line.startswith(("Fatal Python error", "Windows fatal exception"))), "")
    if code < 0:
        names = dict((number.value, number.name) for number in signal.Signals)
        text = "it was ended by signal %d (%s)" % (-code, names.get(-code, "unknown"))
        return text + (": " + fatal.partition(": ")[2] if fatal else "")
    last = " ".join(said[-1].split())[-TAIL:] if said else ""
    return last or "it ended with exit code %d" % code


def open_name(lines):
    """The name that was begun and has not ended."""
    begun = [name for word, name, _ in lines if word == "begin"]
    ended = [name for word, name, _ in lines if word in ("ok", "raised")]
    return begun[-1] if len(begun) > len(ended) else None


STAGES = ()
