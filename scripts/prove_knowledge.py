"""Prove the tables against the package index and against what other tools believe, and write docs/knowledge.md.

    prove_knowledge.py wheels [--count 500] [--seed 1]   is «a wheel exists» what pip and uv say?
    prove_knowledge.py companions                        do torch and its companions resolve together, on every system?
    prove_knowledge.py commands [--count 500] [--seed 1] what share of the commands for random machines names an index
                                                         that the first two cannot ask? Do pip and uv take a sample?
    prove_knowledge.py peers                             where do other tools' tables disagree, and who is right?
    prove_knowledge.py docs [--check]                    docs/knowledge.md from the tables and the last results

The first three ask the package index that pip and uv are configured for; they download no wheel. Each keeps its result
in tests/knowledge/proof.json.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shlex
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Literal

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from doctor.knowledge import lookup  # noqa: E402
from doctor.knowledge.choose import platform_of  # noqa: E402
from doctor.knowledge.load import TABLES, rows_of, table  # noqa: E402
from doctor.knowledge.versions import at_least, numbers  # noqa: E402
from doctor.model.facts import ABSENT, Facts  # noqa: E402

PROOF = ROOT / "tests" / "knowledge" / "proof.json"
PEERS = ROOT / "tests" / "knowledge" / "peers.json"
VERDICTS = ROOT / "tests" / "knowledge" / "verdicts.json"
DOCS = ROOT / "docs" / "knowledge.md"
TIMEOUT_S = 300

Answer = Literal["yes", "no", "error", "not asked"]

# platform -> the system versions drawn for it (minimum glibc, or macOS)
PLATFORMS: dict[str, tuple[str, ...]] = {
    "linux_x86_64": ("2.17", "2.28", "2.35"),
    "linux_aarch64": ("2.17", "2.28", "2.35"),
    "macos_arm64": ("11.0", "13.0", "14.0"),
    "macos_x86_64": ("10.9", "12.0"),
    "win_amd64": ("",),
    "win_arm64": ("",),
}
PYTHONS = (
    "3.6",
    "3.7",
    "3.8",
    "3.9",
    "3.10",
    "3.11",
    "3.12",
    "3.13",
    "3.13t",
    "3.14",
    "3.14t",
    "3.15",
    "3.15t",
    "3.16",
)
LAST_PATCH = {"3.6": "3.6.15", "3.7": "3.7.17"}  # old metadata ask for more than .0


@dataclass(frozen=True)
class Triple:
    """A question to the resolvers: is there a wheel of that torch for that Python on that system?"""

    python: str
    platform: str
    system: str  # version of glibc or macOS
    torch: str

    def predicted(self) -> bool:
        """What a resolver will say. It takes one wheel that is of no use: the macOS wheel of 2.6.0 for 3.13 is tagged
        cp313-none, which fits 3.13t by its tag, and cannot be imported there: the tables don't count it."""
        pythons = lookup.pythons_of(self.torch, self.platform) or ()
        if (self.torch, self.platform, self.python) == ("2.6.0", "macos_arm64", "3.13t"):
            return True
        return self.python in pythons and self._system_will_do()

    def _system_will_do(self) -> bool:
        if self.platform.startswith("linux"):
            minimum = lookup.wheel_minimum_glibc(self.torch, self.platform)
        elif self.platform.startswith("macos"):
            minimum = lookup.wheel_minimum_macos(self.torch, self.platform, self.python)
        else:
            return True
        return minimum is not None and at_least(self.system, minimum)


def triples(count: int, seed: int) -> list[Triple]:
    """Random questions, half of them about releases that have that Python at all."""
    chance = random.Random(seed)
    wheels = {row["torch"]: row["wheels"] for row in table("releases")["rows"]}
    drawn: dict[Triple, None] = {}
    while len(drawn) < count:
        platform = chance.choice(list(PLATFORMS))
        torch = chance.choice(list(wheels))
        named = {python for tags in wheels[torch].get(platform, {}).values() for python in tags.split()}
        known = sorted(named, key=lambda python: (numbers(python), python))
        python = chance.choice(known) if known and chance.random() < 0.5 else chance.choice(PYTHONS)
        drawn[Triple(python, platform, chance.choice(PLATFORMS[platform]), torch)] = None
    return list(drawn)


