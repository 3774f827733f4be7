"""Write the skeleton of a new piece and of its examples, complete enough to run at once.

python scripts/new.py check LAYER ID      doctor/checks/LAYER/ID.py and tests/checks/LAYER/ID.py
python scripts/new.py fact NAME           doctor/facts/NAME.py and tests/facts/test_NAME.py
python scripts/new.py probe NAME          doctor/probes/NAME.py, a reader of one stage, and its test
python scripts/new.py format NAME         doctor/reports/NAME.py and tests/reports/test_NAME.py
python scripts/new.py tool NAME           doctor/fixes/tools/NAME.py and tests/fixes/test_tool_NAME.py
python scripts/new.py message ID CAUSE "A LINE AS IT IS PRINTED"
                                          a row of doctor/knowledge/tables/messages.json that recognises the line
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LAYERS = ("machine", "driver", "interpreter", "torch", "libraries", "install", "run")
_ID = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*\Z")

CHECK = '''"""{title}.

What it means
    Say what is wrong and why torch suffers from it.

How to see it yourself
    Say which command shows it.

What to do
    Say what cures it.

References
    https://pytorch.org/get-started/locally/
"""

from doctor.checks import Check, Judgement
from doctor.model.facts import Facts
from doctor.model.finding import Remedy

UNSET = Remedy(action="unset-env", details={{"name": "{variable}"}})

check = Check(
    severity="warning",
    needs=("environ",),  # what must be known before «nothing found» rules it out; add systems, keeps_from (see Check)
    usual=(UNSET,),  # what to try where only the diagnosis is concluded
)


@check
def judge(facts: Facts) -> Judgement:
    value = (facts.environ or {{}}).get("{variable}")
    if value is None:
        return None
    return check.found(
        facts,
        f"{variable} is set to {{value}}.",
        evidence=("environ.{variable}",),
        remedies=(UNSET,),
    )
'''

CHECK_EXAMPLES = """from dataclasses import replace

from tests.examples import linux, with_torch

HEALTHY = with_torch(linux(), "2.6.0+cpu")

BAD = {{"the variable is set": replace(HEALTHY, environ={{"{variable}": "1"}})}}
GOOD = {{"nothing is set": HEALTHY}}
"""

FACT = '''"""{title}: say which files or commands it is read from."""

from __future__ import annotations

from doctor.facts.system import System
from doctor.model.facts import Gap


def collect(system: System) -> str | Gap:
    """The first line of a file below the root prefix; a Gap says why it is not known."""
    text = system.read("/etc/{name}")
    return text if isinstance(text, Gap) else text.partition("\\n")[0]
'''

FACT_TEST = '''"""doctor/facts/{name}.py on recorded roots."""

from __future__ import annotations

from doctor.facts import {name}
from doctor.facts.system import System
from doctor.model.facts import Gap


def test_value(tmp_path, monkeypatch) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc" / "{name}").write_text("value\\n")
    monkeypatch.setenv("TORCHDOCTOR_ROOT", str(tmp_path))
    assert {name}.collect(System.of_this_process()) == "value"


def test_unknown_is_a_gap(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("TORCHDOCTOR_ROOT", str(tmp_path))
    assert isinstance({name}.collect(System.of_this_process()), Gap)
'''

PROBE = '''"""{title}: a pure reader of what the probe's stage «{id}» measured."""

from __future__ import annotations

from collections.abc import Mapping

STAGE = "{id}"


def rate(data: Mapping[str, object]) -> float | None:
    """TFLOP/s of the stage; None where it measured none."""
    value = data.get("tflops")
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
'''

PROBE_TEST = '''"""doctor/probes/{name}.py."""

from __future__ import annotations

from doctor.probes.{name} import rate


def test_rate() -> None:
    assert rate({{"tflops": 2}}) == 2.0
    assert rate({{}}) is None
'''

FORMAT = '''"""The report as {title}."""

from __future__ import annotations

from doctor.model.report import Report
from doctor.reports import layers, verdict
from doctor.reports.text import safe


def render(report: Report) -> str:
    """One line a layer, then the verdict. Foreign text goes through `safe`."""
    lines = [f"{{row.mark}} {{row.layer}}: {{row.text}}" for row in layers.rows(report)]
    return "\\n".join(safe(line) for line in (*lines, verdict.sentence(report))) + "\\n"
'''

FORMAT_TEST = '''"""doctor/reports/{name}.py."""

from __future__ import annotations

from doctor.reports import {name}
from tests.reports.samples import HEALTHY


def test_ends_with_the_verdict() -> None:
    assert {name}.render(HEALTHY).splitlines()[-1].startswith("Nothing is wrong")
