"""What may leave the machine, and what must not."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.model.facts import ErrorText, Gpu
from doctor.model.fix import Fix, Plan, Step
from doctor.redaction.report import find, redact
from doctor.redaction.words import ACCOUNTS as PUBLIC
from doctor.redaction.words import is_ordinary
from doctor.reports import json
from tests.examples import linux, with_torch
from tests.reports.samples import ALL, FACTS, FAULTY, PYTHON, report

UUID = "GPU-8f3c1e7a-0f6b-4b9b-9a63-0123456789ab"
names = st.from_regex(r"[a-z][a-z0-9]{3,11}", fullmatch=True).filter(lambda n: n not in PUBLIC and not is_ordinary(n))


def with_text(*texts: str, **environ: str):
    errors = tuple(ErrorText(pattern="x", text=t) for t in texts)
    return report(replace(FACTS, errors=errors, environ=environ))


def texts_of(sample) -> list[str]:
    return [e.text for e in sample.facts.errors]


def test_the_user_in_a_path_is_replaced_everywhere_by_the_same_name() -> None:
    (path, alone, other) = texts_of(redact(with_text("/home/anna/x", "by anna.", "/home/bob/anna")))
    assert path == "/home/user1/x"
    assert alone == "by user1."
    assert other == "/home/user3/user1"  # user2 is in the sample's own facts


@pytest.mark.parametrize(
    "path",
    ["/home/{}/ml", "/Users/{}/ml", r"C:\Users\{}\ml", r"c:\\Users\\{}\\ml", "/mnt/c/Users/{}/ml", "file:///home/{}/x"],
)
def test_home_folders_of_all_systems(path: str) -> None:
    (shown,) = texts_of(redact(with_text(path.format("anna"))))
    assert shown == path.format("user1")


def test_windows_names_with_a_space() -> None:
    assert texts_of(redact(with_text(r"C:\Users\Anna Smith\x"))) == [r"C:\Users\user3\x"]


@pytest.mark.parametrize("name", ["root", "ubuntu", "runner", "jovyan"])
def test_names_that_everybody_has_stay(name: str) -> None:
    text = f"/home/{name}/x on {name}"
    assert texts_of(redact(with_text(text), names=(("user", name),))) == [text]


def test_a_name_is_never_replaced_inside_a_word() -> None:
    sample = with_text("torch and tor, mytor, tor_x /home/tor/a; nvcc nv /home/nv/a")
    (shown,) = texts_of(redact(sample, names=(("user", "tor"),)))
    assert shown == "torch and user1, mytor, tor_x /home/user1/a; nvcc nv /home/user4/a"


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("--index-url https://anna:hunter22@example.com/simple", "hunter22"),
        ("https://tok3n@example.com/simple", "tok3n"),
        ("export HF_TOKEN=hf_abcdefghijklmnopqrst", "hf_abcdefghijklmnopqrst"),
        ("UV_INDEX_PASSWORD=pa55word pip install torch", "pa55word"),
        ("https://example.com/a?access_token=abc123def&x=1", "abc123def"),
        ("Authorization: Bearer abcdefghijklmnopqrstuvwxyz", "abcdefghijklmnopqrstuvwxyz"),
        ("fatal: ghp_0123456789abcdefghij0123", "ghp_0123456789abcdefghij0123"),
    ],
)
def test_secrets(text: str, secret: str) -> None:
    assert secret not in json.render(redact(with_text(text, f"again {secret}")))


def test_values_of_secret_variables() -> None:
    sample = redact(with_text("says s3cr3tvalue", WANDB_API_KEY="s3cr3tvalue", CUDA_VISIBLE_DEVICES="0"))
    assert "s3cr3tvalue" not in json.render(sample)
    assert sample.facts.environ["CUDA_VISIBLE_DEVICES"] == "0"


def test_uuids_and_serials_keep_their_difference() -> None:
    gpus = (Gpu(vendor="nvidia", uuid=UUID), Gpu(vendor="nvidia", uuid=UUID.replace("8f", "9f")))
    sample = replace(with_text(f"{UUID} is lost", "Serial Number: 1324721012345"), facts=replace(FACTS, gpus=gpus))
    assert [g.uuid for g in redact(sample).facts.gpus] == ["GPU-1", "GPU-2"]
    assert "1324721012345" not in json.render(redact(with_text("Serial Number: 1324721012345")))


def test_host_name_with_and_without_domain() -> None:
    sample = redact(with_text("on anna-box.lab.example", "anna-box kernel"), names=(("host", "anna-box.lab.example"),))
    assert texts_of(sample) == ["on host1", "host1 kernel"]


def test_a_home_in_an_unusual_place() -> None:
    sample = redact(with_text("/data/crew/anna/x"), names=(("home", "/data/crew/anna"), ("user", "anna")))
    assert texts_of(sample) == ["/home/user1/x"]


def test_commands_say_python() -> None:
    redacted = redact(FAULTY)
    fix = redacted.plan.fixes[0]
    assert fix.steps[1].argv[0] == "{python}"
    assert fix.alternatives[0].steps[-1].argv[0] == "{python}"
    assert redacted.target.python == "/home/user1/ml/.venv/bin/python"
    assert redacted.redacted


def test_python_only_as_a_whole_path() -> None:
    fix = Fix(
        finding="x", action="none", title="", steps=(Step(text="", shell=f"{PYTHON} -m x; {PYTHON}3 {PYTHON}-y"),)
    )
    shell = redact(replace(FAULTY, plan=Plan(fixes=(fix,)))).plan.fixes[0].steps[0].shell
    assert shell == "{python} -m x; /home/user1/ml/.venv/bin/python3 /home/user1/ml/.venv/bin/python-y"


@pytest.mark.parametrize("name", ALL)
def test_twice_is_once_and_ids_stay(name: str) -> None:
    once = redact(ALL[name])
    assert redact(once, names=(("user", "user1"),)) == once
    assert [(f.id, f.severity, f.layer) for f in once.findings] == [
        (f.id, f.severity, f.layer) for f in ALL[name].findings
    ]
    assert once.verdict == ALL[name].verdict


@given(names, names, st.lists(st.sampled_from(["/home/{}/x", "by {}", "{}: no", r"C:\Users\{}\y", "({})"]), min_size=1))
def test_no_name_survives_and_the_rest_does(user: str, host: str, forms: list[str]) -> None:
    texts = [f.format(user) for f in forms] + [f"at {host}", f"x{user}y"]
    redacted = redact(with_text(*texts), names=(("user", user), ("host", host)))
    shown = texts_of(redacted)
    assert shown[-1] == f"x{user}y" or user in f"x{host}y"
    for text, form in zip(shown[: len(forms)], forms, strict=True):
        stand_in = "user1" if user != host else text.replace(form.partition("{}")[0], "", 1)[:5]
        assert text == form.format(stand_in)


def test_a_user_named_like_a_system_leaves_the_facts_alone() -> None:
    sample = report(with_torch(linux(), "2.6.0"))
    redacted = redact(sample, names=(("user", "ubuntu"), ("host", "linux")))
    assert redacted.facts.host == sample.facts.host


@pytest.mark.parametrize("text", [
    "      - name: HF_TOKEN\n          value: \"hunter22x!\"",
    "    env:\n      - name: DB_PASSWORD\n        value: hunter22x!",
    "  - name: MYSQL_PASSWORD\n                    value: hunter22x!",
    "Authorization: Bearer\n  hunter22x!",
    "curl -H 'Authorization: Bearer \\\n      hunter22x!'",
    r"\\fileserver7\home\hunter22x!\venv",
    r"\\files.example\Users$\hunter22x!\venv\python.exe",
    r"C:\Dokumente und Einstellungen\hunter22x!\venv",
    r"D:\Benutzer\hunter22x!\venv",
    r"C:\DOCUME~1\hunter22x!\LOCALS~1\Temp",
    "file=%2Fhome%2Fhunter22x!%2Fvenv",
    "%2Fhome%2Fhunter22x!%2Fvenv",
    "C%3A%5CUsers%5Chunter22x!%5Cvenv",
    "&#47;home&#47;hunter22x!&#47;venv",
    r"\u002fhome\u002fhunter22x!\u002fvenv",
    "/lustre/fs1/portfolios/x/users/hunter22x!/venv",
    "/mnt/shared/cluster7/data/team/home/hunter22x!/venv",
    "/rds/user/hunter22x!/hpc-work",
])  # fmt: skip
def test_secrets_and_homes_in_odd_places(text: str) -> None:
    """Manifests of containers, tokens on the next line, encoded paths, shares and other systems' home folders."""
    found = [text[span.start : span.end] for span in find(text)]
    assert any("hunter22x" in one for one in found), found


@pytest.mark.parametrize("text", [
    "name: torch_keys\n  value: 3", "the token\n\nvalue: see below", "Basic\n  usage of torch.compile",
    "100%25 of cuda:0", "a&lt;b&gt;c torch==2.6.0%2Bcu124", "https://download.pytorch.org/whl/cu124/torch-2.6.0%2Bcu124.whl",
    r"C:\Program Files\NVIDIA GPU Computing Toolkit\CUDA\v12.4\bin", "/opt/rocm/share/people.txt", r"C:\hostedtoolcache\windows\Python",
])  # fmt: skip
def test_words_in_odd_places_stay(text: str) -> None:
    assert find(text) == []
