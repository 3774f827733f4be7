"""What holds for every command, as data: `torchdoctor help TOPIC`, the man page and the README are made of it."""

from __future__ import annotations

from doctor.model.values import dataclass

Rows = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Topic:
    """One page: what it is about in a sentence, and its rows (term, meaning)."""

    title: str
    rows: Rows


TOPICS: dict[str, Topic] = {
    "exit-codes": Topic(
        "Exit codes, the same for every command.",
        (
            ("0", "No fault. check: healthy, or no fault in what you limited it to (--only, --device, --no-probe); "
                  "fix: a plan was printed, or there is nothing to fix."),
            ("1", "A fault; with --strict also a warning other than known errata. "
                  "fix: a fault remains without a known fix. compare: something differs that counts."),
            ("2", "Wrong usage: an option, a file or a name that makes no sense."),
            ("3", "No verdict: no fault was found, and health is not proven. What is unexplained is listed, with the "
                  "question that would settle it."),
            ("70", "A bug in torchdoctor."),
            ("130", "Interrupted (Ctrl-C)."),
            ("141", "The pipe that was written to is closed."),
        ),
    ),
    "environment": Topic(
        "Variables that torchdoctor reads. It never changes those of your shell.",
        (
            ("TORCHDOCTOR_PYTHON", "The Python to examine where --python names none."),
            ("TORCHDOCTOR_DEBUG", "Set to anything: a bug in torchdoctor prints its traceback."),
            ("TORCHDOCTOR_KNOWLEDGE", "A folder of newer knowledge tables (torchdoctor knowledge --update)."),
            ("TORCHDOCTOR_PYTORCH_INDEX", "Where --run fetches torch from: a mirror of PyTorch's index."),
            ("VIRTUAL_ENV, CONDA_PREFIX", "The active environment: the one to examine where nothing else is named."),
            ("GITHUB_STEP_SUMMARY", "Where --format github also writes the report, as GitHub Actions sets it."),
            ("NO_COLOR, FORCE_COLOR", "No colour, or colour always; --color outranks both."),
            ("COLUMNS", "The width of what is printed."),
            ("XDG_STATE_HOME, XDG_DATA_HOME, LOCALAPPDATA", "Where the key of fix --undo and updated tables are kept."),
        ),
    ),
    "requirements": Topic(
        "What check --require can demand: exit code 1 where it does not hold, 3 where that is not known.",
        (
            ("torch>=2.5", "The version of torch, compared as pip does: torch>=2.5,<2.8."),
            ("torch-cuda>=12.4", "The CUDA that torch is built for."),
            ("python>=3.10", "The version of the Python."),
            ("driver>=550", "The version of the NVIDIA driver."),
            ("cuda>=1", "How many NVIDIA GPUs torch can use; also rocm, xpu and mps. gpu>=1: of any make."),
            ("capability>=8.0", "The lowest compute capability of torch's NVIDIA GPUs."),
            ("memory>=16GB", "The memory of the smallest GPU that torch can use. Units: GB, GiB, MB …"),
            ("ram>=32GB", "The machine's memory, or what the container may use; also shm and disk (free space)."),
            ("speed>=0.8", "The rate of the slowest GPU, as a share of what a healthy one of its model reaches."),
        ),
    ),
    "formats": Topic(
        "Formats of check. All but terminal are redacted; -o FILE writes one atomically.",
        (
            ("terminal", "For you: in colour, at the width of the terminal, not redacted."),
            ("json", "For programs: schema \"1\" (torchdoctor schema). --json is the same."),
            ("markdown", "For an issue tracker."),
            ("html", "One self-contained page that loads nothing. Needs jinja2: install torchdoctor[html]."),
            ("junit", "For a CI that shows test results: one case a diagnosis."),
            ("github", "Annotations for GitHub Actions, ten of a kind; the report goes into the summary of the job."),
            ("sarif", "SARIF 2.1.0 for code scanning: results at the lines of your files that bring torch in."),
            ("openmetrics", "A textfile for the collector of a Prometheus node exporter."),
        ),
    ),
}  # fmt: skip
