"""Sessions as they are pasted: shell prompts with their commands and output, Python prompts with expressions and
values.

Also lines of programs that print the same («torch.cuda.is_available(): False», «PyTorch: 2.9.1+cu130»), and settings of
environment variables in every spelling.
"""

from __future__ import annotations

import re
from functools import partial
from itertools import takewhile

from doctor.evidence import machine
from doctor.evidence.blocks import Block, commands
from doctor.evidence.notes import Notes, Trust
from doctor.evidence.says import Says, note
from doctor.evidence.text import Document
from doctor.fixes.tools import pip
from doctor.knowledge import lookup
from doctor.model.facts import ABSENT, Gpu, TorchDevice
from doctor.regex import Regex

SOURCE = "transcript"

# ------------------------------------------------------------------------------------------------ values of expressions

_BOOLS = {
    "torch.cuda.is_available": "torch.cuda_available", "torch.backends.mps.is_built": "torch.mps_built",
    "torch.backends.mps.is_available": "torch.mps_available", "torch.mps.is_available": "torch.mps_available",
    "torch.xpu.is_available": "torch.xpu_available", "torch.backends.cuda.is_built": "torch.cuda_built",
    "torch.has_mps": "torch.mps_built", "torch.has_cuda": "torch.cuda_built",
}  # fmt: skip
_TEXTS = {
    "torch.__version__": "torch.version", "torch.version.__version__": "torch.version",
    "torch.version.cuda": "torch.cuda",
    "torch.version.hip": "torch.hip", "torch.version.xpu": "torch.xpu", "torch.version.git_version": "torch.git",
    "torch.backends.cpu.get_cpu_capability": "torch.cpu_capability", "sys.executable": "interpreter.executable",
    "sys.prefix": "interpreter.prefix", "sys.base_prefix": "interpreter.base_prefix",
    "sysconfig.get_platform": "interpreter.platform_tag", "distutils.util.get_platform": "interpreter.platform_tag",
    "torch.__file__": "torch.path", "torch.backends.cudnn.version": "torch.cudnn",
}  # fmt: skip
_MACHINE = {
    "platform.machine", "os.uname().machine", "platform.uname().machine", "platform.uname()[4]", "os.uname()[4]",
}
_EXPRESSION = Regex(
    r"(?:torch|platform|sys|os|sysconfig|numpy|np|torchvision|torchaudio|transformers|triton|struct|distutils)(?:\.\w"
    r"+(?:\([^()\n]{0,40}(?:\([^()\n]{0,20}\))?\))?(?:\[[^\]\n]{1,30}\])?)+"
)
_LABELLED = Regex(
    r"^[ \t]*[\"'(]*((?:torch|platform|sys|sysconfig|numpy|np)\.[\w.]+(?:\([^()\n]{0,40}\))?)[\"')]*"
    r"(?:[:= \t]+(?:[-=]>[:= \t]*)?|[-=]>[:= \t]*)(\S[^\n]*)$",
    re.M,
)


_INLINE = Regex(  # python -c "import torch; print(torch.cuda.is_available())"   -> False
    r"print\(((?:torch|platform|sys)\.[\w.]+(?:\([^()\n]{0,20}\))?)\)[\"'`; )]{0,6}[ \t]{0,12}(?:->|=>|\u2192|\u21d2|#|"
    r"returns?|prints?|gives?|:|is)[ \t]{0,8}[`'\"]?(\S[^\n]{0,80})$",
    re.M,
)


