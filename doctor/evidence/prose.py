"""What a person says of his machine in words: «I have an RTX 3090, win10», «Apple M1 Pro | 32 GB | Sonoma 14.4.1».

A line that a person wrote is cut into clauses at punctuation and at «but»; in each clause the expressions below look
for values, and the tables of doctor/knowledge say whether one exists: a model of a GPU, a release of torch, a branch of
drivers, a name of macOS. A clause may speak of another machine or of what is wished for: then it says nothing of this
one. «Works on my 4070, not on the 5090»: the patient is the one that fails. All that is read here is of the lowest
rank: whatever a tool or a program says stands above it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from doctor.evidence import machine, messages, transcript
from doctor.evidence.blocks import Block, prose
from doctor.evidence.notes import Mention, Notes, Trust
from doctor.evidence.text import Document
from doctor.fixes.tools import pip
from doctor.knowledge import lookup
from doctor.regex import Lines, Regex

SOURCE = "text"
RANK = Trust.SAID
_AT_MOST = 100  # GPUs that sentences name: each is held against the others
_CLAUSE = Regex(r"[,.;:!?()|](?:\s|$)|(?<=\s)(?:/|-|\bbut\b)\s|\n")
# Another machine, a wish, a table of what others have.
_NOT_THIS = Regex(
    r"(?:\b|(?=n't))(?:no|not|n't|without|instead|other|another|also (?:on|with)|works? (?:on|with|fine)|tested|"
    r"can run(?: (?:it|this))? (?:on|with)|"
    r"support(?:s|ed)?|compatible|previous(?:ly)?|old|friend|colleague|would|should|if|e\.g\.|like|vs|than|requires?|"
    r"minimum|install|needs? an?|"
    r"make sure|check (?:that|if|whether))\b",
    re.I,
)
# Of a version also what is asked for, tried or left behind.
_ASKED_FOR = Regex(
    rf"\b(?:needs?|wants?|tr(?:y|ied|ying)|from|until|before|since|{pip.NAME}|(?:up|down)grad\w+|"
    r"latest|build(?:s|ing)?)\b|[<>~]=?",
    re.I,
)
# The machine that this is about is the one of which a failure is told.
_FAILS = Regex(
    r"(?:\b|(?=n't))(?:(?:not|n't|never|fails?|failing|crash(?:es|ing)?|broken|hangs?|stuck|errors?)\b"
    r"(?: (?:work(?:ing)?|run(?:ning)?|train(?:ing)?|us(?:e|ing)))?(?: it)? (?:here )?(?:on|with|for)\b|"
    r"(?:(?:can|does|wo)(?:n't| ?not)|can't) (?:use|detect|recogni[sz]e|find|see)(?: (?:my|the|any|an))?\b|"
    r"CPU (?:instead of|rather than|and not)\b)|\b\w*Error: ",
    re.I,
)
_MODEL = Regex(
    r"(?<![\w./-])(?:"
    r"(?:NVIDIA )?(?:GeForce )?(?P<geforce>[RG]TX) ?(?P<series>\d{3,4})(?P<kind>(?: ?(?:Ti|SUPER|Laptop|D|MX?))*)"
    r"(?!\w|\.\d)|"
    r"(?:NVIDIA )?(?P<tesla>Tesla [KMPTV]\d{1,3}[a-z]?)\b|"
    r"(?:NVIDIA )?(?P<line>GeForce (?:GT ?|MX ?)?|GT ?|MX ?|TITAN |Quadro (?:RTX ?)?|RTX (?:PRO )?)"
    r"(?P<model>[AKMPT]?\d{3,4}[AM]?X?|RTX|Xp?|V)(?!\w|\.\d|[ ]?(?:MB|GB|MiB|GiB|ms|px)\b)|"
    r"(?:AMD )?(?:Radeon )?(?P<radeon>RX) ?(?P<number>\d{3,4})(?P<suffix>(?: ?(?:XTX|XT|GRE|M|S))?)(?!\w|\.\d)|"
    r"(?:Intel )?(?P<arc>Arc [AB]\d{3}M?)\b"
    r")",
    re.I,
)
_OF_AMD = Regex(r"\b(?:AMD|Radeon|ATI)[ ]\Z", re.I)
# A number or a short name alone: only behind a word that a thing follows, and only if the tables know it.
_BARE = Regex(
    r"\b(?:the|my|an?|our|this|on|with|have|has|dual|single|two|four|eight|AMD|NVIDIA|GeForce|Radeon|\d ?x)[ ]"
    r"(?P<bare>\d{4})(?: ?(?P<first>Ti|SUPER|XTX|XT|GRE))?(?: ?(?P<second>SUPER))?\b"
    r"(?![ ]?(?:x|×|p|px|M|G|MiB|MB|GB|GiB|steps?|images?|ms|it|s|tokens?|%)\b)",
    re.I,
)
# With its suffix a number needs no such word.
_SUFFIXED = Regex(
    r"(?<![\w.,-])(?P<bare>\d{4}) ?(?:(?P<first>XTX|XT|GRE)|(?P<second>Ti))\b(?![-./]\w)", re.I
)
_CARD = Regex(
    r"\b(?:the|my|an?|our|this|on|with|have|has|dual|single|two|four|eight|NVIDIA|AMD|Instinct|\d ?x)[ ]"
    r"(?P<card>(?:RTX |Quadro (?:RTX )?|TITAN |Instinct )?(?:[ABHLTVPK]\d{1,4}[A-Z]?|GH200|MI\d{2,3}[AX]?|RTX|Xp|V)"
    r"(?: Ada)?|Radeon VII)\b(?![-.]\w)"
)
_TORCH = Regex(
    r"\b(?:py)?torch(?:[ ]version|\.__version__)?[ ]?(?:[:=]{1,2}|is\b|v(?=\d))?[ ]?v?(\d\.\d{1,2}(?:\.\d{1,2})?"
    r"(?:\.dev\d{8})?(?:\+[a-z]\w{1,11}(?:\.\d)*)?)(?!\w|\.\w)",
    re.I,
)
_PYTHON = Regex(r"\bpython(?:[ ]version)?[ ]?(?::|=|is\b|v(?=\d))?[ ]?v?(3\.\d{1,2}(?:\.\d{1,2})?)(?!\w|\.\w)", re.I)
_DRIVER = Regex(
    r"\b(?:drivers?(?:[ ]version)?[ ]?(?::|=|is\b|v(?=\d))?|nvidia)[ ]?v?(\d{3}(?:\.\d{2,3}(?:\.\d{2})?)?)(?!\w|\.\w)",
    re.I,
)
_WINDOWS = Regex(r"\bWin(?:dows)?[ ]?(1[01]|8(?:\.1)?|7|Server 20\d\d)(?!\w|\.\w)", re.I)
_MACOS = Regex(
    r"\b(?:mac ?os|os ?x)(?: x)?(?:[ ]([a-z]{4,8}(?: Sur| Sierra)?))?(?:[ ]v?(\d\d(?:\.\d{1,2}){0,2}))?\b", re.I
)
_NAMED_MACOS = Regex(r"\b((?:High |Big )?[A-Z][a-z]{2,8})[ ](\d\d\.\d{1,2}(?:\.\d{1,2})?)\b")
_LINUX = Regex(
    r"\b(Ubuntu|Debian|Fedora|CentOS|RHEL|Rocky|AlmaLinux|Alpine|Arch|Manjaro|openSUSE|SUSE|NixOS|Gentoo|Kali|Mint|"
    r"Pop!_OS|Raspbian|EndeavourOS|CachyOS|Zorin|Bazzite|Garuda)(?P<linux> Linux)?"
    r"(?P<version>[ ]\d{1,2}(?:\.\d{1,2})*)?(?!\w|\.\w)"
)
_CPU = Regex(
    r"\b((?:Intel(?:\(R\))? )?(?:Core(?:\(TM\))? )?(?:i[3579]|Ultra [579])[- ]?\d{3,5}[A-Z]{0,3}\d?|"
    r"(?:Intel(?:\(R\))? )?Xeon(?:\(R\))? [\w-]{2,12}(?: v\d)?|"
    r"(?:Intel )?(?:Celeron|Pentium|Atom|Core 2 \w{3,7}) [\w-]{2,10}|"
    r"(?:AMD )?(?:Ryzen(?: AI)?(?: Threadripper)?(?: PRO)?(?: Max\+?)? (?:\d )?\w{3,8}|EPYC \w{4,6}|"
    r"(?:Athlon|Phenom)(?: \w{1,3}){0,2} \d{3,4}\w?|FX-\d{4}))\b",
    re.I,
)
_APPLE = Regex(
    r"(?<![\w./-])(?P<maker>Apple )?(?:Silicon )?(?P<chip>M[1-9])(?:[ ]?(?P<kind>Pro|Max|Ultra))?(?!\w|\.\w)", re.I
)
_RAM = Regex(r"\b(\d{1,4}) ?(?:GB|GiB|G)(?: of)?(?: unified| system)? ?(?:RAM|DDR\d\w?|memory)\b", re.I)
_VARIABLE = Regex(
    r"(?<![\w$./-])([A-Z]{2,10}(?:_[A-Z0-9]{1,20}){1,5})=[\"']?([\w.:,;/-]{0,80}?)[\"'`]?(?=[.,;:)]?(?:\s|$))"
)
# A variable that somebody has set; advice sets none.
_SET = Regex(r"\b(?:I|we|with|has|have|is|was|my|our)\b", re.I)
_ADVICE = Regex(r"\b(?:you|can|could|consider\w*|passing|workaround|use|may|might|must|please|needs?|to)\b", re.I)
_COMPUTER = (
    r"(?:laptop|notebook|server|machine|pc|computer|vm|node|box|system|workstation|instance|mac|vps|host|device|runner)"
)
_OWN_GPU = (
    r"(?:(?:dedicated|discrete|nvidia|cuda|amd|external|physical|usable)[- ]){0,2}"
    r"(?:[di]?gpus?|(?:graphics|video) cards?)"
)
# The machine has none: said of a machine or by its owner, and of what it has, not of what is found on it.
_NO_GPU = Regex(
    r"\b(?:(?:my|this|the|our|an?)[ ](?:[\w-]{1,16}[ ]){0,3}?" + _COMPUTER + r"\b[^.\n]{0,24}?|"
    r"\bi[ ](?:\w+[ ])?|\bwe[ ])"
    r"\b(?:(?:has|have|with|got)[ ](?:absolutely[ ])?no[ ]" + _OWN_GPU + r"|"
    r"(?:does(?:n't|[ ]not)|do(?:n't|[ ]not))[ ](?:even[ ])?have[ ](?:an?|any)[ ](?:"
    + _OWN_GPU
    + r"|nvidia[ ]hardware)|"
    r"without[ ](?:an?[ ]|any[ ])?"
    + _OWN_GPU
    + r")\b(?![ ](?:support|acceleration|usage|memory|available|detected|found|visible))|"
    r"\b(?:cpu[- ]only|gpu-less)[ ]" + _COMPUTER + r"\b|"
    r"\b(?:there(?:'s|[ ]is|[ ]are)|with)[ ]no[ ]" + _OWN_GPU + r"[ ](?:in|on|at)[ ](?:my|this|the|our)[ ]"
    r"(?:[\w-]{1,16}[ ])?" + _COMPUTER + r"\b",
)
# A Mac, in whatever words; which one it is, is not told. As a place of another it says nothing.
_MAC = Regex(
    r"(?<![\w./-])(?:mac ?books?|i?macs?|mac ?os\w?|os ?x|apple silicon)(?!-?\w|[/.]\w|[ ]?(?:addr|users?\b|version|"
    r"build|wheels?\b))",
    re.I,
)
_ALSO_ELSEWHERE = Regex(
    r"\b(?:works|worked|fine|ok|windows|linux|ubuntu|server|cluster|docker|also|both|or|and)\b", re.I
)
_REACHED_FROM = Regex(r"\b(?:ssh|remote\w*|connect\w*|from (?:my|a|the)|client|browser)\b", re.I)
# Whoever asks whether something runs on a Mac has one.
_ASKS_OF_A_MAC = Regex(
    r"^\W*(?:is|are|does|do|can|could|will|any|how)\b.{0,48}\b(?:macs?|macbooks?|mac ?os)\b(?![ ]?(?:addr|users?\b))",
    re.I,
)
# Where it runs, by what a sentence says of it
_PLACES = (
    ("host.container", "kubernetes", Regex(r"\b(?:kubernetes|k8s|kubectl|CrashLoopBackOff|helm chart)\b", re.I)),
    (
        "host.container", "docker",
        Regex(
            r"用[ ]?docker|docker[ ]?(?:里|中|内|容器)|容器[ ]?(?:里|中|内)|"
            r"\b(?:in|inside|within|using|from|via|with|through)[ ](?:(?:a|an|the|my|this|official|\w+'s)[ ]){0,2}"
            r"(?:docker|podman)\b|\b(?:in|inside|within)(?: of)? (?:the|this|my|a) (?:[\w.-]+ )?container\b|"
            r"\b(?:docker|container)[ ]images?\b|\bdocker[- ]compose\b",
            re.I,
        ),
    ),
)  # fmt: skip
# A service that gives a machine with or without a GPU, as its user chooses.
_HOSTED = (
    ("Google Colab", Regex(r"(?<![\w./-])coll?abs?(?:oratory)?\b(?!\.research|/)", re.I)),
    ("Kaggle", Regex(r"(?<![\w./-])kaggle\b(?!\.com|[ ](?:competition|dataset|data))", re.I)),
    ("Hugging Face Spaces", Regex(r"\b(?:hugging ?face|hf)[ ]spaces?\b", re.I)),
    (
        "a hosted runner",
        Regex(r"(?<!self-hosted )\b(?:github actions?|gitlab ci|circleci|travis ci|ubuntu-latest)\b", re.I),
    ),
)
# What is told is another place: there it works, or it is left for this machine.
_NOT_THERE = Regex(
    r"\b(?:instead of|rather than|not|outside|without|unlike|except|besides|like|if|vs|than|also|from)[ ]"
    r"(?:[\w']+[ ]){0,2}?@|"
    r"\b(?:works?|worked|working|runs?|ran|fine|ok|okay|good|successful\w*|no problems?)\b[^@]{0,24}@|"
    r"@[^@]{0,24}\b(?:works?|worked|runs|ran|fine|ok|okay|version|link|badge|support)\b|"
    r"\b(?:local(?:ly)?|my own|on-prem\w*)\b",
    re.I,
)
_FAILS_THERE = Regex(r"\b(?:no|not|n't|never|fails?|error|crash\w*|cannot)\b|n't\b", re.I)
_OUTSIDE = Regex(r"\b(?:outside|without|not (?:in|using)|instead of|no|on the host|host machine)\b", re.I)
_SUPPOSED = Regex(r"\b(?:if|when|would|friend|colleague|others?|another|some|people|users?)\b", re.I)
# A maker without a model: which GPU it is stays open
_MAKER = Regex(
    r"\b(?P<maker>AMD|Radeon|NVIDIA|Intel Arc)[ ](?:GPUs?|(?:graphics[ ]|video[ ])?cards?|[RG]TX[ ]?\d{4})\b"
    r"(?![ ]drivers?\b)",
    re.I,
)


class Heard:
    """What expressions find in clauses: each is put only to those that hold its words."""

    def __init__(self, said: Iterable[str]) -> None:
        self._lines = Lines(said)
        self._found: dict[Regex, dict[str, re.Match[str]]] = {}

    def found(self, regex: Regex) -> dict[str, re.Match[str]]:
        """The clauses in which it is found, each with the first match."""
        if regex not in self._found:
            said = self._lines.that_may_match(regex)
            self._found[regex] = {clause: found for clause in said if (found := regex.search(clause))}
        return self._found[regex]

    def any(self, *regexes: Regex) -> set[str]:
        """The clauses in which one of them is found."""
        return {clause for regex in regexes for clause in self.found(regex)}

    def search(self, regex: Regex, clause: str) -> re.Match[str] | None:
        return self.found(regex).get(clause)

    def finditer(self, regex: Regex, clause: str) -> Iterable[re.Match[str]]:
        return regex.finditer(clause) if clause in self.found(regex) else ()


def read(document: Document, notes: Notes) -> None:
    """Note what the sentences name."""
    mac = document.has("mac", "apple")
    _places(prose(document), notes)
    clauses, heard = spoken(document)
    _hosted(clauses, heard, notes)
    gpus = heard.any(_MODEL, _BARE, _SUFFIXED, _CARD, _MAKER)
    computer = heard.any(_WINDOWS, _NAMED_MACOS, _MACOS, _LINUX, _APPLE, _CPU, _RAM, _MAC, _ASKS_OF_A_MAC)
    versions = heard.any(_TORCH, _PYTHON, _DRIVER)
    said = _messages(notes)
    for line, clause in clauses:
        of_gpu, of_computer, of_version = clause in gpus, clause in computer or "=" in clause, clause in versions
        if not (of_gpu or of_computer or of_version):
            continue
        if said and heard.search(_ASKS_OF_A_MAC, clause) and not _ALSO_ELSEWHERE.search(clause):
            notes.put("host.system", "darwin", source=SOURCE, rank=RANK, line=line)
        fails, hears = _FAILS.search(clause) is not None, heard
        denied = not fails and _NOT_THIS.search(clause) is not None
        if denied and said and not _NOT_THIS.search(own := _without(said, clause)):
            clause, denied = own, False
            hears = Heard((own,))
        if not denied:
            if of_gpu:
                _gpus(clause, line, notes, hears, fails=fails)
            if of_computer:
                _machine(clause, line, notes, hears, mac=mac)
            if of_version and not _ASKED_FOR.search(clause):
                _versions(clause, line, notes, hears)


@lru_cache(maxsize=4)
def spoken(document: Document) -> tuple[tuple[tuple[int, str], ...], Heard]:
    """(line, clause) of all that a person says, and what expressions find in it."""
    clauses = tuple((block.line, clause) for block in prose(document) for clause in _clauses(block.text))
    return clauses, Heard(clause for _, clause in clauses)


def _messages(notes: Notes) -> tuple[Regex, ...]:
    """The expressions of the programs' messages that were recognised."""
    rows = (lookup.error_pattern(id) for id in dict.fromkeys(error.pattern for error in notes.errors))
    return tuple(
        messages.compiled(row.regex, row.flags)
        for row in rows
        if row and not row.harmless and not row.id.startswith("complaint-")
    )


