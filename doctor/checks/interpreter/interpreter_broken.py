"""The environment's Python does not start.

What it means
    A virtual environment borrows its Python: when that is removed or upgraded, or the environment is moved, it stops
    working. A wrong PYTHONHOME has the same effect: Python does not find its own standard library.

How to see it yourself
    Run the environment's python --version; ls -l of it shows a dead link; pyvenv.cfg names the Python that it was made
    from.

What to do
    Make the environment again with a Python that is there. Unset PYTHONHOME if it is set.

References
    https://docs.python.org/3/library/venv.html
    https://docs.python.org/3/using/cmdline.html#envvar-PYTHONHOME
"""

from __future__ import annotations

from dataclasses import replace

from doctor.checks import Check, Fit, Judgement
from doctor.checks._machine import heard, imported
from doctor.checks._torch import quote
from doctor.knowledge import lookup
from doctor.model.facts import Facts, Held, StartFailure
from doctor.model.finding import Evidence, Remedy

AGAIN = Remedy(
    action="replace-interpreter",
    text="Make the environment again with a Python that is there, and install torch in it.",
)

check = Check(
    severity="fault",
    needs=("interpreter.start_failure",),
    keeps_from=("nvidia", "amd", "intel", "apple"),
    usual=(AGAIN,),
    explains=("torch-missing", "pip-missing", "wrong-environment", "torch-import-crashes"),
)

WHAT = {
    "dead-link": "is a link to a Python that is no longer there",
    "missing-base": "belongs to an environment whose base Python is gone",
    "permission": "may not be run by this user",
    "crashed": "crashes when it starts",
    "timed-out": "does not come up within the time limit",
    "exited": "ends at once instead of running a program",
}


@check
def judge(facts: Facts) -> Judgement:
    failure = facts.interpreter.start_failure
    home = "PYTHONHOME" in (facts.environ or {})
    unset = (Remedy(action="unset-env", details={"name": "PYTHONHOME"}),) if home else ()
    if isinstance(failure, StartFailure):
        if failure.kind not in WHAT:
            return None  # nothing to examine (not found, no Python) or too old: not this diagnosis
        return check.found(
            facts,
            f"{facts.interpreter.executable or 'The Python'} {WHAT[failure.kind]}: {failure.message}",
            evidence=(
                "interpreter.executable",
                Evidence(fact="how it ended", value=failure.kind, source="start of the Python", quote=failure.message),
            ),
            remedies=(*unset, _as_it_was(facts)),
            signal=failure.signal,
            exit_code=failure.exit_code,
        )
    if failure is not None and facts.live:
        return None
    error = heard(facts, "python-fatal-at-start")
    if error is None:
        return None
    return check.found(
        facts,
        f"The Python of this environment does not start: {error.text}",
        evidence=(quote(error), "interpreter.executable"),
        remedies=(*unset, AGAIN),
    )


def _as_it_was(facts: Facts) -> Remedy:
    """The environment again, with the Python and the torch that its files still name."""
    held = facts.interpreter.held
    if not isinstance(held, Held):
        return AGAIN
    details = {"python": ".".join(held.python.split(".")[:2])} if held.python else {}
    if held.torch:
        platform = lookup.platform_of(facts.host.system, facts.interpreter.architecture or facts.host.architecture)
        build = lookup.build_of(held.torch, platform=platform)
        if not build.nightly:
            details |= {"torch": f"=={build.release}", **({"backend": build.backend} if build.backend else {})}
    return replace(AGAIN, details=details)


@check.fit
def fits(facts: Facts) -> Fit | None:
    return Fit(0, "this Python ran torch") if imported(facts) else None