def note_value(
    expression: str, value: str, notes: Notes, *, line: int, rank: Trust = Trust.TOOL, source: str = "Python"
) -> bool:
    """Note what the value of a Python expression says; of several values the last one stands (after a cure, or the
    other
    environment that the ticket is about). Returns whether the expression is one that we know."""
    value = value.strip().rstrip(",;")
    bare = value.strip("\"' \t")
    name = re.sub(r"\((?:[^()]|\([^()]*\))*\)$", "", expression.strip())
    put = partial(notes.put, source=source, rank=rank, line=line, last=True)
    if name in _BOOLS:
        if bare in ("True", "False", "1", "0"):
            put(_BOOLS[name], bare in ("True", "1"))
            return True
        return False
    if name in _TEXTS:
        if not bare:  # nothing was printed: not known
            return True
        if bare == "None":
            if name in ("torch.version.cuda", "torch.version.hip", "torch.version.xpu", "torch.backends.cudnn.version"):
                put(_TEXTS[name], ABSENT)
            return True
        if name.endswith("version__") and not re.match(r"\d+\.\d+", bare):
            return False
        if name == "torch.__file__":
            bare = re.sub(r"[/\\]__init__\.pyc?$", "", bare)
        put(_TEXTS[name], bare.split()[0] if name != "sys.executable" else bare)
        if name.startswith("torch."):
            put("torch.imports", True)
        return True
    if name in _MACHINE or expression in _MACHINE:
        arch = machine.architecture(bare)
        put("interpreter.architecture", arch)
        if arch and arch != "x86_64":
            put("host.architecture", arch)
        return arch is not None
    if name == "platform.platform":
        return machine.note_platform(bare, notes, source=source, rank=rank, line=line)
    if name == "platform.mac_ver":
        if match := re.search(r"(?<!\d)\d+\.\d+(?:\.\d+)?", value):
            put("interpreter.macos_reported", match[0])
            put("host.macos", None if match[0].startswith("10.16") else match[0], rank=rank.below())
            put("host.system", "darwin")
        return True
    if name in ("platform.python_version", "sys.version"):
        return machine.note_python(bare, notes, source=source, rank=rank, line=line)
    if name == "sys.version_info":
        if match := re.search(r"major=(\d+), minor=(\d+), micro=(\d+)", value):
            put("interpreter.version", ".".join(match.groups()))
        return True
    if name == "platform.architecture":
        put("interpreter.bits", 32 if "32bit" in value else 64 if "64bit" in value else None)
        return True
    if name == "torch.cuda.get_arch_list":
        put("torch.arch_list", tuple(re.findall(r"(?:sm|compute)_\d+[a-f]?|gfx[0-9a-f]+", value)))
        return True
    if name in ("torch.cuda.get_device_name", "torch.xpu.get_device_name"):
        if machine.vendor_of(bare):
            machine.note_gpu(bare, notes, group="get_device_name", source=source, rank=rank, line=line)
            notes.devices.append(TorchDevice(backend=name.split(".")[1], index=len(notes.devices), name=bare))
        return True
    if name == "torch.cuda.get_device_capability":
        if match := re.search(r"\(?(\d{1,2}), ?(\d)\)?", value):
            notes.gpu(
                Gpu(vendor="nvidia", capability=f"{match[1]}.{match[2]}"), group="capability", rank=Trust.NAMED,
                source=source, line=line,
            )
        return True
    if name.endswith(".__version__") and re.match(r"\d+\.", bare):
        package = {"np": "numpy"}.get(name.split(".")[0], name.split(".")[0])
        notes.package(package, bare.split()[0], installer=None, rank=rank, source=source, line=line)
        return True
    return False


def split_top(said: str) -> list[str]:
    """Split at commas that stand in no bracket and no quote.

    >>> split_top("('macOS-26.0', (14, 0)), 'b,c'")
    ["('macOS-26.0', (14, 0))", "'b,c'"]
    """
    parts, depth, quote, begin = [], 0, "", 0
    for i, c in enumerate(said[:4000]):
        if quote:
            quote = "" if c == quote else quote
        elif c in "\"'":
            quote = c
        elif c in "([{":
            depth += 1
        elif c in ")]}":
            depth -= 1
        elif c == "," and depth == 0:
            parts.append(said[begin:i].strip())
            begin = i + 1
    parts.append(said[begin:].strip())
    return parts


