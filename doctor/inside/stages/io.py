"""torch.save and torch.load, in memory and through a file in the folder for temporary files; safetensors, too, where
it is installed. What comes back must have the same bits, types and shapes."""

import errno
import io
import os
import shutil
import tempfile

VARIABLE = "TMPDIR"
SPACE = 16 << 20  # bytes that a file of this stage may need


def saving(probe):
    tries = probe.pieces["tries"]
    data, tensors = tries.blank(), contents(probe)
    tries.attempt(data, "torch.save in memory", lambda: in_memory(probe, tensors))
    if probe.is_cpu and os.environ.get(VARIABLE):
        tries.attempt(data, "the folder of %s" % VARIABLE, named_folder)
    tries.attempt(data, "torch.save to a file", lambda: to_file(probe, tensors))
    if tries.installed("safetensors"):
        tries.attempt(data, "safetensors", lambda: safe(probe, tensors))
    return data


def contents(probe):
    """Tensors of the types that checkpoints hold, on the device."""
    torch = probe.torch
    whole = probe.integers((256, 1024), 2 ** 20)
    kinds = ["float32", "float16", "bfloat16", "int64", "uint8", "bool"] + (["float64"] if probe.is_cpu else [])
    tensors = {}
    for kind in kinds:
        source = whole % 2 == 0 if kind == "bool" else whole % 128
        tensors[kind] = source.to(getattr(torch, kind)).to(probe.device)
    tensors["large"] = whole.float().repeat(4, 1).to(probe.device)
    tensors["nothing"] = torch.empty((0, 3), device=probe.device)
    return tensors


def differing(torch, tensors, got):
    """Texts that name the tensors that did not come back as they were."""
    wrong = []
    for name, tensor in tensors.items():
        back = got.get(name)
        if back is None or back.dtype != tensor.dtype or back.device != tensor.device:
            wrong.append("%s came back as %s" % (name, "nothing" if back is None else "%s on %s" % (
                back.dtype, back.device)))
        elif not torch.equal(back, tensor):
            wrong.append("%s came back with other values" % name)
    return wrong


def in_memory(probe, tensors):
    file = io.BytesIO()
    probe.torch.save(tensors, file)
    file.seek(0)
    return differing(probe.torch, tensors, probe.torch.load(file, map_location=probe.device))


def named_folder():
    """What the user names is tried itself: Python silently takes another folder where it can't be written."""
    handle, path = tempfile.mkstemp(prefix="torchdoctor-", dir=os.environ[VARIABLE])
    os.close(handle)
    os.remove(path)


def to_file(probe, tensors):
    folder = tempfile.gettempdir()
    path = reserved(folder)
    try:
        probe.torch.save(tensors, path)
        return differing(probe.torch, tensors, probe.torch.load(path, map_location=probe.device))
    except Exception as error:
        raise_for_space(folder, error)
        raise
    finally:
        os.remove(path)


def safe(probe, tensors):
    import importlib

    library = importlib.import_module("safetensors.torch")
    mine = {name: tensor for name, tensor in tensors.items() if name != "nothing"}
    wrong = differing(probe.torch, mine, {
        name: tensor.to(probe.device) for name, tensor in library.load(library.save(mine)).items()})
    folder = tempfile.gettempdir()
    path = reserved(folder)
    try:
        library.save_file(mine, path)
        return wrong + differing(probe.torch, mine, library.load_file(path, device=str(probe.device)))
    except Exception as error:
        raise_for_space(folder, error)
        raise
    finally:
        os.remove(path)


def reserved(folder):
    handle, path = tempfile.mkstemp(prefix="torchdoctor-", suffix=".pt", dir=folder)
    os.close(handle)
    return path


def raise_for_space(folder, error):
    """torch's writer only says that writing failed. Where the disk is full, that is why."""
    if getattr(error, "errno", None) is None and free_bytes(folder) < SPACE:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), folder)


def free_bytes(folder):
    return shutil.disk_usage(folder).free


STAGES = (("io", saving, ("full",), ()),)
