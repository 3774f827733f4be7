"""What the look of the text tells when nothing says it outright: the system, the Python and the environment, from
paths,
wheel names, prompts and a program's own words. Of the lowest rank: everything said outright wins."""

from __future__ import annotations

import re
from collections.abc import Mapping

from doctor.evidence import machine, tracebacks
from doctor.evidence.notes import Notes, Trust
from doctor.evidence.regex import Regex
from doctor.evidence.text import Document
from doctor.evidence.transcript import Command, commands
from doctor.model.facts import ABSENT, ErrorText, Gpu, ImportFailure, OtherEnvironment

SOURCE = "path"
_PY_IN_PATH = Regex(r"[/\\](?:lib(?:64)?[/\\])?[Pp]ython[ ]?(\d)\.?(\d{1,2})(t?)(?=[/\\])", needs=("ython",))
_CP = Regex(r"[-_.]cp(?:ython-)?(\d)(\d{1,2})(m|t|d)?(?:-cp|-abi|-none|-x86|-aarch|-darwin|-win|-arm|m?-)")
_WHEEL_PLATFORM = Regex(
    r"(?<!is not a supported )\b(manylinux\w*|macosx_\d+_\d+|win|linux|musllinux_\d_\d)_?(x86_64|aarch64|arm64|amd64|"
    r"universal2|i686|32)(?=\.whl|\b)"
)
# What speaks for a system, by words and by patterns; a word counts as often as it occurs.
_SYSTEMS: Mapping[str, tuple[tuple[str, ...], tuple[Regex, ...]]] = {
    "windows": (
        ("WinError",),
        (
            Regex(r"(?:^|[\s\"'(=:])[A-Za-z]:\\+[\w .$>-]", re.M, ("\\",)),
            
            Regex(r"\.dll\b", needs=(".dll",)),
            Regex(r"\.exe\b", needs=(".exe",)),
            Regex(r"\w\.(?:bat|ps1)\b", needs=(".bat", ".ps1")),
            Regex(r"\b(?:Powershell|PowerShell|[Tt]ask [Mm]anager|[Dd]evice [Mm]anager|Anaconda [Pp]rompt)\b",
                  needs=("hell", "anager", "Anaconda")),
        ),
    ),
    "darwin": (
        (
            "/opt/homebrew/", "dlopen(/", "/Library/Frameworks/", "mach-o file", "-darwin.so",
            "MPS backend out of memory", "MPS backend is supported on", "has no attribute 'mps'", "for the MPS backend",
            "for the MPS device", "the 'MPS' backend", "MPSNDArray", "MPSGraph", "MPS framework", "MPS: no support",
            "mps:0", "Apple Silicon", "Apple silicon", "Apple Paravirtual", "MacBook", "Macbook", "MPS does not ",
        ),
        (
            Regex(r"/Users/\w", needs=("/Users/",)),
            Regex(r"\.dylib\b", needs=(".dylib",)),
            
            Regex(r"macOS \d", needs=("macOS ",)),
            Regex(r"\b(?:[Mm]y|[Oo]n|[Oo]n (?:a|an|my|the)) (?:Intel |Apple )?Mac\b(?! ?[Aa]ddr)", needs=("Mac",)),
            Regex(r"\b(?:Mac M[1-9]|Mac Pro|Mac [Mm]ini|Mac Studio|iMac)\b", needs=("Mac",)),
            # Cards that only Macs had
            Regex(
                r"Radeon Pro (?:4[56]0|5[56]\dX?|580X|5[3567]00M?|Vega (?:16|20|48|56|64)|W6[89]00X)\b",
                needs=("Radeon Pro ",),
            ),
            Regex(r"torch\.mps\.\w+\(\)", needs=("torch.mps.",)),
        ),
    ),
    "linux": (
        (
            "/root/", "/usr/lib/x86_64-linux-gnu", "/usr/local/lib/python3", "undefined symbol:", "-linux-gnu.so",
            "/dist-packages/", "NVRM:", "/opt/conda/",
        ),
        (
            Regex(r"/home/\w", needs=("/home/",)),
            Regex(r"\.so(?:\.\d+)*: (?:cannot open|undefined symbol|version)", needs=(".so",)),
            Regex(r"\blib[\w-]{1,80}\.so\b", needs=(".so",)),
            Regex(r"\bapt(?:-get)? install", needs=("apt",)),
            Regex(r"\byum |\bdkms\b|\bmodprobe\b|\blsmod\b", needs=("yum ", "dkms", "modprobe", "lsmod")),
        ),
    ),
}  # fmt: skip
_LINUX_PATH = Regex(
    r"(?<![\w/])/(?:usr|home|root|opt/conda|app|workspace|data|mnt|tmp|var|venv|env)/[^\s:\"']{0,150}python3\.\d+/|/d"
    r"ev/kfd|/usr/lib/|\.so\.\d",
    needs=("python3.", "/dev/kfd", "/usr/lib/", ".so."),
)
_TORCH_FOLDER = Regex(
    r"(?<![^\s\"'(=\[,])((?:/|[A-Za-z]:[\\/])[^\s\"':*?<>|=(,\[]{1,300}[/\\](?:site-packages|dist-packages)[/\\]torch)[/\\]"
)
_MUSL = Regex(
    r"Error relocating \S+: |ld-musl-|\bmusl libc\b|/lib/libc\.musl",
    needs=("Error relocating", "ld-musl-", "musl libc", "libc.musl"),
)
_ALPINE = Regex(
    r"\b(?:docker|podman) run [^\n]{0,300}?\S:[\w.-]{0,60}alpine|\bFROM \S*alpine|\bapk add\b",
    needs=("alpine", "apk add"),
)
_OTHER_ARCHITECTURES = Regex(
    r"(?<![\w.])(riscv64|ppc64le|loongarch64|s390x)\b|[-_@](riscv64|ppc64le|loongarch64)\b",
    needs=("riscv64", "ppc64le", "loongarch64", "s390x"),
)
_WSL_KERNEL = Regex(r"\b(\d+\.\d+\.\d+(?:\.\d+)?-[\w-]*[Mm]icrosoft[\w-]*)", needs=("icrosoft",))
_LINUXKIT = Regex(r"\b(\d+\.\d+\.\d+-linuxkit)\b", needs=("-linuxkit",))
_SANDBOXES = (
    (
        "seatbelt",
        Regex(
            r"\bcodex(?:-cli| exec| sandbox)|\bseatbelt\b|sandbox-exec|deny\(1\) iokit-open|CODEX_SANDBOX=",
            needs=("codex", "seatbelt", "sandbox-exec", "iokit-open", "CODEX_SANDBOX="),
        ),
    ),
    ("gvisor", Regex(r"\bgVisor\b|\brunsc\b", needs=("gVisor", "runsc"))),
)
_MAC_GUEST = Regex(
    r"(Apple Paravirtual device|VirtualMac\d+,\d+|Apple M\d[\w ]{0,30}\(Virtual\))",
    needs=("Apple Paravirtual device", "VirtualMac", "(Virtual)"),
)
_CHIP = Regex(
    r"\b(?:Apple|Mac(?:Book)?(?: ?(?:Pro|Air|Mini|Studio))?|iMac|chip|processor)\b[^\n]{0,25}?"
    r"\b(M[1-9])(?:[ -]?(Pro|Max|Ultra))?\b",
    re.I,
)
_RUNNER = Regex(
    r"/Users/runner/\w+/|/Users/distiller/|\bImage: macos-\d+|\bruns-on: *[\"']?macos-|\bmacos-\d+-(?:arm64|x?large)\b",
    needs=("/Users/", "macos-"),
)
_CONDA = Regex(r"[/\\](?:mini|ana)?(?:conda|forge|mamba)\d?[/\\](envs[/\\])?", re.I)
_VENV = Regex(r"[/\\]\.?v?env[\w-]*[/\\](?:lib|Lib|bin|Scripts)")
_BUILD_MACHINE = Regex(
    r"/Users/runner/\w+/pytorch/[^\s)]*|/Users/distiller/[^\s)]*|[A-Z]:\\\\?(?:actions-runner|cb|b)\\\\?[^\s)]{0,80}"
    r"pytorch[^\s)]*|/pytorch/(?:aten|c10|torch)/[^\s)]*|\.\./(?:c10|aten|torch)/[^\s)]*"
)
_CONTAINER_PROMPT = Regex(r"^[ \t]*(?:root|\w+)@[0-9a-f]{12}:[^\n]{0,100}[#$]", re.M, ("@",))
_DOCKER_OTHER = Regex(
    r"\bdocker(?:-compose|[ \t]+compose)[ \t][^\n]{0,80}\b(?:up|run|exec)\b|\b(?:docker|podman)[ \t]+(?:exec|logs)[ \t]"
)
_COMPOSE = Regex(
    r"^[ \t]*(?:Creating|Recreating|Starting) [\w.-]+ +\.\.\. *(?:done)?$|^[ \t]*Attaching to [\w.-]+[-_]\d|"
    r"^[ \t]*\[\+\] (?:Running|up) \d+/\d+$",
    re.M,
    ("Creating", "Recreating", "Starting", "Attaching to ", "[+] "),
)
_WSL_NAMED = Regex(
    r"\b(?:[Oo]n|[Ii]n|[Uu]nder|[Ii]nside|[Ww]ithin|[Uu]sing|[Vv]ia)(?: my| the| a)? WSL ?-?([12])?\b|"
    r"\b(?:Ubuntu|Debian)[\w .-]{0,16}\(?WSL ?-?([12])?\b|^[ \t]*WSL ?-?([12])(?=[,; ]|$)",
    re.M,
    ("WSL",),
)
_WSL2_BUILD = 18_362  # the first Windows that has WSL 2 (https://learn.microsoft.com/windows/wsl/install-manual)
_DOCKER_RUN = Regex(r"\b(docker|podman|nerdctl)[ \t]+(?:container )?(run|create)\b([^\n]*)")
_CONTINUED = 30  # lines of one command
_NO_TORCH = Regex(r"No module named ['\"]?torch['\"]?(?![.\w])")
_BUILDING = Regex(
    r"Getting requirements to build wheel|Preparing metadata|build_wheel|setup\.py|get_requires_for_build|pip-build-e"
    r"nv|pep517|subprocess-exited-with-error|<string>\", line \d+, in <module>.{0,400}?setup",
    re.I | re.S,
)
_ZSH = Regex(r"^[ \t]*(?:\([\w.-]+\) )?% \w", re.M, ("% ",))  # its prompt; zsh is the shell of macOS
_CONDA_SUBDIR = Regex(r"(?<=[/ ])(osx-|linux-|win-)(64|arm64|aarch64|32)[ \t]*$", re.M, ("osx-", "linux-", "win-"))
_SO_SUFFIX = Regex(r"-(x86_64|aarch64)-linux-gnu\.so", needs=("-linux-gnu.so",))
_DLOPEN_NEEDS = Regex(r"need '?(arm64e?|x86_64h?)'?\)", needs=("need ",))


