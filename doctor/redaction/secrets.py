"""Recognises secrets in text: by the name of what they are given to, by the known forms of tokens, in addresses, and by
looking random. Every pattern is linear: its repetitions are bounded, or nothing that they may match can follow them.

The forms of tokens are facts of their issuers; most are collected in the rules of detect-secrets
(https://github.com/Yelp/detect-secrets) and gitleaks (https://github.com/gitleaks/gitleaks), which are not depended on:
the one needs a network library, the other is a program.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise

from doctor.redaction.commands import secrets_of_calls, secrets_of_commands
from doctor.redaction.keys import PASSWORDS, strength
from doctor.redaction.prose import passwords_in_prose
from doctor.redaction.spans import Span
from doctor.redaction.values import (
    HEX,
    LIKE_PASSWORD,
    NOT_SECRET,
    like_password,
    looks_made_up,
    looks_random,
    lowered,
    trimmed,
)
from doctor.redaction.words import is_ordinary, is_stand_in, vocabulary
from doctor.regex import Regex, Regexes

# ---- tokens by their form

_PREFIXED = (
    r"gh[opusr]_|github_pat_|gl(?:pat|dt|rt|cbt|ptt|soat|ffct|ft|imt|agent|oas|wt)-|hf_|api_org_|pypi-|npm_|"  # code
    r"sk-(?:proj-|ant-|or-v1-|svcacct-|lf-)?|sess-|gsk_|xai-|pplx-|r8_|nvapi-|KGAT_|wandb_v1_|lsv2_[ps][tk]_"
    r"|pcsk_|"  # AI
    r"[sr]k_(?:live|test)_|pk_live_|whsec_|sq0[a-z]{3}-|EAAA|shp(?:at|ss|pa|ca)_|"  # payment
    r"xox[abeoprs](?:\.xox[bp])?-|xapp-|"  # Slack
    r"hv[sbr]\.|dop_v1_|doo_v1_|dor_v1_|dckr_[po]at_|dapi|dp\.(?:pt|st|ct)\.|pul-|tskey-|nfp_|sbp_|pscale_tkn_|bkua_|"
    r"CCIPAT_|rubygems_|HRKU-|FlyV1 fm2_|fm2_|glsa_|glc_|eyJrIjoi|NRAK-|sntry[su]_|sq[apu]_|AKCp|cmVmdGtu|LTAI"
    r"|AKID|AQVN|"
    r"ATATT3|ATCTT3|lin_api_|secret_|ntn_|figd_|PMAK-|tfp_|EZ[AT]K|aio_|pnu_|rpa_|ops_eyJ|GOCSPX-|ya29\.|1//0|"
    r"AGE-SECRET-KEY-1|key-|SG\.|sl\.|EAACEdEose0cBA|tok_|vercel_|rnd_|phc_|phx_|apify_api_|duffel_(?:test|live)_"
)
_FORMS = Regexes(
    Regex(p)
    for p in (
        rf"(?<![A-Za-z0-9])(?:{_PREFIXED})[A-Za-z0-9_=+/.~-]{{14,}}",
        r"(?<![A-Za-z0-9])(?:A3T[A-Z0-9]|AKIA|ASIA|ABIA|ACCA|AROA|AIDA|AGPA)[A-Z0-9]{12,}",  # AWS key ids
        r"(?<![A-Za-z0-9])AIza[\w-]{20,}",  # Google API key
        r"(?<![\w-])ey[JI][A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]{2,})*={0,2}",  # JWT, and base64 of JSON
        r"(?<![A-Za-z0-9])[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{25,}",  # Discord
        r"(?<![A-Za-z0-9])\d{8,10}:AA[A-Za-z0-9_-]{30,}",  # Telegram
        r"(?<![A-Za-z0-9])(?:SK|AC)[0-9a-f]{32}(?![A-Za-z0-9])",  # Twilio
        r"(?<![A-Za-z0-9])[A-Za-z0-9_~.-]{3}8Q~[A-Za-z0-9_~.-]{20,}",  # Entra client secret
        r"(?<![A-Za-z0-9])[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{30,}",  # Terraform
        r"(?<![A-Za-z0-9.])s\.[A-Za-z0-9]{24}(?![A-Za-z0-9])",  # older Vault
        r"(?<![A-Za-z0-9-])(?=[A-Z-]{0,24}\d)(?=[\d-]{0,24}[A-Z])[A-Z0-9]{4,5}(?:-[A-Z0-9]{4,5}){3,5}"
        r"(?![A-Za-z0-9-])",  # licences
        r"(?<![A-Za-z0-9])T[A-Z0-9]{6,12}/B[A-Z0-9]{6,12}/[A-Za-z0-9]{16,}",  # Slack hook
    )
)
_PRIVATE_KEY = Regex(r"-{4,5} ?BEGIN [A-Z0-9 ]{0,30}(?:PRIVATE KEY|SECRET KEY|PGP MESSAGE)[A-Z ]{0,10} ?-{4,5}")
_PRIVATE_KEY_END = Regex(r"-{4,5} ?END [A-Z0-9 ]{0,30}(?:KEY|MESSAGE)[A-Z ]{0,10} ?-{4,5}")

# ---- names of what holds a secret

_KEY = Regex(  # in text in lower case
    r"token|secret|passw(?:or)?d|passphrase|passcode|kennwort|pwd|pass|key|auth|cred|cookie|bearer|jwt|dsn|sig|session"
    r"|connection_?string|pat\b|otp|webhook|pw(?![a-z])|psk|" + "|".join(PASSWORDS)
)
_HEADERS = frozenset("authorization proxy-authorization cookie set-cookie x-auth-token x-api-key".split())  # noqa: SIM905
_IDENTIFIER = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.")

_SEPARATOR = Regex(
    r"""[ \t]{1,3}(?:for[ \t]{1,3}\S{1,120}|\([^)\n]{1,40}\)):[ \t]{1,4}|"""
    r"""\\?["'`]?[\])]?[ \t]{0,8}(?::=|=>|==?|:(?!:))[ \t]{0,8}"""
    r"""|\\?["']?,?\s{1,40}\\?["']?[Vv]alue\\?["']?\s{0,4}[:=]\s{0,4}"""  # {"name": …, "value": …}, name="" value=""
    r"""|\\?["'],\s{0,4}(?=["'])"""  # ("--token", "…")
)
_IN_PROSE = Regex(r"[ \t]{1,3}(?:is|was|were|are)[ \t]{0,3}[:=]?[ \t]{1,3}", re.IGNORECASE)
_GAP = Regex(r"[ \t]{1,8}")
# After a name that is a secret's for sure, what may stand between it and a value that looks like a password.
_LOOSE = Regex(
    r"[\"'`]?[ \t]{0,8}:?(?:[ \t]{1,8}|[ \t]{0,80}\n[ \t]{0,16}|[ \t]{0,8}(?:->|→|[–—|,;/…(\[]|\.{3})[ \t]{0,8})[\"'`]?"
)
_NEXT_LINE = Regex(r"[ \t]{0,80}\n[ \t]{0,16}[\"'`]?")
_SETTERS = Regex(
    r"(?:\b(?:setx|env|arg|set|export|setenv|unset|config|login|machine|configure|put|by|secret)|-[gU]?x|-e|--env)"
    r"[ \t]{1,4}(?:/[mM][ \t]{1,4})?[\w.]{0,40}[ \t\"']{0,4}\Z",
    re.IGNORECASE,
)
_SCHEME_WORD = Regex(  # the token may stand on the next, indented line
    r"(?:Bearer|Basic|Token|Digest|Negotiate|ApiKey|AWS4-HMAC-SHA256)(?:[ \t]{0,4}\\?\n[ \t]{1,40}|[ \t]{1,4})",
    re.IGNORECASE,
)
# ---- flags that take a secret without saying so