def _without(said: Iterable[Regex], clause: str) -> str:
    """A clause without the messages that it quotes: their «not» is none of the person's."""
    for regex in said:
        clause = regex.sub(" ", clause)
    return clause


def is_of_this(clause: str) -> bool:
    """Whether a clause speaks of this machine: of no other one, no wish, no advice."""
    return _FAILS.search(clause) is not None or not _NOT_THIS.search(clause)


def _places(blocks: Iterable[Block], notes: Notes) -> None:
    """That the machine has no GPU, and that what is told happens in a container."""
    heard = Heard(block.text.lower() for block in blocks)
    told = heard.any(_NO_GPU, *(regex for _, _, regex in _PLACES))
    for block in blocks:
        said, low = block.text, block.text.lower()
        if low not in told:
            continue
        if (m := heard.search(_NO_GPU, low)) and not _SUPPOSED.search(_sentence(said, m.start())):
            notes.origin(SOURCE, block.line)
            notes.no_gpu = True
        for fact, value, regex in _PLACES:
            if low not in heard.found(regex) or (m := regex.search(said)) is None:
                continue
            if not _OUTSIDE.search(_sentence(said, m.start())):
                notes.put(fact, value, source=SOURCE, rank=RANK, line=block.line)


def _hosted(clauses: Iterable[tuple[int, str]], heard: Heard, notes: Notes) -> None:
    """That it runs on a service's machine."""
    for name, regex in _HOSTED:
        for line, clause in clauses if heard.found(regex) else ():
            told, found = regex.subn("@", clause)
            denied = _FAILS_THERE.search(told) and not re.search(r"\bnot (?:on |in )?@", told)
            if found and (denied or not _NOT_THERE.search(told)):
                notes.put("host.virtual_machine", name, source=SOURCE, rank=RANK, line=line)
                notes.put("host.system", "linux", source=SOURCE, rank=RANK, line=line)
                return


