"""Facts that somebody read and hands over: `check --facts FILE`, `doctor.judge`, the MCP tool `judge`.

Whoever reads prose better than patterns do, a person or an agent, states what a ticket says, each fact with the words
that it was read from, and gets the same accounted verdict as for any other evidence:

    {"schema": "facts-1",
     "facts": [{"fact": "torch.version", "value": "2.6.0+cu124", "quote": "I have torch 2.6.0+cu124"},
               {"fact": "nvidia.driver", "value": {"absent": true}, "quote": "the driver is not installed"},
               {"fact": "environ.CUDA_VISIBLE_DEVICES", "value": "", "quote": "CUDA_VISIBLE_DEVICES="}],
     "messages": ["RuntimeError: No CUDA GPUs are available"]}

`fact` is a dotted name under `facts` of the report schema; `{"absent": true}` is «looked for, and not there»; messages
are error lines, verbatim. Strict, unlike the reader of our own reports: a fact that does not exist is a typing error,
not a newer version, and a verdict without it would be a verdict on something else.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import replace
from difflib import get_close_matches
from functools import cache
from typing import Any, get_args, get_type_hints

from doctor.decode import Refused, check_shapes, decode_fields, loads
from doctor.model.facts import Facts, Origin
from doctor.model.request import Stated

SCHEMA = "facts-1"
GROUPS = ("host", "interpreter", "torch", "nvidia", "amd", "intel", "metal")  # their fields can be stated one by one
WHOLE = ("torch", "packages", "gpus", "environ", "attempts", "operations")  # can be stated as a whole
FACTS_AT_MOST = 1000
MESSAGES_AT_MOST = 200
LINE_AT_MOST = 2000  # characters of a message or a quote


def parse(data: str | bytes | Mapping[str, object], name: str = "facts") -> Stated:
    """The stated facts of a JSON text, or of what it decodes to. Raises Refused (a ValueError) with one line that
    names what is wrong."""
    said = loads(data if isinstance(data, (str, bytes)) else _as_json(data))
    if not isinstance(said, Mapping):
        raise Refused("it is not an object")
    if said.get("schema") != SCHEMA:
        raise Refused(f'its "schema" is not "{SCHEMA}"')
    if unknown := sorted(map(str, said.keys() - {"schema", "facts", "messages"})):
        raise Refused(f'there is no key "{unknown[0][:60]}": only schema, facts and messages')
    stated = _list(said, "facts", FACTS_AT_MOST)
    messages = tuple(_line(one, f"messages[{i}]") for i, one in enumerate(_list(said, "messages", MESSAGES_AT_MOST)))
    named: dict[str, object] = {}
    origins: dict[str, Origin] = {}
    for number, one in enumerate(stated):
        fact, value, quote = _stated(one, f"facts[{number}]")
        if fact in named:
            raise Refused(f"{fact} is stated twice")
        named[fact] = value
        origins[fact] = Origin(source=name, quote=quote)
    return Stated(name=name, values=_typed(named), origins=origins, messages=messages)


def over(facts: Facts, stated: Stated) -> Facts:
    """The facts with what was stated in place of what was read, and without the gaps that it closes."""
    whole = {fact: value for fact, value in stated.values.items() if "." not in fact}
    facts = replace(facts, **whole)  # type: ignore[arg-type]
    for group in dict.fromkeys(fact.partition(".")[0] for fact in stated.values if "." in fact):
        parts = {fact.partition(".")[2]: value for fact, value in stated.values.items() if fact.startswith(group + ".")}
        if group == "environ":
            facts = replace(facts, environ={**(facts.environ or {}), **parts})  # type: ignore[dict-item]
            continue
        before = getattr(facts, group) or _kind_of(group)()
        facts = replace(facts, **{group: replace(before, **parts)})
    closed = tuple(stated.values)
    gaps = tuple(gap for gap in facts.gaps if not any(_within(fact, gap.fact) for fact in closed))
    return replace(facts, gaps=gaps, origins={**facts.origins, **stated.origins})


@cache
def names() -> tuple[str, ...]:
    """Every fact that can be stated, by its dotted name; variables of the environment as `environ.NAME`."""
    fields = (f"{group}.{field.name}" for group in GROUPS for field in dataclasses.fields(_kind_of(group)))
    return (*WHOLE, *fields, "environ.NAME")


@cache
def _kind_of(group: str) -> Any:
    """The dataclass of a group of facts; `torch` and `metal` may be absent instead."""
    hint = get_type_hints(Facts)[group]
    return next((k for k in (*get_args(hint), hint) if dataclasses.is_dataclass(k)), None)


def _as_json(data: Mapping[str, object]) -> str:
    """What a program hands over decoded goes through the same bounds as a text."""
    try:
        return json.dumps(data, allow_nan=False, default=_as_dict)
    except RecursionError:
        raise Refused("it is nested too deeply") from None
    except (TypeError, ValueError) as error:
        raise Refused(f"it cannot be JSON: {' '.join(str(error).split())[:120]}") from None


def _as_dict(value: object) -> dict[object, object]:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} has no JSON")


def _list(said: Mapping[str, object], key: str, at_most: int) -> list[object]:
    found = said.get(key, [])
    if not isinstance(found, list):
        raise Refused(f'"{key}" is not an array')
    if len(found) > at_most:
        raise Refused(f'"{key}" has more than {at_most} entries')
    return found


def _line(value: object, where: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise Refused(f"{where} is not a text")
    if len(value) > LINE_AT_MOST:
        raise Refused(f"{where} is longer than {LINE_AT_MOST} characters")
    return value


def _stated(one: object, where: str) -> tuple[str, object, str]:
    """(fact, value, quote) of one entry."""
    if not isinstance(one, Mapping) or not {"fact", "value", "quote"} <= one.keys():
        raise Refused(f'{where} is not an object with "fact", "value" and "quote"')
    fact = one["fact"]
    if not isinstance(fact, str) or not _exists(fact):
        raise Refused(f"{where}: there is no fact {str(fact)[:60]!r} to state{_nearest(str(fact)[:60])}")
    if one["value"] is None:
        raise Refused(f"{fact}: a fact that is not known is left out, not null")
    return fact, one["value"], _line(one["quote"], f"{fact}: its quote")


def _exists(fact: str) -> bool:
    group, _, rest = fact.partition(".")
    return fact in names() or (group == "environ" and bool(rest))


def _nearest(fact: str) -> str:
    near = get_close_matches(fact, names(), 1)
    return f"; did you mean {near[0]}?" if near else f"; those of {', '.join((*GROUPS, *WHOLE))} can be"


def _typed(named: Mapping[str, object]) -> dict[str, object]:
    """The values in the types that Facts declares."""
    tree: dict[str, Any] = {fact: value for fact, value in named.items() if "." not in fact}
    for fact, value in named.items():
        group, _, part = fact.partition(".")
        if part and group in named:
            raise Refused(f"{group} is stated as a whole and in parts")
        if part:
            tree.setdefault(group, {})[part] = value
    decoded, refused = decode_fields(Facts, tree)
    if refused:
        raise Refused(next(iter(refused.values())))
    for group, value in decoded.items():
        check_shapes(value, group)
    return {fact: _part(decoded, *fact.partition(".")) for fact in named}


def _part(decoded: Mapping[str, Any], group: str, _: str, part: str) -> object:
    whole = decoded[group]
    if not part:
        return whole
    return whole[part] if isinstance(whole, Mapping) else getattr(whole, part)


def _within(fact: str, gap: str) -> bool:
    """Whether a gap is closed by a stated fact: it is its own, or one below it."""
    return gap == fact or gap.startswith(fact + ".")
