"""Recognises who and which machine in text: users, hosts, addresses of the network, mail, serial numbers, cloud ids.

A name is found by its place (a home folder, a prompt, the prefix of a log line), not by what it is: only there it is
sure to be a name. report.py looks for the names so found in the rest of the text.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator
from functools import partial

from doctor.redaction.secrets import PUBLIC_USERS, addresses_in, through_codes, userinfo_of
from doctor.redaction.spans import Span
from doctor.redaction.values import lowered
from doctor.redaction.words import is_ordinary, is_public_account, is_stand_in
from doctor.regex import Regex, Regexes

# ---- users

_NAME = r"[^\s/\\:'\"<>|*?,;()\[\]{}$`=]"
# Folders below which each folder is a user's, perhaps with its first letter between (/homes/a/anna).
_HOMES = Regex(
    r"(?<![\w.+-])(?:/[\w.-]{1,40}){0,6}?/(?:home\d{0,2}|homes|Users|users\d?|people|nethome|nfshome|rhome"
    r"|ihome)/(?:([a-z])/(?=\1))?"
    rf"(?P<name>{_NAME}{{1,64}})"
    r"|/global/(?:homes/[a-z]|u\d|cscratch\d|cfs)/(?P<other>[\w.-]{1,64})|/(?:run/)?media/"
    r"(?P<medium>[\w.-]{1,64})(?=/)",
)
_SHARED = Regex(  # folders below which there are users, and other things
    r"/(?:nfs|scratch\d?|gpfs\d?|lustre\d?|beegfs|work|data|storage|export|cluster|vol|u|fs\d?|netscratch"
    r"|project|projects|workspaces?|raid|ssd|hdd|disk\d?"
    r"|local|mnt|opt|share|afs|ceph|glusterfs|hpc|rds|tmp|var/tmp)"
    rf"((?:/{_NAME}{{1,64}}){{1,4}})",
)
_USERS_BELOW = frozenset("home homes users user people staff students student".split())  # noqa: SIM905
_MINE = Regex(r"work\Z|nfs\d?|scratch\d?|netscratch|lustre|gpfs|beegfs|u\Z")
_WINDOWS = Regex(
    r"(?:[A-Za-z]:|\\\\wsl(?:\$|\.localhost)\\{1,2}[\w.-]{1,40}|\\\\[\w.-]{1,62}|%SystemDrive%)[\\/]{1,4}"
    r"(?:Users\$?|Documents and Settings|DOCUME~1|Dokumente und Einstellungen|Benutzer|Utilisateurs|Usu[aá]rios|Utenti"
    r"|Gebruikers|homes?\$?|profiles?\$?)[\\/]{1,4}"
    r"([^\\/:*?\"<>|\r\n]{1,64})(?=[\\/])|(?:[A-Za-z]:)[\\/]{1,4}Users[\\/]{1,4}([^\\/:*?\"<>|\s]{1,64})",
    re.IGNORECASE,
)
_GIT_BASH = Regex(r"(?<![\w.])/(?:mnt/|cygdrive/)?[a-z]/Users/([^/\s:'\"<>\\]{1,64})", re.IGNORECASE)
_HOME_OF = Regex(r"(?<![\w/.~])~([A-Za-z][\w.-]{1,31})(?=/)")
_MAC_TEMPORARY = Regex(r"/var/folders/([\w+]{2}/[\w+]{10,40})")
_USER_KEYS = Regex(
    r"(?<![A-Za-z0-9])(?:SUDO_|SLURM_JOB_|SLURM_|NB_|GIT_AUTHOR_|CONDA_|DB_|PG|MYSQL_|SSH_|RUN_AS_)?"
    r"(?:USER(?:[_ -]?NAME)?|LOGNAME|LOGIN|ACCOUNT|OWNER|AUTHOR|RUNAS)['\"]?[ \t]{0,4}(?::=|=|:"
    r"(?![:/\\]))[ \t]{0,4}['\"]?"
    r"([A-Za-z][\w.@-]{0,63}(?:\\[\w.-]{1,64})?)",
    re.IGNORECASE,
)
_USER_PLACES = Regexes(
    Regex(p, flags)
    for p, flags in (
        (r"\b[ug]id=\d{1,10}\(([^)\s]{1,64})\)", 0),
        (r"\bgroups=[^\n]{0,20}\(([^)\s]{1,64})\)", 0),
        (
            r"^[ \t]{0,8}[-dlcbsp](?:[r-][w-][xsStT-]){3}[.+@]?[ \t]{1,4}\d{1,6}[ \t]{1,6}([A-Za-z][\w.-]{1,31})[ \t]",
            re.M,
        ),
        (
            r"^[ \t]{0,8}[-dlcbsp](?:[r-][w-][xsStT-]){3}[.+@]?[ \t]{1,4}\d{1,6}[ \t]{1,6}[\w.-]{2,32}[ \t]{1,8}"
            r"([A-Za-z][\w.-]{1,31})[ \t]",
            re.M,
        ),
        (r"^([a-z_][\w.+-]{1,31})[ \t]{1,12}\d{1,8}[ \t]{1,6}\d{1,4}\.\d[ \t]{1,6}\d{1,3}\.\d[ \t]", re.M),  # ps aux
        (
            r"\b(?:chown|su|sudo -u|sudo -iu|runuser -u|-U|--user(?:name)?|usermod "
            r"(?:-\w+ )?-?\w{0,3}G [\w,]{1,60}|adduser|useradd)"
            r"[ =]{1,3}['\"]?([A-Za-z][\w.-]{1,31})(?=[\s:'\"]|\Z)",
            0,
        ),
        (
            r"\b(?:logged in as|login as|for user|by user|as user|user name is|username is|username"
            r"|session opened for user"
            r"|owned by(?: user)?|invalid user|Accepted \w+ for)[ \t]{1,3}['\"`]?([A-Za-z][\w.-]{1,31})",
            re.I,
        ),
        (r"\b([a-z][\w.-]{1,31})\(\d{1,7}M\)", 0),  # gpustat
        (r"\buser\.name[ =]{1,3}[\"']?([^\"'\n]{2,60})", 0),  # git
        (r"\bsudo: {1,4}([a-z][\w.-]{1,31}) :", 0),
        (r"\bpassword for(?: user)? ['\"]?([A-Za-z][\w.-]{1,31})", re.I),
        (r"--account[ =]{1,3}['\"]?([A-Za-z][\w.-]{1,31})", 0),
        (r"\bRegistered Owner:[ \t]{1,40}([^\n]{2,60})", 0),
        (r"^[ \t]{0,8}(?:user ?name|login|account)[ \t:]{1,40}([A-Za-z][\w.-]{1,31})[ \t]{0,8}$", re.I | re.M),
        (r"\bwandb\.ai/([\w-]{2,64})/", 0),
        (r"\btorchinductor_([\w.-]{2,64})", 0),  # its folder in /tmp
        (r"/tmp/((?!tmp)[a-z]{3,20}\d{0,3})(?=/)", 0),
        (r"\b([a-z_][\w.-]{1,31}):[x*!]?:\d{1,10}:\d{1,10}:", 0),  # passwd
        (r"(?<![\w.\\/:-])([A-Z][A-Z0-9-]{1,15})\\([a-z][\w.-]{1,31})(?![\w\\])", 0),  # DOMAIN\user
    )
)

# ---- hosts

_HOST = r"[A-Za-z0-9](?:[A-Za-z0-9_-]|\.(?=[A-Za-z0-9])){0,252}"
_PROMPT = Regex(
    rf"(?<![\w.+/@:=-])([A-Za-z_][\w.-]{{0,31}})@({_HOST})(?=:[~/\w]|[: ]?\s?[~/\w.-]{{0,60}}\s?[\]$#%>)❯➜]|:\s|\s|\Z)"
)
_MAC_PROMPT = Regex(r"^([A-Za-z0-9][\w-]{1,62}):(?:~|[\w./ -]{1,60}) ([a-z_][\w.-]{1,31})\$ ?", re.M)
_MONTHS = "Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec"
_HOST_PLACES = Regexes(
    Regex(p, flags)
    for p, flags in (
        (r"\b(?:Linux|Darwin|FreeBSD|SunOS|AIX) ([A-Za-z0-9][\w.-]{0,252}) \d{1,3}\.\d", 0),  # uname -a
        (r"\b(?:CYGWIN|MINGW\d\d|MSYS)_NT-[\w.-]{1,20} ([A-Za-z0-9][\w.-]{0,252}) \d", 0),
        (r"uname_result\([^)]{0,80}?node(?:name)?='([^']{1,253})'", 0),
        (
            rf"^\W{{0,4}}(?:{_MONTHS}) {{1,2}}\d{{1,2}} \d\d:\d\d:\d\d(?:\.\d{{1,6}})? "
            rf"([A-Za-z0-9][\w.-]{{0,252}}) [^\s:]{{1,80}}:",
            re.M,
        ),
        (
            r"^\W{0,4}\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)? "
            r"([A-Za-z0-9][\w.-]{0,252}) "
            r"(?:kernel|systemd|sshd|sudo|dockerd|containerd|slurmd|slurmstepd|nvidia[\w-]{0,30}"
            r"|[\w./-]{1,40}\[\d{1,8}\]):",
            re.M,
        ),
        (
            r"(?:^|[\s|>\]])([A-Za-z0-9][\w.-]{0,252}):\d{1,8}:\d{1,8}(?: \[\d{1,3}\]| \[\w{1,12}\])? "
            r"(?:\[\d{1,3}\] )?NCCL\b",
            re.M,
        ),
        (
            r"\b(?:slurmstepd|srun|sbatch|salloc|slurmd): (?:error|info)?:? ?\*{0,3} ?([A-Za-z0-9][\w.-]{0,252}): task",
            0,
        ),
        (r"\b(?:on|from|to) (?:host|node|machine|server) ['\"`]?([A-Za-z0-9][\w.-]{0,252})", re.I),
        (
            r"(?<!\w)(?:MASTER_ADDR|HOSTNAME|COMPUTERNAME|SLURMD_NODENAME|SLURM_"
            r"(?:JOB_|STEP_)?NODELIST|SLURM_SUBMIT_HOST|SLURM_LAUNCH_NODE_IPADDR"
            r"|NODE_?NAME|NODELIST|HOST(?:_?NAME)?|LOGONSERVER|USERDOMAIN|CLIENTNAME|PGHOST|\w{1,40}_HOST"
            r"|\w{1,40}_HOSTNAME|\w{1,40}_ADDR|QDRANT_URL)['\"]?[ \t]{0,4}(?:=|:(?!:))[ \t]{0,4}['\"]?"
            r"([A-Za-z0-9][\w.-]{0,252})",
            0,
        ),
        (
            r"\b(?:host ?name|computer ?name|node ?name|static hostname|transient hostname|local host ?name"
            r"|machine ?name|server ?name|nodelist|fqdn|domain|hostfqdn|"
            r"master[_-]addr|node)['\"]?[ \t]{0,24}(?:=|:(?!:))[ \t]{0,8}['\"]?([A-Za-z0-9][\w.-]{0,252})",
            re.I,
        ),
        (r"(?<![\w-])host['\"]?(?:=|:[ \t]{1,4})[ \t]{0,4}['\"]?([A-Za-z0-9][\w.-]{0,252})", 0),
        (
            r"--(?:host|hostname|master[_-]addr|rdzv[_-]endpoint|server|nodelist|nodes|add-host|address"
            r"|node-rank-host|remote|machine)[ =]{1,3}['\"]?"
            r"([A-Za-z][\w.-]{0,252})",
            0,
        ),
        (
            r"(?:^|[\s;&|$`])(?:ssh|ping|telnet|nslookup|dig|host|traceroute|mosh|nc|ssh-copy-id)[ \t]{1,3}"
            r"(?:-[46CNfvqXYAtT]{1,6}[ \t]{1,3}|-[pilLRJDoc][ \t]{0,2}\S{1,120}[ \t]{1,3}){0,4}"
            r"([A-Za-z][\w-]{0,60}(?:[.\d-][\w.-]{0,190})?)(?=\s|\Z)",
            re.M,
        ),
        (
            r"\b(?:Could not resolve host(?:name)?|resolve hostname|connect to host|unknown host"
            r"|failed to connect to|connecting to|Connection (?:refused|reset) by|closed by remote host)"
            r":?[ \t]{1,3}['\"`(\[]{0,2}([A-Za-z0-9][\w.-]{0,252})",
            re.I,
        ),
        (r"\bHTTPS?Connection(?:Pool)?\(host='([^']{1,253})'", 0),
        (r"(?<![\w:/\\])\\\\([A-Za-z0-9][\w.-]{0,62})\\[\w$.-]", 0),  # \\SERVER\share
        (r"(?<![\w.-])((?:DESKTOP|LAPTOP|WIN|EC2AMAZ|PC|MININT)-[A-Z0-9]{4,15})(?![\w-])", 0),
        (r"(?<![\w.-])(ip-\d{1,3}-\d{1,3}-\d{1,3}-\d{1,3}(?:\.[\w.-]{1,80})?)", re.I),
        (
            r"(?<![\w.-])([A-Za-z0-9]{2,40}(?:s|-s)?-(?:MacBook|MBP|iMac|Mac-?mini|Mac-Studio|MacBookPro"
            r"|MacBookAir|Mac|PC|Laptop|Desktop|Workstation)"
            r"(?:-(?:Pro|Air|Max|mini|Studio|\d{1,4}))*(?:\.local|\.lan)?)(?![\w-])",
            re.I,
        ),
        (r"(?:^|\s)[\w.*-]{1,40}[ \t]{1,4}\[([A-Za-z0-9][\w.-]{0,252})\]:\d{2,5}", 0),
        (r"\[([A-Za-z][\w.-]{0,252})\]:\d{2,5}\b", 0),  # [host]:29500 of torch.distributed
        (r"\[([A-Za-z][A-Za-z0-9_-]{1,62}):\d{2,8}\]", 0),  # [host:pid] of a launcher
        (r"^([A-Za-z][\w-]{0,40}\d[\w-]{0,20}): (?=Traceback|\[|INFO|ERROR|WARN)", re.M),
        (r"<(?:stderr|stdout)>: ?([A-Za-z][\w.-]{1,62})(?=:|\s|\Z)", 0),
        (r"^([A-Za-z][\w-]{1,40})[%$>] (?=[a-z./])", re.M),  # prompts
        (r"\bcontainer(?: id)?[ :=]{1,3}([0-9a-f]{12,64})(?![\w-])", re.I),
        (r"^[ \t]{0,8}(?:host ?name|computer|node ?name)[ \t:]{1,40}([A-Za-z][\w.-]{0,252})[ \t]{0,8}$", re.I | re.M),
        (
            r"\b(?:socket|client|server|address|peer|endpoint|rendezvous|host|hostname)\b[^\n]{0,40}\("
            r"([A-Za-z][\w.-]{0,252}), \d{2,5}\)",
            re.I,
        ),
    )
)
_INTERNAL = Regex(
    r"(?<![\w.@-])((?:[A-Za-z0-9][A-Za-z0-9_-]{0,62}\.){1,8}(?:local|lan|corp|internal|intranet|intra"
    r"|localdomain|home\.arpa|private|cluster|"
    r"com|org|net|edu|gov|mil|int|io|ai|dev|cloud|co|info|biz|example|ac\.[a-z]{2}|de|fr|uk|ch|at|cn|jp|kr|eu|nl"
    r"|se|fi|dk|ca|au|br|ru|pl|it|es))"
    r"(?![\w-]|\.[A-Za-z0-9])",
    re.IGNORECASE,
)
_CODE_LIKE = frozenset("local private internal cluster io ai dev int home at it es info co cloud de".split())  # noqa: SIM905

# Names of which everybody knows whose they are, by their top level: they name no machine of a user.
_PUBLIC_DOMAINS = {
    "org": "pytorch python pypi pythonhosted anaconda conda-forge debian archlinux kernel gnu llvm opensuse "
    "numpy scipy apache "
    "mozilla w3 wikipedia rpmfusion conda ietf json-schema pdm-project python-poetry freedesktop x openmp "
    "jupyter arxiv ubuntu "
    "readthedocs gitlab fedoraproject centos launchpad iana tensorflow mpi-forum open-mpi",
    "com": "nvidia amd intel apple microsoft github githubusercontent githubassets google googleapis gstatic "
    "googleusercontent docker ubuntu redhat "
    "anaconda stackoverflow jetbrains visualstudio azure amazon aliyun huaweicloud tencent openai anthropic "
    "kaggle reddit medium "
    "discord lambdalabs phoronix youtube stackexchange superuser askubuntu fastly modelscope",
    "io": "readthedocs pypa nvidia gcr quay docker github ghcr kubernetes gitlab jetson-ai-lab conda anaconda",
    "co": "huggingface hf", "sh": "astral brew uv", "dev": "prefix pixi", "net": "launchpad sourceforge "
    "alicdn", "ai": "pytorch jetson wandb fast",
    "ms": "aka", "cn": "ac.ustc edu.tsinghua edu.sjtu "
    "com.aliyun", "edu": "", "us": "", "me": "", "be": "youtu", "cc": "",
}  # fmt: skip
_PUBLIC = frozenset(f"{name}.{top}" for top, names in _PUBLIC_DOMAINS.items() for name in names.split())
_LOCAL = frozenset(
    """
    localhost localhost.localdomain ip6-localhost host.docker.internal local none unknown
    example.com example.org example.net
    """.split()  # noqa: SIM905
)

# ---- numbers of machines

_IPV4 = Regex(r"(?<![\w.+-])(?:\d{1,3}\.){3}\d{1,3}(?![\w+-]|\.\d)")
_IPV6 = Regex(r"(?<![\w:.])[0-9A-Fa-f:]{4,39}(?:\.\d{1,3}){0,3}(?![\w:])")
_MAC = Regex(
    r"(?<![\w:-])(?:[0-9A-Fa-f]{2}([:-])(?:[0-9A-Fa-f]{2}\1){4}[0-9A-Fa-f]{2}|(?:[0-9a-f]{4}\.){2}[0-9a-f]{4})"
    r"(?![\w:-])"
)
_GUID = Regex(
    r"(?i:guid)\b[^\n]{0,12}?[:= ]\s{0,3}((?:0x)?[0-9a-fA-F]{4}:?[0-9a-fA-F]{4}:?[0-9a-fA-F]{4}:?[0-9a-fA-F]{4}|"
    r"(?:[0-9a-fA-F]{2}:){7}[0-9a-fA-F]{2})"
)
_UUID = Regex(
    r"(?<![A-Za-z0-9])((?:GPU|MIG)-(?:GPU-)?)?[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"
    r"(?![A-Za-z0-9])(?:/\d{1,3}/\d{1,3})?"
)
_EMAIL = Regex(r"(?<![\w.+-])[\w.+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,6}[A-Za-z]{2,24}(?![\w-])")
_SERIAL = Regex(
    r"(?<![A-Za-z])(?:(?:serial|ser)(?:[ _.-]{0,2}(?:numbers?|num|no\.?|nr\.?|#))?(?:[ \t]{0,2}\("
    r"(?:system|tray)\))?|S/N|SN|(?:chassis|product|board|system|disk|gpu|module|rack|slot)[_ -]serial(?:[_ ]number)?"
    r"|id_serial(?:_short)?|asset[ _-]?tag|service[ _-]?tag|imei|udid|provisioning udid|product[ _-]?key"
    r"|machine[ _-]?id|boot[ _-]?id|invocation[ _-]?id|device[ _-]?id|"
    r"hardware[ _-]?uuid|chassis|tray[ _-]?id|platform[ _-]?serial|host[ _-]?id|systemid|uuid)['\"]?[ \t]{0,40}"
    r"(?:[:=|#]|is)[ \t]{0,6}['\"]?([A-Za-z0-9][A-Za-z0-9/._-]{4,63})",
    re.IGNORECASE,
)
_PCI_ID = Regex(r"0x[0-9A-Fa-f]{1,4}\Z")  # device_id=0xE20B: the model, which all GPUs of that name share
_CLOUD = Regexes(
    Regex(p, flags)
    for p, flags in (
        (r"\barn:aws[\w-]{0,10}:[\w-]{1,30}:[\w-]{0,20}:(\d{12}:[^\s'\"]{1,120}|\d{12})", 0),
        (r"(?<!\d)(\d{12})\.dkr\.ecr\.", 0),
        (r"\b(?:account|owner|aws)[ _-]?(?:id|number)?['\"]?[ \t]{0,3}[:=][ \t]{0,3}['\"]?(\d{4}-?\d{4}-?\d{4})"
         r"(?!\d)", re.I),
        (r"(?<![\w-])((?:i|vpc|subnet|sg|eni|vol|snap|acl|rtb|igw|nat|eipalloc|vpce|lt|asg|r|tgw|fs"
         r"|ami)-[0-9a-f]{8}(?:[0-9a-f]{9})?)(?![\w-])", 0),
        (r"\bprojects/([a-z][a-z0-9-]{4,30}|\d{6,14})(?=/)", 0),
        (r"(?<![\w-])(?:--project(?:[_-]id)?|GOOGLE_CLOUD_PROJECT|GCLOUD_PROJECT|CLOUDSDK_CORE_PROJECT"
         r"|GCP_PROJECT)[ =]{1,3}['\"]?([a-z][a-z0-9-]{4,30})", 0),
        (r"/subscriptions/([0-9a-fA-F-]{36})", 0),
        (r"\bAccountName=([a-z0-9]{3,24})", 0),
        (r"/resourceGroups/([\w.()-]{1,90})", re.I),
        (r"\b(?:s3|s3a|s3n|gs|gcs|az|oss|cos|obs|r2|b2|wasbs?)://([A-Za-z0-9][\w.-]{2,62})", 0),
        (r"\b([a-z0-9][a-z0-9-]{2,62})\.(?:blob|dfs|file|queue|table)\.core\.windows\.net", 0),
        (r"(?<![a-z0-9.-])([a-z0-9][a-z0-9.-]{2,62})\.s3[.-][\w.-]{0,30}amazonaws\.com", 0),
        (r"\bocid1\.[a-z]{2,30}\.[\w-]{0,20}\.[\w-]{0,20}\.([a-z0-9]{20,80})", 0),
        (r"\b(?:tenant|subscription|client|application|directory|organization|org|installation"
         r"|customer)[ _-]?id['\"]?[ \t]{0,3}[:=][ \t]{0,3}['\"]?"
         r"([A-Za-z0-9][\w.-]{7,63})", re.I),
        (r"\bsha256:([0-9a-f]{64})\b(?=[^\n]{0,12}container)", 0),
        (r"/(?:docker|containers|kubepods|cri-containerd|libpod|crio|overlay2)[-/]([0-9a-f]{32,64})", 0),
    )
)  # fmt: skip


def identities_in(text: str, *, version: bool = False) -> Iterator[Span]:
    """All identities of a text, also of what its codes stand for (%2Fhome%2Fanna); they may overlap. `version`: the
    text is a version, whatever it looks like."""
    yield from through_codes(text, partial(_identities_in, version=version))


def _identities_in(text: str, *, version: bool) -> Iterator[Span]:
    yield from _users(text)
    yield from _hosts(text)
    if not version:
        yield from _numbers(text)
    for match in _EMAIL.finditer(text):
        before = re.split(r"\s", text[max(0, match.start() - 200) : match.start()])[-1]
        if match[0].partition("@")[0].lower() not in PUBLIC_USERS and "://" not in before:
            yield Span(*match.span(), "email")
    for pattern in _CLOUD.in_text(text):
        for match in pattern.finditer(text):
            if not is_stand_in(match[1]):
                yield Span(*match.span(1), "id")


def is_public_host(name: str) -> bool:
    """Whether a host's name says nothing about anybody: the local one, or one of a well-known domain."""
    name = name.lower().rstrip(".")
    labels = name.split(".")
    if name in _LOCAL or is_stand_in(name) or name.replace(".", "").isdigit():
        return True
    return any(".".join(labels[start:]) in _PUBLIC for start in range(len(labels) - 1)) or _known_mirror(labels)