@lru_cache(maxsize=2048)
def _clauses(line: str) -> tuple[str, ...]:
    """The parts of a line between punctuation marks that hold words.

    >>> _clauses("RTX 3090, no display. Works on the CPU but not here | torch 2.6.0")
    ('RTX 3090', 'no display', 'Works on the CPU', 'not here', 'torch 2.6.0')
    """
    return tuple(part.strip() for part in _CLAUSE.split(line) if part and part.strip())


def _sentence(line: str, at: int) -> str:
    """The sentence up to a place in the line.

    >>> _sentence("Is it? It runs on the CPU", 14)
    ' It runs'
    """
    return re.split(r"[.!?](?=\s)", line[:at])[-1]


def _gpus(clause: str, line: int, notes: Notes, heard: Heard, *, fails: bool) -> None:
    names = [name for m in heard.finditer(_MODEL, clause) if (name := _name(m)) is not None]
    for regex in (_BARE, _SUFFIXED):
        names += [name for m in heard.finditer(regex, clause) if (name := _of_number(m)) and name not in names]
    if not names:
        names = [_card(m["card"]) for m in heard.finditer(_CARD, clause) if lookup.gpu_model(m["card"])]
    mentions = [Mention(name, line, fails=fails) for name in names]
    if not mentions:
        mentions = [Mention(m["maker"], line, maker_only=True, fails=fails) for m in heard.finditer(_MAKER, clause)]
    for one in mentions:
        model = one.name.split()[-1]
        if len(notes.mentions) < _AT_MOST and all(
            fails > other.fails or not other.name.endswith(model) for other in notes.mentions
        ):
            notes.mentions.append(one)


