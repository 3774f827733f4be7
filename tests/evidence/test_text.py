import pytest

from doctor.evidence.text import BIG, LINE_LIMIT, document


def lines(data: bytes | str) -> tuple[str, ...]:
    return document("x", data.encode() if isinstance(data, str) else data).lines


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_unicode(encoding: str) -> None:
    assert lines("OS: Windows 11 專業版\nnext".encode(encoding)) == ("OS: Windows 11 專業版", "next")


def test_code_pages() -> None:
    assert lines("系统找不到指定的路径。错误".encode("cp936")) == ("系统找不到指定的路径。错误",)
    assert lines("Le système ne trouve pas le fichier spécifié à".encode("cp1252")) == (
        "Le système ne trouve pas le fichier spécifié à",
    )


def test_a_cut_character_at_the_end_spoils_nothing() -> None:
    assert lines("Größe ü".encode()[:-1])[0].startswith("Größe ")


def test_line_ends_colours_and_controls() -> None:
    assert lines("\x1b[31mERROR:\x1b[0m a\r\n[1;33mb[0m\rc\x00\x07") == ("ERROR: a", "b", "c")


def test_html_and_fences() -> None:
    assert lines("```python\n&gt;&gt;&gt; import torch\n```\n<details>\n<summary>log</summary>") == (
        "",
        ">>> import torch",
        "",
        "",
        "log",
    )


def test_a_quoted_run_is_unquoted_also_twice() -> None:
    assert lines("> a\n> b\n\n> > c\n> > d") == ("a", "b", "", "c", "d")


def test_prompts_are_no_quotes() -> None:
    assert lines(">>> import torch\n>>> torch.__version__") == (">>> import torch", ">>> torch.__version__")
    assert lines("> pip install torch\nERROR: x") == ("> pip install torch", "ERROR: x")


def test_lines_wrapped_at_spaces_are_rejoined() -> None:
    text = (
        "RuntimeError: The NVIDIA driver on your system is too old (found version 11040).\n"
        "Please update your GPU driver by downloading and installing a new version from\nthe URL"
    )
    assert lines(text)[0].startswith(
        "RuntimeError: The NVIDIA driver on your system is too old (found version 11040). Please"
    )


def test_lines_folded_at_the_column_are_rejoined_without_a_space() -> None:
    whole = (
        "ImportError: /home/user/env/lib/python3.11/site-packages/torch/lib/libtorch_cpu.so: undefined symbol: iJ"
        "IT_NotifyEvent"
    )
    assert lines(whole[:80] + "\n" + whole[80:]) == (whole,)


def test_what_begins_something_new_is_not_joined() -> None:
    first = "x" * 60 + " and some more words"
    assert lines(f"{first}\nPython version: 3.10") == (first, "Python version: 3.10")


def test_long_lines_come_in_pieces_with_one_number() -> None:
    found = document("x", b"a" * (LINE_LIMIT + 5))
    assert [len(line) for line in found.lines] == [LINE_LIMIT, 5]
    assert found.numbers == (1, 1)


def test_of_a_big_text_the_ends_and_the_telling_lines_are_kept() -> None:
    noise = "lorem ipsum dolor sit amet\n" * (BIG // 20)
    found = document("x", f"PyTorch version: 2.1.0\n{noise}CUDA error: unknown error\n{noise}the end".encode())
    assert found.lines[0] == "PyTorch version: 2.1.0"
    assert found.lines[-1] == "the end"
    assert found.numbers[found.lines.index("CUDA error: unknown error")] == noise.count("\n") + 2
    assert len(found.text) < BIG


def test_a_binary_is_empty() -> None:
    assert document("x", bytes(range(256)) * 50).text == ""


def test_full_width_punctuation() -> None:
    assert document("x", "CUDA版本：12.4（驱动），好".encode()).text == "CUDA版本:12.4(驱动),好"


def test_of_lines_that_differ_in_their_digits_alone_the_first_few_are_new() -> None:
    said = [f"step {i:05}  loss 0.{i}" for i in range(10, 60)]
    found = document("x", "\n".join(["it slows down", *said, "killed", *said]).encode())
    assert [found.lines[i] for i in found.new_lines] == ["it slows down", *said[:3], "killed"]


def test_a_bullet_is_a_star() -> None:
    assert document("t", "\u2022 GPU: Tesla T4\n".encode()).lines[0] == "* GPU: Tesla T4"


def test_what_is_brief_has_three_of_the_lines_of_a_log_that_count_on() -> None:
    text = document("t", "".join(f"step {i}\n" for i in range(9)).encode() + b"it failed\n")
    brief = text.brief
    assert (brief.lines, brief.numbers) == (("step 0", "step 1", "step 2", "it failed", ""), (1, 2, 3, 10, 11))
    assert brief.brief is brief