def _known_mirror(labels: list[str]) -> bool:
    """Universities' mirrors of the package index, which China's users name in every ticket."""
    tail = ".".join(labels[-1:-4:-1])
    return any(tail.startswith(f"cn.{name}") for name in _PUBLIC_DOMAINS["cn"].split())


# ---- users


def _users(text: str) -> Iterator[Span]:
    for pattern in (_HOMES, _GIT_BASH, _HOME_OF):
        for match in pattern.finditer(text):
            group = match.lastgroup or 1
            name = match[group].rstrip(".")
            if name and not is_public_account(name) and not name.startswith((".", "{", "$", "%", "~")):
                yield Span(match.start(group), match.start(group) + len(name), "user")
    for match in _WINDOWS.finditer(text):
        group = 1 if match[1] else 2
        name = match[group].rstrip(". ")
        if (
            name
            and not is_public_account(name.partition("~")[0])
            and name.lower() != "all users"
            and name[0] not in "%{$"
        ):
            yield Span(match.start(group), match.start(group) + len(name), "user")
    for match in _MAC_TEMPORARY.finditer(text):
        yield Span(*match.span(1), "id")
    for match in _SHARED.finditer(text):
        yield from _shared(match)
    for match in _USER_KEYS.finditer(text):
        if _may_be_user(match[1]):
            yield Span(*match.span(1), "user")
    for pattern in _USER_PLACES.in_text(text):
        for match in pattern.finditer(text):
            group = match.lastindex or 1
            if group == 2 and not is_ordinary(match[1]):
                yield Span(*match.span(1), "host")
            if _may_be_user(match[group]):
                yield Span(*match.span(group), "user")