def pip_platforms(triple: Triple) -> tuple[str, ...]:
    """The --platform values that make pip see that system."""
    if triple.platform.startswith("linux"):
        cpu = triple.platform.removeprefix("linux_")
        top = numbers(triple.system)[1]
        new = [f"manylinux_2_{minor}_{cpu}" for minor in range(top, 16, -1)]
        return (*new, *(f"manylinux{old}_{cpu}" for old in (("2014", "2010", "1") if cpu == "x86_64" else ("2014",))))
    if triple.platform.startswith("macos"):
        return ("macosx_" + triple.system.replace(".", "_") + "_" + triple.platform.removeprefix("macos_"),)
    return (triple.platform,)


def ask_pip(triple: Triple) -> Answer:
    python = triple.python.rstrip("t")
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--dry-run",
        "--ignore-installed",
        "--no-deps",
        "--only-binary=:all:",
    ]
    command += [
        "--use-feature=fast-deps"
    ]  # reads the METADATA of a wheel by range requests, where the index has no other way
    command += ["--python-version", LAST_PATCH.get(python, python), "--implementation", "cp"]
    command += ["--abi", "cp" + triple.python.replace(".", "")] if triple.python.endswith("t") else []
    for platform in pip_platforms(triple):
        command += ["--platform", platform]
    with tempfile.TemporaryDirectory() as folder:
        return _answer([*command, "--target", folder, f"torch=={triple.torch}"], {}, "No matching distribution found")


UV_PLATFORMS = {
    "macos_arm64": "aarch64-apple-darwin", "macos_x86_64": "x86_64-apple-darwin",
    "win_amd64": "x86_64-pc-windows-msvc", "win_arm64": "aarch64-pc-windows-msvc",
}  # fmt: skip


def uv_platform(platform: str, system: str) -> tuple[str, dict[str, str]]:
    """uv's --python-platform, and the environment that goes with it."""
    if platform.startswith("linux"):
        return platform.removeprefix("linux_") + "-manylinux_" + system.replace(".", "_"), {}
    return UV_PLATFORMS[platform], {"MACOSX_DEPLOYMENT_TARGET": system} if system else {}


def ask_uv(triple: Triple) -> Answer:
    if triple.python.endswith("t"):  # uv takes the ABI from an interpreter that it has; the option has no name for it
        return "not asked"
    return uv_resolves([f"torch=={triple.torch}"], triple.python, triple.platform, triple.system, "--no-deps")


def uv_resolves(requirements: list[str], python: str, platform: str, system: str, *options: str) -> Answer:
    target, environment = uv_platform(platform, system)
    command = ["uv", "pip", "compile", "-q", "--no-header", "--no-python-downloads", "--only-binary", ":all:"]
    command += ["--python-platform", target, "--python-version", LAST_PATCH.get(python, python), *options]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "requirements.in")
        file.write_text("\n".join(requirements) + "\n")
        return _answer([*command, str(file)], environment, "No solution found")


def _answer(command: list[str], environment: dict[str, str], refusal: str) -> Answer:
    """ "yes", "no" (the resolver says there is none), or "error" for anything else."""
    environ = {
        **os.environ,
        **environment,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}",
    }
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, env=environ, check=False)
    except subprocess.TimeoutExpired:
        return "error"
    if done.returncode == 0:
        return "yes"
    return "no" if refusal in done.stderr + done.stdout else "error"


def asked(ask: Callable[[Triple], Answer], triple: Triple) -> Answer:
    """Ask twice where the first answer is an error: an index can be busy."""
    answer = ask(triple)
    return ask(triple) if answer == "error" else answer


def prove_wheels(count: int, seed: int, jobs: int) -> dict[str, Any]:
    questions = triples(count, seed)
    predicted = ["yes" if t.predicted() else "no" for t in questions]
    result: dict[str, Any] = {"asked": len(questions), "seed": seed, "predicted_yes": predicted.count("yes")}
    for name, ask in (("uv", ask_uv), ("pip", ask_pip)):
        with ThreadPoolExecutor(jobs) as pool:
            answers = list(pool.map(lambda t, ask=ask: asked(ask, t), questions))  # type: ignore[misc]
        wrong = [
            {**vars(t), "predicted": p, name: a}
            for t, p, a in zip(questions, predicted, answers, strict=True)
            if a in ("yes", "no") and a != p
        ]
        counts = Counter(answers)
        result[name] = {"answers": dict(counts), "agree": counts["yes"] + counts["no"] - len(wrong), "wrong": wrong}
        print(f"{name}: {result[name]['agree']} of {counts['yes'] + counts['no']} agree, {dict(counts)}", flush=True)
        for row in wrong:
            print("  ", row)
    result["variants"] = asked_share()
    return result