def read(document: Document, notes: Notes) -> None:
    """Note what can be inferred from one text."""
    text = (  # blanks of the same length: a place in the one is the same place in the other
        _BUILD_MACHINE.sub(lambda m: " " * len(m[0]), document.text)
        if document.has("pytorch/", "../c10", "../aten", "distiller")
        else document.text
    )
    _system(text, document, notes)
    _python(document, notes)
    _container(document, notes)
    _torch_by_path(document, notes)
    _import_fails(document, notes)
    _sessions(document, notes)


def _system(text: str, document: Document, notes: Notes) -> None:
    counts = {
        name: sum(text.count(word) for word in words) + sum(len(regex.findall(text)) for regex in patterns)
        for name, (words, patterns) in _SYSTEMS.items()
    }
    notes.linux_paths |= bool(_LINUX_PATH.search(text))
    best = max(counts, key=lambda k: counts[k])
    if counts[best]:
        notes.put("host.system", best, source=SOURCE, rank=Trust.LOOK)
    if document.has(".whl", "manylinux", "macosx_"):
        for m in _WHEEL_PLATFORM.finditer(text):
            line = document.lines[document.line_at(m.start())]
            if "not a supported wheel" in line or "has the following" in line or "Skipping link" in line:
                continue
            arch = {"amd64": "x86_64", "aarch64": "arm64"}.get(m[2], m[2])
            system = "darwin" if m[1].startswith("macosx") else "windows" if m[1].startswith("win") else "linux"
            notes.put("host.system", system, source="wheel name", rank=Trust.NAMED)
            if arch in ("x86_64", "arm64"):
                notes.put("interpreter.architecture", arch, source="wheel name", rank=Trust.NAMED)
                if system != "darwin" or arch == "arm64":
                    notes.put("host.architecture", arch, source="wheel name", rank=Trust.NAMED)
    if subdir := _CONDA_SUBDIR.search(text):
        notes.put(
            "host.system",
            {"osx-": "darwin", "win-": "windows"}.get(subdir[1], "linux"),
            source="conda",
            rank=Trust.NAMED,
        )
        if subdir[2] != "32":
            architecture = "x86_64" if subdir[2] == "64" else "arm64"
            notes.put("interpreter.architecture", architecture, source="conda", rank=Trust.NAMED)
    if suffix := _SO_SUFFIX.search(text):
        notes.put("host.architecture", {"aarch64": "arm64"}.get(suffix[1], suffix[1]), source=SOURCE, rank=Trust.NAMED)
        notes.put("host.system", "linux", source=SOURCE, rank=Trust.NAMED)
    _signs(text, document, notes)
    if need := _DLOPEN_NEEDS.search(text):
        notes.put(
            "interpreter.architecture",
            "arm64" if need[1].startswith("arm64") else "x86_64",
            source="dlopen",
            rank=Trust.LISTED,
        )
        notes.put("host.system", "darwin", source="dlopen", rank=Trust.NAMED)
        if need[1].startswith("arm64"):
            notes.put("host.architecture", "arm64", source="dlopen", rank=Trust.LISTED)