def _shared(match: re.Match[str]) -> Iterator[Span]:
    """/nfs/home/anna, /data/users/anna: below a folder that is called so; /scratch/anna if that is no ordinary word."""
    place = match.start(1)
    previous = match[0][: match.start(1) - match.start()].rpartition("/")[2]
    for part in match[1].split("/")[1:]:
        place += 1
        below = previous.lower() in _USERS_BELOW or (_MINE.match(previous) and not is_ordinary(part))
        if below and not is_public_account(part) and not part.startswith((".", "{", "$")) and "." not in part[-4:]:
            if not (len(part) == 1 and part.islower()):
                yield Span(place, place + len(part), "user")
                return
            part = previous  # /homes/a/anna
        place += len(part) if part is not previous else 1
        previous = part


def _may_be_user(name: str) -> bool:
    return len(name) >= 2 and not is_public_account(name) and not is_ordinary(name)


# ---- hosts


def _hosts(text: str) -> Iterator[Span]:
    for match in _PROMPT.finditer(text):
        user, host = match[1], match[2]
        if user.lower() in PUBLIC_USERS or (not _IPV4.fullmatch(host) and (is_public_host(host) or _is_version(host))):
            continue
        if not is_public_account(user):
            yield Span(*match.span(1), "user")
        if not _IPV4.fullmatch(host):
            yield Span(*match.span(2), "host")
    for match in _MAC_PROMPT.finditer(text):
        if not is_public_account(match[2]) and not is_ordinary(match[2]):
            yield Span(*match.span(2), "user")
            yield Span(*match.span(1), "host")
    for pattern in _HOST_PLACES.in_text(text):
        for match in pattern.finditer(text):
            name = match[1].rstrip(".-_")
            if _may_be_host(name):
                yield Span(match.start(1), match.start(1) + len(name), "host")
    for _, begin, end in addresses_in(text):
        yield from _host_of_address(text, begin, end)
    for match in _INTERNAL.finditer(text):
        labels = match[1].lower().split(".")
        if labels[-1] in _CODE_LIKE and len(labels) < 3 and all(is_ordinary(label) for label in labels):
            continue
        if labels[0] in (
            "torch",
            "self",
            "os",
            "sys",
            "np",
            "numpy",
            "nn",
            "model",
            "config",
            "args",
            "this",
            "cls",
            "logging",
        ):
            continue
        if not is_public_host(match[1]) and not text[match.end() :].startswith(("(", "=")):
            yield Span(*match.span(1), "host")