def _machine(clause: str, line: int, notes: Notes, heard: Heard, *, mac: bool) -> None:
    """The system, the processor, the memory and the variables."""

    def put(fact: str, value: object, rank: Trust = RANK) -> None:
        notes.put(fact, value, source=SOURCE, rank=rank, line=line)

    if said := _system(clause, heard):
        system = "windows" if said.startswith("W") else "darwin" if said.startswith("mac") else "linux"
        if notes.said_system in (None, system):  # of two the first stands
            machine.note_os(said, notes, source=SOURCE, rank=RANK, line=line)
            notes.said_system = system
    chip = heard.search(_APPLE, clause)
    if chip and (chip["maker"] or chip["kind"] or mac):
        name = " ".join(w for w in ("Apple", chip["chip"].upper(), (chip["kind"] or "").title()) if w)
        if lookup.peaks_of(name):
            put("host.cpu_model", name)
            put("host.system", "darwin" if chip["maker"] or chip["kind"] else None)
    if heard.search(_MAC, clause) and not (_ALSO_ELSEWHERE.search(clause) or _REACHED_FROM.search(clause)):
        put("host.system", "darwin")
    if chip is None and (cpu := heard.search(_CPU, clause)):
        put("host.cpu_model", cpu[1])
    if ram := heard.search(_RAM, clause):
        put("host.memory_bytes", int(ram[1]) << 30)
    if "=" in clause and not _ADVICE.search(clause):
        for m in _VARIABLE.finditer(clause):
            if m[1] not in notes.environ and transcript.is_kept(m[1]) and _SET.search(clause[: m.start()]):
                transcript.keep(m[1], m[2], line, notes)