# what computes on a device, or asks it, and fails where there is none
_ON_DEVICE = Regex(
    r"device=['\"](cuda|mps|xpu)|\.(cuda)\(\)|\.to\(['\"](cuda|mps|xpu)|"
    r"torch\.(cuda)\.get_device_(?:name|capability|properties)\("
)
_PRINT = re.compile(r"[ \t]*print[ ]?\([^\n]{1,200}\)[ \t]*;?")
PRINTS, OUTPUT_BELOW = 12, 6  # lines
_WARNING = Regex(r"(?P<file>[^\s:][^:\n]{0,300}|[A-Z]:[^:\n]{1,300}):\d{1,6}: \w{0,60}Warning: ")
_FAILED = Regex(r"Traceback|Error|Warning|rror:|not found")


def _note_code(code: str, output: list[str], notes: Notes, at: int, *, interactive: bool) -> None:
    """Pair the expressions of a statement (or of its print calls) with the lines that follow."""
    lines = [(i, s) for i, s in enumerate(output, at + 1) if s]
    lines = [one for place, one in enumerate(lines) if not _warns(lines, place)]
    if not lines:
        return
    device = _ON_DEVICE.search(code)
    if device and not any(_FAILED.search(said) for _, said in lines):
        backend = next(name for name in device.groups() if name)
        notes.put(f"torch.{backend}_available", True, source="Python", rank=Trust.NAMED, line=lines[0][0])
    printed = _print_arguments(code)
    if printed:
        for arguments, (i, said) in zip(printed, lines, strict=False):
            wanted = [a for a in split_top(arguments) if not re.match(r"(?:sep|end|file)\s*=", a)]
            _pair(wanted, said, notes, i)
    elif interactive:
        i, said = lines[0]
        wanted = split_top(code.split(";")[-1].strip())
        if len(wanted) > 1 and said.startswith("("):
            values = split_top(said.strip()[1:-1])
        else:
            wanted, values = [code.split(";")[-1].strip()], [said]
        for expression, value in zip(wanted, values, strict=False):
            if _EXPRESSION.fullmatch(expression.strip()):
                note_value(expression, value, notes, line=i)


def _warns(lines: list[tuple[int, str]], place: int) -> bool:
    """Whether a line is a warning of Python's, or the line of the source that it shows below."""
    if _WARNING.match(lines[place][1]):
        return True
    above = _WARNING.match(lines[place - 1][1]) if place else None
    return above is not None and above["file"].endswith(".py") and lines[place][1] not in ("True", "False")


def _script(document: Document, notes: Notes) -> None:
    """A script whose lines print what torch says, and below it, within a few lines, as many printed values."""
    lines = document.lines
    at = 0
    while at < len(lines):
        prints = [at + i for i, line in enumerate(takewhile(_PRINT.fullmatch, lines[at : at + PRINTS]))]
        if not prints:
            at += 1
            continue
        at = prints[-1] + 1
        below = [(at + i, line.strip(" \t`*>")) for i, line in enumerate(lines[at : at + OUTPUT_BELOW + len(prints)])]
        first = next((i for i, (_, said) in enumerate(below) if said in ("True", "False")), None)
        if first is None or first > OUTPUT_BELOW or "is_available" not in lines[prints[0]]:
            continue
        code, output = "\n".join(lines[i] for i in prints), [said for _, said in below[first:]]
        _note_code(code, output, notes, below[first][0] - 1, interactive=False)


def _print_arguments(code: str) -> list[str]:
    """The arguments of each print call, as text."""
    found = []
    for m in re.finditer(r"\bprint\s*\(", code):
        depth, end = 1, m.end()
        while end < len(code) and depth:
            depth += {"(": 1, ")": -1}.get(code[end], 0)
            end += 1
        found.append(code[m.end() : end - 1])
    return found


def _pair(wanted: list[str], said: str, notes: Notes, line: int) -> None:
    """Values that print() wrote on one line, with spaces between them."""
    rest = said
    for n, expression in enumerate(wanted):
        literal = re.fullmatch(r"""[fr]?(["'])(.*)\1""", expression)
        if literal and "{" not in literal[2]:
            rest = rest.removeprefix(literal[2]).strip() if rest.startswith(literal[2].rstrip()) else rest
            continue
        if n == len(wanted) - 1:
            value, rest = rest, ""
        elif match := re.match(r"\([^()]*\)|\[[^\]]*\]|\S+", rest):
            value, rest = match[0], rest[match.end() :].strip()
        else:
            return
        if literal:
            match = re.search(r"\{(torch[^{}:!]*)\}", expression)
            if match:
                note_value(match[1], value, notes, line=line)
            continue
        note_value(expression, value, notes, line=line)