def _host_of_address(text: str, begin: int, end: int) -> Iterator[Span]:
    place = userinfo_of(text, begin, end)
    begin = place[1] + 1 if place else begin
    match = re.compile(r"[A-Za-z0-9_](?:[\w-]|\.(?=\w)){0,252}").match(text, begin, end)
    scheme = text[max(0, begin - 8) : begin].lower()
    if match is None or is_public_host(match[0]) or scheme.endswith(("file://", "s3://", "gs://", "az://")):
        return
    if _may_be_host(match[0]) or (place and not is_public_host(match[0])):
        yield Span(*match.span(), "host")


def _may_be_host(name: str) -> bool:
    if len(name) < 2 or is_public_host(name) or _is_version(name):
        return False
    parts = name.split(".")
    if len(parts) > 1 and not parts[-1].isdigit() and len(parts[-1]) > 1:
        return not all(is_ordinary(p) for p in parts) or parts[-1].lower() in (
            "com",
            "net",
            "org",
            "local",
            "lan",
            "internal",
            "corp",
        )
    return not is_ordinary(name) or (any(c.isdigit() for c in name) and name[:1].isalpha() and "-" in name)


def _is_version(text: str) -> bool:
    return re.match(r"v?\d+(?:\.\d+)+(?:[a-z+-][\w.+-]*)?\Z|\d+\Z", text) is not None


