from tests.examples import linux, of_a_text, with_torch

BAD: dict[str, object] = {}  # told when all checks have answered: see tests/accounting/test_resemblance.py
GOOD = {
    "no judge of its own": of_a_text(with_torch(linux(), "2.6.0+cu124")),
    "a live machine": with_torch(linux(), "2.6.0+cu124"),
}
