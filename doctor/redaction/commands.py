"""Secrets among the words of commands: one table of the commands and of the flags and places that take a secret.

A flag such as `--password`, whose name says it, needs no row: secrets.py knows it by its name. The rows are facts
of the commands' own manuals.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import NamedTuple

from doctor.redaction.spans import Span
from doctor.redaction.values import NOT_SECRET, looks_made_up, trimmed
from doctor.redaction.words import is_ordinary, is_public_account
from doctor.regex import Regex, folded

# commands | what must stand among the words before, if anything | what takes the secret:
#   -P     the next word, or the rest of this one        -p+    the rest of this one only
#   -u:    as -P, a user and a secret with that mark between them
#   3      the third word that is no flag and no address  3~   the same, if it looks made up
#   pass:  a word that begins so                          user_pw  the word after that one
#   <      what is piped to it, or given as here-string
_TABLE = """
zip zipcloak unzip                            |              | -P
7z 7za 7zr 7zz                                |              | -p+
rar unrar                                     |              | -p+ -hp+
ssh-keygen                                    |              | -N -P
openssl                                       |              | pass: -k
openssl                                       | passwd       | 2
gpg gpg2                                      |              | <
signtool                                      |              | /p
certutil                                      |              | -p
security                                      |              | -p -w -P
cryptsetup                                    |              | <
pdftk                                         |              | user_pw owner_pw input_pw
pdftotext pdfimages pdftoppm pdfinfo          |              | -upw -opw
sshpass                                       |              | -p
net                                           | use          | 2
net                                           | user         | 3
psexec psexec64 psexec.py                     |              | -p
plink pscp psftp putty                        |              | -pw
xfreerdp wlfreerdp mstsc                      |              | /p:
rdesktop                                      |              | -p
smbclient winexe rpcclient smbget smbmap      |              | -U%
smbclient                                     |              | 1~
lftp                                          |              | -u,
ncftp ncftpput ncftpget                       |              | -p
ipmitool                                      |              | -P
ldapsearch ldapadd ldapmodify ldapwhoami ldapdelete ldappasswd |  | -w -s
snmpget snmpwalk snmpset snmptrap             |              | -A -X
wpa_passphrase                                |              | 2
x11vnc                                        |              | -passwd
schtasks                                      |              | /rp /p
wmic                                          |              | /password:
mysql mysqldump mysqladmin mysqlimport mysqlsh mysqlcheck mariadb mariadb-dump mariadb-admin |  | -p+
mongo mongosh mongodump mongorestore mongoexport mongoimport |  | -p
redis-cli                                     |              | -a
sqlcmd bcp osql isql tsql                     |              | -P
sqlplus impdp expdp sqlldr rman               |              | /
cqlsh                                         |              | -p
curl                                          |              | -u: -U: -b=
wget wget2 http https xh                      |              | -a:
docker podman nerdctl buildah skopeo crane oras helm |  login | -p <
oc az anaconda                                | login        | -p <
airflow                                       | users        | -p
twine poetry                                  | upload publish | -p
wandb                                         | login        | 2~
vault                                         | login        | 2~
gh                                            | secret       | -b --body
mc                                            | alias        | 5
htpasswd                                      | -b -nb -bn -cb -bc -bB -nbB -Bb | 2~ 3~
poetry                                        | config       | 4
poetry                                        | config       | 3~
conda                                         | token        | 3~
cargo                                         | login        | 2~
huggingface-cli hf                            | login        | --token
prefect                                       | login        | -k
doctl                                         | auth         | -t
rclone                                        | obscure      | 2
rclone                                        | config       | pass
mosquitto_pub mosquitto_sub                   |              | -P
rabbitmqctl                                   | add_user change_password | 3
ngrok                                         | authtoken    | 2~
vastai                                        | api-key      | 3~
jupyter jupyter-lab jupyter-notebook          |              | --ServerApp.token --NotebookApp.token
sudo                                          | -S           | <
passwd chpasswd smbpasswd su kinit            |              | <
useradd usermod                               |              | -p
convertto-securestring                        |              | 1~
read                                          | -s -sp -rsp -rs | <
"""  # fmt: skip
_PIPED_FROM = frozenset("echo printf write-output yes".split())  # noqa: SIM905
_WORDS = 60  # of a command

_WORD = Regex(
    r"\\?\r?\n|&&|\|\|?|;|<<<|(?:[^\s'\"|;&<>\\(\[]|\\(?!\n).|&(?!&)|'[^'\n]{0,400}'|\"(?:[^\"\\\n]|\\.){0,400}\"){1,60}|['\"<>(\[]"
)
_NAME = Regex(r"[\w-]+")
_ENDS = frozenset(("\n", "\r\n", "&&", "|", "||", ";"))
_ADDRESS = Regex(r"[A-Za-z]:\Z|\\\\|//|[a-z]+://|\*\Z", re.IGNORECASE)
_CORE = "\"'`,()[]{}$"


class _Row(NamedTuple):
    among: frozenset[str]
    specs: tuple[str, ...]


@cache
def _rows() -> dict[str, tuple[_Row, ...]]:
    found: dict[str, tuple[_Row, ...]] = {}
    for line in _TABLE.strip().splitlines():
        names, among, specs = (part.split() for part in line.split("|"))
        for name in names:
            found[name] = (*found.get(name, ()), _Row(frozenset(map(str.lower, among)), tuple(specs)))
    return found


@cache
def _names() -> frozenset[str]:
    """Of the names of all commands what stands before a dot."""
    return frozenset(name.partition(".")[0] for name in (*_rows(), *_PIPED_FROM))


class _Word(NamedTuple):
    start: int
    end: int
    text: str  # without quotes and the marks of a list around it


def secrets_of_commands(text: str, within: int = 2) -> Iterator[Span]:
    """The secrets among the words of the commands that a text names; `within`: how often one is quoted in another."""
    if _names().isdisjoint(_NAME.findall(folded(text))):
        return
    words: list[_Word] = []  # of the command at hand
    piped: list[_Word] = []  # of the one whose output it reads
    for match in _WORD.finditer(text):
        if match[0] not in _ENDS:
            words.append(_Word(*match.span(), match[0].strip(_CORE)))
            if within and match[0][0] in "'\"" and " " in match[0]:
                for span in secrets_of_commands(match[0][1:-1], within - 1):
                    yield Span(match.start() + 1 + span.start, match.start() + 1 + span.end, span.kind)
            continue
        yield from _of_command(words, piped, text)
        piped = words if match[0] == "|" else []
        words = []
    yield from _of_command(words, piped, text)


def _of_command(words: list[_Word], piped: list[_Word], text: str) -> Iterator[Span]:
    """The secrets of one simple command. A command may be the word of another (`docker exec db mysql …`)."""
    seen: set[str] = set()
    for at, word in enumerate(words):
        name = _name(word.text)
        rows = () if name in seen else _rows().get(name, ())
        seen.add(name)
        for row in rows:
            following = words[at + 1 : at + _WORDS]
            if not row.among or not row.among.isdisjoint(w.text.lower() for w in following):
                yield from _of_row(row, following, piped, text)


def _name(word: str) -> str:
    """Of a command: its last part, without the mark of a prompt or a notebook."""
    return re.split(r"[/\\>:=]", word)[-1].lower().lstrip("!%@").removesuffix(".exe")


def _of_row(row: _Row, words: list[_Word], piped: list[_Word], text: str) -> Iterator[Span]:
    for spec in row.specs:
        if spec == "<":
            yield from _given(words, piped, text)
        elif spec[0].isdigit():
            yield from _at(int(spec.rstrip("~")), words, text, sure=not spec.endswith("~"))
        elif spec == "/":  # user/password@database
            for word in words[:3]:
                if (m := re.match(r"[A-Za-z]\w{0,30}/([^/@\s]{4,60})(?:@|\Z)", word.text)) and not m[1].startswith("."):
                    place = text.index(m[1], word.start)
                    yield from _checked(text, place, place + len(m[1]))
        else:
            yield from _flag(spec, words, text)


def _flag(spec: str, words: list[_Word], text: str) -> Iterator[Span]:
    """The word, or the part of a word, that a flag says to be secret; the first is meant (`sshpass -p … ssh -p 22`)."""
    between = spec[-1] if spec[-1] in ":%,=" and spec[0] == "-" else ""
    joined_only = spec.endswith("+")
    name = spec.rstrip("+") if joined_only else spec[: len(spec) - len(between)]
    short = len(name) == 2 and name[0] == "-"
    for at, word in enumerate(words):
        raw = text[word.start : word.end].lstrip(_CORE)
        place = word.end - len(raw)
        start = end = 0
        if _is_flag(raw.rstrip(_CORE), name, short) and not joined_only and not name.endswith(":"):
            following = words[at + 1] if at + 1 < len(words) else None
            if following is not None and (following.text[:1] != "-" or looks_made_up(following.text)):
                start, end = following.start, following.end
        elif raw.casefold().startswith(f"{name}=".casefold()) and name.startswith("--"):
            start, end = place + len(name) + 1, word.end
        elif (
            raw.startswith(name) if name[0] != "/" else raw.lower().startswith(name)
        ) and (short or joined_only or name.endswith(":")) and len(raw) > len(name):  # fmt: skip
            start, end = place + len(name), word.end
            if text[start : start + 1] == "=":
                start += 1
        if end <= start:
            continue
        if between:
            mark = text.find(between, start, end)
            if mark < 0 or (between == ":" and text[start:mark].strip("\"'").isdigit()):
                continue
            user = text[start:mark].strip("\"'")
            if between != "=" and len(user) > 1 and not is_public_account(user):
                yield Span(mark - len(user), mark, "user")
            start = mark + 1
        yield from _checked(text, start, end)
        return


def _is_flag(word: str, name: str, short: bool) -> bool:
    """Whether a word is that flag, perhaps behind other letters: `-rP`, `-fsSLu`."""
    if word == name or (name[0] == "/" and word.lower() == name):
        return True
    bundled = short and 2 < len(word) < 8 and word[0] == "-" and word[1:].isalpha()
    return bundled and word.endswith(name[1])


def _at(place: int, words: list[_Word], text: str, *, sure: bool) -> Iterator[Span]:
    plain = [w for w in words if w.text and w.text[0] not in "-/<" and "=" not in w.text and not _ADDRESS.match(w.text)]
    if len(plain) >= place:
        word = plain[place - 1]
        if not is_ordinary(word.text) and (sure or looks_made_up(word.text) or any(c.isdigit() for c in word.text)):
            yield from _checked(text, word.start, word.end)


def _given(words: list[_Word], piped: list[_Word], text: str) -> Iterator[Span]:
    """What a command that reads a password is given: `echo … | x`, `x <<< …`."""
    given = [w for before, w in pairwise(words) if before.text == "<<<"]
    said = next((at for at, w in enumerate(piped) if _name(w.text) in _PIPED_FROM), len(piped))
    given += [w for w in piped[said + 1 :] if w.text[:1] not in ("-", "%", "")]
    for word in given:
        place = word.start
        for part in re.split(r"(\\n|\s)", text[word.start : word.end]):
            inner = part.find(":") + 1 if part.strip("\"'")[:1].isalpha() else 0
            yield from _checked(text, place + inner, place + len(part))
            place += len(part)


def _checked(text: str, start: int, end: int) -> Iterator[Span]:
    while start < end and text[start] in "\"'`([{":
        start += 1
    end = trimmed(text, start, end)
    value = text[start:end]
    if len(value) >= 3 and not NOT_SECRET.match(value) and not value.startswith(("$", "<", "-")):
        yield Span(start, end, "secret")


# ---- calls in programs, and the dialogues of expect

_CALL = Regex(
    r"\b(?P<name>login|auth|HTTP(?:Basic|Digest|Proxy)Auth|BasicAuth|(?:Network|PS)Credential|sendline|send"
    r"|ConvertTo-SecureString|set_password|getpass)(?:[ \t]{0,2}=)?(?:[ \t]{0,2}\(|[ \t]{1,3}(?:--?\w{0,8}[ \t]{1,3})?)"
    r"[ \t]{0,2}(?P<key>key=|token=)?(?:[rbf]?\\?['\"](?P<first>[^'\"\n\\]{1,120})\\?['\"],[ \t]{0,3})?"
    r"[rbf]?\\?['\"](?P<value>[^'\"\n\\]{3,200})"
)
_LAMBDA = Regex(r"\bgetpass[\w.]{0,20}[ \t]{0,2}=[ \t]{0,2}lambda[^:\n]{0,20}:[ \t]{0,2}['\"]([^'\"\n]{3,200})")


def secrets_of_calls(text: str) -> Iterator[Span]:
    """`auth=("me", "…")`, `login("…")`, `send "…\\r"`."""
    for match in _CALL.finditer(text):
        value = match["value"]
        asked = match["name"].startswith("send") and "assword" in text[max(0, match.start() - 80) : match.start()]
        typed = not match["name"].startswith("send") or not (" " in value or "/" in value)
        sure = match["first"] or match["key"] or match["name"] == "ConvertTo-SecureString" or asked
        if not NOT_SECRET.match(value) and typed and (sure or looks_made_up(value)):
            yield Span(*match.span("value"), "secret")
    for match in _LAMBDA.finditer(text):
        yield Span(*match.span(1), "secret")