_USER_FLAG = Regex(
    r"(?<![\w-])(?:-u|--user|--proxy-user|--creds|--src-creds|--dest-creds)[ =]{1,3}['\"]?([^\s'\":]{1,80}):"
    r"([^\s'\"]{1,200})"
)
_NETRC = Regex(
    r"\blogin[ \t]{1,4}(\S{1,80})[ \t]{1,4}(?:account[ \t]{1,4}\S{1,80}[ \t]{1,4})?password[ \t]{1,4}(\S{1,200})"
)

# ---- addresses

_ADDRESS = Regex(r"(?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]{1,24}:(?:\\?/){2}")
_ADDRESS_END = Regex(r"[\s\"<>`|]|\\[\"n]")
_PORT = Regex(r"[^:/@]{0,253}:\d{1,5}(?:[/?#]|\Z)")
_CONDA_TOKEN = Regex(r"/t/([^/\s]{4,200})/")
_HOOK = Regex(r"/(?:services|api/webhooks|webhooks?|hooks?|bot)/?([^\s?#\"'<>]{16,400})")
_QUERY = Regex(r"[?&;]([A-Za-z0-9_.%-]{1,60})=([^\s&;\"'<>#]{1,2000})")
_SIGNED = Regex(
    r"(?:x-amz-|x-goog-|x-oss-|x-cos-)?(?:signature|credential|security-token|accesskeyid|.{0,10}accesskeyid)\Z"
    r"|sig\Z|sign\Z|key\Z|key-pair-id\Z|policy\Z|code\Z|state\Z|auth\Z|skoid\Z|sktid\Z|st\Z|tk\Z|access_id\Z"
    r"|googleaccessid\Z",
    re.IGNORECASE,
)
PUBLIC_USERS = frozenset(
    "git hg svn oauth2 token __token__ x-access-token x-oauth-basic user username anonymous aws".split()  # noqa: SIM905
)