def _system(clause: str, heard: Heard) -> str | None:
    """The operating system that a clause names, as the tools write it.

    >>> said = ("I use win10", "macOS Sonoma 14.4.1", "Sonoma 14.4.1", "Ubuntu 22.04", "Windows into")
    >>> [_system(s, Heard(said)) for s in said]
    ['Windows 10', 'macOS 14.4.1', 'macOS 14.4.1', 'Ubuntu 22.04', None]
    """
    if m := heard.search(_WINDOWS, clause):
        return f"Windows {m[1]}"
    named = lookup.macos_named()
    if (m := heard.search(_NAMED_MACOS, clause)) and m[2].startswith(named.get(m[1].lower(), "?")):
        return f"macOS {m[2]}"
    if m := heard.search(_MACOS, clause):
        return f"macOS {m[2] or named.get((m[1] or '').lower(), '')}".strip()
    whole = (m := heard.search(_LINUX, clause)) and (m["linux"] or m["version"] or m[0] == clause)
    return m[0] if m and (whole or m[1] in ("Ubuntu", "Debian")) else None


def _versions(clause: str, line: int, notes: Notes, heard: Heard) -> None:
    """Releases that run here. Two different ones in sentences say nothing."""
    for fact, regex, exists in (
        ("torch.version", _TORCH, lookup.is_release),
        ("interpreter.version", _PYTHON, lambda _: True),
        ("nvidia.driver", _DRIVER, _is_driver),
    ):
        for m in heard.finditer(regex, clause):
            if exists(m[1]):
                before = notes.get(fact)
                if notes.rank_of(fact) == RANK and before != m[1] and not m[1].startswith(before):
                    notes.disputed.add(fact)
                notes.put(fact, m[1], source=SOURCE, rank=RANK, line=line)