# --------------------------------------------------------------------------------------------- lines of other programs

_ITEM = r"^[ \t*\-]{0,24}(?![ \t*\-])"
_LOGGED = r"(?:[^\n]{0,90}\b(?:INFO|DEBUG|WARNING)\b[\]: -]+)?"  # what a logging program puts before its words
_BOOL = r"\??[ \t]{0,15}[:=]?[ \t]{0,15}(true|false|yes|no)\b"
_IN_USE = Regex(r" : (?:cudaMallocAsync|native)\b")


def _is_a_request(line: str) -> bool:
    """Whether a version in this line is one that is asked for or needed, not one that runs."""
    low = line.lower()
    return any(w in low for w in (
        "install", "requires", "requirement", "satisf", "depend", "conflict", "http", "built for", "uninstall",
        "collecting",
        "downloading", "found existing", "no wheels", "needs", "expected", "you have", "compiled", ".whl",
        "upgrade", "-f ", "==", "trained with", "torchvision", "torchaudio", "was ", "before",
    ))  # fmt: skip


_YES = ("true", "yes")


def _answer(fact: str, words: tuple[str, ...], regex: str) -> Says:
    """A program's yes or no."""
    said = {fact: lambda m: m[1].lower() in _YES}
    return Says(Regex(regex, re.M | re.I), SOURCE, Trust.PRINTED, said, words=words, no_wins=True)


def _in_use(words: tuple[str, ...], regex: str) -> Says:
    """What only a program that computes on the device can meet: a result on it, or an error of the computation."""
    said = {f"torch.{name}_available": partial(_is_on, name) for name in ("cuda", "mps", "xpu")}
    return Says(Regex(regex, re.M | re.I), SOURCE, Trust.NAMED, said, words=words)


def _is_on(name: str, m: re.Match[str]) -> bool | None:
    return m[1].lower() == name or None


