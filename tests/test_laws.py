"""The laws of docs/design.md, kept by reading the code: who may import what, start what, and name what."""

from __future__ import annotations

import ast
import io
import json
import re
import subprocess
import sys
import tokenize
from collections.abc import Callable, Iterable
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

from doctor.checks import Check, all_checks
from doctor.fixes.tools import all_tools, base
from doctor.model.finding import LAYERS
from tests.conftest import is_costly

ROOT = Path(__file__).resolve().parent.parent
DOCTOR = ROOT / "doctor"
MODULES = sorted(p for p in DOCTOR.rglob("*.py") if "__pycache__" not in p.parts)
PURE = (
    "fleet/judge", "accounting", "bench", "checks", "comparison", "fixes", "evidence", "formats", "redaction",
    "reports", "knowledge", "model", "triage",
)  # fmt: skip
HEADINGS = ("What it means", "How to see it yourself", "What to do", "References")

# What a pure room may not use: processes, the environment, the clock, the network, and files of the machine.
IMPURE_MODULES = {
    "subprocess", "multiprocessing", "socket", "ssl", "urllib.request", "http", "ctypes", "tempfile", "threading",
    "asyncio", "time", "getpass", "shutil", "signal", "psutil", "platform",
}  # fmt: skip
IMPURE_NAMES = {
    "os.environ", "os.getenv", "os.system", "os.popen", "os.fork", "os.getcwd", "os.stat", "os.listdir", "os.scandir",
    "datetime.now", "datetime.utcnow", "datetime.today", "date.today", "sys.argv", "sys.stdin", "sys.stdout",
}  # fmt: skip
IMPURE_ROOMS = ("doctor.process", "doctor.facts", "doctor.probes", "doctor.cli")
STARTERS = re.compile(
    r"os\.(system|popen|fork|forkpty|exec\w*|spawn\w*|posix_spawnp?)|pty\.(fork|spawn)|subprocess(\..*)?"
)


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


@cache
def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    """All nodes of a file, walked once for all laws."""
    return tuple(ast.walk(tree_of(path)))


@cache
def imports_of(path: Path) -> set[str]:
    """Dotted names of all imported modules, also those inside functions."""
    found: set[str] = set()
    for node in nodes_of(path):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name_of(path)} imports relatively"
            found.add(node.module or "")
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return found


@cache
def dotted_names_of(path: Path) -> set[str]:
    """All `a.b` that occur as expressions, with the last two parts of longer ones, too."""
    found: set[str] = set()
    for node in nodes_of(path):
        if isinstance(node, ast.Attribute):
            text = ast.unparse(node)
            found.add(text)
            found.add(".".join(text.split(".")[-2:]))
    return found


def top(names: set[str]) -> set[str]:
    return {n.partition(".")[0] for n in names}


def room(path: Path) -> str:
    """ "checks" for doctor/checks/…; the module's own name for those beside the rooms. The fleet's judgement is a room
    of its own: the rest of it starts ranks."""
    parts = path.relative_to(DOCTOR).parts
    return "fleet/judge" if parts[:2] == ("fleet", "judge") else parts[0]


def broken(paths: Iterable[Path], law: Callable[[Path], str]) -> list[str]:
    """The files that break the law, each with what is wrong. One test for all files: each test has its price."""
    return [f"{name_of(path)}: {wrong}" for path in paths if (wrong := law(path))]


def test_who_imports_what() -> None:
    def law(path: Path) -> str:
        imports = imports_of(path)
        if room(path) == "model" and not all(n.startswith("doctor.model") for n in imports if n.startswith("doctor")):
            return "model imports nothing of ours but itself"
        if room(path) != "inside" and "torch" in top(imports):
            return "torch runs in a child only"
        if "rich" in top(imports) and not name_of(path).startswith("doctor/reports/terminal/") and room(path) != "cli":
            return "rich is for the terminal"
        if "jinja2" in top(imports) and name_of(path) != "doctor/reports/pages/__init__.py":
            return "the templates are filled by reports/pages"
        if room(path) in PURE:
            impure = {n for n in imports for m in IMPURE_MODULES if n == m or n.startswith(m + ".")}
            impure |= IMPURE_NAMES & (dotted_names_of(path) | imports)
            impure |= {n for n in imports if n.startswith(IMPURE_ROOMS)}
            if impure:
                return f"this room is pure, and uses {sorted(impure)}"
        return ""

    assert broken(MODULES, law) == []


