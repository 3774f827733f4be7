"""What the look of the text tells when nothing says it outright: the system, the Python and the environment, from
paths,
wheel names, prompts and a program's own words. Of the lowest rank: everything said outright wins."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial

from doctor.evidence import machine, tracebacks
from doctor.evidence.blocks import Block, commands
from doctor.evidence.notes import Notes, Trust
from doctor.evidence.says import By, Says, note
from doctor.evidence.text import Document
from doctor.fixes.tools import all_tools, with_channel
from doctor.formats import compose
from doctor.model.facts import ABSENT, ImportFailure, OtherEnvironment
from doctor.regex import Regex

SOURCE = "path"
_PY_IN_PATH = Regex(r"[/\\](?:lib(?:64)?[/\\])?[Pp]ython[ ]?(\d)\.?(\d{1,2})(t?)(?=[/\\])")
_CP = Regex(r"[-_.]cp(?:ython-)?(\d)(\d{1,2})(m|t|d)?(?:-cp|-abi|-none|-x86|-aarch|-darwin|-win|-arm|m?-)")
_WHEEL_PLATFORM = Regex(
    r"(?<!is not a supported )\b(manylinux\w*|macosx_\d+_\d+|win|linux|musllinux_\d_\d)_?(x86_64|aarch64|arm64|amd64|"
    r"universal2|i686|32)(?=\.whl|\b)"
)
# uv's hint of the platforms that there are wheels for, to the end of its paragraph
_OFFERED = Regex(r"\b(?:on|for) the following\s{1,20}platforms?(?:[^\n]|\n(?![ \t]*\n)){0,1000}")
# What speaks for a system, by words and by patterns; a word counts as often as it occurs.
_SYSTEMS: Mapping[str, tuple[tuple[str, ...], tuple[Regex, ...]]] = {
    "windows": (
        ("WinError",),
        (
            Regex(r"(?:^|[\s\"'(=:])[A-Za-z]:\\+[\w .$>-]", re.M),
            
            Regex(r"\.dll\b"),
            Regex(r"\.exe\b"),
            Regex(r"\w\.(?:bat|ps1)\b"),
            Regex(r"\b(?:Powershell|PowerShell|[Tt]ask [Mm]anager|[Dd]evice [Mm]anager|Anaconda [Pp]rompt)\b"),
        ),
    ),
    "darwin": (
        (
            "/opt/homebrew/", "/private/var/folders/", "dlopen(/", "/Library/Frameworks/", "mach-o file", "-darwin.so",
            "MPS backend out of memory", "MPS backend is supported on", "has no attribute 'mps'", "for the MPS backend",
            "for the MPS device", "the 'MPS' backend", "MPSNDArray", "MPSGraph", "MPS framework", "MPS: no support",
            "mps:0", "Apple Silicon", "Apple silicon", "Apple Paravirtual", "MacBook", "Macbook", "MPS does not ",
        ),
        (
            Regex(r"(?<!/mnt/[a-z])/Users/\w"),
            Regex(r"\.dylib\b"),
            
            Regex(r"macOS \d"),
            Regex(r"\b(?:[Mm]y|[Oo]n|[Oo]n (?:a|an|my|the)) (?:Intel |Apple )?Mac\b(?! ?[Aa]ddr)"),
            Regex(r"\b(?:Mac M[1-9]|Mac Pro|Mac [Mm]ini|Mac Studio|iMac)\b"),
            # Cards that only Macs had
            Regex(
                r"Radeon Pro (?:4[56]0|5[56]\dX?|580X|5[3567]00M?|Vega (?:16|20|48|56|64)|W6[89]00X)\b",
            ),
            Regex(r"torch\.mps\.\w+\(\)"),
        ),
    ),
    "linux": (
        (
            "/root/", "/usr/lib/x86_64-linux-gnu", "/usr/local/lib/python3", "undefined symbol:", "-linux-gnu.so",
            "/dist-packages/", "NVRM:", "/opt/conda/",
        ),
        (
            Regex(r"/home/\w"),
            Regex(r"\.so(?:\.\d+)*: (?:cannot open|undefined symbol|version)"),
            Regex(r"\blib[\w-]{1,80}\.so\b"),
            Regex(r"\bapt(?:-get)? install"),
            Regex(r"\byum |\bdkms\b|\bmodprobe\b|\blsmod\b"),
        ),
    ),
}  # fmt: skip
# A Mac where it works, or from which the machine is reached
_OTHER_MAC = Regex(
    r"\b(?:works|worked|fine|ok|ssh|connect(?:ed|ing)?)\b[^.,;\n]{0,30}\b(?:mac\w*|apple silicon)\b[^.,;\n]{0,8}", re.I
)
_LINUX_PATH = Regex(
    r"(?<![\w/])/(?:usr|home|root|opt/conda|app|workspace|data|mnt|tmp|var|venv|env)/[^\s:\"']{0,150}python3\.\d+/|"
    r"/dev/kfd|/usr/lib/|\.so\.\d",
)
_TORCH_FOLDER = Regex(
    r"(?<![^\s\"'(=\[,])((?:/|[A-Za-z]:[\\/])[^\s\"':*?<>|=(,\[]{1,300}[/\\](?:site-packages|dist-packages)[/\\]torch)[/\\]"
)
_BUILD_MACHINE = Regex(
    r"/Users/runner/\w+/pytorch/[^\s)]*|/Users/distiller/[^\s)]*|[A-Z]:\\\\?(?:actions-runner|cb|b)\\\\?[^\s)]{0,80}"
    r"pytorch[^\s)]*|/pytorch/(?:aten|c10|torch)/[^\s)]*|\.\./(?:c10|aten|torch)/[^\s)]*"
)
# WSL as the place: with its version, with a distribution, or behind a word of place; a path or a host name of it.
_WSL_NAMED = Regex(
    r"\bWSL ?-?([12])\b(?! ?(?:backend|based|engine|integration))|"
    r"\b(?:on|in|under|inside|within|using|via|through|with)(?: my| the| a)? WSL\b|"
    r"\b(?:Ubuntu|Debian)[\w ./-]{0,16}[ (/]WSL(?: ?-?([12]))?\b|\bWSL[ :/,-]{1,3}(?:Ubuntu|Debian)|"
    r"\bWindows Subsystem for Linux(?: ?\(?([12])\b)?|/mnt/[a-z]/(?:Users|Windows|Program Files)/|"
    r"^[ \t]*WSL(?=[,; ]|$)",
    re.M | re.I,
)
# Beside it: another place than the one that is told of.
_NOT_IN_WSL = Regex(
    r"\b(?:not|no|without|instead of|native|outside|rather than|neither|nor|than|(?:works?|worked|runs?|fine|ok)"
    r"(?: \w+){0,2})[ ](?:(?:in|on|under|with|using|of|via|through|for)[ ])?(?:(?:a|my|the)[ ])?\Z|n't[ \w]{0,24}\Z|"
    r"\b(?:tried|also|or|if|recommend\w*|should|could|would)[ ](?:\w+[ ]){0,3}\Z|\b(?:use|install(?:ing)?)[ ]\Z",
    re.I,
)
_WSL2_BUILD = 18_362  # the first Windows that has WSL 2 (https://learn.microsoft.com/windows/wsl/install-manual)
_DOCKER_RUN = Regex(r"\b(docker|podman|nerdctl)[ \t]+(?:container )?(run|create)\b([^\n]*)")
_ONLY_LOOKS = Regex(r"[ ](?:bash -c )?[\"']?nvidia-smi\b[^&|;]{0,40}$")
_CONTINUED = 30  # lines of one command
_NO_TORCH = Regex(r"No module named ['\"]?torch['\"]?(?![.\w])")
_BUILDING = Regex(
    r"Getting requirements to build wheel|Preparing metadata|build_wheel|setup\.py|get_requires_for_build|"
    r"pip-build-env|pep517|no-build-isolation|build dependency|build-system\.requires|Failed to build|"
    r"[Bb]uild backend|Building wheel for|originates from a subprocess|"
    r"\b(?:build|building|compil\w+)\b[^\n]{0,60}\bfails?\b|"
    r"subprocess-exited-with-error|<string>\", line \d+, in <module>.{0,400}?setup|"
    r"\binstall (?!(?:-\S+ )?(?:py)?torch)[^\n]{0,200}No module named ['\"`]?torch\b(?!\.)|"
    r"No module named ['\"`]?torch\b(?!\.)[^\n]{0,30} install(?:ing)? (?!(?:py)?torch)",
    re.I | re.S,
)

_WSL_KERNEL = Regex(r"\b(\d+\.\d+\.\d+(?:\.\d+)?-[\w-]*[Mm]icrosoft[\w-]*)")
_PLATFORM = {"osx-": "darwin", "win-": "windows", "linux-": "linux", "64": "x86_64", "arm64": "arm64",
             "aarch64": "arm64", "x86_64": "x86_64"}  # fmt: skip
_IN_DOCKER = {"host.container": "docker"}
# Single expressions that only one kind of machine shows
_SIGNS = (
    Says(
        Regex(r"(?<=[/ ])(osx-|linux-|win-)(64|arm64|aarch64|32)[ \t]*$", re.M),
        with_channel().name, Trust.NAMED, first=True, in_passing=True,
        facts={"host.system": lambda m: _PLATFORM[m[1]], "interpreter.architecture": lambda m: _PLATFORM.get(m[2])},
    ),
    Says(
        Regex(r"-(x86_64|aarch64)-linux-gnu\.so"),
        SOURCE, Trust.NAMED, {"host.architecture": lambda m: _PLATFORM[m[1]], "host.system": "linux"}, first=True,
        in_passing=True,
    ),
    Says(
        Regex(
            r"Error relocating \S+: |ld-musl-|\bmusl libc\b|/lib/libc\.musl",
        ),
        "loader", Trust.LISTED, {"host.libc": "musl", "host.system": By(Trust.NAMED, "linux")}, first=True,
    ),
    Says(
        Regex(
            r"\b(?:docker|podman) run [^\n]{0,300}?\S:[\w.-]{0,60}alpine|\bFROM \S*alpine|\bapk add\b",
        ),
        "image name", Trust.NAMED, {"host.libc": "musl", "host.os_id": "alpine"}, first=True,
    ),
    Says(
        Regex(
            r"(?<![\w.])(riscv64|ppc64le|loongarch64|s390x)\b|[-_@](riscv64|ppc64le|loongarch64)\b",
        ),
        "prompt", Trust.LOOK, {"host.architecture": "{1}{2}"}, first=True,
    ),
    Says(_WSL_KERNEL, "kernel", Trust.PRINTED, {"host.kernel": "{1}", "host.system": "linux"}, first=True),
    Says(
        Regex(r"\b(?:platform|system)\W{1,4}darwin\b", re.I), "message", Trust.LOOK, {"host.system": "darwin"},
        first=True, in_passing=True,
    ),
    Says(  # its prompt; zsh is the shell of macOS
        Regex(r"^[ \t]*(?:\([\w.-]+\) )?% \w", re.M),
        "prompt", Trust.LOOK, {"host.system": "darwin"}, first=True, in_passing=True,
    ),
    Says(
        Regex(r"\b(\d+\.\d+\.\d+-linuxkit)\b"),
        "kernel", Trust.PRINTED, {"host.kernel": "{1}", "host.system": "linux", **_IN_DOCKER}, first=True,
    ),
    Says(
        Regex(
            r"\bcodex(?:-cli| exec| sandbox)|\bseatbelt\b|sandbox-exec|deny\(1\) iokit-open|CODEX_SANDBOX=",
        ),
        "sandbox", Trust.PRINTED, {"host.sandbox": "seatbelt"}, first=True,
    ),
    Says(
        Regex(r"\bgVisor\b|\brunsc\b"),
        "sandbox", Trust.PRINTED, {"host.sandbox": "gvisor"}, first=True,
    ),
    Says(
        Regex(
            r"(Apple Paravirtual device|VirtualMac\d+,\d+|Apple M\d[\w ]{0,30}\(Virtual\))",
        ),
        "device name", Trust.LISTED, first=True,
        facts={"host.virtual_machine": "{1}", "host.system": "darwin",
               "metal.device": lambda m: m[1] if m[1].startswith("Apple P") else None},
    ),
    Says(
        Regex(
            r"\b(?:Apple|Mac(?:Book)?(?: ?(?:Pro|Air|Mini|Studio))?|iMac|chip|processor)\b[^\n]{0,25}?"
            r"\b(M[1-9])(?:[ -]?(Pro|Max|Ultra))?\b",
            re.I,
        ),
        "text", Trust.SAID, first=True, words=("mac", "darwin", "apple"),
        facts={"host.cpu_model": lambda m: f"Apple {m[1].upper()} {(m[2] or '').title()}".strip()},
    ),
    Says(
        Regex(
            r"/Users/runner/\w+/|/Users/distiller/|\bImage: macos-\d+|\bruns-on: *[\"']?macos-|"
            r"\bmacos-\d+-(?:arm64|x?large)\b",
        ),
        "path", Trust.NAMED, {"host.virtual_machine": "a hosted runner"}, first=True,
    ),
    Says(
        Regex(r"(?:[\"' ]|^)/content/(?:drive/|gdrive/|sample_data|[\w./-]{1,120}\.py\b)|^[%!]cd /content\b", re.M),
        "path", Trust.NAMED, {"host.virtual_machine": "Google Colab", "host.system": "linux"}, first=True,
        in_passing=True,
    ),
    # The model identifiers of Macs (https://support.apple.com/108052, /102869, /102852, /108054, /102887): to these
    # numbers with Intel's processors, from the next ones on with Apple's
    Says(
        Regex(r"\b(?:(?:iMacPro|MacPro|MacBook)\d{1,2}|MacBookPro(?:1[0-6]|[1-9])|MacBookAir[1-9]|Macmini[1-8]|"
              r"iMac(?:1\d|20|[4-9])),\d{1,2}\b"),
        "model identifier", Trust.TOOL, first=True,
        facts={"host.system": "darwin", "host.architecture": "x86_64", "interpreter.translated": False},
    ),
    Says(
        Regex(r"\b(?:MacBookPro1[78]|MacBookAir10|Macmini9|iMac21|Mac1[3-9]),\d{1,2}\b"),
        "model identifier", Trust.TOOL, {"host.system": "darwin", "host.architecture": "arm64"}, first=True,
    ),
    # Where Kubernetes engines put the driver's libraries (https://cloud.google.com/kubernetes-engine/docs/how-to/gpus)
    Says(
        Regex(
            r"(?<![\w:=])(/usr/local/nvidia/lib(?:64)?/libcuda\.so(?:\.1)?)(?![\w.]{0,9}:)",
        ),
        "path", Trust.SAID, {"nvidia.libcuda_elsewhere": lambda m: (m[1],)}, first=True, in_passing=True,
    ),
    Says(
        Regex(
            r"(/dev/nvidia\d)(?: and /dev/nvidia\w{1,12})?[ ]"
            r"(?:is (?:there|present|mounted|visible)|exists?|are (?:there|present))",
        ),
        "text", Trust.SAID, {"nvidia.device_nodes": lambda m: (m[1],)}, first=True, in_passing=True,
    ),
    Says(
        Regex(r"/kaggle/(?:input|working)/"), "path", Trust.NAMED,
        {"host.virtual_machine": "Kaggle", "host.system": "linux"}, first=True, in_passing=True,
    ),
    Says(
        Regex(r"need '?(arm64|x86_64)[eh]?'?\)"),
        "dlopen", Trust.LISTED, first=True, in_passing=True,
        facts={"interpreter.architecture": "{1}", "host.system": By(Trust.NAMED, "darwin"),
               "host.architecture": lambda m: "arm64" if m[1] == "arm64" else None},
    ),
)  # fmt: skip
_PLACED = tuple(
    (tool, Says(
        Regex(tool.path_said, re.I), SOURCE, Trust.NAMED, first=True,
        facts={"interpreter.environment": lambda m, tool=tool: tool.kinds[0 if m[1] else 1].name,
               "interpreter.manager": tool.name},
    ))
    for tool in all_tools() if tool.path_said
)  # fmt: skip
_VENV = Says(
    Regex(r"[/\\]\.?v?env[\w-]*[/\\](?:lib|Lib|bin|Scripts)"), SOURCE, Trust.NAMED,
    {"interpreter.environment": "venv"}, words=("venv", "virtualenv"), first=True,
)  # fmt: skip
_PROMPT = Says(
    Regex(r"^[ \t]*(?:>[ \t]?)?(?:root|\w+)@[0-9a-f]{12}:[^\n]{0,100}[#$]", re.M),
    "prompt", Trust.LISTED, _IN_DOCKER, first=True,
)  # fmt: skip
_CONTAINERS = (
    Says(
        Regex(
            r"\bdocker(?:-compose|[ \t]+compose)[ \t][^\n]{0,80}\b(?:up|run|exec)\b|"
            r"\b(?:docker|podman)[ \t]+(?:exec|logs)[ \t]"
        ),
        "docker", Trust.PRINTED, _IN_DOCKER, words=("docker", "podman", "nerdctl"), first=True,
    ),
    Says(
        Regex(
            r"^[ \t]*(?:Creating|Recreating|Starting|Stopping|Killing|Removing) [\w.-]+ +\.\.\. *(?:done)?$|"
            r"^[ \t]*Attaching to [\w.-]+[-_]\d|^[ \t]*\[\+\] (?:Running|up) \d+/\d+$|"
            r"^[ \t]*[\w.-]+[-_]\d+ exited with code \d+",
            re.M,
        ),
        "docker compose", Trust.PRINTED, _IN_DOCKER, first=True,
    ),
    Says(  # a Dockerfile
        Regex(
            r"^[ \t]*FROM [\w./:@-]+(?: AS \w+)?[ \t]*\n(?:[^\n]{0,300}\n){0,12}?"
            r"[ \t]*(?:RUN|WORKDIR|COPY|ENV|CMD) ",
            re.M,
        ),
        "Dockerfile", Trust.NAMED, _IN_DOCKER, first=True, in_passing=True,
    ),
    Says(
        Regex(r"the nvidia driver was not detected|nvidia-container-cli|/\.dockerenv", re.I), "message", Trust.PRINTED,
        _IN_DOCKER, words=("the nvidia driver was not detected", "nvidia-container-cli", "/.dockerenv"), first=True,
        in_passing=True,
    ),
    Says(
        Regex(r"kubepods|kubectl (?:exec|logs)", re.I), "message", Trust.PRINTED,
        {"host.container": "kubernetes"}, words=("kubepods", "kubectl exec", "kubectl logs"), first=True,
        in_passing=True,
    ),
)  # fmt: skip
_FLAGS = Regex(
    r"--gpus[ =]\S+|--runtime[ =]\S+|--device[ =]\S+|--ipc[ =]\S+|--shm-size[ =]\S+|--privileged|--group-add[ =]\S+"
)


def read(document: Document, notes: Notes) -> None:
    """Note what can be inferred from one text."""
    text = (  # blanks of the same length: a place in the one is the same place in the other
        _BUILD_MACHINE.sub(lambda m: " " * len(m[0]), document.text)
        if document.has("pytorch/", "../c10", "../aten", "distiller")
        else document.text
    )
    if document.has("mac", "apple silicon"):
        text = _OTHER_MAC.sub(lambda m: " " * len(m[0]), text)
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
        _wheels(text, document, notes)
    note(_SIGNS, document, notes, text)
    if m := _WSL_KERNEL.search(text):
        machine.note_kernel(m[1], notes, source="kernel", rank=Trust.TOOL, line=None)
    mps = (c for c in commands(document) if c.kind == "python" and re.search(r"[\"']mps[\"']", c.text))
    if any("Error" not in " ".join(c.output()) for c in mps):
        notes.put("host.system", "darwin", source="Python", rank=Trust.LOOK)
    for m in _WSL_NAMED.finditer(text):
        line = document.line_at(m.start())
        if _NOT_IN_WSL.search(text[document.starts[line] : m.start()]):
            continue
        old = re.search(r"\[Version 10\.0\.(\d{5})", text)
        first = bool(old and int(old[1]) < _WSL2_BUILD)
        put = partial(notes.put, source="text", line=line)
        put("host.wsl", int(m[1] or m[2] or m[3] or (1 if first else 2)), rank=Trust.LOOK)
        put("host.system", "linux", rank=Trust.NAMED)
        break


def _wheels(text: str, document: Document, notes: Notes) -> None:
    """The platforms of wheels, but for those that were only offered or refused."""
    put = partial(notes.put, source="wheel name", rank=Trust.NAMED)
    offered = [m.span() for m in _OFFERED.finditer(text)]
    for m in _WHEEL_PLATFORM.finditer(text):
        if any(start <= m.start() < end for start, end in offered):
            continue
        line = document.lines[document.line_at(m.start())]
        if "not a supported wheel" in line or "has the following" in line or "Skipping link" in line:
            continue
        arch = {"amd64": "x86_64", "aarch64": "arm64"}.get(m[2], m[2])
        system = "darwin" if m[1].startswith("macosx") else "windows" if m[1].startswith("win") else "linux"
        put("host.system", system)
        if arch in ("x86_64", "arm64"):
            put("interpreter.architecture", arch)
            if system != "darwin" or arch == "arm64":
                put("host.architecture", arch)


def _python(document: Document, notes: Notes) -> None:
    for m in _PY_IN_PATH.finditer(document.text):
        put = partial(notes.put, source=SOURCE, rank=Trust.NAMED, line=document.line_at(m.start()))
        put("interpreter.version", f"{m[1]}.{m[2]}")
        put("interpreter.free_threaded", bool(m[3]) or None)
    if document.has("cp3", "cpython-3"):
        for m in _CP.finditer(document.text):
            line = document.line_at(m.start())
            if "not a supported wheel" in document.lines[line]:
                continue
            put = partial(notes.put, source="wheel name", rank=Trust.NAMED, line=line)
            put("interpreter.version", f"{m[1]}.{m[2]}")
            put("interpreter.implementation", "cpython")
            put("interpreter.free_threaded", m[3] == "t" or None)
    placed = tuple(says for tool, says in _PLACED if tool.name in document.lower)
    note(placed or (_VENV,), document, notes)
    if "pypy" in document.lower and re.search(r"\[PyPy \d|[/\\]pypy3|\bpp3\d+-pypy", document.text):
        notes.put("interpreter.implementation", "pypy", source=SOURCE, rank=Trust.NAMED)


def _container(document: Document, notes: Notes) -> None:
    note((_PROMPT,), document, notes)
    if document.has("docker", "podman", "nerdctl"):
        _started(document, notes)
    note(_CONTAINERS, document, notes)
    if document.has("services:"):
        for one in compose.find(document.lines):
            notes.put("host.container", "docker", source="compose file", rank=Trust.NAMED, line=one.line)
            notes.put("host.container_gpus", one.gpus, source="compose file", rank=Trust.NAMED, line=one.line)


def _started(document: Document, notes: Notes) -> None:
    """The flags of `docker run`."""
    for m in _DOCKER_RUN.finditer(document.text):
        line = document.line_at(m.start())
        said = m[0]
        end = min(line + _CONTINUED, len(document.lines) - 1)
        while said.endswith("\\") and line < end:
            line += 1
            said = said[:-1] + document.lines[line]
        flags = tuple(_FLAGS.findall(said))
        asked = any(f.startswith(("--gpus", "--runtime")) and not f.endswith("runc") for f in flags)
        if _ONLY_LOOKS.search(said) and notes.get("host.container"):
            continue  # a container to look into, beside the one that the program runs in
        container = "docker" if m[1] != "podman" else "podman"
        notes.put("host.container", container, source=m[1], rank=Trust.PRINTED, line=line)
        notes.put("host.container_gpus", asked, source=m[1], rank=Trust.LISTED, line=line)
        notes.message("container-run", said.strip(), m[1], line, groups=flags)


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
            "OSError", "ImportError", "ModuleNotFoundError", "FileNotFoundError",
        ):
            continue
        kind, message = error.groups[0], error.groups[1]
        notes.put("torch.imports", False, source="traceback", rank=Trust.ANSWERED)
        notes.put(
            "torch.import_failure", ImportFailure(kind="exception", exception=kind.rpartition(".")[2], message=message),
            source="traceback", rank=Trust.ANSWERED,
        )
    for command in commands(document):
        if "import torch" in command.text:
            for said in command.output()[:3]:
                number = next((n for word, n in _SIGNALS.items() if word in said and "Error" not in said), None)
                if number:
                    notes.put("torch.imports", False, source="shell", rank=Trust.ANSWERED, line=command.first)
                    notes.put(
                        "torch.import_failure", ImportFailure(kind="signal", message=said[:300], signal=number),
                        source="shell", rank=Trust.ANSWERED,
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
    """Whether one of these lines is no part of a package's build: not below pip's frame of a subprocess, nor above
    uv's hint."""
    for line in lacking:
        around = "\n".join(document.lines[max(0, line - 25) : line + 6])  # uv's hint stands below
        if not _BUILDING.search(around):
            return True
    return False


def _imports_torch(command: Block, document: Document) -> str | None:
    """The version that a command printed, or that none is shown, where the command shows that torch can be imported."""
    output = " ".join(command.output()[:6])
    if "Error" in output or "No module" in output:
        return None
    if command.kind == "python" and "torch.__version__" in command.text:
        m = re.search(r"(?<!\d)\d+\.\d[\w.+]*", output)
        return m[0] if m else None
    if "import torch" in command.text and command.kind == "shell" and "-c" in command.text.split():
        m = re.search(r"(?<!\d)\d+\.\d+\.\d[\w.+]*", output)
        return m[0] if m else "(version not shown)"
    return None