'''

TOOL = '''"""{title}: say what it installs into, and cite the manual that its words are from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doctor.fixes.tools._tool import Order, Sign, Tool
from doctor.model.fix import Step

if TYPE_CHECKING:
    from doctor.fixes.situation import Situation


class {type}(Tool):
    programs = ("{id}",)
    rank = {rank}  # its place where tools are listed
    signs = (Sign(lock="{id}.lock", project=("pyproject.toml",)),)  # how its environments are known
    manifests = ("pyproject.toml",)
    locks = ("{id}.lock",)
    said = ("{id}",)

    def install(self, situation: Situation, order: Order) -> tuple[Step, ...]:
        index = ("--index", order.index) if order.index else ()
        return (Step(text=order.text, argv=("{id}", "add", *order.requirements, *index)),)

    def remove(self, situation: Situation, packages: tuple[str, ...]) -> tuple[Step, ...]:
        return (Step(text=f"Remove {{' '.join(packages)}}", argv=("{id}", "remove", *packages)),)


tool = {type}()
'''

TOOL_TEST = '''"""doctor/fixes/tools/{name}.py: its own words. What all tools must keep is in test_tool_suite.py."""

from __future__ import annotations

from doctor.fixes.tools import Order, find
from tests.fixes.test_tool_suite import situation


def test_its_words() -> None:
    tool = find("{id}")
    assert tool is not None
    (step,) = tool.install(situation(tool), Order(requirements=("torch==2.14.1",), index="https://index"))
    assert step.argv == ("{id}", "add", "torch==2.14.1", "--index", "https://index")
'''

KINDS = {
    "fact": {"doctor/facts/{name}.py": FACT, "tests/facts/test_{name}.py": FACT_TEST},
    "probe": {"doctor/probes/{name}.py": PROBE, "tests/probes/test_{name}.py": PROBE_TEST},
    "format": {"doctor/reports/{name}.py": FORMAT, "tests/reports/test_{name}.py": FORMAT_TEST},
    "tool": {"doctor/fixes/tools/{name}.py": TOOL, "tests/fixes/test_tool_{name}.py": TOOL_TEST},
}
MESSAGES = "doctor/knowledge/tables/messages.json"
_SPECIAL = re.compile(r"([\\.^$*+?{}\[\]|()])")
NEXT = {
    "check": "fill in the page and the judge, give it real examples, then: scripts/test tests/test_examples.py -k {id}",
    "fact": "call it in doctor/facts/collect.py and give it a field in doctor/model/facts.py",
    "probe": "let doctor/inside/probe.py run the stage «{id}», and doctor/probes/results.py hand its data here",
    "format": "add '{name}' to FORMATS in doctor/cli/options.py, then to doctor/cli/topics.py, then: generate.py",
    "tool": "give it its real words, try them with the program, then: scripts/test tests/fixes -k tool",
    "message": "widen the regex of «{id}» to what varies, set kind, subject and source, name every cause, then: "
    "refresh_knowledge.py --literals, generate.py, scripts/test --fast tests/knowledge/test_messages.py tests/evidence",
}


def main(arguments: list[str], root: Path = ROOT) -> int:
    """Exit code 0; 2 for wrong usage or a file that is there already."""
    match arguments:
        case ["check", layer, id] if layer in LAYERS and _ID.match(id):
            files = {f"doctor/checks/{layer}/{{name}}.py": CHECK, f"tests/checks/{layer}/{{name}}.py": CHECK_EXAMPLES}
        case [("fact" | "probe" | "format" | "tool") as kind, id] if _ID.match(id):
            files = KINDS[kind]
        case ["message", id, cause, line] if _ID.match(id) and _ID.match(cause) and line.isprintable() and line.strip():
            return add_message(id, cause, line.strip(), root)
        case _:
            print(__doc__, file=sys.stderr)
            print(f"LAYER is one of {', '.join(LAYERS)}; ID and NAME are like this-one.", file=sys.stderr)
            return 2
    names = {
        "id": id, "name": id.replace("-", "_"), "title": id.replace("-", " ").capitalize(),
        "variable": id.replace("-", "_").upper(), "type": id.title().replace("-", ""), "rank": free_rank(root),
    }  # fmt: skip
    paths = {root / path.format(**names): text.format(**names) for path, text in files.items()}
    if there := [str(p.relative_to(root)) for p in paths if p.exists()]:
        print(f"already there: {', '.join(there)}", file=sys.stderr)
        return 2
    for path, text in paths.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
        print(f"wrote {path.relative_to(root)}")
    print("next: " + NEXT[arguments[0]].format(**names))
    return 0


def free_rank(root: Path) -> int:
    """The place behind all tools."""
    files = (root / "doctor" / "fixes" / "tools").glob("*.py")
    ranks = (re.search(r"^    rank = (\d+)", file.read_text(encoding="utf-8"), re.M) for file in files)
    return max((int(match[1]) for match in ranks if match), default=0) + 10


def add_message(id: str, cause: str, line: str, root: Path) -> int:
    """Put the row that recognises a line, as it stands, at the end of the table, one line like all others."""
    path = root / MESSAGES
    text = path.read_text(encoding="utf-8")
    if any(row["id"] == id for row in json.loads(text)["rows"]):
        print(f"already there: {id}", file=sys.stderr)
        return 2
    if not list((root / "doctor" / "checks").glob(f"*/{cause.replace('-', '_')}.py")):
        print(f"there is no check {cause}", file=sys.stderr)
        return 2
    end = "\n ]\n}\n"
    assert text.endswith(end), f"{MESSAGES} does not end in its rows"
    row = {
        "id": id, "regex": _SPECIAL.sub(r"\\\1", line), "flags": "", "causes": [cause], "kind": "compute",
        "subject": "torch", "example": line, "literals": [line.lower()], "versions": "any",
        "source": "say where it was seen: a thread's address, or the line of torch that says it",
        "evidence": ["threads"], "status": "single",
    }  # fmt: skip
    written = json.dumps(row, ensure_ascii=False)
    path.write_text(f"{text.removesuffix(end)},\n  {written}{end}", encoding="utf-8", newline="\n")
    print(f"wrote a row of {MESSAGES}")
    print("next: " + NEXT["message"].format(id=id))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