# ---- by the look

_RUN = Regex(r"(?<![A-Za-z0-9])[A-Za-z0-9][A-Za-z0-9_+/=.~-]{15,}")
_BASE64 = Regex(r"[A-Za-z0-9+/]{40,}={0,2}\Z")
_PIECE = Regex(r"[A-Za-z0-9]{16,}")
_OF_A_HASH = Regex(
    r"(?:sha-?\d{0,3}|md5|hash|digest|commit|git|revision|rev|checksum|blake\w{0,4}|etag|build|HEAD|tree|@|blob)"
    r"[\w\s\"':=/@()\[\]-]{0,24}\Z",
    re.IGNORECASE,
)


def secrets_in(text: str) -> Iterator[Span]:
    """All secrets of a text, also of what its percent signs, entities and escapes stand for; they may overlap."""
    yield from through_codes(text, _secrets_in)


def through_codes(text: str, found_in: Callable[[str], Iterable[Span]]) -> Iterator[Span]:
    """What is found in a text, and in what its percent signs, entities and escapes stand for."""
    yield from found_in(text)
    plain, places = text, list(range(len(text) + 1)) if _ENCODED.search(text) else []
    for _ in range(_ENCODED_AT_MOST if places else 0):
        plain, places = _decoded(plain, places)
        for span in found_in(plain):
            yield Span(places[span.start], places[span.end], span.kind)
        if not _ENCODED.search(plain):
            return


_ENCODED_AT_MOST = 3  # times that a text is encoded
_INVISIBLE = "\u00ad\u034f\u200b-\u200f\u2060\ufeff"
_ENCODED = Regex(
    r"%[0-9A-Fa-f]{2}|&(?:quot|apos|amp|lt|gt|nbsp|#\d{1,5}|#x[0-9a-fA-F]{1,5});|\\u00[0-9a-fA-F]{2}|\\x[0-9a-fA-F]{2}"
    rf"|[\uff01-\uff5e\u3000]|[{_INVISIBLE}]+"
)


def _decoded(text: str, places: list[int]) -> tuple[str, list[int]]:
    """The text with each code as its character, and the place of each character, and of the end, in the first text."""
    parts: list[str] = []
    found: list[int] = []
    at = 0
    for match in _ENCODED.finditer(text):
        parts.append(text[at : match.start()])
        found += places[at : match.start()]
        character = _meant(match[0])
        parts.append(character)
        found += [places[match.start()]] * len(character)
        at = match.end()
    return "".join([*parts, text[at:]]), [*found, *places[at:]]


def _meant(code: str) -> str:
    if code[0] == "%":
        return chr(int(code[1:], 16))
    if code[0] == "&":
        return html.unescape(code)[:1]
    if code[0] == "\\":
        return chr(int(code[2:], 16))
    return unicodedata.normalize("NFKC", code)[:1] if "\u3000" <= code[0] <= "\uff5e" else ""