def _signs(text: str, document: Document, notes: Notes) -> None:
    """Single expressions that only one kind of machine shows."""

    def put(fact: str, value: object, m: re.Match[str], source: str, rank: Trust) -> None:
        notes.put(fact, value, source=source, rank=rank, line=document.line_at(m.start()))

    if m := _MUSL.search(text):
        put("host.libc", "musl", m, "loader", Trust.LISTED)
        put("host.system", "linux", m, "loader", Trust.NAMED)
    if m := _ALPINE.search(text):
        put("host.libc", "musl", m, "image name", Trust.NAMED)
        put("host.os_id", "alpine", m, "image name", Trust.NAMED)
    if m := _OTHER_ARCHITECTURES.search(text):
        put("host.architecture", m[1] or m[2], m, "prompt", Trust.LOOK)
    if m := _WSL_KERNEL.search(text):
        put("host.kernel", m[1], m, "kernel", Trust.PRINTED)
        put("host.system", "linux", m, "kernel", Trust.PRINTED)
        machine.note_kernel(m[1], notes, source="kernel", rank=Trust.TOOL, line=None)
    session = commands(document)
    if any(
        c.kind == "python" and re.search(r"[\"']mps[\"']", c.text) and "Error" not in " ".join(c.output(document))
        for c in session
    ):
        notes.put("host.system", "darwin", source="Python", rank=Trust.LOOK)
    if _ZSH.search(text):
        notes.put("host.system", "darwin", source="prompt", rank=Trust.LOOK)
    if m := _WSL_NAMED.search(text):
        old = re.search(r"\[Version 10\.0\.(\d{5})", text)
        first = bool(old and int(old[1]) < _WSL2_BUILD)
        put("host.wsl", int(m[1] or m[2] or m[3] or (1 if first else 2)), m, "text", Trust.LOOK)
        put("host.system", "linux", m, "text", Trust.NAMED)
    if m := _LINUXKIT.search(text):
        put("host.kernel", m[1], m, "kernel", Trust.PRINTED)
        put("host.system", "linux", m, "kernel", Trust.PRINTED)
        put("host.container", "docker", m, "kernel", Trust.PRINTED)
    for name, regex in _SANDBOXES:
        if m := regex.search(text):
            put("host.sandbox", name, m, "sandbox", Trust.PRINTED)
    if m := _MAC_GUEST.search(text):
        put("host.virtual_machine", m[1], m, "device name", Trust.LISTED)
        put("host.system", "darwin", m, "device name", Trust.LISTED)
        if m[1].startswith("Apple P"):
            put("metal.device", m[1], m, "device name", Trust.LISTED)
    if document.has("mac", "darwin", "apple") and (m := _CHIP.search(text)):
        put(
            "host.cpu_model",
            " ".join(w for w in ("Apple", m[1].upper(), (m[2] or "").title()) if w),
            m,
            "text",
            Trust.SAID,
        )
    if m := _RUNNER.search(text):
        put("host.virtual_machine", "a hosted runner", m, "path", Trust.NAMED)


