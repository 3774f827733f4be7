"""Run by the interpreter with torch, `faulty_triggers.py PROBE`: triggers of errata beside faults put into torch, and
beside devices that lack what they need; what each says, as JSON."""

import json
import sys

import torch
from loaded import probe_and_errata

probe, pieces = probe_and_errata(sys.argv[1])
stage = pieces["errata/stage"]
f, T = torch.nn.functional, torch.Tensor


def raises(text):
    def work(*arguments, **options):
        raise RuntimeError(text)

    return work


def wrong(right, change):
    return lambda *arguments, **options: change(right(*arguments, **options))


def first(right, change):
    """Wrong the first time: on the device, which is asked before the reference."""
    calls = []

    def work(*arguments, **options):
        calls.append(1)
        result = right(*arguments, **options)
        return change(result) if len(calls) == 1 else result

    return work


FAULTS = {  # trigger: (where, name, the faulty one)
    "argmax_of_integers": (T, "argmax", first(T.argmax, lambda x: x * 0 - 2 ** 63)),
    "attention_of_nan": (f, "scaled_dot_product_attention", lambda q, k, v: torch.zeros_like(v)),
    "attention_of_no_width": (f, "scaled_dot_product_attention", lambda q, k, v: torch.zeros(1, 1, 3, 1)),
    "attention_two_scales": (f, "scaled_dot_product_attention", lambda q, k, v, scale: q @ k.mT @ v),
    "batch_norm_of_slice": (f, "batch_norm", first(f.batch_norm, torch.zeros_like)),
    "conv1d_long": (f, "conv1d", raises("Output channels > 65536 not supported at the MPS device.")),
    "cosine_similarity_sizes": (f, "cosine_similarity", wrong(f.cosine_similarity, lambda x: x * 2)),
    "cumsum_of_integers": (T, "cumsum", raises("MPS does not support cumsum op with int64 input")),
    "fill_bytes_after_first": (T, "fill_", lambda x, value: x._base.zero_()),
    "gather_one_column": (T, "gather", lambda x, dim, index: x[:1, :1].expand(5, 1)),
    "layer_norm_small_values": (f, "layer_norm", first(f.layer_norm, lambda x: x * 1.5)),
    "linear_one_output": (f, "linear", raises("could not create a primitive descriptor for a matmul primitive")),
    "multinomial_of_one": (torch, "multinomial", lambda p, n, replacement: torch.zeros(n, dtype=torch.int64)),
    "next_bfloat16": (torch, "nextafter", lambda x, y: x),
    "numpy_there_and_back": (T, "numpy", raises("Numpy is not available")),
    "random_numbers_twice": (torch, "randn", lambda *shape, **_: torch.ones(shape)),
    "sort_of_nothing": (T, "sort", raises("Placeholder tensor is empty!")),
    "unique_of_a_cube": (T, "unique", first(T.unique, lambda x: x[:1])),
}
OTHER = ("conv1d_long", "linear_one_output", "sort_of_nothing", "cumsum_of_integers")


def said(name):
    return stage.run(probe.open_device(torch, "cpu", 0, "errata:" + name, pieces))


def beside(name, where, attribute, faulty):
    kept = getattr(where, attribute)
    setattr(where, attribute, faulty)
    try:
        return said(name)
    finally:
        setattr(where, attribute, kept)


print(json.dumps({
    "healthy": {name: said(name) for name in FAULTS},
    "faulty": {name: beside(name, *FAULTS[name]) for name in FAULTS},
    "another error": {n: beside(n, *FAULTS[n][:2], raises("out of memory")) for n in OTHER},
    "not this device": {n: said(n) for n in ("arange_beyond_2_32", "tf32_settings_mixed", "attention_nothing_to_see")},
    "unknown": said("no_such_trigger"),
}))