def _secrets_in(text: str) -> Iterator[Span]:
    yield from _private_keys(text)
    for form in _FORMS.in_text(text):
        for match in form.finditer(text):
            if form is not _FORMS[0] or not is_word_with_prefix(match[0]):
                yield Span(match.start(), trimmed(text, match.start(), match.end()), "secret")
    yield from _keyed(text)
    yield from _flags(text)
    yield from _addresses(text)
    yield from _bare_userinfo(text)
    yield from passwords_in_prose(text)
    for start, end in random_runs(text):
        yield Span(start, end, "secret")


def opens_private_key(line: str) -> bool:
    """Whether a private key begins in a line and does not end there: what follows belongs to it."""
    found = _PRIVATE_KEY.search(line)
    return found is not None and _PRIVATE_KEY_END.search(line, found.end()) is None


def closes_private_key(line: str) -> bool:
    """Whether a private key ends in a line."""
    return _PRIVATE_KEY_END.search(line) is not None


def _private_keys(text: str) -> Iterator[Span]:
    for match in _PRIVATE_KEY.finditer(text):
        end = _PRIVATE_KEY_END.search(text, match.end())
        yield Span(match.start(), end.end() if end else len(text), "secret")


def is_word_with_prefix(token: str) -> bool:
    """«secret_manager_client», «hf_transfer-0.1.9-cp38-abi3-manylinux2014»: names, no token."""
    rest = re.sub(r"\A[A-Za-z]+[_-]", "", token)
    return not any(_made_up_piece(piece) for piece in re.findall(r"[A-Za-z0-9]{6,}", rest))


def _made_up_piece(piece: str) -> bool:
    if piece.rstrip("0123456789").lower() in vocabulary():
        return False
    if piece.isdigit():
        return len(piece) >= 8
    mixed = sum(a.islower() and b.isupper() for a, b in pairwise(piece))
    return any(c.isdigit() for c in piece) or mixed >= 2 or len(piece) >= 16


# ---- names and values


def _keyed(text: str) -> Iterator[Span]:
    done = -1
    for match in _KEY.finditer(lowered(text)):
        if match.start() < done:
            continue
        start, end = match.span()
        while start > 0 and match.start() - start < 120 and text[start - 1] in _IDENTIFIER:
            start -= 1
        while end < len(text) and end - match.end() < 120 and text[end] in _IDENTIFIER:
            end += 1
        done = end
        name = text[start:end].strip(".-")
        how_sure = strength(name)
        if how_sure and text[max(0, start - 2) : start] != "$(":  # $(pwd) is a command
            yield from _value(text, start, end, name, how_sure)


def _value(text: str, start: int, end: int, name: str, how_sure: str) -> Iterator[Span]:
    """The value that follows a name, in any spelling of an assignment."""
    line_end = _end_of_line(text, end)
    header = name.lower() in _HEADERS
    if separator := _SEPARATOR.match(text, end):
        place = separator.end()
        line_end = max(line_end, _end_of_line(text, place))
        if how_sure == "strong" and (below := _loosely(text, _NEXT_LINE.match(text, place))):
            yield from _checked(text, *below, how_sure)
            return
    elif text[end : end + 1] == ">" and text[start - 1 : start] == "<":
        place = end + 1
        close = text.find("<", place)
        yield from _checked(text, place, close if close >= 0 else line_end, how_sure, quoted=True)
        return
    elif how_sure == "strong" and _PASSWORD.search(name) and (near := _loosely(text, _LOOSE.match(text, end))):
        yield from _checked(text, *near, how_sure)
        return
    elif (prose := _IN_PROSE.match(text, end)) is not None:
        quote = text[prose.end() : prose.end() + 1]
        if quote and quote in "\"'`":
            yield from _checked(text, prose.end() + 1, _closing(text, prose.end() + 1, quote, line_end), how_sure)
            return
        word = re.compile(r"[\"'`]?([^\s\"'`]{1,200})").match(text, prose.end())
        if word and (looks_made_up(word[1]) or text[prose.end()] in "\"'`"):
            yield from _checked(text, *word.span(1), how_sure)
        return
    elif gap := _GAP.match(text, end):
        flag = text[start : start + 1] == "-"
        loud = name.isupper() and ("_" in name or "-" in name)
        setter = _SETTERS.search(text, max(0, start - 80), start) is not None
        if not (flag or loud or setter or _SCHEME_WORD.match(text, start)):
            return
        place = gap.end()
        made_up = looks_made_up(_word_at(text, place))
        if (text[place : place + 1] == "-" and not ((setter or flag) and made_up)) or not (flag or setter or made_up):
            return
    else:
        return
    if header:
        if scheme := _SCHEME_WORD.match(text, place):
            place = scheme.end()
            line_end = max(line_end, _end_of_line(text, place))
        if text[place:line_end].strip("\"' ").lower() not in ("", "none", "required"):
            stop = line_end
            quote = text[start - 1 : start]
            if text[place : place + 1] in ("'", '"') and (closing := text.find(text[place], place + 1, line_end)) >= 0:
                place, stop = place + 1, closing
                if scheme := _SCHEME_WORD.match(text, place):
                    place = scheme.end()
            elif quote in ("'", '"') and (closing := text.find(quote, place, line_end)) >= 0:
                stop = closing
            yield Span(place, stop, "secret")
        return
    if scheme := _SCHEME_WORD.match(text, place):
        place = scheme.end()
    yield from _value_at(text, start, place, line_end, name, how_sure)