def _python(document: Document, notes: Notes) -> None:
    for m in _PY_IN_PATH.finditer(document.text):
        notes.put(
            "interpreter.version", f"{m[1]}.{m[2]}", source=SOURCE, rank=Trust.NAMED, line=document.line_at(m.start())
        )
        if m[3]:
            notes.put(
                "interpreter.free_threaded", True, source=SOURCE, rank=Trust.NAMED, line=document.line_at(m.start())
            )
    if document.has("cp3", "cpython-3"):
        for m in _CP.finditer(document.text):
            line = document.line_at(m.start())
            if "not a supported wheel" in document.lines[line]:
                continue
            notes.put("interpreter.version", f"{m[1]}.{m[2]}", source="wheel name", rank=Trust.NAMED, line=line)
            notes.put("interpreter.implementation", "cpython", source="wheel name", rank=Trust.NAMED, line=line)
            if m[3] == "t":
                notes.put("interpreter.free_threaded", True, source="wheel name", rank=Trust.NAMED, line=line)
    low = document.lower
    if "conda" in low:
        if conda := _CONDA.search(document.text):
            line = document.line_at(conda.start())
            kind = "conda" if conda[1] else "conda-base"
            notes.put("interpreter.environment", kind, source=SOURCE, rank=Trust.NAMED, line=line)
            notes.put("interpreter.manager", "conda", source=SOURCE, rank=Trust.NAMED, line=line)
    elif ("venv" in low or "virtualenv" in low) and (made := _VENV.search(document.text)):
        notes.put(
            "interpreter.environment", "venv", source=SOURCE, rank=Trust.NAMED, line=document.line_at(made.start())
        )
    if "pypy" in low and re.search(r"\[PyPy \d|[/\\]pypy3|\bpp3\d+-pypy", document.text):
        notes.put("interpreter.implementation", "pypy", source=SOURCE, rank=Trust.NAMED)


