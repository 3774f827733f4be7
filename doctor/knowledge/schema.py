"""What a table file must look like. A broken one is named with its table, row and field."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from doctor.knowledge.form import SCHEMA, KnowledgeError, Table
from doctor.model.symptom import KINDS, SUBJECTS

Rule = Callable[[Any], bool]


def _matching(regex: str) -> Rule:
    """Compiled when the first value comes, asked once for each text: tables repeat themselves, and start-up counts."""

    @cache
    def matches(text: str) -> bool:
        return re.fullmatch(regex, text) is not None

    return lambda value: isinstance(value, str) and matches(value)


def _or_null(rule: Rule) -> Rule:
    return lambda value: value is None or rule(value)


def _list_of(rule: Rule) -> Rule:
    return lambda value: isinstance(value, list) and all(rule(v) for v in value)


def _some(rule: Rule) -> Rule:
    return lambda value: isinstance(value, list) and bool(value) and all(rule(v) for v in value)


def _map_of(key: Rule, value: Rule) -> Rule:
    return lambda found: isinstance(found, dict) and all(key(k) and value(v) for k, v in found.items())


def _fields(rules: Mapping[str, Rule]) -> Rule:
    """An object with these fields and no others."""
    return lambda found: (
        isinstance(found, dict) and found.keys() == rules.keys() and all(r(found[k]) for k, r in rules.items())
    )


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0


def _amount(value: Any) -> bool:
    return value == 0 or _number(value)


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _balance(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _ratio(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


def _learned(value: Any) -> bool:
    """Terms, each between two "|" (doctor/knowledge/words.py)."""
    term = re.compile(r"[^~|]+~\d+~(?:\d{1,3}:-?\d{1,4}(?: |$))*")
    terms = value.split("|") if isinstance(value, str) else []
    return len(terms) > 1 and not terms[0] and not terms[-1] and all(term.fullmatch(one) for one in terms[1:-1])


def _real(value: Any) -> bool:
    return isinstance(value, float)


def _numbers(value: Any) -> bool:
    """Bytes in base 64 (doctor/knowledge/phrases.py)."""
    return isinstance(value, str) and re.fullmatch(r"[A-Za-z0-9+/]+=*", value) is not None


def _truth(value: Any) -> bool:
    return isinstance(value, bool)


def _link(value: Any) -> bool:
    return isinstance(value, str) and value.startswith("https://") and value.isprintable() and " " not in value


def _code(value: Any) -> bool:
    """[number or null, name, class]."""
    return (
        isinstance(value, list)
        and len(value) == 3
        and (value[0] is None or (isinstance(value[0], int) and not isinstance(value[0], bool)))
        and isinstance(value[1], str)
        and bool(value[1])
        and isinstance(value[2], str)
    )


def _sentence(value: Any) -> bool:
    return isinstance(value, str) and 10 <= len(value) <= 110 and value.isprintable()


def _prose(value: Any) -> bool:
    return isinstance(value, str) and 10 <= len(value) <= 240 and value.isprintable() and value.endswith(".")


def _told(value: Any) -> bool:
    return isinstance(value, bool | str) and value != ""


def _regex(value: Any) -> bool:
    return isinstance(value, str) and bool(value)  # whether it compiles is for check_patterns: that costs time


PLATFORM = _matching(r"(linux_(x86_64|aarch64)|macos_(arm64|x86_64)|win_(amd64|arm64))")
VERSION = _matching(r"\d+(\.\d+)+")
POST_VERSION = _matching(r"\d+(\.\d+)+(\.post\d+)?")
DRIVER = _matching(r"\d+(\.\d+)*")
DATE = _matching(r"\d{4}-\d\d-\d\d")
PYTHONS = _matching(r"3\.\d+t?( 3\.\d+t?)*")
ANY_PYTHONS = _matching(r"any|3\.\d+t?( 3\.\d+t?)*")
BACKEND = _matching(r"cpu|mps|xpu|cu\d{2,3}|rocm\d+(\.\d+)+")
FACT = _matching(r"[a-z]+\.[a-z_]+")
ARCHS = _matching(r"((sm|compute)_\d+[af]?|gfx[0-9a-f]+)( ((sm|compute)_\d+[af]?|gfx[0-9a-f]+))*")
SPECIFIER = _matching(r"(==|>=|~=|<=|<|>|!=)\d+(\.\d+)*(,(==|>=|~=|<=|<|>|!=)\d+(\.\d+)*)*")
STATUS = _matching(r"verified|single|derived")
SURENESS = _matching(r"verified|derived")
SYSTEM = _matching(r"linux|darwin|windows")
ACCELERATOR = _matching(r"cuda|rocm|xpu")
CAPABILITY = _matching(r"\d+\.\d")
GFX = _matching(r"gfx[0-9a-f]+")
VENDOR = _matching(r"nvidia|amd|intel|apple")
KIND = _matching(r"fp32|tf32|fp16|bf16")
SCOPE = _matching(r"node|between")
SYMPTOM = _matching("|".join(KINDS))
SUBJECT = _matching("|".join(SUBJECTS))
PRECISION = _matching(r"fp32|tf32|fp16|bf16|fp64")
PHASE = _matching(r"training|inference|generation|forward|backward|forward-backward|product|not-stated")
QUANTITY = _matching(r"epoch_s|step_ms|samples_per_s|speedup|tflops")
DEVICE = _matching(r"cpu|cuda|mps|xpu|hpu")
BLAME = _matching(r"wrong|not-comparable")
WORKLOAD = _matching(r"[a-z0-9]+([-_][a-z0-9]+)*")
ID = _matching(r"[a-z0-9.-]+")
SYMPTOM_ID = _matching(r"[a-z0-9]+(?:-[a-z0-9]+)*(?:/[a-z]+)?")
CAUSE = _matching(r"[a-z0-9]+(-[a-z0-9]+)*")
PINS = _matching(r"[a-z0-9-]+==[0-9.]+( [a-z0-9-]+==[0-9.]+)*")
FLAGS = _matching(r"[ims]*")
HARM = _matching(r"breaks|slows")
VARIABLE = _matching(r"[A-Z][A-Z0-9_]*")
OPTION = _matching(r"[a-z][a-z0-9_]*")
HEX = _matching(r"[0-9a-f]{4}")
NAME = _matching(r"[a-z0-9]+(-[a-z0-9]+)*")
URL = _matching(r"https://[a-z0-9.-]+/[A-Za-z0-9._~/-]*")
ERRATUM_KIND = _matching(r"wrong-result|nan|crash|leak|hang|slow|import|install|error")
ERRATUM_BACKEND = _matching(r"cpu|cuda|rocm|mps|xpu")
SEVERITY = _matching(r"grave|moderate|minor")
CERTAINTY = _matching(r"verified|single|unclear")
PLAIN_SPECIFIER = _matching(r"|(==|>=|<=|<|>|!=)\d+(\.\d+)*(,(==|>=|<=|<|>|!=)\d+(\.\d+)*)*")  # needs no packaging
PARTNER = _matching(r"[a-z0-9]+([-._][a-z0-9]+)*")
CPU = _matching(r"-?[a-z][a-z0-9_]*")
FUNCTION = _matching(r"[a-z][a-z0-9_]*")

# table -> list of rows, or one row -> (fields that must be there, fields that may be)
_CITED: Mapping[str, Rule] = {"sources": _list_of(_text), "status": STATUS}
SPECS: Mapping[str, Mapping[str, tuple[Mapping[str, Rule], Mapping[str, Rule]]]] = {
    "releases": {
        "rows": (
            {
                "torch": VERSION, "date": DATE,
                "wheels": _map_of(PLATFORM, _map_of(_text, PYTHONS)), "cuda_builds": _map_of(PLATFORM, BACKEND),
                "numpy_2": _list_of(SYSTEM), "mps_minimum": _or_null(VERSION), "conda_channel": _truth, **_CITED,
            },
            {"note": _text},
        )
    },
    "companions": {
        "rows": (
            {"package": CAUSE, "version": POST_VERSION, "for": _or_null(VERSION), "torch": SPECIFIER, **_CITED},
            {"spec": SPECIFIER, "wheels": _map_of(PLATFORM, ANY_PYTHONS), "note": _text},
        )
    },
    "builds": {
        "rows": (
            {"torch": VERSION, "backend": BACKEND, "platforms": _map_of(PLATFORM, SURENESS), **_CITED},
            {"pythons": _map_of(PLATFORM, PYTHONS), "note": _text},
        ),
        "rules": ({"id": ID, "rule": _text}, {}),
    },
    "archs": {
        "rows": (
            {"torch": VERSION, "backend": BACKEND, "platform": PLATFORM, "archs": ARCHS, **_CITED},
            {"note": _text},
        ),
        "overrides": (
            {"gfx": GFX, "value": _or_null(VERSION), "stands_for": _or_null(GFX), "sound": _truth, **_CITED},
            {"note": _text},
        ),
    },
    "drivers": {
        "needs": ({"cuda": VERSION, "linux": DRIVER, "windows": DRIVER, **_CITED}, {"note": _text}),
        "majors": ({"major": _whole, "linux": DRIVER, "windows": DRIVER, **_CITED}, {"note": _text}),
        "branches": (
            {"branch": _whole, "cuda": VERSION, "linux": DRIVER, "windows": _or_null(DRIVER), **_CITED},
            {"note": _text},
        ),
        "generations": (
            {
                "capability": DRIVER, "first": _or_null(_whole), "last": _or_null(_whole), "architecture": _text,
                **_CITED,
            },
            {"note": _text},
        ),
    },
    "gpus": {
        "patterns": (
            {"vendor": VENDOR, "pattern": _regex, "literals": _list_of(_text), "architecture": _text, **_CITED},
            {"capability": CAPABILITY, "gfx": GFX, "xpu": _or_null(_truth), "note": _text},
        ),
        "pci": (
            {"vendor": VENDOR, "first": HEX, "last": HEX, "architecture": _text, **_CITED},
            {"capability": CAPABILITY, "gfx": GFX, "xpu": _or_null(_truth), "note": _text},
        ),
    },
    "peaks": {
        "rows": (
            {
                "vendor": VENDOR, "name": _text, "memory_gb": _or_null(_number), "bandwidth_gbs": _or_null(_number),
                "fp32": _or_null(_number), "tf32": _or_null(_number), "fp16": _or_null(_number),
                "bf16": _or_null(_number), "fp8": _or_null(_number), **_CITED,
            },
            {"capability": CAPABILITY, "gfx": GFX, "gpu_cores": _list_of(_whole), "note": _text},
        )
    },
    "speeds": {
        "references": ({"name": _text, "kind": KIND, "tflops": _number, **_CITED}, {"note": _text}),
        "families": (
            {"family": _text, "vendor": VENDOR, "models": _list_of(_text), "parts": _map_of(KIND, _number), **_CITED},
            {"note": _text, "except": _list_of(_text)},
        ),
    },
    "fabrics": {
        "all_reduce": (
            {"name": _text, "scope": SCOPE, "algorithm": _or_null(_text), "busbw_gbs": _number, **_CITED},
            {"note": _text},
        ),
    },
    "published": {
        "works": (
            {"id": NAME, "title": _text, "address": _or_null(URL), "suites": _list_of(NAME), "about": _text, **_CITED},
            {"note": _text},
        ),
        "caveats": ({"id": NAME, "means": _text, "wrong": _truth, **_CITED}, {"note": _text}),
        "known": (
            {
                "id": NAME, "work": NAME, "kind": BLAME, "claim": _text, "reason": _text, "factor": _or_null(_number),
                "see": _text, **_CITED,
            },
            {"note": _text},
        ),
        "rows": (
            {
                "work": NAME, "workload": _or_null(WORKLOAD), "model": _text, "phase": PHASE, "device": DEVICE,
                "machine": _text, "batch": _or_null(_whole), "dtype": PRECISION, "really": _or_null(PRECISION),
                "quantity": QUANTITY, "value": _number, "samples": _or_null(_whole), "torch": _or_null(_text),
                "caveats": _list_of(NAME), **_CITED,
            },
            {"accuracy_percent": _amount, "note": _text},
        ),
    },
    "macos": {
        "darwin": ({"darwin": DRIVER, "macos": DRIVER, **_CITED}, {"note": _text}),
        "names": ({"name": _text, "macos": DRIVER, **_CITED}, {}),
        "dtypes": ({"what": _text, "rule": _text, "source": _text, "status": STATUS}, {}),
    },
    "messages": {
        "rows": (
            {"id": ID, "regex": _regex, "flags": FLAGS, "causes": _list_of(CAUSE), "kind": SYMPTOM, "subject": SUBJECT,
             "example": _text, "literals": _list_of(_text), "versions": _text, "source": _text,
             "evidence": _list_of(_text), "status": STATUS},
            {"harmless": _truth, "note": _text, "states": _map_of(FACT, _told), "unless": _regex, "means": _prose,
             "matters": _prose, "remedy": _prose, "doubtful": _truth},
        )
    },
    "codes": {
        "classes": (
            {"id": CAUSE, "kind": SYMPTOM, "subject": SUBJECT, "means": _text, "causes": _list_of(CAUSE), "next": _text,
             "command": _text},
            {"note": _text},
        ),
        "vocabularies": (
            {"id": _text, "of": _text, "subject": SUBJECT, "plain": _truth, "written": _list_of(_regex),
             "words": _map_of(_text, _text), "said": _map_of(_text, _text), "codes": _list_of(_code), **_CITED},
            {"note": _text},
        ),
    },
    "causes": {
        "rows": ({"symptom": SYMPTOM_ID, "counts": _map_of(CAUSE, _whole), **_CITED}, {"note": _text}),
    },
    "words": {
        "causes": ({"cause": CAUSE, "tickets": _whole, "bias": _balance, **_CITED}, {}),
        "terms": ({"lines": _learned}, {}),
    },
    "phrases": {
        "causes": ({"cause": CAUSE, "begins": _real, **_CITED}, {}),
        "shares": ({"odds": _ratio, "share": _ratio}, {}),
        "pieces": ({"lines": _text}, {}),
        "network": ({"part": NAME, "numbers": _numbers}, {"scale": _real}),
    },
    "interfaces": {
        "names": ({"name": _text, "since": VERSION, **_CITED}, {"note": _text}),
        "removed": ({"name": _text, "removed": VERSION, **_CITED}, {"note": _text}),
        "devices": ({"name": _text, "since": VERSION, **_CITED}, {"note": _text}),
        "present": ({"module": _text, "release": VERSION, "names": _list_of(_text), **_CITED}, {"note": _text}),
    },
    "libraries": {
        "system": ({"library": _text, "package": _text, **_CITED}, {"note": _text}),
        "nvidia": ({"library": _text, "part": NAME, **_CITED}, {"note": _text}),
        "own": (
            {
                "library": _text, "first": VERSION, "last": _or_null(VERSION), "kind": _or_null(ACCELERATOR), **_CITED,
            },
            {"note": _text},
        ),
    },
    "system_packages": {
        "managers": ({"manager": NAME, "systems": _list_of(NAME), "install": _text}, {}),
        "packages": (
            {"name": _text, "what": _text, "names": _map_of(NAME, _text), **_CITED},
            {"since": _map_of(NAME, DRIVER), "repository": _map_of(NAME, URL), "note": _text},
        ),
        "drivers": (
            {
                "system": NAME, "versions": _list_of(DRIVER), "branch": _or_null(_whole), "commands": _list_of(_text),
                "first": _or_null(CAPABILITY), "last": _or_null(CAPABILITY), "before": _text, **_CITED,
            },
            {"note": _text},
        ),
    },
    "variables": {
        "rows": (
            {"name": VARIABLE, "value": _regex, "harm": HARM, "accelerator": ACCELERATOR, "messages": _list_of(ID),
             "effect": _text, **_CITED},
            {"note": _text},
        ),
        "allocator_options": ({"name": OPTION, "since": VERSION, **_CITED}, {"note": _text}),
    },
    "downloads": {
        "rows": ({"torch": VERSION, "mb": _map_of(PLATFORM, _map_of(BACKEND, _whole)), **_CITED}, {"note": _text})
    },
    "pins": {"rows": ({"torch": VERSION, "backend": BACKEND, "pins": PINS, **_CITED}, {"note": _text})},
    "errata": {
        "rows": (
            {
                "id": CAUSE, "title": _sentence, "kind": ERRATUM_KIND, "versions": PLAIN_SPECIFIER,
                "backends": _some(ERRATUM_BACKEND), "ops": _list_of(_text), "symptom": _text, "severity": SEVERITY,
                "fixed_in": _or_null(VERSION), "workaround": _text, "sources": _some(_link), "status": CERTAINTY,
                "looked": DATE,
            },
            {
                "nightlies": _list_of(_or_null(DATE)), "devices": _some(_text), "cpu": _some(CPU),
                "systems": _map_of(SYSTEM, PLAIN_SPECIFIER), "needs": _map_of(PARTNER, PLAIN_SPECIFIER),
                "message": _text, "shared": _truth, "trigger": FUNCTION,
            },
        )
    },
    "vendors": {
        "therock": (
            {"index": URL, "seen": DATE, "linux": _list_of(GFX), "windows": _list_of(GFX), **_CITED},
            {"linux_unproven": _list_of(GFX), "windows_unproven": _list_of(GFX), "note": _text},
        ),
        "rocm_blas": ({"gfx": GFX, "until": VERSION, **_CITED}, {"note": _text}),
        "xpu_since": ({"architecture": _text, "torch": VERSION, **_CITED}, {"note": _text}),
        "jetson": (
            {
                "l4t": _whole, "jetpack": DRIVER, "cuda": VERSION, "python": _or_null(VERSION), "index": _or_null(URL),
                "page": _or_null(URL), "torch": _or_null(VERSION), **_CITED,
            },
            {"note": _text},
        ),
        "conda_forge": (
            {
                "seen": DATE, "platforms": _map_of(PLATFORM, _fields({"cuda": _list_of(VERSION)})),
                "archs": _map_of(DRIVER, ARCHS),
                "packages": _fields({"cuda": NAME, "cpu": NAME, "mps": NAME}), **_CITED,
            },
            {"note": _text},
        ),
        "uv_backends": ({"names": _list_of(BACKEND), **_CITED}, {"note": _text}),
    },
}  # fmt: skip
ONE_ROW = {("vendors", "therock"), ("vendors", "conda_forge"), ("vendors", "uv_backends")}


def check_table(data: Any, name: str) -> Table:
    """The data as the table `name`, or KnowledgeError with the row and the field."""
    file = f"{name}.json"
    if not isinstance(data, dict):
        raise KnowledgeError(file, "is not an object")
    if data.get("schema") != SCHEMA:
        raise KnowledgeError(file, f"has schema {data.get('schema')!r}; this torchdoctor reads schema {SCHEMA}")
    if data.get("table") != name:
        raise KnowledgeError(file, f"field table: is {data.get('table')!r}, not {name!r}")
    if not DATE(data.get("date")):
        raise KnowledgeError(file, f"field date: {data.get('date')!r} is not a date")
    sources: Any = data.get("sources")
    if not _map_of(_text, _text)(sources):
        raise KnowledgeError(file, "field sources: is not a map of texts")
    for group, (needed, optional) in SPECS[name].items():
        rows = data.get(group)
        if (name, group) in ONE_ROW:
            _check_row(f"{file}, {group}", rows, needed, optional, sources)
            continue
        if not isinstance(rows, list):
            raise KnowledgeError(file, f"field {group}: is not a list of rows")
        for number, row in enumerate(rows, 1):
            _check_row(f"{file}, {group}, row {number}", row, needed, optional, sources)
    return data


def _check_row(
    where: str, row: Any, needed: Mapping[str, Rule], optional: Mapping[str, Rule], sources: Mapping[str, str]
) -> None:
    if not isinstance(row, dict):
        raise KnowledgeError(where, "is not an object")
    for field, rule in needed.items():
        if field not in row:
            raise KnowledgeError(where, f"field {field}: is missing")
        if not rule(row[field]):
            raise KnowledgeError(where, f"field {field}: {row[field]!r} is not allowed")
    for field, value in row.items():
        if field in needed:
            continue
        if field not in optional:
            raise KnowledgeError(where, f"field {field}: is not known")
        if not optional[field](value):
            raise KnowledgeError(where, f"field {field}: {value!r} is not allowed")
    for key in row.get("sources", ()):
        if key not in sources and not key.startswith("https://"):
            raise KnowledgeError(where, f"field sources: {key!r} is not among the table's sources")


def check_patterns(data: Table, name: str) -> None:
    """That every regular expression of a table compiles, and that its prefilter lets every match through. Not done at
    each start but once, for tables that come in and by the tests for the built-in ones."""
    from doctor.knowledge.literals import flags_of, lets_through

    for group, rows in data.items():
        for number, row in enumerate(rows, 1) if isinstance(rows, list) else ():
            field = next((f for f in ("regex", "pattern") if f in row), None)
            if field is None:
                continue
            where, flags = f"{name}.json, {group}, row {number}", row.get("flags", "")
            try:
                re.compile(row[field], flags_of(flags))
            except re.error as error:
                raise KnowledgeError(where, f"field {field}: {error}") from None
            if not lets_through(row["literals"], row[field], flags):
                raise KnowledgeError(where, f"field literals: {field} can match without them")
