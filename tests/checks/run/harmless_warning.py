from dataclasses import replace

from tests.examples import linux, of_a_text, with_error, with_torch

FLASH = "UserWarning: 1Torch was not compiled with flash attention."

BAD: dict[str, object] = {}  # told when all checks have answered: see tests/accounting/test_harmless.py
GOOD = {
    "no judge of its own": of_a_text(
        with_error(with_torch(linux(), "2.6.0+cu124"), "attention-kernel-left-out", FLASH)
    ),
    "nothing was said": of_a_text(with_torch(linux(), "2.6.0+cu124")),
    "a live machine": replace(with_error(with_torch(linux(), "2.6.0+cpu"), "attention-kernel-left-out", FLASH), live=True),
}