def _container(document: Document, notes: Notes) -> None:
    low = document.lower
    if m := _CONTAINER_PROMPT.search(document.text):
        notes.put("host.container", "docker", source="prompt", rank=Trust.LISTED, line=document.line_at(m.start()))
    if "docker" in low or "podman" in low or "nerdctl" in low:
        for m in _DOCKER_RUN.finditer(document.text):
            line = document.line_at(m.start())
            said = m[0]
            end = min(line + _CONTINUED, len(document.lines) - 1)
            while said.endswith("\\") and line < end:
                line += 1
                said = said[:-1] + document.lines[line]
            notes.put(
                "host.container", "docker" if m[1] != "podman" else "podman", source=m[1], rank=Trust.PRINTED, line=line
            )
            flags = tuple(
                re.findall(
                    r"--gpus[ =]\S+|--runtime[ =]\S+|--device[ =]\S+|--ipc[ =]\S+|--shm-size[ =]\S+|--privileged|--gr"
                    r"oup-add[ =]\S+",
                    said,
                )
            )
            origin = notes.origin(m[1], line)
            asked = any(f.startswith(("--gpus", "--runtime")) and not f.endswith("runc") for f in flags)
            notes.put("host.container_gpus", asked, source=m[1], rank=Trust.LISTED, line=line)
            notes.error(
                ErrorText(
                    pattern="container-run",
                    text=said.strip()[:500],
                    groups=flags,
                    source=origin.source,
                    line=origin.line,
                )
            )
        if m := _DOCKER_OTHER.search(document.text):
            notes.put("host.container", "docker", source="docker", rank=Trust.PRINTED, line=document.line_at(m.start()))
    if m := _COMPOSE.search(document.text):
        notes.put(
            "host.container", "docker", source="docker compose", rank=Trust.PRINTED, line=document.line_at(m.start())
        )
    if "the nvidia driver was not detected" in low or "nvidia-container-cli" in low or "/.dockerenv" in low:
        notes.put("host.container", "docker", source="message", rank=Trust.PRINTED)
    if "kubepods" in low or "kubectl exec" in low or "kubectl logs" in low:
        notes.put("host.container", "kubernetes", source="message", rank=Trust.PRINTED)