def asked_share() -> dict[str, int]:
    """How many (release, backend, platform) can be asked of the package index, and how many only of other indexes."""
    here = there = derived = 0
    for release in lookup.torch_versions():
        for platform in PLATFORMS:
            for backend in lookup.backends_of(release, platform):
                if backend == lookup.default_backend(release, platform):
                    here += 1
                else:
                    there += 1
                    derived += lookup.published(release, backend, platform) == "derived"
    return {"on_the_package_index": here, "on_other_indexes": there, "of_these_derived": derived}


@dataclass(frozen=True)
class Printed:
    """A command that installs torch, as `install --print-commands` prints it, and the machine that it is for."""

    words: tuple[str, ...]
    facts: Facts

    def value(self, option: str) -> str | None:
        """What follows the option, or stands behind its «=»."""
        for i, word in enumerate(self.words):
            if word == option:
                return self.words[i + 1]
            if word.startswith(f"{option}="):
                return word.partition("=")[2]
        return None

    @property
    def index(self) -> str:
        """The address that it names, "" for the package index."""
        if backend := self.value("--torch-backend"):
            return lookup.index_url(backend) or ""
        return self.value("--index-url") or self.value("--index") or ""

    @property
    def torch(self) -> str | None:
        """The release that it names."""
        return next((w.removeprefix("torch==") for w in self.words if w.startswith("torch==")), None)

    @property
    def python(self) -> str:
        """The Python that it installs for: the machine's own, or that of the new environment."""
        for part in Path(self.value("--python") or "").parts:
            if part.startswith(".venv-"):
                return part.removeprefix(".venv-")
        own = self.facts.interpreter
        return ".".join((own.version or "").split(".")[:2]) + "t" * bool(own.free_threaded)

    @property
    def derived(self) -> bool:
        """Whether only a rule says that this build was published."""
        backend = self.index.rpartition("/")[2]
        return bool(self.torch) and lookup.published(self.torch or "", backend, platform_of(self.facts)) == "derived"


def printed_commands(count: int, seed: int) -> Iterator[Printed]:
    """The pip and uv commands that `install` prints for random machines without torch; `fix` takes the same ones."""
    from doctor.cli.install import advise
    from doctor.fixes.plan import script
    from doctor.model.fix import Plan
    from tests.knowledge.random_machines import MAKERS

    chance = random.Random(seed)
    for i in range(count):
        facts, _ = chance.choice(MAKERS)(chance)
        facts = replace(facts, torch=ABSENT)
        fix, _ = advise(facts, spec=None, backend=None, companions=(), tool=("pip", "uv")[i % 2])
        for line in script(Plan(fixes=(fix,)), windows=False).splitlines() if fix else ():
            words = () if line.startswith("#") else tuple(shlex.split(line))
            if "install" in words and any(w == "torch" or w.startswith(("torch==", "torch[")) for w in words):
                yield Printed(words, facts)


def prove_commands(count: int, seed: int) -> dict[str, Any]:
    """Which indexes the commands name, and whether pip and uv take a sample of those that the package index serves."""
    commands = list(printed_commands(count, seed))
    elsewhere = [c for c in commands if c.index]
    sample = random.Random(seed).sample([c for c in commands if not c.index], SAMPLE)
    wrong = [{"command": shlex.join(c.words), "answer": a} for c in sample if (a := taken(c)) != "yes"]
    print(
        f"commands: {len(elsewhere)} of {len(commands)} on other indexes, {SAMPLE - len(wrong)} of {SAMPLE} are taken"
    )
    for row in wrong:
        print("  ", row)
    return {
        "machines": count, "seed": seed, "commands": len(commands), "on_other_indexes": len(elsewhere),
        "of_these_derived": sum(c.derived for c in elsewhere), "tried": SAMPLE, "wrong": wrong,
    }  # fmt: skip