def module_of(path: Path) -> str:
    """ "doctor.checks" for doctor/checks/__init__.py."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


@cache
def import_statements(path: Path) -> tuple[tuple[ast.Import | ast.ImportFrom, bool, bool], ...]:
    """Each import of a file, whether it runs late (inside a function), and whether the type checker alone sees it."""
    found = []
    nodes: list[tuple[ast.AST, bool, bool]] = [(tree_of(path), False, False)]
    while nodes:
        node, late, typed = nodes.pop()
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            found.append((node, late, typed))
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            nodes += [(inner, late, True) for inner in node.body]
            nodes += [(inner, late, typed) for inner in node.orelse]
        elif not isinstance(node, ast.expr):
            late = late or isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
            nodes += [(inner, late, typed) for inner in ast.iter_child_nodes(node)]
    return tuple(found)


def needed_by(path: Path, modules: set[str], late: bool, typed: bool = False) -> set[str]:
    """Our modules that it imports: when it is imported itself, or, `late`, also inside its functions. What only the
    type checker imports runs nowhere, and counts only if `typed`."""
    found: set[str] = set()
    for node, is_late, is_typed in import_statements(path):
        if (is_late and not late) or (is_typed and not typed):
            continue
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        else:
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= inner & modules or {node.module or ""}
    return (found & modules) - {module_of(path)}


def circles(graph: dict[str, set[str]]) -> set[frozenset[str]]:
    """The modules that reach each other, each circle once."""
    reach: dict[str, set[str]] = {}
    for start in graph:
        seen, waiting = set(), [start]
        while waiting:
            for one in graph[waiting.pop()] - seen:
                seen.add(one)
                waiting.append(one)
        reach[start] = seen
    return {frozenset(n for n in reach[m] if m in reach[n]) for m in graph if m in reach[m]}


def test_no_imports_go_in_a_circle() -> None:
    paths = {module_of(path): path for path in MODULES}

    def graph(late: bool) -> dict[str, set[str]]:
        return {name: needed_by(path, set(paths), late) for name, path in paths.items()}

    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": set()}) == {frozenset("bc")}
    assert circles(graph(late=False)) == set()
    assert circles(graph(late=True)) == set()  # nor while they run


def allowed_imports(design: str) -> dict[str, list[str]]:
    """The table «Who may import whom» of the design: room -> the rooms that it imports, in the table's order."""
    table = design.partition("**Who may import whom.**")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| ([\w.]+) \| ([\w., –]+) \|", table, re.M)
    return {room: [] if names == "–" else names.split(", ") for room, names in rows if room != "room"}


PARTS = ("fixes.tools",)  # of a room, which stand below it in the table: the tools are asked where a text is read


def room_of(module: str) -> str:
    """ "checks" for "doctor.checks.run.x"; "__init__" for "doctor"."""
    inner = module.partition(".")[2]
    part = next((part for part in PARTS if inner == part or inner.startswith(f"{part}.")), None)
    return part or inner.split(".")[0] or "__init__"


def imports_of_rooms(paths: Iterable[Path]) -> dict[str, set[str]]:
    """Room -> the other rooms that its modules import, also late and for the type checker alone. Only a part may name
    types of its room: that room gives it the values."""
    modules = {module_of(path) for path in MODULES}
    found: dict[str, set[str]] = {}
    for path in paths:
        mine = room_of(module_of(path))
        names = needed_by(path, modules, late=True)
        if mine in PARTS:
            whole = mine.split(".")[0]
            typed = needed_by(path, modules, late=True, typed=True)
            names |= {name for name in typed if room_of(name) != whole}
        else:
            names = needed_by(path, modules, late=True, typed=True)
        found.setdefault(mine, set()).update({room_of(n) for n in names if n != "doctor"} - {mine, "__version__"})
    return found


def wrong_imports(allowed: dict[str, list[str]], found: dict[str, set[str]]) -> list[str]:
    """What the table does not say, what it says in vain, and rooms below those that they import."""
    order = list(allowed)
    wrong = [f"{room} has no row" for room in found if room not in allowed]
    for room, names in allowed.items():
        wrong += [f"{room} imports {n}" for n in sorted(found.get(room, set()) - set(names))]
        wrong += [f"{room} no longer imports {n}" for n in names if n not in found.get(room, set())]
        wrong += [f"{room} stands above {n}" for n in names if n not in order[: order.index(room)]]
    return wrong


