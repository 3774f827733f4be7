"""What goes into a shell must mean there what it means here.

The POSIX shells are the real ones that are installed. cmd.exe and PowerShell are models of their documented rules
(`cmd /?`; about_Quoting_Rules, about_Parsing; Microsoft's «Parsing C command-line arguments»), and where Wine and a
cross compiler are installed, Wine's cmd besides.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from doctor.fixes import quoting
from doctor.hidden import has_command
from tests.sample import examples

NASTY = (
    "", "a b", "it's", '"', "$HOME", "`id`", "a;rm -rf /", "*", "~", "~root", "#", "#a", "\\", "\\\\", "a\\'b", "a\\",
    "=ls", "%self", "%PATH%", "!x", "!!", "^", "&", "a&b", "(a)", "{a,b}", "[a]", "-f=1.2", "--a.b", "--", "-", "--%",
    "@a", "a,b", "<", ">x", "|", "torch[device-gfx1201]", "numpy<2", "a=b", "é", "日本 語", "a\u2019; calc",
    "\u201ca\u201d $x", "$(id)", "${x}", "\\\\server\\a b\\", "C:\\Program Files\\x", "C:\\a b\\", "C:\\a&b\\", "100%",
    "'", "''", "a'\\'b", "$'a'", "?", "~/x", "a:~",
)  # fmt: skip
SPECIAL = st.sampled_from("'\"\\$`!%^&|<>(){}[]*?~#=;:,@-+. aZ1é\u2018\u2019\u201c\u201d")
HOSTILE = st.text(SPECIAL | st.characters(codec="utf-8"), max_size=12).filter(quoting.is_printable)
WORDS = st.lists(st.sampled_from(NASTY) | HOSTILE, max_size=40)

CALLS = (
    ("sh",), ("dash",), ("bash",), ("zsh", "-f"), ("ksh",), ("mksh",), ("yash",), ("busybox", "sh"), ("fish", "-N"),
)  # fmt: skip
SHELLS = [(name, (found, *more)) for name, *more in CALLS if (found := shutil.which(name))]
SAY = "import json,sys; print(json.dumps(sys.argv[1:]))"
posix_only = pytest.mark.skipif(os.name == "nt", reason="POSIX shells")


@posix_only
@pytest.mark.parametrize(("name", "shell"), SHELLS, ids=[name for name, _ in SHELLS])
@settings(max_examples=examples(15), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(words=list(NASTY))
@given(words=WORDS)
def test_every_shell_hands_on_every_word(name: str, shell: tuple[str, ...], words: list[str]) -> None:
    line = quoting.command((sys.executable, "-c", SAY, *words), "fish" if name == "fish" else "sh")
    done = subprocess.run([*shell, "-c", line], capture_output=True, check=True, timeout=30)  # type: ignore[list-item]
    assert json.loads(done.stdout) == words


@posix_only
@pytest.mark.parametrize(("name", "shell"), SHELLS, ids=[name for name, _ in SHELLS])
def test_a_program_and_a_variable_in_every_shell(name: str, shell: tuple[str, ...], tmp_path: Path) -> None:
    kind: quoting.Shell = "fish" if name == "fish" else "sh"
    folder = tmp_path / "it's a\\b $HOME `x` ; =é"
    folder.mkdir()
    (folder / "x=1").symlink_to(sys.executable)
    code = "import json,os; print(json.dumps([os.environ.get('DOCTOR_A'), os.environ.get('DOCTOR_B')]))"
    lines = [
        quoting.set_variable("DOCTOR_A", "=a'\\b $HOME", shell=kind),
        quoting.unset_variable("DOCTOR_B", shell=kind),
        *quoting.comment("don't `id` $(false) ; exit 7", kind),
        quoting.command((str(folder / "x=1"), "-c", code), kind),
        "cd " + quoting.command((str(folder),), kind),  # type: ignore[operator]
        quoting.command(("x=1/../x=1", "-c", code), kind),
    ]
    (folder / "x=1").rename(folder / "python")
    (folder / "x=1").mkdir()
    (folder / "python").rename(folder / "x=1" / "python")
    lines[3] = quoting.command((str(folder / "x=1" / "python"), "-c", code), kind)
    lines[5] = quoting.command(("x=1/python", "-c", code), kind)
    environ = {**os.environ, "DOCTOR_B": "1"}
    script = "\n".join(str(line) for line in lines)
    done = subprocess.run([*shell, "-c", script], env=environ, capture_output=True, text=True, timeout=30, check=False)
    assert [json.loads(line) for line in done.stdout.splitlines()] == [["=a'\\b $HOME", None]] * 2, done.stderr


# ---- models


def c_runtime(line: str) -> list[str]:
    """The words that a program on Windows finds in its command line, behind the program."""
    words: list[str] = []
    word: list[str] | None = None
    quoted = False
    place = 0
    while place < len(line):
        c = line[place]
        if c in " \t" and not quoted:
            if word is not None:
                words.append("".join(word))
            word = None
            place += 1
            continue
        word = [] if word is None else word
        slashes = len(line) - place - len(line[place:].lstrip("\\"))
        if slashes and line[place + slashes : place + slashes + 1] == '"':
            word.append("\\" * (slashes // 2) + ('"' if slashes % 2 else ""))
            place += slashes + slashes % 2
        elif slashes:
            word.append("\\" * slashes)
            place += slashes
        elif c == '"' and quoted and line[place + 1 : place + 2] == '"':
            word.append('"')
            place += 2
        else:
            quoted ^= c == '"'
            word += [] if c == '"' else [c]
            place += 1
    return words + (["".join(word)] if word is not None else [])


def cmd(line: str) -> list[str]:
    """cmd's part: what stays as it is (no expansion, no operator, no caret outside quotes), typed or in a file."""
    assert "%" not in line
    quoted = False
    for c in line:
        quoted ^= c == '"'
        assert quoted or c not in "&|<>()^\n", line
    return c_runtime(line)


