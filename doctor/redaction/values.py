"""What a value looks like: one that somebody made up, a random one, or none that could be a secret."""

from __future__ import annotations

import re
from itertools import pairwise

from doctor.redaction.words import is_ordinary, vocabulary
from doctor.regex import Regex

NOT_SECRET = Regex(
    r"""(?:none|null|nil|true|false|yes|no|on|off|n/?a|required|missing|invalid|expired|empty|unset|undefined|redacted
        |\W*|[*xX•.…_#-]{2,}|<[\w .|/-]{0,40}>|\[[\w .-]{0,40}\]|\{[\w.-]{0,40}\}|\$\{?[\w.:-]{1,60}\}?|%\w{1,60}%
        |\$env:\w{1,60}|\$\([^)]{0,80}\)?|\$\{\{[^}]{0,80}\}?\}?|os\.(?:environ|getenv).{0,80}|your[-_ ].{0,40}
        |\*{3,}.{0,4}
        |\(?(?:un)?set\)?|not|[A-Za-z_][\w.]{0,60}\([^)]{0,80}\)?)\Z""",
    re.IGNORECASE | re.VERBOSE,
)

LIKE_PASSWORD = Regex(r"(?=[^\s]{0,60}\d)(?=[^\s]{0,60}[A-Za-z])[^\s/~|,;()\[\]\"'`<][^\s|,;()\[\]\"'`<>]{5,199}")
VERSION = Regex(
    r"v?\d+\.\d|--?[a-z]+v?\d{1,2}\Z|v\d{1,3}\Z"
    r"|.{0,60}\.(?:py|cfg|txt|toml|json|ya?ml|ini|c|h|cpp|rs|md)\b",
    re.IGNORECASE,
)
HEX = Regex(r"[0-9a-f]{32,}\Z|[0-9A-F]{32,}\Z")
_PLAIN_RUN = Regex(r"[A-Z]?[a-z]{3,}|[A-Z]{5,}")
_CLASSES = {**dict.fromkeys("0123456789", "d"), **dict.fromkeys("abcdefghijklmnopqrstuvwxyz", "l")}


_AMOUNT = Regex(r"[+-]?\d[\d.,]*(?:[a-zA-Z%]{1,3}|[kMG]?i?[bB](?:/s|ps)?)\Z")


def like_password(word: str) -> bool:
    """Whether a word has letters and digits as a password may have, and is no version, file, amount or name."""
    found = LIKE_PASSWORD.match(word)
    if found is None or found.end() != len(word) or VERSION.match(word) or _AMOUNT.match(word):
        return False
    return not is_ordinary(word) and not word.endswith(":") and "=" not in word and not NOT_SECRET.match(word)


def looks_made_up(value: str) -> bool:
    """Whether a value of a key such as «token» is one that somebody or something made up: no word, number or mark."""
    value = value.strip("\"'`,;()[]{}<>|.")
    if len(value) < 4 or value.replace(".", "").replace("_", "").replace(",", "").lstrip("+-").isdigit():
        return False
    if all(not part or len(part) == 1 or part.lower() in vocabulary() for part in re.split(r"[\W_\d]+", value)):
        return any(c.isdigit() for c in value) and any(c.isalpha() for c in value) and len(value) >= 8
    if value.isalpha() and (value.islower() or value.istitle() or value.isupper()):
        return len(value) >= 20
    return any(c.isdigit() for c in value) or not value.isidentifier() or len(value) >= 12


def lowered(text: str) -> str:
    """The text in lower case, as long as it is: ignoring case makes an expression slow."""
    lower = text.lower()
    return lower if len(lower) == len(text) else "".join(c.lower() if len(c.lower()) == 1 else c for c in text)


def trimmed(text: str, start: int, end: int) -> int:
    """The end without the punctuation of the sentence or the structure around it."""
    opened = text[start:end]
    while end > start and (
        text[end - 1] in "\"'`,;.>"
        or (
            text[end - 1] in ")]}"
            and opened.count(text[end - 1]) > opened.count({")": "(", "]": "[", "}": "{"}[text[end - 1]])
        )
    ):
        end -= 1
    return end


def _is_readable(run: str) -> bool:
    """Whether letters in one case could be a word or a part of one."""
    vowels = sum(c in "aeiouAEIOU" for c in run)
    return run.lower() in vocabulary() or (len(run) >= 4 and len(run) <= 5 * vowels <= 3.5 * len(run))


def looks_random(text: str) -> bool:
    """Whether letters and digits are mixed as no name mixes them. Sixteen characters at least."""
    core = "".join(c for c in text if c.isalnum() and c.isascii())
    if len(core) < 16 or core.startswith("ZN"):
        return False
    if HEX.match(core):
        return len(set(core)) >= 8 and any(c.isdigit() for c in core) and any(c.isalpha() for c in core)
    digits = sum(c.isdigit() for c in core)
    classes = [_CLASSES.get(c, "u") for c in core]
    turns = sum(a != b for a, b in pairwise(classes))
    plain = sum(len(run) for run in _PLAIN_RUN.findall(core) if _is_readable(run))
    if plain > 0.45 * len(core) or len(set(core)) < 9:
        return False
    if not digits:
        return len(core) >= 26 and len(set(classes)) == 2 and turns >= 0.33 * len(core)
    mixed = len(set(classes)) == 3
    return digits >= (1 if mixed else 4) and turns >= 0.3 * len(core) and (mixed or len(core) >= 20)