# Lines of other programs
_PRINTED = (
    Says(
        Regex(
            _ITEM + _LOGGED + r"(?:\*{0,3}(?:py)?torch(?: version)?\*{0,3}[ \t]{0,30}"
            r"(?:[:=]{1,3}\*{0,3}|is|v|version)?[ \t]{0,30}v?)(\d+\.\d+\.\d[\w.+]*)(?=[ \t,;)]|$)",
            re.M | re.I,
        ),
        SOURCE, Trust.PRINTED, {"torch.version": "{1}"}, words=("torch",), unless=_is_a_request,
    ),
    Says(
        Regex(
            r"(?:\bPyTorch[ -]v?|\btorch[-=]=?|\btorch )(\d+\.\d+\.\d+(?:\.dev\d+)?(?:\+\w[\w.]*)?)(?=[ \t,;)]|$)",
            re.M | re.I,
        ),
        SOURCE, Trust.PRINTED, {"torch.version": "{1}"}, words=("torch",), unless=_is_a_request,
    ),
    Says(  # the local part of a build alone tells whose version it is
        Regex(
            r"(?<![\w.=/+<>~,-])v?([12]\.\d{1,2}\.\d{1,2}\+(?:cpu|cu\d{2,3}|rocm\d+(?:\.\d+){1,2}|xpu))(?![\w.-])",
            re.M | re.I,
        ),
        SOURCE, Trust.NAMED, {"torch.version": lambda m: m[1] if lookup.is_release(m[1]) else None},
        words=("+cpu", "+cu", "+rocm", "+xpu"), unless=_is_a_request,
    ),
    _answer(
        "torch.cuda_available", ("cuda available", "cuda is available"),
        _ITEM + r"(?:is )?(?:torch )?cuda(?: is)? available" + _BOOL,
    ),
    _answer(
        "torch.mps_available", ("mps available", "mps is available"), _ITEM + r"(?:is )?mps(?: is)? available" + _BOOL
    ),
    _answer("torch.mps_built", ("mps built", "mps is built"), _ITEM + r"(?:is )?mps(?: is)? built" + _BOOL),
    _answer(
        "torch.cuda_available", ("cuda.is_available",),
        r"\b(?:torch\.)?cuda\.is_available(?:\(\))?[`'\"*)]*[ \t]*(?:(?:always|also|still|now|just|only|it)[ ]){0,2}"
        r"(?:(?:is|was|returns?|returned|gives?|gave|says?|prints?|shows?|outputs?|results? in|evaluates to|==?|:|"
        r"->|=>|→|[^\x00-\x7f]{1,8})[ \t]*|"
        r"\s{0,3}\n\s{0,4}(?:returns?:?|outputs?:?|results?:?|gives|#|->|=>|Out\[\d+\]:)?[ \t]*)"
        r"[`'\"*]*(true|false)\b",
    ),
    Says(
        Regex(_ITEM + r"(?:torch |pytorch )cuda version[ \t]*[:=][ \t]*(\d+\.\d+|none)\b", re.M | re.I),
        SOURCE, Trust.PRINTED, {"torch.cuda": lambda m: ABSENT if m[1].lower() == "none" else m[1]},
        words=("cuda version",),
    ),
    Says(
        Regex(
            _ITEM + r"python(?: version)?\*{0,3}[ \t]{0,30}(?:[:=]\*{0,3}|v|is)?[ \t]{0,30}"
            r"(\d\.\d{1,2}(?:\.\d+)?(?:(?:a|b|rc)\d+)?\+?(?=[ \t,;|(]|$)[^\n]{0,160})",
            re.M | re.I,
        ),
        SOURCE, Trust.PRINTED, reads=machine.note_python, words=("python",),
    ),
    Says(
        Regex(r"\bPython-(3\.\d+\.\d+)\b", re.M | re.I),
        SOURCE, Trust.PRINTED, reads=machine.note_python, words=("python-3",),
    ),
    Says(
        Regex(
            _ITEM + r"(?:machine|arch|architecture)[ \t]{0,15}[:= ][ \t]{0,15}"
            r"(arm64|aarch64|x86_64|amd64|i[36]86)[ \t]*$",
            re.M | re.I,
        ),
        SOURCE, Trust.PRINTED,
        {"interpreter.architecture": lambda m: machine.architecture(m[1]),
         "host.architecture": lambda m: "arm64" if machine.architecture(m[1]) == "arm64" else None},
        words=("arch", "machine"),
    ),
    Says(
        Regex(
            _ITEM + r"(?:OS|Operating System|OS version|System|Platform|Host OS)\*{0,3}[ \t]{0,30}:\*{0,3}[ \t]{0,30}"
            r"(\S[^\n]{2,100})$",
            re.M | re.I,
        ),
        SOURCE, Trust.PRINTED, reads=machine.note_system,
        words=("os:", "os :", "operating system", "system:", "platform:"),
    ),
    Says(
        Regex(
            _ITEM + r"(?:GPU(?:s|[ _]?name|[ _]?model| type)?(?: ?#?\d+)?|Graphics card|Video card|Device name|"
            r"Device)\*{0,3}[ \t]{0,30}[:=]\*{0,3}[ \t]{0,30}(\S[^\n]{2,100})$",
            re.M | re.I,
        ),
        SOURCE, Trust.PRINTED, words=("gpu", "graphics", "device"), group="printed",
        gpu=lambda m: None if _IN_USE.search(m[1]) else machine.named_gpu(m[1]),
    ),
    Says(
        Regex(r"\bCUDA:\d \(([^(),\n]{4,60}), \d+Mi?B\)", re.M | re.I),
        SOURCE, Trust.PRINTED, {"torch.cuda_available": True}, gpu=lambda m: machine.named_gpu(m[1]), group="in use",
        words=("cuda:",),
    ),
    _in_use(("device=",), r"^[ \t]*(?:tensor\(|\[)[^\n=]{0,300}device='(cuda|mps|xpu):\d+'"),
    _in_use(("on the same device",), r"on the same device, but found at least two devices, [^\n]{0,40}\b(cuda|mps)\b"),
    _in_use(("device-side assert",), r"\b(cuda) error: device-side assert triggered"),
    _in_use(("out of memory",), r"\b(cuda|mps)(?: backend)? out of memory[.\s(]{1,3}(?:Tried|MPS allocated)"),
    _in_use(("placeholder storage",), r"Placeholder storage has not been allocated on (mps) device"),
    Says(  # ComfyUI and its kin: the device that they compute on, and how they allocate on it
        Regex(r"\bcuda:\d+ ([^:\n]{4,60}?) : (?:cudaMallocAsync|native)\b", re.M | re.I),
        SOURCE, Trust.PRINTED, {"torch.cuda_available": True}, gpu=lambda m: machine.named_gpu(m[1]), group="in use",
        words=("cuda:",),
    ),
    Says(
        Regex(
            _ITEM + r"CPU(?: model)?\*{0,3}[ \t]{0,30}:\*{0,3}[ \t]{0,30}((?:Apple|Intel|AMD)[^\n]{2,80})$", re.M | re.I
        ),
        SOURCE, Trust.PRINTED, {"host.cpu_model": "{1}"}, words=("cpu:",),
    ),
)  # fmt: skip


