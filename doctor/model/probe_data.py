"""What the measurements of a probe are, by their keys (docs/probes.md): the types that `Stage.data` and
`ProbeResult.data` hold, whoever wrote them."""

from __future__ import annotations

TEXTS = (
    "wrong", "unsupported", "inexact", "silent_faults", "silent_left_out", "throttles", "warnings", "failures",
    "not_here", "tried", "attention_reduced",
)  # fmt: skip
WORDS = (
    "float32_matmul_precision", "cpu_capability", "pinned_error", "omp_num_threads", "exception", "message",
    "traceback", "module", "cause", "mig_mode", "persistence_mode", "firmware", "uuid", "driver",
)  # fmt: skip
YES_OR_NO = ("busy", "threads_busy", "foreign_load", "peer_access")
NUMBERS = ("rounds_tflops", "vae_loss")  # arrays of them
NUMBER_ENDS = (
    "_bytes", "_bits", "_effective", "_ratio", "_burst", "_sustained", "_one_thread", "_size", "_ms", "_tflops",
    "_mean", "_lowest", "_gbs", "_us", "_s", "_mhz", "_w", "_c", "_percent", "_periods", "_usable", "_cpus", "_used",
    "_compared", "_checked", "_loss_error", "_change_error", "_per_round", "_before", "_generation", "_width", "_max",
    "_1min", "_count", "_there", "_version",
)  # fmt: skip
NO_NUMBERS = ("nan", "inf", "-inf")  # how a number is said that JSON cannot say
