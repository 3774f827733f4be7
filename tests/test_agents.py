"""The tools for agents, through the SDK's own client over stdio."""

from __future__ import annotations

import json
import re
import sys
from typing import Any

import anyio
import pytest

from doctor import agents
from doctor.fixes.tools import names

mcp = pytest.importorskip("mcp")

NO_KERNEL = "CUDA error: no kernel image is available for execution on the device"
STATED = {
    "schema": "facts-1",
    "facts": [
        {"fact": "torch.version", "value": "2.6.0+cu124", "quote": "torch 2.6.0+cu124"},
        {"fact": "gpus", "value": [{"vendor": "nvidia", "name": "NVIDIA GeForce RTX 5070 Ti"}], "quote": "5070 Ti"},
    ],
    "messages": [NO_KERNEL],
}


def called(*calls: tuple[str, dict[str, Any]]) -> list[Any]:
    """The results of these calls to a server started as agents start it."""

    async def talk() -> list[Any]:
        started = mcp.StdioServerParameters(command=sys.executable, args=["-m", "doctor", "mcp"])
        async with mcp.Client(mcp.stdio_client(started)) as client:
            listed = await client.list_tools()
            return [listed, *[await client.call_tool(name, arguments) for name, arguments in calls]]

    return anyio.run(talk)


def answer(result: Any) -> Any:
    assert not result.is_error, result
    return json.loads(result.content[0].text)


@pytest.mark.slow
def test_an_agent_examines_a_ticket() -> None:
    listed, stated, explained, planned, refused = called(
        ("judge", {"stated": STATED}),
        ("explain", {"what": "gpu-hidden"}),
        ("plan", {"text": f"torch 2.6.0+cu124\n{NO_KERNEL}\nNVIDIA GeForce RTX 5070 Ti", "tool": "uv"}),
        ("judge", {"stated": {"schema": "facts-1", "facts": [{"fact": "torch.versoin", "value": "2", "quote": "x"}]}}),
    )
    assert {tool.name for tool in listed.tools} == {"check", "judge", "plan", "compare", "ticket", "explain"}
    assert all(tool.annotations.read_only_hint and tool.description for tool in listed.tools)
    plan = next(tool for tool in listed.tools if tool.name == "plan")
    assert f"for one tool ({', '.join(names())})" in plan.description
    assert [f["id"] for f in answer(stated)["findings"] if f["root"]] == ["gpu-too-new-for-build"]
    assert answer(stated)["findings"][0]["evidence"]
    assert answer(explained)["id"] == "gpu-hidden"
    assert answer(planned)["fixes"][0]["steps"][0]["argv"][0] == "uv"
    assert refused.is_error
    assert "did you mean torch.version?" in refused.content[0].text


@pytest.mark.slow
def test_the_transcript(snapshot: Any) -> None:
    """What an agent reads: the tools as they are offered, and an answer of each kind."""
    ticket = f"torch 2.6.0+cu124\n{NO_KERNEL}\nNVIDIA GeForce RTX 5070 Ti"
    calls: list[tuple[str, dict[str, Any]]] = [
        ("check", {"text": ticket, "require": ["torch>=2.5", "torch>=2.7"]}),
        ("check", {"text": ticket, "require": ["torch"]}),
        ("judge", {"stated": STATED}),
        ("plan", {"text": ticket, "tool": "uv"}),
        ("compare", {"good": "torch 2.6.0+cu124\nNVIDIA L4\nIs CUDA available: True", "bad": ticket}),
        ("nothing", {}),
    ]
    listed, *results = called(*calls)
    lines = [f"{tool.name}({', '.join(tool.input_schema['properties'])})" for tool in listed.tools]
    for (name, arguments), result in zip(calls, results, strict=True):
        lines.append(f"-> {name} {json.dumps(arguments)}")
        lines.append(f"<- {'error ' if result.is_error else ''}{result.content[0].text}")
    said = re.sub(r'("(?:taken_at|tool)": )"[^"]*"', r'\1"…"', "\n".join(lines))
    assert re.sub(r"torch(==| )[\d.]+(?= \(cu|\")( \(cu\d+\))?", r"torch\1NEWEST", said) == snapshot


def test_what_is_required_of_a_ticket() -> None:
    told = agents.check(text="torch 2.6.0+cu124", require=["torch>=2.7", " torch>=2.7 "])
    assert [f["id"] for f in told["findings"] if f["severity"] == "fault"] == ["requirement-unmet"]
    assert told["verdict"] == "faulty"
    with pytest.raises(Exception, match="'torch' is no requirement such as"):
        agents.check(text="torch 2.6.0+cu124", require=["torch"])


def test_what_is_told_is_redacted() -> None:
    told = agents.check(text="user@build7:~$ export HF_TOKEN=hf_" + "aB3" * 12 + f"\n{NO_KERNEL}")
    assert "aB3aB3" not in json.dumps(told)


def test_an_open_verdict_comes_with_its_question() -> None:
    told = agents.check(text="torch 2.6.0+cu124, RTX 4090, torch.cuda.is_available() is False")
    assert told["verdict"] in ("unknown", "faulty")
    assert told["questions"] or told["findings"]


def test_a_wrong_tool_is_refused() -> None:
    with pytest.raises(Exception, match="there is no tool 'npm'"):
        agents.plan(tool="npm", text="x")


def test_two_texts_are_compared() -> None:
    from tests.cli.test_compare import HIS, MINE

    told = agents.compare(HIS, MINE)
    assert told["differences"][0]["subject"] == "nvidia-driver"
    assert told["differences"][0]["explains"][0]["machine"] == "bad"
    with pytest.raises(Exception, match="cannot compare bad: nothing in it"):
        agents.compare(HIS, "hello")


def test_a_ticket_is_markdown_and_redacted() -> None:
    told = agents.ticket(text="user@build7:~$ export HF_TOKEN=hf_" + "aB3" * 12 + f"\n{NO_KERNEL}")
    assert told.startswith("<!-- torchdoctor:v1 ticket -->\n**")
    assert "torchdoctor:v1" in told
    assert "aB3aB3" not in told
