from pathlib import Path

import pytest

from doctor.evidence.machines import choose, may_be_several
from doctor.evidence.read import settle, take_notes
from doctor.evidence.text import document
from tests.evidence.tickets import COLLECT_ENV, MAC, OLD_DRIVER, facts, seen

BANK = Path(__file__).parent.parent / "cases" / "bank"
OLD = (
    COLLECT_ENV.replace("545.23.08", "470.86")
    .replace("Ubuntu 20.04.6", "Ubuntu 18.04.6")
    .replace("RTX 4090", "RTX 3060")
    .replace("available: True", "available: False")
)
ERROR = "UserWarning: CUDA initialization: The NVIDIA driver on your system is too old (found version 11040).\n"


@pytest.mark.parametrize("harmless", [COLLECT_ENV, MAC])
@pytest.mark.parametrize("after", [True, False])
def test_the_machine_of_the_error_is_judged(harmless: str, after: bool) -> None:
    faulty = ERROR + "\n" + OLD
    result = seen(f"{faulty}\n\n{harmless}" if after else f"{harmless}\n\n{faulty}")
    assert (result.facts.nvidia.driver, result.facts.host.os_version) == ("470.86", "18.04.6")
    assert len(result.others) == 1
    assert "torch 2.1" in result.others[0].summary


def test_text_of_another_system_is_another_machine() -> None:
    result = seen(f"{OLD_DRIVER}\n\n{MAC}")
    assert (result.facts.nvidia.driver, result.facts.host.system) == ("470.86", "linux")
    assert "macOS 14.0" in result.others[0].summary


def test_lines_keep_their_numbers() -> None:
    result = seen(f"{MAC}\n\n{ERROR}\n{OLD}")
    assert (
        result.facts.origins["nvidia.driver"].line
        == f"{MAC}\n\n{ERROR}\n{OLD}".splitlines().index("Nvidia driver version: 470.86") + 1
    )


def test_several_files_are_one_machine() -> None:
    result = seen(COLLECT_ENV, ERROR)
    assert not result.others
    assert result.facts.origins["nvidia.driver"].source == "collect_env in file0"
    assert result.facts.errors[0].pattern == "nvidia-driver-too-old-for-torch"


def test_the_same_block_twice_is_one_machine() -> None:
    assert not seen(COLLECT_ENV + "\n\n" + COLLECT_ENV).others


def test_nothing_is_recognised_in_another_text() -> None:
    result = seen("Dear all,\nthe meeting is on Monday.\n")
    assert (result.recognised, facts("").torch) == (0, None)
    assert result.unread == ("Dear all,", "the meeting is on Monday.")


@pytest.mark.parametrize("words", ["For comparison, it works here:", "Works for me:", "On another machine:"])
def test_a_block_said_to_be_of_another_machine(words: str) -> None:
    """Nothing in the error contradicts the block, but the words before it do."""
    result = seen(f"ModuleNotFoundError: No module named 'torchvision.ops'\n\n{words}\n\n{COLLECT_ENV}")
    assert result.facts.nvidia.driver is None
    assert "driver 545.23.08" in result.others[0].summary


def test_a_working_machine_is_not_the_one_of_another_driver_error() -> None:
    error = "$ nvidia-smi\nFailed to initialize NVML: Driver/library version mismatch\nNVML library version: 570.133\n"
    result = seen(f"{error}\n\n{COLLECT_ENV}")
    assert result.facts.nvidia.driver is None
    assert "Driver/library version mismatch" in str(result.facts.nvidia.smi_error)


def test_words_that_deny_tell_of_no_other_machine() -> None:
    for words in ("Hello, it does not work here, please help:", "This doesn't work on my machine:"):
        result = seen(f"{words}\n\n{COLLECT_ENV}")
        assert result.others == ()
        assert result.facts.nvidia.driver == "545.23.08"


@pytest.mark.parametrize(
    "said", ["I can't get it to work here, please help", "nothing works here", "it no longer works for me", "Hello from here"]
)
def test_a_greeting_with_the_word_here_is_of_this_machine(said: str) -> None:
    text = f"{said}\n\n{COLLECT_ENV}\nRuntimeError: No CUDA GPUs are available\n"
    result = seen(text)
    assert not result.others
    assert result.facts.torch is not None


def test_a_look_at_the_lines_finds_every_text_of_several_machines() -> None:
    """Each part is read for itself only where that look doubts: texts and blocks of different tickets, put together."""
    texts = [path.read_text(encoding="utf-8") for path in sorted(BANK.glob("*/*/input.txt"))]
    blocks = [text for text in texts if "PyTorch version:" in text and "OS:" in text]
    found = 0
    for place, text in enumerate(texts):
        said = f"{text}\n\n{blocks[place % len(blocks)]}".encode()
        documents = [document("ticket", said)]
        chosen, _ = choose(documents, take_notes)
        if chosen is not documents:
            found += 1
            assert may_be_several(documents, take_notes(documents), settle), text
    assert found > len(texts) / 10
