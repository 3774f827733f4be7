"""The manifests and scripts of docs/fleet.md are valid in their own languages, and use what exists."""

from __future__ import annotations

import configparser
import re
import shlex
import subprocess
from pathlib import Path

import click
import pytest
import yaml

from doctor.cli.fleet import command
from doctor.fleet.rank import options

TEXT = (Path(__file__).parent.parent.parent / "docs" / "fleet.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", TEXT, re.M | re.S)


def test_the_kubernetes_manifest() -> None:
    (text,) = blocks("yaml")
    service, job = yaml.safe_load_all(text)
    assert (service["kind"], job["kind"], job["apiVersion"]) == ("Service", "Job", "batch/v1")
    spec = job["spec"]
    assert spec["completionMode"] == "Indexed"
    pod = spec["template"]["spec"]
    assert pod["subdomain"] == service["metadata"]["name"]
    assert service["spec"]["selector"].items() <= spec["template"]["metadata"]["labels"].items()
    (container,) = pod["containers"]
    assert {m["name"] for m in container["volumeMounts"]} == {v["name"] for v in pod["volumes"]}
    words = shlex.split(container["command"][2].split("&&")[1])
    given = options.parse([w.replace("$JOB_COMPLETION_INDEX", "1") for w in words[words.index("doctor.fleet") + 1 :]])
    assert given.nodes == spec["completions"] == spec["parallelism"]
    first = f"{job['metadata']['name']}-0.{service['metadata']['name']}"
    assert given.master == f"{first}:{service['spec']['ports'][0]['port']}"
    assert words[words.index("--nproc-per-node") + 1] == str(container["resources"]["limits"]["nvidia.com/gpu"])


def test_the_systemd_units() -> None:
    service, timer = blocks("ini")
    units = []
    for text in (service, timer):
        parser = configparser.ConfigParser(interpolation=None)
        parser.optionxform = str  # type: ignore[assignment,method-assign]
        parser.read_string(text)
        units.append(parser)
    _check(shlex.split(units[0]["Service"]["ExecStart"])[2:])
    assert units[1]["Install"]["WantedBy"] == "timers.target"


@pytest.mark.parametrize("text", blocks("sh"))
def test_shell_is_valid(text: str) -> None:
    done = subprocess.run(["sh", "-n"], input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_commands_have_the_options_they_use() -> None:
    seen = 0
    for text in blocks("sh"):
        for line in text.replace("\\\n", " ").splitlines():
            match = re.search(r"\btorchdoctor fleet (.*)", line.partition(" #")[0])
            if match:
                _check(shlex.split(match[1].partition(">")[0]))
                seen += 1
    assert seen >= 9


def _check(words: list[str]) -> None:
    known = {name for p in command.params if isinstance(p, click.Option) for name in p.opts}
    assert {word for word in words if word.startswith("-")} <= known