def powershell(line: str) -> list[str]:
    """The words of a command in argument mode."""
    single, double = "'\u2018\u2019\u201a\u201b", '"\u201c\u201d\u201e'
    words, place = [], 2 if line.startswith("& ") else 0
    while place < len(line):
        if line[place] == " ":
            place += 1
        elif line[place] in single or line[place] in double:
            end, text = (single if line[place] in single else double), ""
            place += 1
            while line[place] not in end or line[place + 1 : place + 2] in list(end):
                assert end == single or line[place] not in "$`", line
                place += line[place] in end
                text += line[place]
                place += 1
            words.append(text)
            place += 1
            assert line[place : place + 1] in ("", " "), line
        else:
            bare = line[place:].split(" ", 1)[0]
            assert re.match(r"(--?[A-Za-z0-9][\w-]*|[\w./\\][\w./:\\=+-]*)\Z", bare, re.ASCII), line
            words.append(bare)
            place += len(bare)
    return words


def windows_powershell_5(words: list[str]) -> list[str]:
    """How 5.1 hands words to a program: without empty ones, in quotes where there is a space, nothing escaped."""
    return c_runtime(" ".join(f'"{w}"' if any(c.isspace() for c in w) else w for w in words if w))


def powershell_7(words: list[str]) -> list[str]:
    return c_runtime(subprocess.list2cmdline(words))


def read_by_all(argv: list[str]) -> tuple[bool, bool]:
    """Check both spellings, and say which there are."""
    typed = quoting.command(argv, "powershell")
    if typed is not None:
        words = powershell(typed)
        assert words == argv
        assert typed.startswith("& ") == (typed[0] == "&") == (quoting._WINDOWS_PROGRAM.match(argv[0]) is None)
        assert windows_powershell_5(words[1:]) == powershell_7(words[1:]) == argv[1:]
    prompt = quoting.command(argv, "cmd")
    if prompt is not None:
        assert cmd(prompt.removeprefix("call ")) == argv
    return typed is not None, prompt is not None


def test_the_model_of_the_c_runtime() -> None:
    for words in (list(NASTY), ['a"b', "\\\\", '\\"', "a b\\", ""]):
        assert c_runtime(subprocess.list2cmdline(words)) == words


@settings(max_examples=examples(300), deadline=None)
@example(program="py", words=list(NASTY))
@given(
    program=st.one_of(st.sampled_from(("uv", "C:\\a b\\py.exe", ".venv\\Scripts\\py.exe", "./x")), HOSTILE), words=WORDS
)
def test_windows_shells_hand_on_what_is_written(program: str, words: list[str]) -> None:
    for word in words:
        read_by_all(["uv", word])
    if program:
        written = [w for w in words if all(read_by_all(["uv", w]))]
        read_by_all([program, *written])