def _is_driver(version: str) -> bool:
    """Whether it is of a branch of NVIDIA's drivers, or one that followed."""
    return lookup.cuda_of_driver(version) is not None and (len(version) > 3 or int(version) < 700)


def _card(name: str) -> str:
    """A model's own name with its maker's, as the tools write it."""
    model = lookup.gpu_model(name)
    return f"{'AMD' if model and model.vendor == 'amd' else 'NVIDIA'} {name}"


def _of_number(m: re.Match[str]) -> str | None:
    """The model that a number alone stands for, where the tables know exactly one.

    >>> [_of_number(_BARE.search(s)) for s in ("my 4070ti", "an AMD 6600XT", "the 5090", "on 1024", "the 1080 SUPER")]
    ['GeForce RTX 4070 Ti', 'Radeon RX 6600 XT', 'GeForce RTX 5090', None, 'GeForce GTX 1080 SUPER']
    """
    written = {"ti": "Ti", "super": "SUPER", "xt": "XT", "xtx": "XTX", "gre": "GRE"}
    rest = [written[word.lower()] for word in (m["first"], m["second"]) if word]
    lines = ("Radeon RX",) if {"XT", "XTX", "GRE"} & {*rest} else ("GeForce RTX", "GeForce GTX")
    lines = lines if rest else (*lines, "Radeon RX")
    found = [name for line in lines if lookup.gpu_model(name := " ".join((line, m["bare"], *rest)))]
    return found[0] if len(found) == 1 else None


