"""What is an ordinary word: nobody's name when it stands alone. A user may be called pip, the, or GeForce."""

from __future__ import annotations

import re
import sys
from functools import cache
from itertools import chain
from pathlib import Path

from doctor.regex import Regex

# Accounts of images and services: they say nothing about anybody, and stay even in a home folder.
ACCOUNTS = frozenset(
    """
    root user users admin administrator ubuntu debian fedora centos arch rocky almalinux ec2-user azureuser opc vagrant
    docker runner runneradmin runner-admin jovyan coder vscode codespace gitpod builder build conda mamba miniconda3
    anaconda3 linuxbrew homebrew app nobody nonroot default guest public shared test tester dev worker ray airflow
    jenkins gitlab-runner travis colab kaggle sagemaker sagemaker-user nvidia amd intel pytorch www-data daemon system
    localhost localdomain all-users defaultuser0 containeradministrator containeruser home mambauser micromamba nixbld
    """.split()  # noqa: SIM905
)
_STAND_IN = Regex(r"(?:user|host|secret|ip|mac|email|serial|uuid|id|GPU-|bucket)\d+\Z", re.IGNORECASE)
_HERE = Path(__file__).parent


@cache
def vocabulary() -> frozenset[str]:
    """Lower-case words: words.txt, those of the knowledge tables (GPUs, packages, messages; scripts/generate.py writes
    them into known.txt), Python's own modules."""
    lines = "\n".join(_HERE.joinpath(name).read_text(encoding="utf-8") for name in ("words.txt", "known.txt"))
    words = (line.split() for line in lines.splitlines() if not line.startswith("#"))
    return frozenset(chain(map(str.lower, sys.stdlib_module_names), *words))


def is_ordinary(text: str) -> bool:
    """Whether every part of a name is an ordinary word or a number: «pip», «RTX», «gpu-node», «python3»."""
    parts = [part.strip("0123456789") for part in re.split(r"[-_.\s]+", text.lower())]
    words = [part for part in parts if len(part) > 1]
    return bool(words) and all(word in vocabulary() or word.removesuffix("s") in vocabulary() for word in words)


def is_plain(text: str) -> bool:
    """Whether a text says nothing even as a password's: words without numbers, a number, a mark."""
    mixed = any(c.isdigit() for c in text) and any(c.isalpha() for c in text)
    return not mixed and (is_ordinary(text) or re.fullmatch(r"[\d.,:]{1,8}|[\W_]+", text) is not None)


def is_public_account(name: str) -> bool:
    """Whether a user's name is one that everybody has, or one of our stand-ins."""
    return name.lower() in ACCOUNTS or is_stand_in(name)


def is_stand_in(text: str) -> bool:
    """Whether a text is what redaction puts in place of another."""
    return _STAND_IN.match(text) is not None