@settings(max_examples=examples(300), deadline=None)
@given(word=HOSTILE.filter(lambda w: not set(w) & set("\"%$`'\u201c\u201d\u201e") and w != "" and not w.endswith("\\")))
@example(word="##[")
def test_one_spelling_serves_both_where_it_can(word: str) -> None:
    typed = quoting.command(("uv", "pip", word), "powershell")
    assert typed == quoting.command(("uv", "pip", word), "cmd")
    written = not has_command(word)  # a mark that a log would take for a command is written for no shell
    assert read_by_all(["uv", "pip", word]) == (written, written)


WINE = next(
    (w for w in ("/usr/lib/wine/wine64", shutil.which("wine64"), shutil.which("wine")) if w and os.path.exists(w)), None
)
COMPILER = shutil.which("x86_64-w64-mingw32-gcc")
SAY_IN_C = r"""
#include <stdio.h>
#include <wchar.h>
int wmain(int count, wchar_t **words) {
    for (int i = 1; i < count; i++, printf("|")) for (wchar_t *c = words[i]; *c; c++) printf("%04x ", *c);
    printf("\n");
    return 0;
}
"""


@pytest.mark.slow
@pytest.mark.skipif(WINE is None or COMPILER is None, reason="there is no Wine, or no compiler for it")
def test_cmd_of_wine(tmp_path: Path) -> None:
    """A batch file with all the words that have a spelling; Wine reads it in code page 437."""
    (tmp_path / "say.c").write_text(SAY_IN_C)
    subprocess.run([str(COMPILER), "-municode", "-o", "say.exe", "say.c"], cwd=tmp_path, check=True, timeout=60)
    words = [word for word in NASTY if quoting.command(("x", word), "cmd")]
    lines = [quoting.command((f"Z:{tmp_path}\\say.exe".replace("/", "\\"), word, "end"), "cmd") for word in words]
    (tmp_path / "all.bat").write_text("\n".join(["@echo off", *map(str, lines), ""]), encoding="utf-8", newline="\r\n")
    environ = {**os.environ, "WINEPREFIX": str(tmp_path / "prefix"), "WINEDEBUG": "-all"}
    done = subprocess.run(
        [str(WINE), "cmd", "/d", "/c", "all.bat"],
        cwd=tmp_path,
        env=environ,
        capture_output=True,
        check=True,
        timeout=120,
    )
    said = [
        ["".join(chr(int(c, 16)) for c in word.split()) for word in line.split("|")[:-1]]
        for line in done.stdout.decode().splitlines()
        if line.rstrip().endswith("|")
    ]
    assert said == [[word.encode().decode("cp437"), "end"] for word in words]


@pytest.mark.parametrize(
    ("argv", "shell", "line"),
    [
        ((r"C:\Users\u\python.exe", "-m", "pip"), "powershell", r"C:\Users\u\python.exe -m pip"),
        ((r"C:\Program Files\python.exe", "-V"), "powershell", r'& "C:\Program Files\python.exe" -V'),
        ((r"C:\Program Files\python.exe", "-V"), "cmd", r'"C:\Program Files\python.exe" -V'),
        (("pip", "install", "numpy<2"), "powershell", 'pip install "numpy<2"'),
        (("pip", "install", "torch==2.13.0+cu130"), "powershell", "pip install torch==2.13.0+cu130"),
        (("x", "it's"), "powershell", 'x "it\'s"'),
        (("x", "$it's"), "powershell", "x '$it''s'"),
        (("x", "a\u2019; calc"), "powershell", 'x "a\u2019; calc"'),
        (("x", "$env:A", "@b", "a,b"), "powershell", 'x \'$env:A\' "@b" "a,b"'),
        (("x", "--a=1.2"), "powershell", 'x "--a=1.2"'),  # bare, it would become two words
        (("x", ""), "powershell", None),
        (("x", ""), "cmd", 'x ""'),
        (("x", 'a"b'), "powershell", None),
        (("x", 'a"b'), "cmd", None),
        (("x", "C:\\a b\\"), "powershell", None),
        (("x", "C:\\a b\\"), "cmd", 'x "C:\\a b\\\\"'),
        (("x", "%PATH%"), "powershell", "x '%PATH%'"),
        (("x", "%PATH%"), "cmd", None),
        (("conda", "install", "numpy<2"), "cmd", 'call conda install "numpy<2"'),
        (("conda", "install", "numpy<2"), "powershell", 'conda install "numpy<2"'),
        (("./x",), "cmd", '"./x"'),
        (("x", "a\nb"), "cmd", None),
        (("x", "a\nb"), "sh", None),
        (("x", "a\u202eb"), "sh", None),
        (("x", "=a", "b\\c", "d"), "sh", "x '=a' 'b'\"\\\\\"'c' d"),
    ],
)
def test_spellings(argv: tuple[str, ...], shell: quoting.Shell, line: str | None) -> None:
    assert quoting.command(argv, shell) == line


