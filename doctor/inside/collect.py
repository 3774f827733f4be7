"""Run BY the target interpreter, on stdin: `python -B - < collect.py`. Says what this environment is, by files.

Never imports torch. Standard library only, and only the modules in the standard library's own folders: a json.py in the
working folder must not break it. The syntax is valid for Python 2.7 and 3.6, so that those can say what they are: below
3.6 the answer is the version alone, and exit code 79. The answer is one JSON object. The doctor puts a line before this
text, CHANNEL = (descriptor of a pipe, its inode, secret): then the answer goes there, as a line that the secret opens,
and to stdout where the pipe did not come through; and a line SIGNS, by which the package managers are known (is_there).
By hand (`ssh host python3 - NONCE < collect.py`) the answer stands on stdout between two lines with the nonce, whatever
else sitecustomize or a wrapper prints.

Nothing here raises for what the environment is: each source is asked for itself, and where it fails or could be read
only in part, "gaps" says why, by the name of the source.
"""

import os
import sys

TOO_OLD = 79
AT_MOST = 50  # names in a list of missing files, or of problems
SYS_PATH_AT_MOST = 1000
HEADER_BYTES = 65536  # of a METADATA file: its long description is of no use
# Distributions that matter to torch: whole families, and single names (normalised as in PEP 503).
FAMILIES = (
    "torch", "pytorch", "nvidia-", "cuda-", "triton", "intel-", "dpcpp-", "onemkl", "mkl", "xformers", "flash-attn",
    "bitsandbytes", "lightning", "cudatoolkit", "cudnn", "libtorch", "libcu", "rocm", "hip", "amd-", "opencv-",
    "cupy",
)  # fmt: skip
NAMES = frozenset((
    "numpy", "scipy", "scikit-learn", "pandas", "functorch", "apex", "deepspeed", "transformers", "accelerate",
    "diffusers", "peft", "safetensors", "huggingface-hub", "flax", "optree", "onnx", "pyzmq", "flashinfer-python",
    "helion", "timm", "ultralytics", "vllm", "sglang", "mmcv", "mmcv-full", "mmengine",
    "detectron2", "fairseq", "auto-gptq", "autoawq", "gptqmodel", "exllamav2", "dgl", "pyg-lib", "onnxruntime",
    "onnxruntime-gpu", "tensorflow", "jax", "jaxlib", "pip", "setuptools", "wheel", "ninja", "cmake", "numba",
    "llvmlite", "openmp", "llvm-openmp", "tbb", "nccl", "blas", "libblas", "openblas", "libopenblas",
    "typing-extensions", "sympy", "filelock", "fsspec", "jinja2", "networkx", "mpmath", "markupsafe", "ipykernel",
    "fastai", "tensordict",
    "galore-torch", "natten", "causal-conv1d", "mamba-ssm", "pytorch3d", "kaolin", "gsplat", "nvdiffrast", "spconv",
    "minkowskiengine", "warp-lang", "liger-kernel", "unsloth", "openai-whisper", "sentence-transformers",
    "stable-baselines3", "keras", "libstdcxx-ng", "libgcc-ng", "sysroot-linux-64", "gxx-linux-64", "ptxas",
    "python",
))  # fmt: skip
PARTNERS = ("torch", "numpy", "triton", "nvidia-", "pytorch-triton", "cuda-", "torchvision", "intel-")
# Standard-library names under which users keep harmless folders.
HARMLESS = frozenset(("test", "tests", "this", "antigravity", "idlelib", "turtledemo", "lib2to3", "__main__"))
COMPILED = (".so", ".pyd", ".dll", ".dylib")


def say(text):
    """Hand the answer over, by the channel where there is one."""
    channel = globals().get("CHANNEL")
    if channel is None:
        nonce = sys.argv[1] if len(sys.argv) > 1 else "torchdoctor"
        descriptor, text = 1, "\n%s\n%s\n%s\n" % (nonce, text, nonce)
    else:
        descriptor, inode, secret = channel
        if not is_pipe(descriptor, inode):
            descriptor = 1
        text = "\n%s %s\n" % (secret, text)
    data = text.encode("ascii")
    while data:
        data = data[os.write(descriptor, data) :]


def is_pipe(descriptor, inode):
    """Whether that descriptor is the pipe that was made for us: a wrapper may have closed it, and opened another."""
    try:
        status = os.fstat(descriptor)
    except (OSError, TypeError):
        return False
    return status.st_mode & 0o170000 == 0o010000 and status.st_ino == inode


def own_version():
    info = sys.version_info
    level = {"alpha": "a", "beta": "b", "candidate": "rc"}.get(info[3], "")
    return "%d.%d.%d%s" % (info[0], info[1], info[2], level + str(info[4]) if level else "")


def say_failure(kind, error, trace):
    """Of what kept this script itself from answering; then as ever."""
    text = "".join(char if char.isalnum() and ord(char) < 128 else " " for char in "%s: %s" % (kind.__name__, error))
    say('{"version": "%s", "failed": "%s"}' % (own_version(), " ".join(text.split())[:500]))
    sys.__excepthook__(kind, error, trace)


sys.excepthook = say_failure
if sys.version_info < (3, 6):
    say('{"version": "%s"}' % own_version())
    sys.stdout.flush()
    os._exit(TOO_OLD)

