from doctor.model.facts import ImportFailure
from tests.examples import linux, mac, windows, with_torch


def failing(facts, version="2.6.0+cpu", **failure):
    return with_torch(facts, version, imports=False, import_failure=ImportFailure(**failure))


BAD = {
    "a segmentation fault": failing(linux(), kind="signal", signal=11, message="Segmentation fault", stage="import"),
    "it hangs": failing(mac(), "2.6.0", kind="timed-out", message="no answer within 60 s", stage="import"),
    "it ends the process": failing(windows(), kind="exit", exit_code=3, message="exit code 3", stage="import"),
    "an exception that nobody knows": failing(linux(), kind="exception", exception="RuntimeError", message="xyzzy"),
}
GOOD = {
    "it imports": with_torch(linux(), "2.6.0+cpu"),
    "a better cause is known": failing(
        linux(),
        kind="exception",
        exception="ImportError",
        message="libtorch_cpu.so: undefined symbol: iJIT_NotifyEvent",
    ),
    "not known": linux(),
}
GOOD["the loader names the file"] = """\
Traceback (most recent call last):
  File "/data/usr/lib/python3.12/site-packages/torch/__init__.py", line 405, in <module>
    from torch._C import *
ImportError: dlopen failed: library "libabsl_log.so" not found
"""
GOOD["no word is left of the error"] = """\
Windows 10
Traceback (most recent call last):
  File "C:\\v\\lib\\site-packages\\torch\\__init__.py", line 140, in <module>
    raise err
OSError: 
"""