def test_rooms_import_what_the_design_says() -> None:
    table = "**Who may import whom.**\n| room | imports | |\n| --- | --- | --- |\n"
    table += "| a | – | |\n| b | a, c | |\n| c | – | |"
    assert wrong_imports(allowed_imports(table), {"b": {"a"}, "c": {"a"}, "d": set()}) == [
        "d has no row", "b no longer imports c", "b stands above c", "c imports a",
    ]  # fmt: skip
    found = imports_of_rooms(MODULES)
    assert len(found) > 20
    assert wrong_imports(allowed_imports((ROOT / "docs/design.md").read_text(encoding="utf-8")), found) == []


def test_only_process_py_starts_processes() -> None:
    def law(path: Path) -> str:
        if room(path) == "inside":  # in the target's process; it may fork there to look without risk
            return "a script of the target imports nothing of ours" if "doctor" in top(imports_of(path)) else ""
        used = {n for n in dotted_names_of(path) | imports_of(path) if STARTERS.fullmatch(n)}
        used |= {n for n in imports_of(path) if n.partition(".")[0] in ("subprocess", "multiprocessing", "pty")}
        return f"starts processes: {sorted(used)}" if used else ""

    assert broken((p for p in MODULES if name_of(p) != "doctor/process.py"), law) == []


def test_a_rank_needs_the_standard_library_alone() -> None:
    """Its Python is the target's own, which may have nothing but torch."""
    code = (
        "import sys; import doctor.fleet.rank.agent, doctor.fleet.merge, doctor.fleet.outputs;"
        "import doctor.reports.fleet.text;"
        "print(*{n.partition('.')[0] for n in sys.modules} - sys.stdlib_module_names - {'doctor', '__main__'})"
    )
    argv = [sys.executable, "-S", "-E", "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r}); {code}"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout.split()) == (0, []), done.stderr


OPENERS = {"open", "read_text", "write_text", "fdopen"}
READERS = [p for p in MODULES if room(p) == "facts"] + [DOCTOR / "inside" / "collect.py"]


def test_files_of_the_machine_are_opened_in_one_function() -> None:
    """A named pipe hangs who opens it, and a file may be of any size: `read_regular` knows that."""

    def law(path: Path) -> str:
        functions = [n for n in nodes_of(path) if isinstance(n, ast.FunctionDef) and n.name == "read_regular"]
        allowed = {id(node) for function in functions for node in ast.walk(function)}
        opening = [
            node.lineno
            for node in nodes_of(path)
            if isinstance(node, ast.Call) and id(node) not in allowed
            and ast.unparse(node.func).rpartition(".")[2] in OPENERS
        ]  # fmt: skip
        if opening:
            return f"opens a file in lines {opening}"
        own = len(functions) == (name_of(path) in ("doctor/facts/system.py", "doctor/inside/collect.py"))
        return "" if own else "read_regular is defined in facts/system.py and collect.py alone"

    assert broken(READERS, law) == []


def test_foreign_json_is_decoded_in_one_place() -> None:
    """doctor/decode.py refuses what is too large, too deep or of another type."""
    paths = [p for p in MODULES if room(p) in ("facts", "probes", "evidence")]
    paths.remove(DOCTOR / "facts" / "system.py")  # the machine.json of a recorded machine
    assert [name_of(p) for p in paths if dotted_names_of(p) & {"json.loads", "json.load"}] == []


INSIDE = [p for p in MODULES if room(p) == "inside"]


def test_inside_is_standard_library_only() -> None:
    def law(path: Path) -> str:
        foreign = top(imports_of(path)) - set(sys.stdlib_module_names) - OLD_STDLIB
        foreign -= {"torch", "numpy"} if path.name == "probe.py" else set()
        if foreign:
            return f"imports {sorted(foreign)}"
        at_top = {
            n for node in tree_of(path).body if isinstance(node, (ast.Import, ast.ImportFrom)) for n in names_in(node)
        }
        return "torch and numpy are imported late" if {"torch", "numpy"} & at_top else ""

    assert broken(INSIDE, law) == []


OLD_STDLIB = {"__future__", "imp", "distutils", "commands", "urllib2", "StringIO", "ConfigParser"}


def names_in(node: ast.Import | ast.ImportFrom) -> list[str]:
    if isinstance(node, ast.ImportFrom):
        return [(node.module or "").partition(".")[0]]
    return [alias.name.partition(".")[0] for alias in node.names]


