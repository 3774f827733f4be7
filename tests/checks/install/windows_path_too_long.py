from tests.examples import linux, windows, with_error, with_torch

LONG = "ERROR: Could not install packages due to an OSError: [WinError 206] The filename or extension is too long"

BAD = {
    "WinError 206": with_error(windows(), "e136", LONG),
    "pip's hint": with_error(windows(), "e136", "This system does not have Windows Long Path support enabled"),
}
GOOD = {"Linux": with_error(linux(), "e136", LONG), "healthy": with_torch(windows(), "2.6.0+cpu")}