# ---- numbers

_BEFORE_VERSION = Regex(  # in text in lower case
    r"(?:[=<>~!]=|[<>]|\b(?:v|version|driver|cuda\w{0,9}|cudnn\w{0,9}|nccl\w{0,9}|release|build|lib\w{1,20}|kernel|kmd"
    r"|rocm|runtime|toolkit|nvcc|cu(?:blas|fft|rand|solver|sparse|dnn|file|tensor)\w{0,10}|nv\w{3,12})"
    r"|(?<![\w-])(?:(?:nvidia|cuda|cudnn|nvidia-\w{1,20})-[\w-]{1,40}|[\w-]{1,40}[-_]cu\d{1,3})"
    r"|\A([a-z][\w-]{1,40}))['\")\]]{0,3}(?:[ \t]{0,40}(?::|=|is|\(|v|at|@)[ \t]{0,24}|[ \t]{0,64})['\"(]?\Z"
)
_OF_AN_ADDRESS = Regex(
    r"\b(?:from|to|at|on|ip|addr\w*|inet|host\w*|server|node|connect\w*|ssh|ping|peer|listen\w*|bind|via|gateway"
    r"|dns|src|dst|client|"
    r"remote|local|tcp|udp|interface|eth\d|ib\d|eno\d|endpoint|MASTER_ADDR)[\s:=(\[\"'@/]{1,6}\Z",
    re.IGNORECASE,
)