def _torch_by_path(document: Document, notes: Notes) -> None:
    """Where torch is, by the frames that run in it and by the libraries that messages name."""
    if document.has("-packages/torch", "-packages\\torch", "-packages\\\\torch") and (
        m := _TORCH_FOLDER.search(document.text)
    ):
        notes.put(
            "torch.path", m[1].replace("\\\\", "\\"), source=SOURCE, rank=Trust.NAMED, line=document.line_at(m.start())
        )
    for frame in tracebacks.frames(document):
        if re.search(r"[/\\]torch[/\\]\w[\w/\\]{0,200}\.py$", frame.path) and tracebacks.site_of(frame.path) is None:
            folder = re.sub(r"([/\\]torch)[/\\].*$", r"\1", frame.path)
            notes.put("torch.path", folder, source=SOURCE, rank=Trust.NAMED, line=frame.line)
            return


# ------------------------------------------------------------------------------------- which Python has torch, which
# not


_STARTING = ("<module>", "_load_global_deps", "_preload_cuda_deps", "_load_dll_libraries", "_preload_cuda_lib")
_SIGNALS = {"Illegal instruction": 4, "Aborted": 6, "Bus error": 7, "Segmentation fault": 11, "Killed": 9}


def _import_fails(document: Document, notes: Notes) -> None:
    """An exception that leaves torch/__init__.py while it is imported; a signal at `python -c "import torch"`."""
    found = tracebacks.frames(document)
    for error in notes.errors:
        if error.pattern != "exception" or error.line is None:
            continue
        before = [
            f for f in found if document.numbers[f.line] < error.line and document.numbers[f.line] > error.line - 40
        ]
        at = next(
            (
                i
                for i in range(len(before) - 1, -1, -1)
                if re.search(r"[/\\]torch[/\\](?:__init__|torch_version|version)\.py$", before[i].path)
            ),
            None,
        )
        if at is None or before[at].function not in _STARTING:
            continue
        if any(tracebacks.package_of(f.path) not in (None, "torch", "numpy") for f in before[at:]):
            continue
        if at < len(before) - 1 and error.groups[0] not in (
            "OSError",
            "ImportError",
            "ModuleNotFoundError",
            "FileNotFoundError",
        ):
            continue
        kind, message = error.groups[0], error.groups[1]
        notes.put("torch.imports", False, source="traceback", rank=Trust.ANSWERED, line=None)
        notes.put(
            "torch.import_failure",
            ImportFailure(kind="exception", exception=kind.rpartition(".")[2], message=message),
            source="traceback",
            rank=Trust.ANSWERED,
        )
    for command in commands(document):
        if "import torch" in command.text:
            for said in command.output(document)[:3]:
                number = next((n for word, n in _SIGNALS.items() if word in said and "Error" not in said), None)
                if number:
                    notes.put("torch.imports", False, source="shell", rank=Trust.ANSWERED, line=command.first)
                    notes.put(
                        "torch.import_failure",
                        ImportFailure(kind="signal", message=said[:300], signal=number),
                        source="shell",
                        rank=Trust.ANSWERED,
                    )