def taken(command: Printed) -> Answer:
    """Whether pip or uv, as the command says, resolves it for its machine, without installing anything."""
    host, platform = command.facts.host, platform_of(command.facts)
    system = (host.macos or "") if platform.startswith("macos") else (host.libc_version or "")
    if platform.startswith("linux"):  # uv has no name for every glibc
        system = max((s for s in PLATFORMS[platform] if at_least(system, s)), key=numbers)
    requirements = [w for w in command.words if w.partition("==")[0] in ("torch", *COMPANIONS)]
    if command.words[0] == "uv" and not command.python.endswith("t"):
        return uv_resolves(requirements, command.python, platform, system, "--no-deps")
    return ask_pip(Triple(command.python, platform, system, command.torch or lookup.newest_torch()))


SAMPLE = 20
COMPANIONS = ("torchvision", "torchaudio", "torchtext")


def prove_companions(jobs: int) -> dict[str, Any]:
    """Every release with the companions that the tables name, on every platform that has it, for its newest usual
    Python that has a torchvision."""
    cases = [(r, p) for r in lookup.torch_versions() for p in PLATFORMS if lookup.pythons_of(r, p)]
    with ThreadPoolExecutor(jobs) as pool:
        answers = list(pool.map(lambda case: _resolve_together(*case), cases))
    wrong = [a for a in answers if a["answer"] != "yes"]
    print(f"companions: {len(answers) - len(wrong)} of {len(answers)} resolve", flush=True)
    for row in wrong:
        print("  ", row)
    return {"asked": len(answers), "resolve": len(answers) - len(wrong), "wrong": wrong}


def _resolve_together(release: str, platform: str) -> dict[str, str]:
    pythons = [p for p in lookup.pythons_of(release, platform) or () if not p.endswith("t")]
    served = [p for p in pythons if lookup.companion(release, "torchvision", platform, p)]
    python = (served or pythons)[-1]
    wanted = {"torch": release} | {c: v for c in COMPANIONS if (v := lookup.companion(release, c, platform, python))}
    requirements = [f"{name}=={version}" for name, version in wanted.items()]
    answer = uv_resolves(requirements, python, platform, PLATFORMS[platform][-1])
    if answer == "error":
        answer = uv_resolves(requirements, python, platform, PLATFORMS[platform][-1])
    return {"platform": platform, "python": python, "requirements": " ".join(requirements), "answer": answer}


@dataclass(frozen=True)
class Disagreement:
    """A claim of another tool that the tables do not share."""

    repo: str
    claim: dict[str, Any]
    ours: Any

    @property
    def key(self) -> str:
        """The question, as verdicts.json names it."""
        return " ".join(str(self.claim[k]) for k in self.claim if k not in ("says", "archs")) + (
            f" {' '.join(self.claim['archs'])}" if "archs" in self.claim else ""
        )


def ours(claim: dict[str, Any]) -> Any:
    """What the tables answer to a claim's question."""
    match claim["ask"]:
        case "driver":
            need = lookup.driver_need(claim["cuda"], claim["system"])
            return need.minimum if need else None
        case "gfx":
            lists = [lookup.arch_list_of(r, claim["backend"], "linux_x86_64") for r in lookup.torch_versions()]
            return " ".join(next((a for a in reversed(lists) if a), ()))
        case "runs":
            return lookup.runs_on(claim["capability"], tuple(claim["archs"])) != "no"
        case "architecture":
            return lookup.architecture_of(claim["capability"])
        case "capability":
            model = lookup.gpu_model(claim["name"])
            return model.capability if model else None
        case "gfx-of-pci":
            model = lookup.gpu_model(None, claim["pci_id"])
            return model.gfx if model else None
        case "override":
            return lookup.hsa_override(claim["gfx"])
        case "index":
            return lookup.index_url(claim["backend"])
        case "plain-install":
            return lookup.default_backend(lookup.newest_torch(), claim["platform"])
        case "archs":
            return " ".join(lookup.arch_list_of(claim["torch"], claim["backend"], claim["platform"]) or ())
        case "cuda-of-driver":
            return lookup.cuda_of_driver(claim["driver"], claim["system"])
    raise ValueError(f"a claim asks {claim['ask']!r}")


def same(claim: dict[str, Any], answer: Any) -> bool:
    """Whether an answer is the claim's: versions as numbers, lists as sets."""
    says = claim["says"]
    if says is None or answer is None or isinstance(says, bool):
        return bool(says == answer)
    if claim["ask"] in ("driver", "override"):
        return numbers(says) == numbers(answer)
    if claim["ask"] in ("gfx", "archs"):
        return set(says.split()) == set(answer.split())
    if claim["ask"] == "architecture":
        return str(says).split()[0] == answer
    return bool(says == answer)


