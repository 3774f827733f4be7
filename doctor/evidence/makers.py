"""Whose GPU a machine has where nobody names the model: what is typed for it, the tools and variables of one maker,
a maker's name in a sentence. Weaker than every GPU that a tool or a sentence names: settling.py asks these hints only
where no GPU is known."""

from __future__ import annotations

import re
from typing import Literal

from doctor.evidence import prose
from doctor.evidence.notes import Notes
from doctor.evidence.text import Document
from doctor.model.facts import Gpu
from doctor.regex import Regex

# What is of use with GPUs of one maker only, wherever it stands.
_USED: tuple[tuple[Literal["amd", "intel"], Regex], ...] = (
    (
        "amd",
        Regex(
            r"/dev/kfd\b|\bHSA_OVERRIDE_GFX_VERSION\b|\b(?:HIP|ROCR)_VISIBLE_DEVICES\b|\bPYTORCH_ROCM_ARCH\b|"
            r"\bTORCH_BLAS_PREFER_HIPBLASLT\b|\bMIOPEN_[A-Z_]{4,40}=|\brocm-?(?:info|smi)\b|\bamd-smi\b|/opt/rocm\b|"
            r"/whl/(?:nightly/|test/)?rocm\d|\brocm/[a-z][\w.:-]{2,60}|(?<=\s)--(?:use-)?(?:rocm|amd)\b|[:-]rocm\b|"
            r"\brocm\d[\w.-]{0,20}[ ](?:image|tag|container)\b|"
            r"stable-diffusion-webui-(?:directml|amdgpu)\b|(?P<gfx>\bgfx(?:9[0-9a-f]{2}|1[0-2]\d{2})\b)",
        ),
    ),
    (
        "intel",
        Regex(
            r"\bZE_AFFINITY_MASK\b|\bONEAPI_DEVICE_SELECTOR\b|\bsycl-ls\b|\bxpu-smi\b|/whl/(?:nightly/|test/)?xpu\b|"
            r"(?<=\s)--(?:use-)?(?:ipex|xpu)\b|/opt/intel/oneapi\b",
        ),
    ),
)
# A maker's name in a sentence. With the name of a CPU it says nothing of the GPU.
_AMD = Regex(
    r"(?<![\w./-])(?:AMD|Radeon|ROCm)(?!\w|[ ]used to build|"
    r"[ -]?(?:64|Ryzen|EPYC|Athlon|Threadripper|Opteron|Phenom|FX\b|A\d{1,2}-|\d{4}X(?:3D)?\b|"
    r"CPUs?\b|processors?\b|cores?\b|servers?\b|based\b)|"
    r"\s?(?:の\s?CPU|(?:的)?处理器|プロセッサ|프로세서|"
    r"процессор|Prozessor|processeur|procesador|processador))|라데온|镭龙",
    re.I | re.A,  # a letter of another script ends a word
)
_INTEL = Regex(
    r"(?<![\w./-])Intel(?:\(R\))?[ ](?:(?P<inside>Iris|UHD|HD|integrated)|Arc|GPUs?|graphics)\b|"
    r"\b(?P<only>only[ ](?:has[ ]|have[ ]|an?[ ])?(?:integrated|onboard|on-board)[ ](?:graphics|GPU))\b|"
    r"(?:Intel|英特尔|インテル|인텔)\s?(?:的|の)?(?:显卡|GPU|Arc|锐炫|グラフィック|그래픽)|"
    r"\bgr[aá]ficos?[ ]Intel\b|\bIntel-?Grafik|"
    r"(?P<part>(?:英特尔|Intel)?(?:核显|集显|集成显卡|核芯显卡)|"
    r"(?:内蔵|オンボード)\s?(?:GPU|グラフィック)|내장\s?(?:그래픽|GPU)|встроенн\S{1,3}[ ](?:видеокарт|график|GPU)|"
    r"gr[aá]fic\S{1,3}[ ]integrad|"
    r"(?:carte[ ]graphique|graphiques?|GPU)[ ]int[ée]gr|integrierte\S{0,2}[ ](?:Intel-?)?(?:Grafik|GPU))",
    re.I | re.A,
)
# words of other languages in the two above, of which one at least stands in the text
_ELSEWHERE = (
    "라데온", "镭龙", "英特尔", "インテル", "인텔", "核显", "集显", "集成显卡", "核芯显卡", "内蔵", "オンボード",
    "내장", "встроенн", "integrad", "intégr", "integr",
)  # fmt: skip
_OF_A_CPU = Regex(r"\b(?:CPU|processor)s?\b[^.]{0,12}\Z", re.I)


def read(document: Document, notes: Notes) -> None:
    """Note the hints."""
    for vendor, used in _USED:
        for m in used.finditer(document.text):
            notes.hints.append(Gpu(vendor=vendor, gfx=m.groupdict().get("gfx")))
    if not document.has("amd", "radeon", "rocm", "intel", "integrated", "onboard", "on-board", *_ELSEWHERE):
        return
    clauses, heard = prose.spoken(document)
    named = heard.any(_AMD, _INTEL)
    for line, clause in clauses:
        if clause not in named or not prose.is_of_this(clause):
            continue
        if (document.name, line) in notes.understood:  # a tool's line: «Model name: AMD Ryzen 7 with Radeon Graphics»
            continue
        amd, intel = heard.search(_AMD, clause), heard.search(_INTEL, clause)
        if amd and not _OF_A_CPU.search(clause[: amd.start()]):
            notes.hints.append(Gpu(vendor="amd"))
        if intel:
            inside = any(intel[name] for name in ("inside", "only", "part"))
            notes.hints.append(Gpu(vendor="intel", integrated=inside or None))