def read(document: Document, notes: Notes) -> None:
    """Note what sessions and printed values say, and which environment variables are set."""
    _variables(document, notes)
    for command in commands(document):
        if command.kind == "python":
            if (
                "torch" in command.text
                or "platform" in command.text
                or "sys" in command.text
                or "__version__" in command.text
                or "print" in command.text
            ):
                _note_code(command.text, command.output(), notes, command.line, interactive=True)
            notes.understand(command.line)
        else:
            _shell(command, document, notes)
    if document.has("torch.", "platform.", "sys.", "numpy.", "np."):
        for m in _LABELLED.finditer(document.text):
            note_value(m[1], m[2], notes, line=document.line_at(m.start()), rank=Trust.TOOL)
    if "print(" in document.text:
        _script(document, notes)
        for m in _INLINE.finditer(document.text):
            note_value(m[1], m[2], notes, line=document.line_at(m.start()), rank=Trust.TOOL)
    note(_PRINTED, document, notes)


# -------------------------------------------------------------------------------------------------------- shell
# commands


def _shell(command: Block, document: Document, notes: Notes) -> None:
    text = re.sub(r"^(?:sudo|time|exec|\w+=\S+)\s+", "", command.text)
    words = text.split()
    if not words:
        return
    notes.understand(command.line)
    program = words[0].rstrip("\\").replace("\\", "/").rsplit("/", 1)[-1].removesuffix(".exe").lower()
    output = command.output()
    first = next((s for s in output if s), "")
    at = command.first + (output.index(first) if first else 0)
    put = partial(notes.put, rank=Trust.ANSWERED, line=at)
    if named := re.fullmatch(rf"(?:python|{pip.NAME})(3\.\d{{1,2}})(t?)", program) or re.match(
        r"py(?:\.exe)? -(3\.\d{1,2})(t?)\b", text
    ):
        notes.put("interpreter.version", named[1], source="command", rank=Trust.NAMED, line=command.line)
        notes.put(
            "interpreter.free_threaded", True if named[2] else None, source="command", rank=Trust.NAMED,
            line=command.line,
        )
    if program.startswith("python") or program == "py":
        if m := re.search(r"""\s-c\s+(["'])(.*)\1""", text):
            _note_code(m[2], output, notes, command.line, interactive=False)
        elif re.search(r"\s(?:-V|--version)\b", text) and first:
            machine.note_python(first, notes, source="python --version", rank=Trust.ANSWERED, line=at)
    elif program in ("uname", "arch") and machine.architecture(first):
        # Under Rosetta both speak of their own process.
        arch = machine.architecture(first)
        put(
            "host.architecture", arch if arch != "x86" else None, source=program,
            rank=Trust.ANSWERED if arch == "arm64" else Trust.NAMED,
        )
    elif program == "uname" and first.startswith("Darwin ") and machine.architecture(first.split()[-1]) == "arm64":
        put("host.architecture", "arm64", source="uname", rank=Trust.ANSWERED)
    elif program == "uname" and "-r" in words and first:
        put("host.kernel", first, source="uname")
        machine.note_kernel(first, notes, source="uname", rank=Trust.TOOL, line=at)
    elif program == "groups" and first and "not found" not in first:
        put("amd.groups", tuple(first.partition(":")[2].split() or first.split()), source="groups")
    elif program == "sysctl" and "proc_translated" in text and first in ("0", "1"):
        put("interpreter.translated", first == "1", source="sysctl")
        put("host.architecture", "arm64", source="sysctl")  # an Intel Mac does not know the word
        put("host.system", "darwin", source="sysctl")
    elif program == "sysctl" and "machdep." in text and first and "unknown" not in first:
        put("host.system", "darwin", source="sysctl")
    elif program == "getconf" and first.startswith("glibc"):
        put("host.libc", "glibc", source="getconf")
        put("host.libc_version", first.split()[-1], source="getconf")
    elif program == "file" and "python" in text and first:
        _mach_o(output, put)
    elif program == "which" and "python" in text and first.startswith("/"):
        put("interpreter.executable", first, source="which", rank=Trust.LISTED)
    elif program == "ls":
        _listed(text, output, notes, put)
    elif program == "lsmod":
        _modules(output, notes, put)
    elif program in ("docker", "podman", "nerdctl") and " exec " in f" {text} ":
        put(
            "host.container", program if program != "nerdctl" else "container", source=program, rank=Trust.LISTED,
            line=command.line,
        )