def disagreements() -> Iterator[Disagreement]:
    for peer in json.loads(PEERS.read_text()):
        for claim in peer["claims"]:
            answer = ours(claim)
            if not same(claim, answer):
                yield Disagreement(peer["repo"], claim, answer)


def verdict_of(disagreement: Disagreement, verdicts: Iterable[dict[str, str]]) -> dict[str, str] | None:
    """Who is right, and why: the first verdict on that repository whose `about` is a word or the beginning of the
    question."""
    for verdict in verdicts:
        if verdict["repo"] == disagreement.repo and disagreement.key.startswith(verdict["about"]):
            return verdict
    return None


def prove_peers() -> dict[str, Any]:
    verdicts = json.loads(VERDICTS.read_text())
    found = list(disagreements())
    claims = sum(len(peer["claims"]) for peer in json.loads(PEERS.read_text()))
    unjudged = [d for d in found if verdict_of(d, verdicts) is None]
    print(f"peers: {claims} claims, {len(found)} disagreements, {len(unjudged)} without a verdict")
    for d in unjudged:
        print("  ", d.repo, "|", d.key, "| says", d.claim["says"], "| ours", d.ours)
    return {"claims": claims, "disagreements": len(found), "unjudged": len(unjudged)}


def docs_text() -> str:
    """docs/knowledge.md."""
    proof = json.loads(PROOF.read_text()) if PROOF.exists() else {}
    return "\n".join([
        "# What torchdoctor knows\n",
        "Made by `scripts/prove_knowledge.py docs` from doctor/knowledge/tables and from peers.json, verdicts.json and "
        "proof.json in tests/knowledge; change them there.\n",
        *_docs_of_tables(),
        *_docs_of_rules(),
        *_docs_of_proofs(proof),
        *_docs_of_peers(),
        *_docs_of_single_rows(),
    ])  # fmt: skip


def _docs_of_tables() -> Iterator[str]:
    yield "## The tables\n"
    yield "A row is `verified` (the published thing itself, the vendor's page, or two sources) or `single` (one source,"
    yield "or recalled). A variant of an index that could not be read is `derived` where only a rule says it exists.\n"
    yield "| table | date | rows | verified | single or derived |"
    yield "| --- | --- | --- | --- | --- |"
    for name in TABLES:
        rows = list(rows_of(table(name)))
        verified = sum(row["status"] == "verified" for _, row in rows)
        yield f"| {name} | {table(name)['date']} | {len(rows)} | {verified} | {len(rows) - verified} |"
    yield "\nSources:\n"
    sources = {text: key for name in TABLES for key, text in table(name)["sources"].items()}
    for text, key in sorted(sources.items(), key=lambda item: item[1]):
        yield f"- {key}: {text}"
    yield ""


def _docs_of_rules() -> Iterator[str]:
    yield "## Which build was published\n"
    for row in table("builds")["rules"]:
        yield f"- {row['id']}: {row['rule']}"
    yield "\nA release newer than the tables is judged by the rows of the newest one known, a nightly by those of its"
    yield "release.\n"


def _docs_of_proofs(proof: dict[str, Any]) -> Iterator[str]:
    yield "## Proofs\n"
    if wheels := proof.get("wheels"):
        yield f"«A wheel exists», {wheels['date']}: {wheels['asked']} random (Python, system, torch), of which"
        yield f"{wheels['predicted_yes']} were predicted to exist (seed {wheels['seed']}).\n"
        for tool in ("pip", "uv"):
            answers = wheels[tool]["answers"]
            given = answers.get("yes", 0) + answers.get("no", 0)
            left = f"; not asked: {answers['not asked']} (free-threaded)" if answers.get("not asked") else ""
            left += f"; no answer: {answers['error']}" if answers.get("error") else ""
            yield f"- {tool}: {wheels[tool]['agree']} of {given} agree{left}"
        share = wheels["variants"]
        total = share["on_the_package_index"] + share["on_other_indexes"]
        yield f"- {share['on_other_indexes']} of {total} published (release, backend, platform) are on indexes that"
        yield f"  could not be asked; {share['of_these_derived']} of these are derived\n"
    if commands := proof.get("commands"):
        printed, elsewhere = commands["commands"], commands["on_other_indexes"]
        yield f"Printed commands, {commands['date']}: {printed} pip and uv commands that `install` prints for"
        yield f"{commands['machines']} random machines (seed {commands['seed']}).\n"
        yield f"- {elsewhere} ({elsewhere / printed:.0%}) name an index that could not be asked; for"
        yield f"  {commands['of_these_derived']} of these only a rule says that the build was published; they say so"
        yield f"- {commands['tried'] - len(commands['wrong'])} of {commands['tried']} drawn at random of those for the"
        yield "  package index resolve for their machine (pip install --dry-run, uv pip compile)\n"
    if companions := proof.get("companions"):
        yield f"Companions, {companions['date']}: {companions['resolve']} of {companions['asked']} (release, platform)"
        yield "resolve with the torchvision, torchaudio and torchtext that the tables name (uv pip compile).\n"
        for row in companions["wrong"]:
            yield f"- not: {row['requirements']} on {row['platform']}, Python {row['python']}"
        yield ""