@pytest.mark.parametrize(
    ("shell", "name", "value", "line"),
    [
        ("sh", "A", "x y", "export A='x y'"),
        ("fish", "A", "x y", "set -gx A 'x y'"),
        ("powershell", "A", "x y", "$env:A = 'x y'"),
        ("powershell", "A", "expandable_segments:True", "$env:A = 'expandable_segments:True'"),  # bare, a command
        ("powershell", "A", "", None),
        ("cmd", "A", "x & y", 'set "A=x & y"'),
        ("cmd", "A", "50%", None),
        ("cmd", "A", 'x" & calc "', None),
        ("cmd", "A", "", None),
        ("sh", "A", "", "export A=''"),
        ("sh", "A", "1\nid", None),
    ],
)
def test_variables(shell: quoting.Shell, name: str, value: str, line: str | None) -> None:
    assert quoting.set_variable(name, value, shell=shell) == line


def test_variables_are_removed() -> None:
    lines = [quoting.unset_variable("LD_LIBRARY_PATH", shell=shell) for shell in quoting.SHELLS]
    assert lines == [
        "unset LD_LIBRARY_PATH", "set -e LD_LIBRARY_PATH", "Remove-Item Env:LD_LIBRARY_PATH", 'set "LD_LIBRARY_PATH="',
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["", "A B", "A;id", "1A", "A\n", "É"])
@pytest.mark.parametrize("shell", quoting.SHELLS)
def test_no_line_for_what_is_no_name(name: str, shell: quoting.Shell) -> None:
    assert quoting.set_variable(name, "1", shell=shell) is None
    assert quoting.unset_variable(name, shell=shell) is None


def test_activation() -> None:
    assert quoting.activation("/a b/.venv", "sh") == ". '/a b/.venv/bin/activate'"
    assert quoting.activation("/a b/.venv", "fish") == ". '/a b/.venv/bin/activate.fish'"
    assert quoting.activation("C:\\a b\\.venv", "powershell") == '& "C:\\a b\\.venv\\Scripts\\Activate.ps1"'
    assert quoting.activation("C:\\a^b", "cmd") is None
    assert quoting.activation("C:\\a b\\.venv", "cmd") == 'call "C:\\a b\\.venv\\Scripts\\activate.bat"'


@pytest.mark.parametrize("shell", quoting.SHELLS)
@pytest.mark.parametrize("text", ["one\ntwo", "one\rtwo", "one\u2028two", "one\x85two", "one\x1b[2Jtwo"])
def test_a_comment_stays_a_comment(text: str, shell: quoting.Shell) -> None:
    lines = quoting.comment(text, shell)
    assert all(line.startswith("REM " if shell == "cmd" else "# ") for line in lines)
    assert all(line.isprintable() for line in lines)


def test_a_comment_is_inert_where_there_are_no_comments() -> None:
    assert quoting.comment("don't; $(id) `id`") == ["# 'don\u2019t; $(id) `id`'"]
    assert quoting.comment("plain words, 2.13.0") == ["# plain words, 2.13.0"]
    assert quoting.comment("%PATH% & x", "cmd") == ["REM - %%PATH%% & x"]


@pytest.mark.skipif(shutil.which("zsh") is None, reason="there is no zsh")
def test_a_script_typed_into_zsh() -> None:
    """Where # begins no comment."""
    pexpect = pytest.importorskip("pexpect")
    child = pexpect.spawn("zsh", ["-f", "-i"], encoding="utf-8", timeout=20, env={**os.environ, "TERM": "dumb"})
    for line in (
        *quoting.comment("don't $(echo PW''NED) `echo PW''NED`; echo PW''NED !!"),
        quoting.command(("printf", "%s\\n", "a!b", "!!", "O''K"), "sh"),
    ):
        child.sendline(line)
    child.sendline("exit 0")
    child.expect(pexpect.EOF)
    said = child.before.replace("\r", "").split("\n")
    assert {"a!b", "!!", "O''K"} <= set(said), said
    assert "PWNED" not in child.before