def _loosely(text: str, gap: re.Match[str] | None) -> tuple[int, int] | None:
    """The place of what looks like a password behind the name of one: «password Tr0ub4d», «| password | Tr0ub4d |»."""
    word = LIKE_PASSWORD.match(text, gap.end()) if gap else None
    return word.span() if word and like_password(word[0]) else None


def _value_at(text: str, start: int, place: int, line_end: int, name: str, how_sure: str) -> Iterator[Span]:
    escaped = text[place : place + 1] == "\\" and text[place + 1 : place + 2] in ('"', "'")
    if text[place : place + 1] in ("b", "r", "f") and text[place + 1 : place + 2] in ('"', "'"):
        place += 1
    if escaped or text[place : place + 1] in ('"', "'", "`"):
        quote = text[place : place + 2] if escaped else text[place]
        while text[place + len(quote) : place + len(quote) + 1] in ('"', "'") and text[place] == '"':  # three quotes
            place += 1
            if place - line_end > 0:
                return
        begin = place + len(quote)
        close = _closing(text, begin, quote, line_end)
        yield from _checked(text, begin, close, how_sure, quoted=True)
        return
    if text[place : place + 1] in ("|", ">") and text[place + 1 : place + 2] in ("", "-", "\n", "+"):  # YAML's block
        yield Span(place + 1, len(text), "secret")
        return
    before = text[start - 1 : start]
    if before in ("?", "&"):
        found = re.compile(r"[\s&#\"'<>]").search(text, place, min(line_end, place + _LONGEST))
        stop = found.start() if found else min(line_end, place + _LONGEST)
        yield from _checked(text, place, stop, how_sure)
        return
    found = _VALUE_END.search(text, place, min(line_end, place + _LONGEST))
    stop = found.start() if found else min(line_end, place + _LONGEST)
    if how_sure == "strong" and text[place - 1].isspace() and _is_whole_line(text, start, name):
        stop = max(stop, len(text[:line_end].rstrip())) if stop < line_end else stop
    yield from _checked(text, place, stop, how_sure)


def _end_of_line(text: str, place: int) -> int:
    found = text.find("\n", place, place + 4 * _LONGEST)
    return found if found >= 0 else min(len(text), place + 4 * _LONGEST)


_LONGEST = 400  # characters of a value; what is longer is found by its form, or is cut to pieces of this length
_VALUE_END = Regex(r"\s|;(?= ?[A-Za-z][\w ]{0,40}=)")
_LINE_HEAD = Regex(r"[\s\"'#>*+-]{0,12}(?:export |set |setx |env |\$env:)?[\"']?\Z", re.IGNORECASE)
_PASSWORD = Regex("passw|passphrase|kennwort|pwd|" + "|".join(PASSWORDS), re.IGNORECASE)