def _docs_of_peers() -> Iterator[str]:
    verdicts = json.loads(VERDICTS.read_text())
    peers = json.loads(PEERS.read_text())
    found = list(disagreements())
    yield "## Where others disagree\n"
    claims = sum(len(peer["claims"]) for peer in peers)
    yield f"{claims} claims of other tools were put to the tables; {len(found)} are not shared.\n"
    yield "| who | where | claims | not shared |"
    yield "| --- | --- | --- | --- |"
    for peer in peers:
        where = f"{peer['path']} @{peer['commit'][:8]}" if peer["commit"] else peer["path"]
        count = sum(d.repo == peer["repo"] for d in found)
        yield f"| {peer['repo']} | {where} | {len(peer['claims'])} | {count} |"
    yield "\n| who | question | says | our answer | who is right | why |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for key, group in _once(found).items():
        verdict = verdict_of(group, verdicts) or {"right": "not judged", "why": ""}
        says = "nothing" if group.claim["says"] is None else group.claim["says"]
        answer = "none" if group.ours is None else group.ours
        yield f"| {group.repo} | {key[1]} | {says} | {answer} | {verdict['right']} | {verdict['why']} |"
    yield ""


def _once(found: Iterable[Disagreement]) -> dict[tuple[str, str], Disagreement]:
    return {(d.repo, d.key): d for d in found}


def _docs_of_single_rows() -> Iterator[str]:
    yield "## What has one source only\n"
    for name in TABLES:
        counts = Counter(group for group, row in rows_of(table(name)) if row["status"] != "verified")
        for group, count in counts.items():
            named = [_row_name(row) for g, row in rows_of(table(name)) if g == group and row["status"] != "verified"]
            yield f"- {name}, {group} ({count}): {', '.join(dict.fromkeys(named))}"


def _row_name(row: dict[str, Any]) -> str:
    keys = (
        "torch",
        "backend",
        "platform",
        "package",
        "version",
        "cuda",
        "branch",
        "capability",
        "gfx",
        "darwin",
        "name",
        "id",
        "what",
    )
    if "pattern" in row:
        return f"`{row['pattern']}`".replace("|", "¦")
    if "quantity" in row:  # a published number
        return f"{row['work']} {row['machine']}"
    if "jetpack" in row:
        return f"JetPack {row['jetpack']}"
    if "first" in row and "last" in row and "vendor" in row:
        return f"{row['vendor']} {row['first']}–{row['last']}"
    return " ".join(str(row[k]) for k in keys if row.get(k) and not (k == "torch" and "package" in row))


def _docs(check: bool) -> int:
    text = docs_text()
    if check:
        current = DOCS.exists() and DOCS.read_text(encoding="utf-8") == text
        print("docs/knowledge.md is current" if current else "docs/knowledge.md is not current")
        return 0 if current else 1
    DOCS.write_text(text, encoding="utf-8")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("proof", choices=("wheels", "companions", "commands", "peers", "docs"))
    parser.add_argument("--check", action="store_true", help="docs: only say whether they are current")
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    if options.proof == "docs":
        return _docs(options.check)
    if options.proof == "wheels":
        result = prove_wheels(options.count, options.seed, options.jobs)
    elif options.proof == "companions":
        result = prove_companions(options.jobs)
    elif options.proof == "commands":
        result = prove_commands(options.count, options.seed)
    else:
        result = prove_peers()
    results = json.loads(PROOF.read_text()) if PROOF.exists() else {}
    results[options.proof] = {"date": datetime.now(timezone.utc).date().isoformat(), **result}
    PROOF.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