@pytest.mark.parametrize("targets", [("-t=2.7", "-t=3.6-"), ("-t=3.6-",)], ids=["2.7 and 3.6", "3.6"])
def test_inside_is_valid_on_old_pythons(targets: tuple[str, ...]) -> None:
    """«3.6-» is: 3.6 or older. collect.py also starts on 2.7, to say that it is too old; the excluded members are used
    after that only."""
    paths = [p for p in INSIDE if (p.name == "collect.py") == ("-t=2.7" in targets)]
    assert paths
    argv = [sys.executable, "-c", "import vermin; vermin.main()", "--no-tips", "--violations", "--processes=1"]
    argv += [*AFTER_THE_GATE, *targets, *map(str, paths)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout


AFTER_THE_GATE = ("--exclude", "sys.base_prefix", "--exclude", "sys.implementation")


def body_of(function: ast.FunctionDef) -> str:
    """What a function does, without its name and docstring; "" where it is too short to count."""
    documented = isinstance(function.body[0], ast.Expr) and isinstance(function.body[0].value, ast.Constant)
    body = ast.Module(function.body[documented:], [])
    return ast.dump(function.args) + ast.dump(body) if sum(1 for _ in ast.walk(body)) > 15 else ""


def written_twice(sources: dict[str, ast.Module]) -> set[frozenset[str]]:
    """The functions that are the same to the letter, each group once."""
    found: dict[str, set[str]] = {}
    for name, tree in sources.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and (body := body_of(node)):
                found.setdefault(body, set()).add(f"{name}: {node.name}")
    return {frozenset(places) for places in found.values() if len(places) > 1}


def test_no_function_is_written_twice() -> None:
    assert written_twice({"a": ast.parse("def f(x): return [x + 1, x * 2, x - 3]"),
                          "b": ast.parse("def g(x):\n 'doc'\n return [x + 1, x * 2, x - 3]")}) == {
        frozenset(("a: f", "b: g"))
    }  # fmt: skip
    sources = {name_of(path): tree_of(path) for path in MODULES}
    # Sent into the target, each alone: the first two as scripts, workloads as single files.
    workloads = [f"doctor/inside/bench/workloads/{name}.py" for name in ("mobilenet_v2", "efficientnet_b0")]
    assert written_twice(sources) == {
        frozenset(("doctor/inside/collect.py: is_pipe", "doctor/inside/probe.py: is_pipe")),
        *(frozenset(f"{name}: {function}" for name in workloads) for function in ("joined", "forward")),
    }


LITERAL = re.compile(r"""[a-zA-Z]*(\"{3}|'{3}|\"|')(.*)\1""", re.S)


def broken_words(source: str) -> list[str]:
    """Words that two string literals on two lines share: nobody finds them, and nobody reads them."""
    tokens = [t for t in tokenize.generate_tokens(io.StringIO(source).readline) if t.type != tokenize.NL]
    found = []
    for one, other in pairwise(tokens):
        if one.type == other.type == tokenize.STRING and one.start[0] != other.start[0]:
            before, after = (match[2] for match in map(LITERAL.fullmatch, (one.string, other.string)) if match)
            ends = re.search(r"[A-Za-z]+\Z", before)
            if ends and re.match(r"[A-Za-z]", after) and not re.search(r"\\[A-Za-z]\Z", before):
                found.append(f"line {one.start[0]}: …{ends[0]} + {after[:20]}…")
    return found


def test_no_word_is_broken_by_a_line() -> None:
    assert broken_words('x = ("the dri"\n     "ver")') == ["line 1: …dri + ver…"]
    assert broken_words('x = ("a line\\n"\n     "another" " word")') == []
    paths = [*MODULES, *sorted((ROOT / "scripts").glob("*.py"))]
    assert broken(paths, lambda path: "; ".join(broken_words(path.read_text(encoding="utf-8")))) == []


SAYS_ITSELF = 3  # lines of a function that its name explains
# judge and fit: the module's docstring is the page of the diagnosis. Builders of fixes: design, section 7. What is sent
# into the target is no interface.
UNIFORM = ("judge", "fits")
NO_INTERFACE = ("inside", "fixes")


def unexplained(tree: ast.Module) -> list[str]:
    """Public classes, and public functions of more than a few lines, that do not say what they give."""
    found = []
    for node in tree.body:
        if not isinstance(node, (ast.FunctionDef, ast.ClassDef)) or node.name.startswith("_"):
            continue
        methods = node.body if isinstance(node, ast.ClassDef) else []
        methods = [m for m in methods if isinstance(m, ast.FunctionDef) and not m.name.startswith("_")]
        for one in (node, *methods):
            long = isinstance(one, ast.ClassDef) or one.body[-1].end_lineno - one.lineno >= SAYS_ITSELF
            if long and one.name not in UNIFORM and not ast.get_docstring(one):
                found.append(f"line {one.lineno}: {one.name}")
    return found


def test_what_is_public_says_what_it_gives() -> None:
    tree = ast.parse("class A:\n def b(self):\n  x = 1\n  y = 2\n  return x\n def _c(self): pass\ndef d(): pass")
    assert unexplained(tree) == ["line 1: A", "line 2: b"]
    paths = [path for path in MODULES if room(path) not in NO_INTERFACE]
    assert broken(paths, lambda path: "; ".join(unexplained(tree_of(path)))) == []


def test_ids_are_unique_and_kebab_case() -> None:
    ids = [c.id for c in all_checks()]
    assert len(ids) == len(set(ids))
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", i) for i in ids)
    assert {c.layer for c in all_checks()} <= set(LAYERS)


def undocumented(check: Check) -> str:
    """What its docstring lacks, or ""."""
    if not check.title.endswith("."):
        return "the first line of the docstring is the title, a sentence"
    lines = check.docs.splitlines()
    if [line for line in lines if line in HEADINGS] != list(HEADINGS):
        return "the headings are not those of a check"
    for heading, following in zip(HEADINGS, [*HEADINGS[1:], None], strict=True):
        end = lines.index(following) if following else len(lines)
        if not "".join(lines[lines.index(heading) + 1 : end]).strip():
            return f"nothing stands under «{heading}»"
    return "" if "https://" in check.docs.rpartition("References")[2] else "no source is cited"


def test_checks_are_documented() -> None:
    assert {c.id: wrong for c in all_checks() if (wrong := undocumented(c))} == {}


def file_of(check: Check) -> Path:
    """Its path below doctor/ and below tests/."""
    return Path("checks") / check.layer / f"{check.id.replace('-', '_')}.py"


def test_checks_have_examples_and_judge_somehow() -> None:
    assert [c.id for c in all_checks() if not (ROOT / "tests" / file_of(c)).is_file()] == []
    assert [c.id for c in all_checks() if c.judge is None and c.rule is None] == []


# Files outside of doctor/checks that name diagnoses, and why they cannot ask a check for what it declares.
NAME_A_CHECK = {
    "bench/reasons.py": "the benchmark reports what it measured under the ids of the catalogue",
    "bench/report.py": "the findings that say that a device computes wrongly or slowly",
    "cli/install.py": "`install` has succeeded when torch is no longer missing or broken",
    "fixes/effective.py": "which fixes cannot cure which diagnosis; fixes do not import checks",
    "fixes/interpreter.py": "in a broken interpreter nothing runs, so nothing is asked of it",
    "fixes/situation.py": "what a finding tells of a system or a Python that is not known",
    "fixes/torch.py": "only a missing torch is installed by syncing the project",
    "fleet/judge/configuration.py": "the fleet reports under the ids of the catalogue",
    "fleet/judge/devices.py": "the fleet reports under the ids of the catalogue",
    "fleet/judge/judgement.py": "the fleet reports under the ids of the catalogue",
    "fleet/judge/pairs.py": "the fleet reports under the ids of the catalogue",
    "fleet/judge/ranks.py": "the fleet reports under the ids of the catalogue",
    "fleet/judge/sharing.py": "the fleet reports under the ids of the catalogue",
    "model/finding.py": "ONLY_TOLD and OPEN_IF_NOTED: rooms need them that do not import checks",
    "reports/layers.py": "library faults that the line of torch names as the reason",
}


def test_a_diagnosis_is_named_in_its_room() -> None:
    """Other rooms ask a check for a property that it declares, and never which one it is."""
    ids = {check.id for check in all_checks()}
    named: dict[str, list[str]] = {}
    for path in MODULES:
        if room(path) == "checks":
            continue
        spoken = {id(n.value) for n in nodes_of(path) if isinstance(n, ast.Expr)}
        for node in nodes_of(path):
            if isinstance(node, ast.Constant) and node.value in ids and id(node) not in spoken:
                named.setdefault(path.relative_to(DOCTOR).as_posix(), []).append(f"{node.lineno}: {node.value}")
    assert {name: where for name, where in named.items() if name not in NAME_A_CHECK} == {}
    assert [name for name in NAME_A_CHECK if name not in named] == [], "an exception that is not needed"


def test_settings_are_said_in_exact_words() -> None:
    """«Change the setting X» helps nobody: a remedy of that kind has its own text."""
    wordless = []
    for check in all_checks():
        for node in ast.walk(tree_of(DOCTOR / file_of(check))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "Remedy":
                words = {word.arg: word.value for word in node.keywords}
                if ast.unparse(words["action"]) == "'system-setting'" and "text" not in words:
                    wordless.append(f"{check.id}: {ast.unparse(node)}")
    assert wordless == []


def test_every_field_of_a_report_says_how_it_leaves() -> None:
    """A new field that can hold text is declared in doctor/redaction/fields.py, in the line of its type."""
    from doctor.redaction.fields import undeclared

    assert list(undeclared()) == []


def test_every_field_of_a_report_has_a_meaning() -> None:
    """docs/report.md and the schema are made of the comments beside the fields; benchmarks and fleets have pages of
    their own."""
    from dataclasses import fields

    from doctor.redaction.fields import types_of_report
    from doctor.reports.meanings import meanings, summary

    kinds = [kind for kind in types_of_report() if kind.__module__ not in ("doctor.model.bench", "doctor.model.fleet")]
    assert len(kinds) > 30
    assert [f"{kind.__name__}.{f.name}" for kind in kinds for f in fields(kind) if f.name not in meanings(kind)] == []
    assert [kind.__name__ for kind in kinds if not summary(kind)] == []


def test_generated_files_are_current() -> None:
    argv = [sys.executable, str(ROOT / "scripts" / "generate.py"), "--check"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def tracked_files() -> list[Path]:
    argv = ["git", "ls-files", "-z", "--cached"]
    try:
        done = subprocess.run(argv, cwd=ROOT, capture_output=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        pytest.skip("not a git checkout")
    return [ROOT / name for name in done.stdout.decode().split("\0") if name]


# Put together here, so that this file does not hold them.
FORBIDDEN = (
    "py" + "pi.org", "python" + "hosted.org", "registry.npm" + "js", "deb." + "debian.org", "snapshot." + "debian.org",
    "/wo" + "rk/", "bash_" + "jobs",
)  # fmt: skip


def test_a_fast_run_tests_every_room() -> None:
    """`scripts/test --fast` leaves out files, never a room."""
    rooms = {room(path) for path in MODULES if path.parent != DOCTOR} - {"fleet/judge"}
    left_out = []
    for name in sorted(rooms):
        files = [p.relative_to(ROOT / "tests").as_posix() for p in (ROOT / "tests" / name).glob("test_*.py")]
        left_out += [] if any(not is_costly(file) for file in files) else [name]
    assert len(rooms) > 15
    assert left_out == []


def test_no_package_registry_is_named() -> None:
    """Tickets and recorded machines of other people (tests/cases, tests/machines) may quote what they like."""
    quoting = (ROOT / "tests" / "cases", ROOT / "tests" / "machines")
    named = []
    for path in tracked_files():
        if not path.is_file() or any(q in path.parents for q in quoting):
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        named += [f"{name_of(path)}: {word}" for word in FORBIDDEN if word in text]
    assert not named


def test_the_top_level_holds_what_the_design_names() -> None:
    top_level = {p.relative_to(ROOT).parts[0] for p in tracked_files()}
    known = {"pyproject.toml", "doctor", "tests", "scripts", "README.md", "LICENSE", "docs"}
    assert {name for name in top_level if not name.startswith(".")} <= known


def test_tables_are_dated_and_sourced() -> None:
    tables = sorted((DOCTOR / "knowledge" / "tables").glob("*.json"))
    assert tables
    for table in tables:
        text = table.read_text(encoding="utf-8")
        json.loads(text)
        assert re.search(r"20\d\d-\d\d-\d\d", text), f"{table.name} has no date"


def test_help_imports_little() -> None:
    """No command's module, nor rich, nor packaging, on the path of --help."""
    code = (
        "import os, sys; from doctor.cli.main import run; sys.stdout = open(os.devnull, 'w'); run(['--help']);"
        "sys.stderr.write(' '.join(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True, cwd=ROOT
    )
    loaded = done.stderr.split()
    heavy = {
        "rich",
        "packaging",
        "psutil",
        "jinja2",
        "doctor.pipeline",
        "doctor.checks",
        "doctor.cli.check",
        "dataclasses",
    }
    assert not heavy & set(loaded)


def test_a_facts_rank_is_a_trust() -> None:
    """At most eight levels, each with its rule; no other number ranks a fact."""
    from doctor.evidence.notes import Trust

    assert len(Trust) <= 8
    numbers = []
    for path in sorted((ROOT / "doctor/evidence").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                numbers += [
                    f"{path.name}:{node.lineno}"
                    for given in node.keywords
                    if given.arg == "rank" and any(isinstance(n, ast.Constant) for n in ast.walk(given.value))
                    and not any(isinstance(n, ast.Name) and n.id == "Trust" for n in ast.walk(given.value))
                    and not any(isinstance(n, ast.Subscript) for n in ast.walk(given.value))
                ]
    assert not numbers


# A word that only one tool prints, and the one file that has an expression for it.
ONE_PARSER = {
    "Marketing Name": "formats/rocm.py", "Xid": "formats/kernel_log.py", "PRETTY_NAME": "formats/os_release.py",
    "[Mm]?odel name": "formats/cpuinfo.py", "Cuda compilation tools": "formats/nvcc.py",
    "Kernel driver in use": "formats/lspci.py", "BDFID": "formats/rocm.py", r"E\\. Process": "formats/nvidia_smi.py",
}  # fmt: skip


@pytest.mark.parametrize(("word", "file"), ONE_PARSER.items())
def test_one_parser_a_tool(word: str, file: str) -> None:
    """Live collection, texts and the fleet read a tool by the same expressions."""
    rooms = ("formats", "evidence", "facts", "fleet")
    readers = {
        name_of(path).removeprefix("doctor/")
        for path in MODULES
        if path.relative_to(DOCTOR).parts[0] in rooms
        for text in expressions_of(path)
        if re.search(word, text)
    }
    assert readers == {file}


@cache
def expressions_of(path: Path) -> list[str]:
    """The first arguments of Regex(…) and of the functions of re."""
    calls = (n for n in nodes_of(path) if isinstance(n, ast.Call) and n.args)
    named = [c for c in calls if re.fullmatch(r"Regex|re\.\w+", ast.unparse(c.func))]
    return [c.args[0].value for c in named if isinstance(c.args[0], ast.Constant) and isinstance(c.args[0].value, str)]


NOTES_OWN = {"noted", "gpus", "packages", "errors", "denied", "wishes"}


def test_only_the_notes_hold_what_is_noted() -> None:
    """No reader writes into what another one noted, and only settling.py overrules it."""

    def law(path: Path) -> str:
        writes = set()
        for node in nodes_of(path):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                owner = ast.unparse(node.func.value)
                writing = node.func.attr in ("append", "update", "setdefault")
                if writing and owner in {f"notes.{name}" for name in NOTES_OWN}:
                    writes.add(owner)
                if owner == "notes" and node.func.attr in ("overrule", "forget", "follow"):
                    writes.add(f"notes.{node.func.attr}")
            if isinstance(node, ast.Attribute) and ast.unparse(node) == "notes.noted":
                writes.add("notes.noted")
        return f"writes {sorted(writes)}" if writes and path.name != "settling.py" else ""

    assert broken((p for p in MODULES if room(p) == "evidence"), law) == []


def test_a_text_is_cut_in_one_place() -> None:
    """Prefixes are taken off by text.py alone, and only blocks.py knows prompts and the heads of reports and tables."""
    evidence = [p for p in MODULES if room(p) == "evidence"]
    assert [p.name for p in evidence if "doctor.evidence.prefixes" in imports_of(p)] == ["text.py"]
    heads = (">>>|", "PyTorch version\\**[ ", "NVIDIA-SMI")
    cutters = {p.name for p in evidence for text in expressions_of(p) if any(head in text for head in heads)}
    assert cutters == {"blocks.py"}


TOOLS_WORDS = ("NVRM", "Cuda compilation", "NVIDIA-SMI", "PRETTY_NAME", "Marketing Name", "model name")


def test_a_tools_output_is_read_in_one_place() -> None:
    """A format knows nothing of ours but decode, Regex and the package managers, and facts/ has no expression for the
    words of those tools that have one; evidence may look for where the output stands."""
    for path in (p for p in MODULES if room(p) == "formats"):
        ours = {n for n in imports_of(path) if n.startswith("doctor")}
        allowed = ("doctor.decode", "doctor.formats", "doctor.regex", "doctor.model.values", "doctor.fixes.tools")
        assert all(n.startswith(allowed) for n in ours), name_of(path)
    for path in (p for p in MODULES if room(p) == "facts"):
        strings = [n.value for n in nodes_of(path) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
        assert not [s for s in strings for word in TOOLS_WORDS if word in s and "\\" in s], name_of(path)


# The files outside of doctor/fixes/tools that may name a package manager, and why.
KNOW_A_TOOL = {
    "inside/collect.py": "runs alone in the target: reads conda's records and uv's receipt, and looks for pip itself",
    "evidence/packages.py": "reads the lists that pip, uv and conda print, by their shape",
    "evidence/systems.py": "reads what `conda info` prints",
}  # fmt: skip


@cache
def words_of_tools() -> frozenset[str]:
    """The names of the tools, of their environments, and of the files that only one of them has."""
    words = {word for tool in all_tools() for word in (*tool.programs, *tool.locks, *(k.name for k in tool.kinds))}
    words |= {sign.file for tool in all_tools() for sign in tool.signs} - {""}
    return frozenset(words | {n for t in all_tools() for n in t.manifests if n not in base().manifests})


def names_a_tool(tree: ast.AST) -> list[str]:
    """Where code knows a tool: a string that equals one of its words (compared, looked up, or a word of a command), an
    expression that lists tools, or the module of one. A sentence with its name in it is for the user, and none."""
    listed = re.compile(rf"[(|:]({'|'.join(map(re.escape, sorted(words_of_tools())))})(?=[|)])")
    spoken = {id(n.value) for n in ast.walk(tree) if isinstance(n, ast.Expr)}  # docstrings
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in spoken:
            if node.value in words_of_tools() or listed.search(node.value):
                found.append(f"{node.lineno}: {node.value[:40]!r}")
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("doctor.fixes.tools"):
            files = {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
            files = {f.removeprefix("doctor.fixes.tools.").replace("_", "-") for f in files} & words_of_tools()
            found += [f"{node.lineno}: import of {name}" for name in files - {"pip"}]
    return found


def says_a_tool(path: Path) -> list[str]:
    """Sentences for the user with the name of a tool other than pip, which every Python may have."""
    words = "|".join(map(re.escape, sorted({name for tool in all_tools() for name in tool.programs} - {base().name})))
    name = re.compile(rf"(?<![\w/.\[-])({words})(?![\w./:-])")
    spoken = {id(n.value) for n in nodes_of(path) if isinstance(n, ast.Expr)}
    texts = (n for n in nodes_of(path) if isinstance(n, ast.Constant) and isinstance(n.value, str))
    return [f"{n.lineno}: {n.value.strip()[:50]}" for n in texts if id(n) not in spoken and name.search(n.value)]


SPEAKING = ("apply", "cli", "fixes", "reports", "triage", "api.py", "agents.py")
SAYS_A_TOOL = {
    "fixes/system_packages.py": "the package libstdcxx-ng is conda-forge's, whoever installs it",
}


def test_sentences_ask_the_registry_for_the_names_of_tools() -> None:
    paths = [p for p in MODULES if room(p) in SPEAKING and "doctor/fixes/tools/" not in name_of(p)]
    said = {name_of(path).removeprefix("doctor/"): says_a_tool(path) for path in paths}
    assert {name: where for name, where in said.items() if where and name not in SAYS_A_TOOL} == {}
    assert [name for name in SAYS_A_TOOL if not said[name]] == [], "an exception that is not needed"


def test_a_package_manager_is_one_file() -> None:
    for wrong in ('if tool == "uv": pass', 'argv = (python, "-m", "pip")', '{"poetry": 1}', 'x = "pipx_metadata.json"',
                  'r = re.compile("(?:pip|uv) install")', "from doctor.fixes.tools import pixi", 'd.get("conda")',
                  "from doctor.fixes.tools.uv import tool"):  # fmt: skip
        assert names_a_tool(ast.parse(wrong)), wrong
    for right in ('"""pip"""', 'text = "Get uv, if it is not there"', "from doctor.fixes.tools import find, pip"):
        assert names_a_tool(ast.parse(right)) == [], right
    others = [p for p in MODULES if "doctor/fixes/tools/" not in name_of(p)]
    known = {name_of(p).removeprefix("doctor/"): names_a_tool(tree_of(p)) for p in others}
    assert {name: where for name, where in known.items() if where and name not in KNOW_A_TOOL} == {}
    assert [name for name in KNOW_A_TOOL if not known[name]] == [], "an exception that is not needed"