_LINES = {"geforce": "GeForce", "gt": "GeForce GT", "mx": "GeForce MX", "titan": "TITAN", "quadro": "Quadro",
          "quadro rtx": "Quadro RTX", "rtx": "RTX", "rtx pro": "RTX PRO"}  # fmt: skip


def _name(m: re.Match[str]) -> str | None:
    """A model as the tools write it; None where it takes the tables to tell a model from a number, and they know none.

    >>> [_name(_MODEL.search(s)) for s in ("rtx3090ti", "a RX7900XTX", "the arc A770", "GTX 960M", "RTX5090D")]
    ['GeForce RTX 3090 Ti', 'Radeon RX 7900 XTX', 'Arc A770', 'GeForce GTX 960M', 'GeForce RTX 5090 D']
    >>> [_name(_MODEL.search(s)) for s in ("GT710", "Titan X", "quadro p600", "mx150", "RTX A5000", "if gt 100")]
    ['GeForce GT 710', 'TITAN X', 'Quadro P600', 'GeForce MX150', 'RTX A5000', None]
    """
    if m["geforce"]:
        if _OF_AMD.search(m.string[: m.start()]):
            return None  # «AMD Radeon GTX 6750»: the maker is sure, the model is not
        words = re.findall(r"ti|super|laptop|d|mx?", m["kind"].lower())
        written = {"ti": " Ti", "super": " SUPER", "laptop": " Laptop GPU", "d": " D", "m": "M", "mx": "MX"}
        return f"GeForce {m['geforce'].upper()} {m['series']}" + "".join(written[w] for w in words)
    if m["line"]:
        line = _LINES[re.sub(r"^geforce (?=[gm])", "", " ".join(m["line"].lower().split()))]
        model = m["model"].upper().replace("XP", "Xp")
        name = f"{line}{model}" if line.endswith("MX") else f"{line} {model}"
        return name if lookup.gpu_model(name) else None
    if m["tesla"]:
        return f"Tesla {m['tesla'].split()[1]}"
    nvidias = f"GeForce RTX {m['number']}"  # «NVIDIA RX 4090»
    if m["radeon"] and lookup.gpu_model(nvidias) and not lookup.gpu_model(f"Radeon RX {m['number']}"):
        return nvidias
    if m["radeon"]:
        return " ".join(["Radeon RX", m["number"], *m["suffix"].upper().split()])
    return f"Arc {m['arc'].split()[1].upper()}"