def _numbers(text: str) -> Iterator[Span]:
    for match in _IPV4.finditer(text):
        if all(int(part) < 256 for part in match[0].split(".")) and _is_address(text, match):
            yield Span(*match.span(), "ip")
    for match in _IPV6.finditer(text):
        if _is_ipv6(match[0]):
            yield Span(*match.span(), "ip")
    for pattern, group in ((_MAC, 0), (_GUID, 1)):
        for match in pattern.finditer(text):
            if any(c.isdigit() for c in match[group]) or ":" in match[group]:
                yield Span(*match.span(group), "mac")
    for match in _UUID.finditer(text):
        yield Span(*match.span(), "gpu" if match[1] else "uuid")
    for match in _SERIAL.finditer(text):
        named = is_stand_in(match[1]) or match[1].startswith("GPU-") or _PCI_ID.match(match[1])
        if any(c.isdigit() for c in match[1]) and not named:
            yield Span(*match.span(1), "serial")


def _is_address(text: str, match: re.Match[str]) -> bool:
    """Whether four numbers are an address and not a version such as cuBLAS's 10.3.5.147."""
    if match[0].startswith(("127.", "0.", "255.")):
        return False
    before = text[max(0, match.start() - 64) : match.start()].rpartition("\n")[2]
    follows = re.match(r"[ \t]{1,20}([A-Za-z][\w.-]{1,80})", text[match.end() : match.end() + 100])
    stands_first = not before.strip() or before.endswith("=")
    if stands_first and follows and (_MACHINE.match(follows[1]) or not is_ordinary(follows[1])):  # /etc/hosts
        return True
    if re.match(r":\d{2,5}\b|/\d{1,2}\b", text[match.end() : match.end() + 6]) or _OF_AN_ADDRESS.search(before):
        return True
    versioned = _BEFORE_VERSION.search(lowered(before))
    if versioned is not None and versioned[1] is not None and not before.startswith(versioned[1]):
        versioned = None  # no package has capitals
    if versioned is not None and versioned[1] is not None:  # a list of packages has its name at the line's start
        return not is_ordinary(versioned[1]) or _MACHINE.match(versioned[1]) is not None
    return versioned is None and bool(before.strip() or int(match[0].partition(".")[0]) > 15)


_MACHINE = Regex(r"(?:node|server|gpu|host|gateway|router|login|master|worker|head|compute|rank)[\w-]*\Z")


def _is_ipv6(text: str) -> bool:
    if "::" not in text and text.count(":") != 7:
        return False
    try:
        address = ipaddress.IPv6Address(text)
    except ValueError:
        return False
    return (
        not address.is_loopback
        and not address.is_unspecified
        and (text.count(":") >= 3 or len(text.partition(":")[0]) == 4)
    )