def _is_whole_line(text: str, start: int, name: str) -> bool:
    """Whether a line is «password: correct horse battery»: all that follows is the value."""
    line_start = text.rfind("\n", max(0, start - 32), start) + 1
    if start - line_start > 24 or not _PASSWORD.search(name):
        return False
    return _LINE_HEAD.match(text[line_start:start]) is not None


def _closing(text: str, begin: int, quote: str, line_end: int) -> int:
    place = begin
    line_end = min(line_end, begin + 4 * _LONGEST)
    while place < line_end:
        if len(quote) == 1 and text[place] == "\\":
            place += 2
            continue
        if text.startswith(quote, place):
            return place
        place += 1
    return line_end


def _checked(text: str, start: int, end: int, how_sure: str, *, quoted: bool = False) -> Iterator[Span]:
    """The span of a value, if it is a secret at all. A known prefix of an address belongs to the rules of addresses."""
    if not quoted:
        end = trimmed(text, start, end)
    value = text[start:end]
    if not value.strip() or NOT_SECRET.match(value.strip()) or is_stand_in(value):
        return
    if (_ADDRESS.match(value) and how_sure == "weak") or re.match(
        r".{0,400}\b(?:OLD)?PWD=\Z", text[max(0, start - 8) : start]
    ):
        return
    if how_sure == "weak" and not looks_made_up(value):
        return
    yield Span(start, end, "secret")


def _word_at(text: str, place: int) -> str:
    match = re.compile(r"\S{0,400}").match(text, place)
    return match[0] if match else ""


# ---- flags


def _flags(text: str) -> Iterator[Span]:
    for match in _USER_FLAG.finditer(text):
        if not (match[1].isdigit() and match[2].rstrip("'\"").isdigit()):  # docker run -u 1000:1000
            yield Span(match.start(1), match.end(1), "user")
            yield Span(match.start(2), match.end(2), "secret")
    for match in _NETRC.finditer(text):
        yield Span(match.start(1), match.end(1), "user")
        yield Span(match.start(2), match.end(2), "secret")
    yield from secrets_of_commands(text)
    yield from secrets_of_calls(text)


# ---- addresses


def addresses_in(text: str) -> Iterator[tuple[int, int, int]]:
    """(begin, begin of what follows ://, end) of every address."""
    found = list(_ADDRESS.finditer(text))
    for number, match in enumerate(found):
        limit = found[number + 1].start() if number + 1 < len(found) else len(text)
        stop = _ADDRESS_END.search(text, match.end(), limit)
        yield match.start(), match.end(), stop.start() if stop else limit


def userinfo_of(text: str, begin: int, end: int) -> tuple[int, int] | None:
    """The place of `user:password` in an address whose authority begins at `begin`. A password may hold @, / and ':
    everything to the last @ is its, unless what stands before the first slash is a host with a port."""
    first_slash = text.find("/", begin, end)
    first_slash = end if first_slash < 0 else first_slash
    last = text.rfind("@", begin, first_slash)
    if _PORT.match(text, begin, end) and last < 0:
        return None
    head = text[begin:first_slash]
    if last >= 0 and not (":" in text[begin:last] and "@" in text[last + 1 : end] and "/" in text[last:end]):
        return begin, last
    if ":" in head:
        later = text.rfind("@", begin, end)
        if later >= 0 and "?" not in text[begin:later]:
            return begin, later
    return (begin, last) if last >= 0 else None


def without_userinfo(text: str, mark: str) -> str:
    """The text with a mark for `user:password` of every address."""
    parts, done = [], 0
    for _, begin, end in addresses_in(text):
        if (place := userinfo_of(text, begin, end)) is not None:
            parts += [text[done : place[0]], mark]
            done = place[1]
    return "".join([*parts, text[done:]])