# By getattr, so that vermin can vouch for 2.7: everything above must be valid there, and the syntax of all.
BASE_PREFIX = getattr(sys, "base_prefix")
IMPLEMENTATION = getattr(sys, "implementation").name
SEEN_PATH = [folder for folder in list(sys.path) if isinstance(folder, str)]  # Python looks into no others
# The modules that were there before anything of the user's could hide them; a user's file may already be among them.
LOADED = {name: getattr(module, "__file__", None) for name, module in list(sys.modules.items())}
LOADED = {name: file if isinstance(file, str) else None for name, file in LOADED.items()}
PROBLEMS = []  # what the source at work could not read, and did not expect
GONE = (2, 20)  # ENOENT, ENOTDIR: it is not there, and that is known
CLOSED = (1, 13)  # EPERM, EACCES: it may not be read


def library_folders():
    """The folders of the standard library: beside os.py, lib-dynload, DLLs, the zip."""
    home = getattr(sys, "_stdlib_dir", None) or os.path.dirname(os.path.abspath(os.__file__))
    zipped = "python%d%d.zip" % sys.version_info[:2]
    found = [home]
    for folder in SEEN_PATH:
        name = os.path.basename(os.path.normpath(folder)) if folder else ""
        if name in ("lib-dynload", "DLLs") or name == zipped or (folder and same(folder, home)):
            found.append(folder)
    return home, found


def same(one, other):
    return os.path.normcase(os.path.realpath(one)) == os.path.normcase(os.path.realpath(other))


LIBRARY, FOLDERS = library_folders()
sys.path[:] = FOLDERS
for _name in ("json", "re", "sysconfig", "ctypes", "glob", "time"):
    _file = LOADED.get(_name)
    if _file and not any(os.path.abspath(_file).startswith(os.path.abspath(f) + os.sep) for f in FOLDERS):
        del sys.modules[_name]

import json  # noqa: E402
import re  # noqa: E402
import sysconfig  # noqa: E402


def read(path, limit=1 << 20):
    """Text of a file, or None."""
    try:
        return read_regular(path, limit).decode("utf-8", "replace")
    except (OSError, ValueError) as error:
        note(path, error)
        return None


def read_regular(path, limit):
    """At most so many bytes of a regular file. A pipe or a device could hang us, or worse: it is not even opened."""
    must_be_regular(os.stat(path), path)
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, flags)
    try:
        must_be_regular(os.fstat(descriptor), path)  # it may have become another one
        data = b""
        while len(data) < limit:
            piece = os.read(descriptor, limit - len(data))
            if not piece:
                break
            data += piece
        return data
    finally:
        os.close(descriptor)


def must_be_regular(status, path):
    if status.st_mode & 0o170000 != 0o100000:
        raise OSError(22, "not a regular file", path)


def note(path, error):
    """A file or folder that is there, and could not be read."""
    if getattr(error, "errno", None) not in GONE and len(PROBLEMS) < AT_MOST:
        PROBLEMS.append("%s: %s" % (path, getattr(error, "strerror", None) or error))


def names_in(folder):
    try:
        return sorted(os.listdir(folder or os.curdir))
    except (OSError, ValueError) as error:
        note(folder or os.curdir, error)
        return []