_RUNNERS = (
    r"(?:plain |normal |ordinary |system |conda |anaconda |regular )?[`'\"*]{0,2}"
    r"(?:i?python3?|terminal|command line|console|shell|cmd|"
    r"jupyter(?: ?lab| notebook)?|notebook|vs ?code|pycharm|spyder|idle|command prompt|anaconda prompt)[`'\"*]{0,2}"
)
_FINE = r"\b(?:works?|working|is (?:ok|okay|fine|good)|(?:imports?|runs?) (?:fine|ok|without)|no problems?)\b"
_WORKS_ELSEWHERE = Regex(
    r"\b(?:with|in|from|under|inside)(?: my| the| a)? ("
    + _RUNNERS
    + r")[^.\n]{0,40}?(?<!not )(?<!n't )(?<!never )"
    + _FINE
    + r"|\bit (?:works|imports|runs)(?: fine| ok| well)? (?:in|with|from|under)(?: my| the| a)? ("
    + _RUNNERS
    + r")",
    re.I,
)


def _sessions(document: Document, notes: Notes) -> None:
    """`import torch` that fails in one Python and works in another."""
    low = document.lower
    if "no module named" not in low:
        return
    lacking = [document.line_at(m.start()) for m in _NO_TORCH.finditer(document.text)]
    building = bool(_BUILDING.search(document.text))
    if not lacking or (building and not _outside_of_a_build(document, lacking)):
        return
    notes.put("torch", ABSENT, source="message", rank=Trust.PRINTED, line=lacking[0])
    for m in _WORKS_ELSEWHERE.finditer(document.text):
        where = (m[1] or m[2]).strip("`'\"* ")
        notes.others.append(OtherEnvironment(python=where, torch="(version not shown)", how="said to work"))
    for command in commands(document):
        works = _imports_torch(command, document)
        if works:
            said = command.text.split()[0] if command.kind == "shell" else "python"
            notes.others.append(
                OtherEnvironment(python=said[:80], torch=works, how="imports torch in the same evidence")
            )


def _outside_of_a_build(document: Document, lacking: list[int]) -> bool:
    """Whether one of these lines is no part of a package's build: not below pip's frame of a subprocess."""
    for line in lacking:
        above = "\n".join(document.lines[max(0, line - 25) : line + 1])
        if not _BUILDING.search(above):
            return True
    return False


def _imports_torch(command: Command, document: Document) -> str | None:
    """The version that a command printed, or that none is shown, where the command shows that torch can be imported."""
    output = " ".join(command.output(document)[:6])
    if "Error" in output or "No module" in output:
        return None
    if command.kind == "python" and "torch.__version__" in command.text:
        m = re.search(r"(?<!\d)\d+\.\d[\w.+]*", output)
        return m[0] if m else None
    if "import torch" in command.text and command.kind == "shell" and "-c" in command.text.split():
        m = re.search(r"(?<!\d)\d+\.\d+\.\d[\w.+]*", output)
        return m[0] if m else "(version not shown)"
    return None


def settle(notes: Notes) -> None:
    """What follows from all texts together."""
    _settle_torch(notes)
    _settle_host(notes)


def _apple_gpu(notes: Notes, cpu: str) -> None:
    """Apple silicon is its own GPU."""
    if cpu.startswith("Apple") and not any(g.vendor == "apple" for _, _, g in notes.gpus):
        notes.gpu(Gpu(vendor="apple", name=cpu), group="chip", rank=Trust.LISTED, source="CPU")