def _addresses(text: str) -> Iterator[Span]:
    for start, begin, end in addresses_in(text):
        place = userinfo_of(text, begin, end)
        if place is not None:
            user, colon, password = text[slice(*place)].partition(":")
            scheme = text[start:begin].lower()
            if colon:
                if user and user.lower() not in PUBLIC_USERS:
                    yield Span(place[0], place[0] + len(user), "secret" if looks_random(user) else "user")
                if password and not NOT_SECRET.match(password) and password not in ("x-oauth-basic",):
                    yield Span(place[0] + len(user) + 1, place[1], "secret")
            elif user.lower() not in PUBLIC_USERS and not NOT_SECRET.match(user):
                login = scheme.startswith(("ssh", "git+ssh", "sftp", "rsync", "smb", "abfs", "wasb"))
                yield Span(*place, "user" if login else "secret")
            begin = place[1] + 1
        for match in _CONDA_TOKEN.finditer(text, begin, end):
            if not NOT_SECRET.match(match[1]):
                yield Span(match.start(1), match.end(1), "secret")
        for match in _HOOK.finditer(text, begin, end):
            if any(looks_random(part) or len(part) >= 40 for part in match[1].split("/")):
                yield Span(match.start(1), match.end(1), "secret")
        for match in _QUERY.finditer(text, begin, end):
            value = match[2]
            telling = _SIGNED.match(match[1]) or strength(match[1]) or looks_random(value) or len(value) >= 32
            if telling and len(value) >= 3 and not NOT_SECRET.match(value):
                yield Span(match.start(2), match.end(2), "secret")
        hash_sign = text.find("#", begin, end)
        if hash_sign >= 0 and (
            m := re.compile(r"[\w&=.-]{0,40}token=([^&\s]{1,2000})").match(text, hash_sign + 1, end)
        ):
            yield Span(m.start(1), m.end(1), "secret")


_BARE_USERINFO = Regex(
    r"(?<![\w@/:.+-])([A-Za-z][\w.+-]{0,60}):([^\s:@/'\"<>]{3,200})@(?!sha\d|md5|latest)[A-Za-z0-9][\w.-]{0,253}(:\d{1,5}\b)?"
)


def _bare_userinfo(text: str) -> Iterator[Span]:
    """«user:password@host:3128» without a scheme, as a proxy's variable may hold it."""
    for match in _BARE_USERINFO.finditer(text) if "@" in text else ():
        known = re.match(r"v?\d+(?:\.\d+)+", match[2]) or NOT_SECRET.match(match[2])
        if not known and (match[3] or looks_made_up(match[2])):
            yield Span(*match.span(1), "user")
            yield Span(*match.span(2), "secret")


# ---- random text


def random_runs(text: str) -> Iterator[tuple[int, int]]:
    """Places that look like generated keys: mixed characters without words, long hexadecimal that is no hash."""
    for match in _RUN.finditer(text):
        run, start = match[0], match.start()
        if _BASE64.match(run) and looks_random(re.sub(r"[+/=]", "", run)) and not _is_hash(text, start, run):
            yield start, match.end()
            continue
        segments = run.split("/")
        random = [len(segment) >= 16 and _random_segment(text, start, segment) for segment in segments]
        place = start
        for number, segment in enumerate(segments):
            end = place + len(segment)
            beside = any(random[max(0, number - 1) : number + 2]) and not re.search(r"[._-]", segment)
            if random[number] or (beside and len(segment) > 1 and _is_mixed(segment)):  # base64 has slashes in it
                yield place, trimmed(text, place, end)
            place = end + 1


def _is_mixed(text: str) -> bool:
    inner = sum(a.islower() and b.isupper() for a, b in pairwise(text))
    return not is_ordinary(text) and (any(c.isdigit() for c in text) or "+" in text or inner > 0)


def _random_segment(text: str, place: int, segment: str) -> bool:
    if segment.startswith(("_Z", "Z")) and "_Z" in text[max(0, place - 2) : place + 2]:  # a C++ symbol
        return False
    if segment.endswith((".whl", ".so", ".dll", ".dylib", ".gz", ".zip", ".conda", ".bz2", ".py", ".html", ".json")):
        return False
    return any(
        looks_random(piece[0]) and not _is_hash(text, place + piece.start(), piece[0])
        for piece in _PIECE.finditer(segment)
    )


def _is_hash(text: str, place: int, piece: str) -> bool:
    """Whether hexadecimal is the hash of a commit or a file, by what stands before it."""
    if not HEX.match(piece):
        return False
    return _OF_A_HASH.search(text, max(0, place - 48), place) is not None