def _mach_o(output: list[str], put: object) -> None:
    said = " ".join(output)
    if "universal binary" in said or not callable(put):
        return
    if "arm64" in said:
        put("interpreter.architecture", "arm64", source="file", rank=Trust.LISTED)
    elif "x86_64" in said or "x86-64" in said:
        put("interpreter.architecture", "x86_64", source="file", rank=Trust.LISTED)


def _listed(text: str, output: list[str], notes: Notes, put: object) -> None:
    """`ls /dev/kfd` and its kin: what is missing, and what may not be entered."""
    assert callable(put)
    said = " ".join(output)
    missing = "No such file or directory" in said or "cannot access" in said
    if "/dev/kfd" in text and missing:
        put("amd.kfd", False, source="ls")
    if "/dev/nvidia" in text and missing and "/dev/nvidia0" not in said.replace("cannot access", ""):
        put("nvidia.device_nodes", (), source="ls")


def _modules(output: list[str], notes: Notes, put: object) -> None:
    """`lsmod`, whole or cut: what is in it is loaded; what is not may have been left out."""
    assert callable(put)
    names = {s.split()[0] for s in output if s and not s.startswith("Module")}
    if "nouveau" in names:
        put("nvidia.nouveau", True, source="lsmod")
    if "amdgpu" in names:
        put("amd.kernel_driver", True, source="lsmod")
    for module in ("xe", "i915"):
        if module in names:
            put("intel.kernel_driver", module, source="lsmod")
    if len(names) > 3 and not any(n.startswith("nvidia") for n in names):
        put("nvidia.kernel_module", ABSENT, source="lsmod")


# -------------------------------------------------------------------------------------------------------------
# variables