def _settle_torch(notes: Notes) -> None:
    version = notes.get("torch.version")
    if notes.get("torch") is ABSENT and version:
        # Another Python's torch, unless a list says that it is this one's.
        if not any(o.torch for o in notes.others):
            notes.others.append(
                OtherEnvironment(python="", torch=version, how=notes.noted["torch.version"].origin.source)
            )
    elif (
        notes.get("torch") is not ABSENT
        and notes.get("torch.imports") is False
        and not any(notes.get(f"torch.{fact}") for fact in ("version", "path", "import_failure"))
    ):
        notes.put(
            "torch",
            ABSENT,
            source=notes.noted["torch.imports"].origin.source,
            rank=notes.noted["torch.imports"].rank,
            line=None,
        )
    copies = [c for c in notes.copies if c.version]
    releases = {(c.version or "").partition("+")[0] for c in copies}
    if version:
        releases.add(version.partition("+")[0])
    if len(copies) > 1 or (len(copies) == 1 and len(releases) > 1):
        notes.put("torch.copies", tuple(copies), source="package lists", rank=Trust.LISTED)
    _local_part(notes)


def _local_part(notes: Notes) -> None:
    """torch.version.* follow from a local part (+cu124, +cpu, +rocm6.3, +xpu) where nothing says them."""
    version = notes.get("torch.version")
    if not version:
        return
    local = version.partition("+")[2]
    origin = notes.noted["torch.version"]

    def put(fact: str, value: object) -> None:
        known = fact in notes.noted
        notes.put(fact, value, source="", rank=Trust.LOOK)
        if not known:
            notes.noted[fact].origin = origin.origin

    if m := re.fullmatch(r"cu(\d{2,3})(?:[._][\w.]+)?", local):
        put("torch.cuda", f"{m[1][:-1]}.{m[1][-1]}")
        put("torch.hip", ABSENT)
    elif m := re.match(r"rocm(\d+\.\d+(?:\.\d+)?)", local):
        put("torch.hip", m[1])
        put("torch.cuda", ABSENT)
    elif local.startswith(("cpu", "xpu")):
        put("torch.cuda", ABSENT)
        put("torch.hip", ABSENT)


def _settle_host(notes: Notes) -> None:
    if notes.get("torch.mps_available") or notes.get("torch.mps_built"):
        notes.put("host.system", "darwin", source="torch.backends.mps", rank=Trust.LISTED)
    system = notes.get("host.system")
    if (
        notes.get("host.container")
        and system in ("windows", "darwin")
        and notes.rank_of("host.system") <= Trust.LOOK
        and notes.linux_paths
    ):
        # The prompt is the host's, the messages are of the Linux container.
        notes.noted["host.system"].value = system = "linux"
    chip = str(notes.get("host.cpu_model") or "").startswith("Apple") and notes.rank_of("host.cpu_model") == Trust.SAID
    if chip and system != "darwin":  # a chip named in passing
        del notes.noted["host.cpu_model"]
    if system is None:
        return
    origin = notes.noted["host.system"].origin.source
    if system != "darwin":
        notes.put("host.macos", ABSENT, source=origin, rank=Trust.SAID)
    if system != "linux":
        notes.put("host.jetson", ABSENT, source=origin, rank=Trust.SAID)
        notes.put("host.wsl", ABSENT, source=origin, rank=Trust.SAID)
    if notes.get("host.jetson") == "unknown":
        kernel = str(notes.get("host.kernel") or "")
        if l4t := machine.L4T_OF_KERNEL.get(".".join(kernel.split(".")[:2])):
            notes.put("host.jetson", l4t, source=notes.noted["host.kernel"].origin.source, rank=Trust.TOOL)
    if system == "darwin":
        cpu = notes.get("host.cpu_model") or ""
        if cpu.startswith("Apple"):
            notes.put("host.architecture", "arm64", source="CPU", rank=Trust.ANSWERED)
        elif cpu.startswith("Intel"):
            notes.put("host.architecture", "x86_64", source="CPU", rank=Trust.ANSWERED)
        _apple_gpu(notes, cpu)
        own = notes.get("interpreter.architecture")
        hardware = notes.get("host.architecture")
        if hardware == "arm64" and own == "x86_64":
            notes.put("interpreter.translated", True, source="CPU", rank=Trust.ANSWERED)
        elif hardware and own == hardware:
            notes.put("interpreter.translated", False, source="CPU", rank=Trust.NAMED)