def normalised(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def search_path():
    """sys.path as absolute folders that exist, in order, each once; "" is the working folder."""
    seen, folders = set(), []
    for folder in SEEN_PATH:
        try:
            path = os.path.abspath(folder or os.getcwd())
        except (OSError, ValueError):
            continue
        key = os.path.normcase(os.path.realpath(path))
        if key not in seen and os.path.isdir(path):
            seen.add(key)
            folders.append(path)
    return folders


# ---- files that hide a module of the standard library


def library_names():
    named = getattr(sys, "stdlib_module_names", None)
    if named is None:
        named = set(sys.builtin_module_names)
        for folder in FOLDERS:
            named.update(name.split(".")[0] for name in names_in(folder))
    return set(named) - HARMLESS


def shadowed(folders):
    """[[module, file]] for each module that a folder before the standard library's hides."""
    hidden = []
    safe = set(sys.builtin_module_names)
    for name, file in LOADED.items():
        if not file or any(os.path.abspath(file).startswith(os.path.abspath(f) + os.sep) for f in FOLDERS):
            safe.add(name)  # in memory from the right place before any user's file could be found
    candidates = library_names() - safe
    for folder in folders:
        if any(same(folder, own) for own in FOLDERS):
            break
        for entry in names_in(folder):
            module, dot, ending = entry.partition(".")
            if module not in candidates:
                continue
            path = os.path.join(folder, entry)
            if ending == "py" or (dot and entry.endswith((".so", ".pyd"))):
                hidden.append([module, path])
            elif not dot and os.path.isfile(os.path.join(path, "__init__.py")):
                hidden.append([module, os.path.join(path, "__init__.py")])
    return hidden


# ---- files that hide a package that torch imports

TORCH_IMPORTS = (
    "filelock", "fsspec", "jinja2", "markupsafe", "mpmath", "networkx", "numpy", "setuptools", "sympy", "triton",
    "typing_extensions",
)  # fmt: skip


def shadowed_packages(folders, dists):
    """[[module, file]] for each package of torch's that a folder without packages hides: a user's numpy.py, or a folder
    numpy/. Where the distribution lies there, too, it is installed."""
    hidden, holds = [], {}
    for dist in dists:
        holds.setdefault(dist["path"], set()).add(dist["name"].replace("-", "_"))
    for folder in folders:
        if is_site(folder):
            break
        if any(same(folder, own) for own in FOLDERS):
            continue
        for module in TORCH_IMPORTS:
            whole = os.path.join(folder, module, "__init__.py")
            file = whole if os.path.isfile(whole) else os.path.join(folder, module + ".py")
            if os.path.isfile(file) and module not in holds.get(folder, ()):
                hidden.append([module, file])
    return hidden


# ---- distributions


def split_info(entry):
    """("torch", "2.6.0") of torch-2.6.0.dist-info or torch-2.6.0-py3.10.egg-info; None for anything else."""
    stem, ending = os.path.splitext(entry)
    if ending not in (".dist-info", ".egg-info"):
        return None
    name, dash, version = stem.partition("-")
    return normalised(name), version.split("-py")[0] if dash else None


def headers(info):
    """The header lines of METADATA or PKG-INFO."""
    text = read(os.path.join(info, "METADATA"), HEADER_BYTES)
    if text is None:
        text = read(info if os.path.isfile(info) else os.path.join(info, "PKG-INFO"), HEADER_BYTES)
    return (text or "").replace("\r\n", "\n").partition("\n\n")[0].split("\n")


def header_values(lines, name):
    start = name.lower() + ":"
    return [line[len(start) :].strip() for line in lines if line.lower().startswith(start)]


def requirement_name(requirement):
    match = re.match(r"[A-Za-z0-9][A-Za-z0-9._-]*", requirement)
    return normalised(match.group()) if match else ""


def installer_of(info):
    text = read(os.path.join(info, "INSTALLER"), 200)
    return text.strip() or None if text else None


def matters(name):
    return name != "torchdoctor" and (name in NAMES or name.startswith(FAMILIES))


def distributions(folders):
    """[{name, version, path, info}] of all that matter, in sys.path order, the version of pip or None, and the names of
    all that are there."""
    found, pip, names = [], None, set()
    for folder in folders:
        for entry in names_in(folder):
            if not entry.endswith(("-info",)) or entry[:1] in "~-":
                continue
            split = split_info(entry)
            if split is None:
                continue
            name, version = split
            names.add(name)
            if name == "pip":
                pip = pip or version
            if matters(name):
                info = os.path.join(folder, entry)
                if version is None:
                    version = (header_values(headers(info), "Version") or [None])[0]
                found.append({"name": name, "version": version, "path": folder, "info": info})
        if pip is None and os.path.isfile(os.path.join(folder, "pip", "__init__.py")):
            text = read(os.path.join(folder, "pip", "__init__.py"), 4096) or ""
            match = re.search(r"^__version__ *= *['\"]([^'\"]+)", text, re.M)
            pip = match.group(1) if match else "unknown"
    found.sort(key=lambda dist: dist["name"] == "torch" and is_stale(dist))
    return found, pip, names


def is_stale(dist):
    """Whether this is the metadata of another torch than the one whose files lie beside it."""
    version = (version_file(os.path.join(dist["path"], "torch")) or {}).get("__version__")
    return isinstance(version, str) and version.split("+")[0] != (dist["version"] or version).split("+")[0]


def conda_packages(prefix):
    """{name: [version, build]} from the file names in conda-meta; None where it is no conda environment."""
    folder = os.path.join(prefix, "conda-meta")
    if not os.path.isdir(folder):
        return None
    found = {}
    for entry in names_in(folder):
        parts = entry[:-5].rsplit("-", 2) if entry.endswith(".json") else ()
        if len(parts) == 3:
            found[parts[0].lower()] = [parts[1], parts[2]]
    return found


def with_build(dist):
    """A companion's version with the backend that it was built for, which its metadata may not name: the package index
    has them without."""
    version = dist["version"]
    if version and dist["name"] in ("torchvision", "torchaudio", "torchtext"):
        said = (version_file(os.path.join(dist["path"], dist["name"])) or {}).get("__version__")
        if isinstance(said, str) and said.startswith(version + "+"):
            return said
    return version


def packages(dists, conda):
    first = {}
    for dist in dists:
        known = first.get(dist["name"])
        if known:
            known["copies"] += 1
            known["beside"] += known["path"] == dist["path"]
            continue
        requires = [
            r for r in header_values(headers(dist["info"]), "Requires-Dist") if requirement_name(r).startswith(PARTNERS)
        ]
        first[dist["name"]] = {
            "name": dist["name"],
            "version": with_build(dist),
            "path": dist["path"],
            "installer": installer_of(dist["info"]),
            "requires": requires,
            "copies": 1,
            "beside": 0,
        }
    for name, (version, _build) in (conda or {}).items():
        if matters(name) and normalised(name) not in first:
            first[normalised(name)] = {
                "name": normalised(name),
                "version": version,
                "path": None,
                "installer": "conda",
                "requires": [],
                "copies": 1,
                "beside": 0,
            }
    return [first[name] for name in sorted(first)]


# ---- torch


def version_file(package):
    """What torch/version.py says, read as text. None where there is no such file."""
    text = read(os.path.join(package, "version.py"), 16384)
    if text is None:
        return None
    said = {}
    for name, value in re.findall(r"^(\w+)\s*(?::[^=\n]*)?=\s*(.+?)\s*$", text, re.M):
        if name in ("__version__", "cuda", "hip", "xpu", "git_version", "debug"):
            quoted = re.match(r"['\"](.*)['\"]$", value)
            said[name] = quoted.group(1) if quoted else {"True": True, "False": False}.get(value)
    return said


def is_built(package):
    """Whether a torch/ folder is an installed torch, and neither a user's folder nor its bare sources."""
    has_core = any(name.startswith("_C.") and name.endswith(COMPILED) for name in names_in(package))
    return has_core or (
        os.path.isfile(os.path.join(package, "version.py")) and os.path.isdir(os.path.join(package, "lib"))
    )


def is_site(folder):
    return os.path.basename(folder) in ("site-packages", "dist-packages")


def is_leftover(entry):
    """pip renames what it removes: torch becomes ~orch, or =orch, ~-rch where that is taken."""
    rest = entry.lstrip("~-=%.0123456789")
    return rest != entry and entry[:1] in "~-=%" and rest.split("-")[0] in ("torch", "orch", "rch")


def missing_files(info, folder):
    """Files of RECORD that are not on disk, or empty there: compiled ones, and what `import torch` needs first."""
    text = read(os.path.join(info, "RECORD"), 8 << 20)
    if text is None:
        return None
    missing = []
    for line in text.splitlines():
        path, comma, rest = line.partition(",")
        if not comma or not path.startswith(("torch/", "torchgen/", "functorch/")):
            continue
        depth = path.count("/")
        if not (
            path.endswith(COMPILED)
            or ".so." in path
            or (path.endswith(".py") and (depth == 1 or (depth == 2 and path.endswith("/__init__.py"))))
        ):
            continue
        try:
            size = os.stat(os.path.join(folder, path)).st_size
        except (OSError, ValueError) as error:
            if getattr(error, "errno", None) in GONE:
                missing.append(path)
            else:
                note(path, error)
        else:
            if size == 0 and rest.rpartition(",")[2] not in ("0", ""):
                missing.append(path)
        if len(missing) >= AT_MOST:
            break
    return missing


def torch_facts(folders, dists, conda):
    """All that files say of torch; {"copies": []} and perhaps leftovers where it isn't installed."""
    said = {"copies": [], "leftovers": [], "shadowed_by": None}
    infos = {}
    for dist in dists:
        if dist["name"] == "torch":
            infos.setdefault(dist["path"], []).append(dist)
    chosen = None
    for folder in folders:
        entries = names_in(folder) if is_site(folder) else []
        said["leftovers"] += [os.path.join(folder, entry) for entry in entries if is_leftover(entry)]
        package = os.path.join(folder, "torch")
        dist = (infos.get(folder) or [None])[0]
        whole = os.path.isfile(os.path.join(package, "__init__.py"))
        if not whole and os.path.isdir(package) and (is_site(folder) or dist):
            said["leftovers"].append(package)
        if not is_site(folder) and not dist and not (whole and is_built(package)):
            hiding = os.path.join(package, "__init__.py") if whole else package + ".py"
            if os.path.isfile(hiding) and chosen is None and said["shadowed_by"] is None:
                said["shadowed_by"] = hiding
            continue
        if not whole and not dist:
            continue
        version = version_file(package) or {}
        said["copies"].append(
            {
                "path": folder,
                "version": version.get("__version__") or (dist["version"] if dist else None),
                "installer": installer_of(dist["info"]) if dist else None,
                "has_files": whole,
                "has_metadata": dist is not None,
            }
        )
        for other in infos.get(folder, [])[1:]:  # metadata of another release beside it
            said["copies"].append(
                {
                    "path": folder,
                    "version": other["version"],
                    "installer": installer_of(other["info"]),
                    "has_files": False,
                    "has_metadata": True,
                }
            )
        if chosen is None or (whole and not chosen[2]):
            chosen = (package, dist, whole)
    if chosen is None:
        return said
    package, dist, whole = chosen
    version = version_file(package)
    said["version_file"] = version
    said["version"] = (version or {}).get("__version__") or (dist["version"] if dist else None)
    said["path"] = package if whole else None
    said["libraries"] = names_in(os.path.join(package, "lib")) if whole else []
    if dist:
        lines = headers(dist["info"])
        said["installer"] = installer_of(dist["info"])
        said["requires"] = header_values(lines, "Requires-Dist") if any(lines) else None
        said["missing_files"] = missing_files(dist["info"], dist["path"])
        said["build"] = (
            "; ".join(header_values((read(os.path.join(dist["info"], "WHEEL"), 4096) or "").split("\n"), "Tag")) or None
        )
    if conda and said.get("installer") in (None, "conda"):
        for name in ("pytorch", "pytorch-cpu", "pytorch-gpu"):
            if name in conda:
                said["build"] = conda[name][1]
                said["installer"] = said.get("installer") or "conda"
                break
    return said


# ---- the files of the family, as RECORD names them

# Of these distributions each compiled file is looked at, and, where the whole was asked for, each .py, too.
WATCHED = (
    "torch", "pytorch-triton", "triton", "nvidia-", "cuda-", "xformers", "intel-", "mkl", "onemkl", "dpcpp", "tbb",
    "umf", "tcmlib", "impi-rt", "oneccl", "rocm", "amd-",
)  # fmt: skip
WATCHED_NAMES = frozenset((
    "numpy", "typing-extensions", "sympy", "mpmath", "filelock", "fsspec", "jinja2", "markupsafe", "networkx", "pip",
))  # fmt: skip
# A row of RECORD: path, ".py" or "" of a compiled file, digest, size. Paths with a comma or outside are left out.
ROWS = r"^((?!\.\.|/)[^\",\n]*\.(?:(?:%s)|(py))),([^,\n]*),(\d*)\r?$"
SPARED = re.compile(r"/_?(?:tests?|benchmarks?|examples)/")  # left out of images to make them small
MODULE = re.compile(r"\.((?:cpython-|cp)\d+\w*)-[^./]+\.(?:so|pyd)$")  # a compiled module names the Python it is for
HEAD = 4096  # bytes: the tables of a library's segments are in them
SMALL = 1 << 20  # a text that stands for a library (a linker script) is smaller


def damaged_files(dists, whole):
    """[{distribution, version, file, what, detail}] of files that are not as they were installed: "missing", "empty",
    "truncated" (its own tables reach beyond its end), "unreadable" (this user may not read it), "foreign" (no library
    of this system, processor and Python) or, of a .py and only where the whole was asked for, "changed". A library of
    another size that holds together is no news: strip and patchelf do that."""
    found, own = [], own_binary()
    rows = re.compile(ROWS % {"win32": "dll|pyd", "darwin": "so|dylib"}.get(sys.platform, r"so(?:\.[^,/\n]*)?"), re.M)
    # torch's own come first, pip's last: there is room for so many, and half an installation has more.
    for dist in sorted(dists, key=lambda one: (one["name"] != "torch", one["name"] == "pip")):
        name = dist["name"]
        if name not in WATCHED_NAMES and not name.startswith(WATCHED):
            continue
        record = os.path.join(dist["info"], "RECORD")
        text = read(record, 8 << 20) if os.path.isfile(record) else None
        strangers, libraries, modules = [], 0, []
        for path, source, digest, size in rows.findall(text or ""):
            full = os.path.join(dist["path"], path)
            if not source:
                libraries += 1
                modules += [path] if MODULE.search(path) else []
                wrong = wrong_library(full, digest, size, own)
            elif whole or "/" not in path or path.endswith("/__init__.py") and not SPARED.search(path):
                wrong = wrong_source(full, digest, size, whole, path.count("/") <= 1)
            else:
                continue
            if wrong and wrong[0] == "of another processor":
                strangers.append((path, wrong[1]))
            elif wrong and len(found) < AT_MOST:
                found.append(damage(dist, path, *wrong))
        if strangers and len(strangers) == libraries and len(found) < AT_MOST:  # one alone may be meant for another
            found.append(damage(dist, strangers[0][0], "foreign", strangers[0][1]))
        if modules and not any(path.endswith(suffix) for path in modules for suffix in extension_suffixes()):
            made_for = MODULE.search(modules[0]).group(1)
            detail = "it is made for %s, this Python is another" % made_for
            found += [damage(dist, modules[0], "foreign", detail)] if len(found) < AT_MOST else []
    return found


def extension_suffixes():
    """How the names of compiled modules end that this Python imports: ".cpython-311-x86_64-linux-gnu.so"."""
    told = getattr(sys.modules.get("_imp"), "extension_suffixes", list)()
    return [suffix for suffix in told if suffix.count(".") > 1] or [""]


def damage(dist, path, what, detail):
    return {
        "distribution": dist["name"], "version": dist["version"], "file": path, "what": what, "detail": detail,
    }  # fmt: skip


def wrong_source(path, digest, size, whole, read):
    """(what, detail) of a .py; None where it is as it was installed. Its content is compared where `whole`, else its
    head is looked at where `read`."""
    try:
        here = os.stat(path).st_size
    except (OSError, ValueError) as error:
        return gone(path, error)
    if here == 0 and size not in ("", "0"):
        return "empty", ""
    if read and not whole and not is_source(path):
        return "foreign", "it is no Python source"
    if not whole or (size == str(here) and matches(path, digest) is not False):
        return None
    return ("changed", "%d bytes, %s were installed" % (here, size or "others")) if size or digest else None


def is_source(path):
    """Whether a .py begins like a text: Python refuses one with a zero byte in it."""
    try:
        return b"\0" not in read_regular(path, HEAD)
    except (OSError, ValueError) as error:
        note(path, error)
        return True


def wrong_library(path, digest, size, own):
    """The same of a compiled file; ("of another processor", detail) for one that may yet be meant for it."""
    try:
        here = os.stat(path).st_size
        head = read_regular(path, HEAD)
    except (OSError, ValueError) as error:
        return gone(path, error)
    if here == 0:
        return None if size == "0" else ("empty", "")
    same_size = size == str(here)
    try:
        made_for, needed = binary_of(head)
    except (ValueError, IndexError, struct_error()):
        made_for, needed = None, 0
    if made_for is None:
        if same_size and here <= SMALL and matches(path, digest) is not False:
            return None  # a linker script, or what else the wheel has under that name
        return None if same_size and not zeros(head) else ("foreign", "it is no library: %s" % looks_like(head))
    if needed > here:
        return "truncated", "%d bytes, of %s" % (here, size or needed)
    if own and not set(made_for) & set(own):
        detail = "it is made for %s, this Python for %s" % (made_for[0], own[0])
        return "of another processor" if same_size else "foreign", detail
    return None


def gone(path, error):
    if getattr(error, "errno", None) in GONE:
        return "missing", ""
    if getattr(error, "errno", None) in CLOSED:
        return "unreadable", "permission denied"
    note(path, error)
    return None


def matches(path, digest):
    """Whether the content has that digest of RECORD; None where that cannot be said."""
    kind, equals, wanted = digest.partition("=")
    if kind != "sha256" or not wanted:
        return None
    import base64
    import hashlib

    try:
        found = hashlib.sha256(read_regular(path, 64 << 20)).digest()
    except (OSError, ValueError) as error:
        note(path, error)
        return None
    return base64.urlsafe_b64encode(found).decode("ascii").rstrip("=") == wanted.rstrip("=")


def zeros(head):
    return not head.strip(b"\0")


def looks_like(head):
    if zeros(head):
        return "zeros"
    if head.startswith(b"version https://git-lfs"):
        return "a pointer of Git LFS"
    if head.lstrip()[:1] == b"<":
        return "a web page"
    return "other content"


def struct_error():
    import struct

    return struct.error


ELF_MACHINES = {3: "x86", 40: "arm", 62: "x86_64", 183: "arm64", 21: "ppc64le", 22: "s390x", 243: "riscv64"}
CPU_TYPES = {0x1000007: "x86_64", 0x100000C: "arm64", 7: "x86"}
PE_MACHINES = {0x14C: "x86", 0x8664: "x86_64", 0xAA64: "arm64"}


def binary_of(head):
    """([system and processor, ...], bytes that its tables say it must have) of the beginning of a library or program;
    ValueError where it is neither ELF nor Mach-O nor PE. Formats: System V ABI (Gabi), mach-o/loader.h, PE of
    Microsoft."""
    import struct

    if head[:4] == b"\x7fELF":
        order = "<" if head[5:6] == b"\x01" else ">"
        wide = head[4:5] == b"\x02"
        machine = struct.unpack_from(order + "H", head, 18)[0]
        name = "ELF %s" % ELF_MACHINES.get(machine, "machine %d" % machine)
        if not wide:
            return [name + " (32 bits)"], 0
        tables, sections = struct.unpack_from(order + "QQ", head, 32)
        size, count, section_size, section_count = struct.unpack_from(order + "HHHH", head, 54)
        needed = sections + section_size * section_count if sections else 0
        for start in range(tables, min(tables + size * count, len(head) - 56 + 1), size or 56):
            offset, in_file = struct.unpack_from(order + "Q", head, start + 8)[0], struct.unpack_from(
                order + "Q", head, start + 32
            )[0]
            needed = max(needed, offset + in_file)
        return [name], needed
    if head[:4] == b"\xca\xfe\xba\xbe":  # several in one
        count = struct.unpack_from(">I", head, 4)[0]
        parts = [struct.unpack_from(">IIII", head, 8 + 20 * number) for number in range(min(count, 16))]
        return ["Mach-O %s" % CPU_TYPES.get(p[0], p[0]) for p in parts], max([p[2] + p[3] for p in parts] or [0])
    if head[:4] == b"\xcf\xfa\xed\xfe":
        kind, commands = struct.unpack_from("<I", head, 4)[0], struct.unpack_from("<I", head, 16)[0]
        place, needed = 32, 0
        for _ in range(min(commands, 200)):
            if place + 56 > len(head):
                break
            command, length = struct.unpack_from("<II", head, place)
            if command == 0x19:  # LC_SEGMENT_64
                needed = max(needed, sum(struct.unpack_from("<QQ", head, place + 40)))
            place += max(length, 8)
        return ["Mach-O %s" % CPU_TYPES.get(kind, kind)], needed
    if head[:2] == b"MZ":
        start = struct.unpack_from("<I", head, 0x3C)[0]
        if head[start : start + 4] == b"PE\0\0":
            machine, sections = struct.unpack_from("<HH", head, start + 4)
            place = start + 24 + struct.unpack_from("<H", head, start + 20)[0]
            needed = 0
            for _ in range(sections):
                if place + 40 > len(head):
                    break
                size, offset = struct.unpack_from("<II", head, place + 16)
                needed = max(needed, size + offset)
                place += 40
            return ["PE %s" % PE_MACHINES.get(machine, machine)], needed
    raise ValueError("no binary")


def own_binary():
    """What this Python's own program is made for; None where it cannot be read."""
    for path in ("/proc/self/exe", os.path.realpath(sys.executable or "")):
        try:
            return binary_of(read_regular(path, HEAD))[0]
        except (OSError, ValueError, IndexError, struct_error()):
            continue
    return None


def required_there(folders, dists, names):
    """The names of what torch requires, of which some folder holds the distribution or the module."""
    torch = next((dist for dist in dists if dist["name"] == "torch"), None)
    wanted = [requirement_name(r) for r in header_values(headers(torch["info"]), "Requires-Dist")] if torch else []
    found = []
    for name in wanted:
        module = name.replace("-", "_")
        if name in names or any(os.path.exists(os.path.join(f, m)) for f in folders for m in (module, module + ".py")):
            found.append(name)
    return sorted(set(found))


# ---- the interpreter


def config_values(path):
    """The `key = value` lines of a pyvenv.cfg."""
    lines = (read(path, 65536) or "").splitlines()
    pairs = (line.partition("=") for line in lines)
    return {key.strip().lower(): value.strip() for key, equals, value in pairs if equals}


def first_file(folder, names):
    for name in names:
        if os.path.isfile(os.path.join(folder, name)):
            return os.path.join(folder, name)
    return None


def conda_tool(prefix):
    """"conda", "mamba" or "micromamba": the last one that its history says was at work in a conda environment."""
    said = (read(os.path.join(prefix, "conda-meta", "history"), 1 << 20) or "").splitlines()
    commands = [line.partition(":")[2].split() for line in said if line.startswith("# cmd:")]
    for words in reversed([words for words in commands if words]):
        name = os.path.basename(words[0].replace("\\", "/")).lower()
        name = name[:-4] if name.endswith(".exe") else name
        if name in ("conda", "mamba", "micromamba"):
            return name
    return "conda"


def environment():
    """(kind, manager, project file)."""
    prefix = sys.prefix
    config = config_values(os.path.join(prefix, "pyvenv.cfg"))
    of_conda = os.path.isdir(os.path.join(prefix, "conda-meta")) and not config
    for sign in globals().get("SIGNS") or ():
        if sign["of_conda"] == of_conda and is_there(sign, prefix, config):
            return sign["kind"], sign["manager"], project_of(sign, prefix)
    if of_conda:
        is_base = os.path.isdir(os.path.join(prefix, "condabin")) or os.path.isdir(os.path.join(prefix, "pkgs"))
        return ("conda-base" if is_base else "conda"), conda_tool(prefix), None
    if config or sys.prefix != BASE_PREFIX:
        return "venv", "pip", None
    if any(name.endswith("._pth") for name in names_in(os.path.dirname(sys.executable or ""))):
        return "embedded", "pip", None
    return "system", "pip", None


def is_there(sign, prefix, config):
    """Whether an environment has the sign of a tool: a row of SIGNS, which the doctor puts before this text, made of
    doctor/fixes/tools. By hand there are none: then what a venv was made by is not told."""
    beside = os.path.dirname(prefix)
    if sign["points"]:
        return project_of(sign, prefix) is not None
    if sign["file"]:
        return os.path.exists(os.path.join(prefix, *sign["file"].split("/")))
    if sign["part"]:
        return sign["part"] in prefix.replace("\\", "/") + "/"
    if sign["lock"]:
        return os.path.isfile(os.path.join(beside, sign["lock"])) and bool(first_file(beside, sign["project"]))
    return sign["key"] in config


def project_of(sign, prefix):
    """The project's file, where the sign says which folder is the project's."""
    folder = prefix.replace("\\", "/").partition(sign["above"])[0] if sign["above"] else os.path.dirname(prefix)
    if sign["points"]:
        folder = (read(os.path.join(prefix, sign["file"]), 4096) or "").strip()
    if sign["needs"] and not os.path.isfile(os.path.join(folder, sign["needs"])):
        return None
    return first_file(folder, sign["project"])


# ---- the receipt of `uv tool install`

STRING = r"\"(?:[^\"\\]|\\.)*\"|'[^']*'"
TABLE = r"\{((?:[^{}\"']|%s)*)\}" % STRING
PAIR = r"([\w-]+)\s*=\s*(%s|\[[^\]]*\]|[^,\s]+)" % STRING


def statements(text):
    """(section, key, value) of TOML; a value may go over several lines."""
    section, begun = "", ""
    for line in text.splitlines():
        header = re.match(r"\[+([^\[\]]+)\]+\s*$", line)
        if header and not begun:
            section = header.group(1)
            continue
        begun += line + "\n"
        bare = re.sub(STRING, "", begun)
        if bare.count("[") + bare.count("{") > bare.count("]") + bare.count("}"):
            continue
        key, equals, value = begun.partition("=")
        if equals:
            yield section, key.strip(), value.strip()
        begun = ""


def string_in(text):
    """A TOML string; its escapes are those of JSON, and one of eight digits."""
    if not text.startswith('"'):
        return text[1:-1]
    long = re.compile(r"((?:^|[^\\])(?:\\\\)*)\\U([0-9A-Fa-f]{8})")
    return json.loads(long.sub(lambda match: match.group(1) + chr(int(match.group(2), 16)), text))


def requirement_in(table):
    """`name[extras]specifier`; None for one that has another source."""
    if not set(table) <= {"name", "extras", "specifier"} or "name" not in table:
        return None
    extras = ",".join(string_in(extra) for extra in re.findall(STRING, table.get("extras", "")))
    named = string_in(table["name"]) + ("[%s]" % extras if extras else "")
    return named + string_in(table.get("specifier", '""'))


def index_in(table):
    """["--index", URL]; None for one that only certain packages come from, or that has a name to log in with."""
    url = string_in(table.get("url", '""'))
    if not url or "@" in url or table.get("explicit") == "true":
        return None
    return ["--default-index" if table.get("default") == "true" else "--index", url]


def receipt(prefix):
    """What came after `uv tool install`: the tool, then pairs of option and value. None where a command can't say all
    of it."""
    tools, words, python = [], [], []
    for section, key, value in statements(read(os.path.join(prefix, "uv-receipt.toml"), 65536) or ""):
        place = (section + "." + key).replace("tool.options.", "--")
        tables = [dict(re.findall(PAIR, table)) for table in re.findall(TABLE, value)]
        if place == "tool.requirements":
            tools = [requirement_in(table) for table in tables]
        elif place == "tool.python":
            python = ["--python", string_in(value)]
        elif place == "--index":
            pairs = [index_in(table) for table in tables]
            if None in pairs:
                return None
            words += [word for n, pair in enumerate(pairs) if pair not in pairs[:n] for word in pair]
        elif place in ("--torch-backend", "--index-strategy"):
            words += [place, string_in(value)]
        elif place != "tool.entrypoints" and not section.startswith("tool.entrypoints") and value not in ("[]", "{}"):
            return None
    if not tools or None in tools:
        return None
    return tools[:1] + python + [word for tool in tools[1:] for word in ("--with", tool)] + words


def translated():
    """Whether this process runs under Rosetta; None where that can't be asked."""
    if sys.platform != "darwin":
        return False
    try:
        import ctypes

        value, size = ctypes.c_int(0), ctypes.c_size_t(4)
        failed = ctypes.CDLL(None).sysctlbyname(
            b"sysctl.proc_translated", ctypes.byref(value), ctypes.byref(size), None, ctypes.c_size_t(0)
        )
        return None if failed else value.value == 1
    except Exception:
        return None


def macos_reported():
    """The version of macOS that this Python is told: 10.16 where it was built with an old SDK."""
    if sys.platform != "darwin":
        return None
    import platform

    return platform.mac_ver()[0] or None


def libc():
    """["glibc", "2.35"], ["musl", None], or None."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        said = (os.confstr("CS_GNU_LIBC_VERSION") or "").split()
        if len(said) == 2:
            return said
    except (ValueError, OSError, AttributeError):
        pass
    if any(name.startswith("ld-musl-") for name in names_in("/lib")):
        return ["musl", None]
    return None


def markers():
    """The environment of PEP 508."""
    machine = os.uname()[4] if hasattr(os, "uname") else os.environ.get("PROCESSOR_ARCHITECTURE", "")
    system = {"linux": "Linux", "darwin": "Darwin", "win32": "Windows"}.get(sys.platform, sys.platform)
    return {
        "implementation_name": IMPLEMENTATION,
        "os_name": os.name,
        "platform_machine": machine,
        "platform_system": system,
        "platform_python_implementation": {"cpython": "CPython", "pypy": "PyPy"}.get(IMPLEMENTATION, ""),
        "python_full_version": own_version(),
        "python_version": "%d.%d" % sys.version_info[:2],
        "sys_platform": sys.platform,
    }


def once(function):
    """Its first value, kept: two sources need it, and both are to say what it could not read."""
    kept = []

    def ask():
        if not kept:
            before = len(PROBLEMS)
            kept.append((function(), PROBLEMS[before:]))
        else:
            PROBLEMS.extend(kept[0][1])
        return kept[0][0]

    return ask


folders_of = once(search_path)
distributions_of = once(lambda: distributions(folders_of()))
conda_of = once(lambda: conda_packages(sys.prefix))
environment_of = once(environment)

SOURCES = (
    ("build", lambda: " ".join(sys.version.split()[1:])[:200] or None),
    ("implementation", lambda: IMPLEMENTATION),
    ("executable", lambda: sys.executable or None),
    ("prefix", lambda: sys.prefix),
    ("base_prefix", lambda: BASE_PREFIX),
    ("free_threaded", lambda: "free-threading" in sys.version),
    ("bits", lambda: 64 if sys.maxsize > 2**32 else 32),
    ("platform_tag", lambda: sysconfig.get_platform()),
    ("translated", translated),
    ("macos_reported", macos_reported),
    ("environment", lambda: environment_of()[0]),
    ("manager", lambda: environment_of()[1]),
    ("project", lambda: environment_of()[2]),
    ("receipt", lambda: receipt(sys.prefix) if environment_of()[0] == "uv-tool" else None),
    (
        "externally_managed",
        lambda: os.path.isfile(os.path.join(LIBRARY, "EXTERNALLY-MANAGED")) and sys.prefix == BASE_PREFIX,
    ),
    ("pip", lambda: distributions_of()[1]),
    ("sys_path", lambda: SEEN_PATH[:SYS_PATH_AT_MOST]),
    ("shadowed", lambda: shadowed(folders_of())),
    ("shadowed_packages", lambda: shadowed_packages(folders_of(), distributions_of()[0])),
    ("user_site", lambda: bool(getattr(sys.modules.get("site"), "ENABLE_USER_SITE", False))),
    ("libc", libc),
    ("markers", markers),
    ("packages", lambda: packages(distributions_of()[0], conda_of())),
    ("torch", lambda: torch_facts(folders_of(), distributions_of()[0], conda_of())),
    ("required", lambda: required_there(folders_of(), distributions_of()[0], distributions_of()[2])),
    ("damaged", lambda: damaged_files(distributions_of()[0], bool(globals().get("WHOLE")))),
)


def main():
    said, gaps = {"version": own_version()}, {}
    for name, source in SOURCES:
        del PROBLEMS[:]
        try:
            said[name] = source()
            json.dumps(said[name])
        except Exception as error:
            said[name] = None
            gaps[name] = "%s: %s" % (type(error).__name__, error)
        else:
            if PROBLEMS:
                gaps[name] = PROBLEMS[0]
    said["gaps"] = {name: text[:500] for name, text in gaps.items()}
    say(json.dumps(said))


main()