_NAME = r"[A-Z][A-Z0-9_]*"  # which of them are kept says _KEPT
_KEPT = Regex(
    r"(?:CUDA_(?!VERSION$|MODULE_LOADING)|NVIDIA_|HIP_|ROCR_|ROCM_|HSA_|ZE_|ONEAPI_|SYCL_|TORCH_|PYTORCH_|DYLD_|KMP_|"
    r"OMP_|MKL_|OPENBLAS_|NCCL_|"
    r"TRITON_|CUDNN_|CUBLAS_|MIOPEN_|TORCHINDUCTOR_|GPU_DEVICE_ORDINAL|LD_LIBRARY_PATH|LD_PRELOAD|PYTHONPATH|"
    r"PYTHONHOME|"
    r"PYTHONNOUSERSITE|PYTHONUSERBASE|CONDA_PREFIX|VIRTUAL_ENV|PIP_|UV_|CC$|CXX$|MAX_JOBS|SYSTEM_VERSION_COMPAT|FORCE"
    r"_CUDA|BNB_CUDA)"
)
_VALUE = r"(?:\"(?P<{0}d>[^\"\n]*)\"|'(?P<{0}s>[^'\n]*)'|(?P<{0}b>[^\s;&|\"']*))"
_ASSIGN = Regex(r"(?<![\w$`./-])(?P<name>" + _NAME + r")=" + _VALUE.format("v"))
_LEAD = Regex(
    r"^[ \t]{0,40}(?:[-*+][ \t]{1,9})?(?:[^\n$#%>!`]{0,80}[$#%>!][ \t]*)?"
    r"(?:(?:export|set|setenv|env|declare -x|ENV|sudo|time)[ \t]+)?"
    r"(?:[A-Za-z_]\w*=(?:\"[^\"\n]{0,200}\"|'[^'\n]{0,200}'|[^\s\"']\S{0,200}|)[ \t]+)*$"
)
_OTHER_FORMS = tuple(Regex(p.replace("NAME", f"(?P<name>{_NAME})").replace("VALUE", _VALUE.format("v")), re.M)
                     for p in (
    r"\$env:NAME[ \t]*=[ \t]*VALUE",
    r"os\.environ\[[\"']NAME[\"']\][ \t]*[:=][ \t]*(?:str\()?[fr]?VALUE",
    r"os\.environ\.setdefault\([\"']NAME[\"'],[ \t]*VALUE",
    r"(?:^|[ \t])-?-e(?:nv)?[ =]NAME=VALUE",
    r"^[ \t]*(?:ENV|setenv)[ \t]+NAME[ \t]+VALUE[ \t]*$",
    r"^[ \t]*NAME[ \t]*(?::|[ ]=)[ \t]*VALUE[ \t]*$",
    r"^[ \t]*Environment=[\"']?NAME=VALUE",
))  # fmt: skip
_ECHO = Regex(r"(?:echo|printenv)[ \t]+[\"']?[$%]?\{?(?:env:)?(" + _NAME + r")\}?%?[\"']?[ \t]*$")


def _variables(document: Document, notes: Notes) -> None:
    text = document.text
    if "=" in text:
        for m in _ASSIGN.finditer(text):
            begin = text.rfind("\n", 0, m.start()) + 1
            if m.start() - begin < 300 and _LEAD.match(text[begin : m.start()]):
                _note_variable(m, document, notes)
    if document.has("environ", "$env:", "-e ", "--env", "env ", "environment=", "_visible_devices", "setenv"):
        for regex in _OTHER_FORMS:
            for m in regex.finditer(text):
                _note_variable(m, document, notes)
    if "echo" in text or "printenv" in text:
        for command in commands(document):
            if asked := _ECHO.search(command.text):
                said = next((s for s in command.output() if s), None)
                if said is not None and "not found" not in said and _KEPT.match(asked[1]) and " " not in said:
                    keep(asked[1], said, command.line, notes)


def _note_variable(m: re.Match[str], document: Document, notes: Notes) -> None:
    value = next((v for v in (m["vd"], m["vs"], m["vb"]) if v is not None), "")
    if _KEPT.match(m["name"]) and value.lower() not in ("(null)", "none", "null", "unset", "not", "<not"):
        keep(m["name"], value, document.line_at(m.start()), notes)


def is_kept(name: str) -> bool:
    """Whether a variable of that name can matter to torch."""
    return _KEPT.match(name) is not None


def keep(name: str, value: str, line: int, notes: Notes) -> None:
    """Note a variable of the environment; the first value stands."""
    notes.environ.setdefault(name, value[:2000])
    notes.put(f"environ.{name}", value[:2000] or "(empty)", source=SOURCE, rank=Trust.TOOL, line=line)
