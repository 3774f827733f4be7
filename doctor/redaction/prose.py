"""Passwords in sentences: «the password for the node is …», «… is my password», «log in as me with …».

A sentence is read as words: one that means a password, some in between, one that says «is», and then one that looks
like a password. A row for each language; a word of letters alone is taken only where nothing else could stand.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from doctor.redaction.spans import Span
from doctor.redaction.values import NOT_SECRET, like_password, looks_made_up, trimmed
from doctor.redaction.words import is_ordinary
from doctor.regex import Regex

# (what means a password, in that language; what says that it is so)
_LANGUAGES = (
    (
        r"pass[ -]?words?|passwd|pass-?phrase|pwds?|p/?w|requirepass|masterauth|identified by",
        "is was be being equals to still it's",
    ),
    (r"passw[oö]rt\w?|kennwort", "ist lautet war lautete auf"),  # German
    (r"wachtwoord\w{0,2}|paswoord", "is was"),  # Dutch
    (r"l[öo]senord\w{0,2}|adgangskode\w?|kodeord\w?|passord\w{0,2}|salasana\w?|parool", "är er var on"),  # Nordic
    (r"mot de passe|mdp", "est était"),  # French
    (r"contrase[ñn]as?|clave", "es era"),  # Spanish
    (r"senhas?|palavra-passe|contrasenya", "é era és"),  # Portuguese, Catalan
    (r"parola(?: d['’]ordine)?|parol[aă]|password", "è este era"),  # Italian, Romanian
    (r"has[łl]o|heslo|geslo|lozinka|jelsz[óo]", "to jest je az"),  # Polish, Czech, Slovak, Slovene, Croatian, Hungarian
    (r"парол\w{0,2}|лозинка", "это - есть был це е"),  # Russian, Ukrainian, Bulgarian, Serbian
    (r"[şs]ifre\w{0,3}|κωδικός", "ise olarak είναι"),  # Turkish, Greek
    (r"密码|密碼|口令|暗証番号|パスワード|비밀번호|암호", "是 为 為 は が 는 은 가"),  # Chinese, Japanese, Korean
    (r"كلمة (?:المرور|السر)|گذرواژه|סיסמה|סיסמא|רמז", "هي هو היא"),  # Arabic, Persian, Hebrew
    (r"mật khẩu|kata sandi|पासवर्ड|รหัสผ่าน", "là adalah है คือ"),  # Vietnamese, Indonesian, Hindi, Thai
)
_SHORT = r"pin(?: ?code| number)?|pass-?code|passcode"  # digits alone
_LOGIN = (
    r"log[ -]?in(?: (?:data|details|info(?:rmation)?))?|logged in|credentials?|creds"
    r"|user(?:name)?[ /]{1,3}pass(?:word)?"
    r"|(?:zugangs|anmelde|login)-?daten|identifiants?|credenciales|credenciais|credenziali|inloggegevens"
    r"|уч[её]тн\w{1,3} данн\w{1,3}|账号密码|登录信息|ログイン情報"
)
_TOKEN_FOR = r"(?:api |access )?(?:token|key)(?=[ \t]{1,3}(?:for|of|from)\b)"
_WITHOUT_SPACES = r"密码|密碼|口令|パスワード|비밀번호|암호"
_NOUN = Regex(
    rf"(?<![\w./-])(?:(?P<token>{_TOKEN_FOR})|(?P<short>{_SHORT})|(?P<login>{_LOGIN})"
    rf"|(?P<word>{'|'.join(nouns for nouns, _ in _LANGUAGES)}))(?![\w-]|[./]\w)|(?P<joined>{_WITHOUT_SPACES})",
    re.IGNORECASE,
)
_IS = frozenset(word for _, words in _LANGUAGES for word in words.split())
_ENGLISH = frozenset("is was 's :".split())  # noqa: SIM905
_OWNERS = frozenset("the my his her its our your their a an for as is was like are".split())  # noqa: SIM905
_STATES = frozenset(
    """
    prompted stored saved typed disabled enabled hashed encrypted accepted rejected refused denied protected visible
    unset forgotten stale outdated insecure optional mandatory supplied provided entered checked verified printed logged
    masked hidden plaintext compromised unavailable unsupported ignored blank irrelevant
    """.split()  # noqa: SIM905
)
_SCRIPTS = r"\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uff1a\u3002"
_PIECE = Regex(rf"[{_SCRIPTS}]|[^\s{_SCRIPTS}]{{1,200}}")
_MARKS = frozenset(":=-–—→⇒>：|")
_BETWEEN = 7  # words between the noun and what says «is»
_WINDOW = 200


class _Token(NamedTuple):
    start: int
    end: int
    text: str  # as it stands
    core: str  # without quotes and marks around it


def passwords_in_prose(text: str) -> Iterator[Span]:
    """The passwords that sentences give away."""
    found = list(_NOUN.finditer(text))
    for number, match in enumerate(found):
        following = found[number + 1].start() if number + 1 < len(found) else len(text)
        before = found[number - 1].end() if number else 0
        stop = min(following, match.end() + _WINDOW)
        if match["login"]:
            yield from _pair(text, match.end(), stop)
            yield from _pair_before(text, match.start(), max(before, match.start() - _WINDOW // 2))
            continue
        yield from _said(text, match, stop)
        if match["word"] or match["joined"]:
            yield from _said_before(text, match.start(), max(before, match.start() - _WINDOW // 2))


def _tokens(text: str, start: int, stop: int) -> Iterator[_Token]:
    for match in _PIECE.finditer(text, start, stop):
        core = match[0].strip("\"'`*()[]{}<>,;:!?“”„«»")
        yield _Token(*match.span(), match[0], core)


def _said(text: str, noun: re.Match[str], stop: int) -> Iterator[Span]:
    linked = ""
    for number, token in enumerate(_tokens(text, noun.end(), stop)):
        value = _inside(token)
        if linked or number == 0:
            sure = like_password(value)
            if noun["token"]:
                sure = bool(linked) and sure and looks_made_up(value)
            elif noun["short"]:
                sure = bool(linked) and re.fullmatch(r"\d{4,8}", token.core) is not None
            elif not sure and (linked in _ENGLISH or token.text[:1] in "\"'`"):
                sure = _is_name_of_nothing(token, text)
            if sure:
                yield from _span(text, token)
                return
        if number >= _BETWEEN:
            return
        linked = _link(token)
        if not linked and token.text[-1] in ".!?,;。" and not token.text.startswith("("):
            return


def _link(token: _Token) -> str:
    """What the word says, if it says that the next one is the password."""
    word = token.text.lower().strip("*\"'`()[]_")
    if word in ("s", "’s") and token.text[:1] in "'’":
        return "'s"
    if word in _IS or (word.rstrip(":") in _IS and word.endswith(":")):
        return word.rstrip(":")
    if word.endswith(":"):
        return ":" if len(word) == 1 or token.text[:1] in ":*" else "…:"
    return word if word and (set(word) <= _MARKS or word in ("->", "=>", ":=")) else ""


def _inside(token: _Token) -> str:
    return token.text.strip("\"'`*()[]{}<>,;“”„«»").rstrip(".:")


def _is_name_of_nothing(token: _Token, text: str) -> bool:
    """Whether a word of letters can only be the password: «is swordfish», at the end of what is said."""
    ends = not text[token.end : token.end + 40].strip(" \t").strip("\r")[:1].strip() or token.text[-1] in ".,\"'`;"
    word = token.core.rstrip(".")
    return (
        ends
        and word.isascii()
        and word.isalpha()
        and len(word) >= 5
        and not is_ordinary(word)
        and word.lower() not in _STATES
        and not NOT_SECRET.match(word)
    )


def _said_before(text: str, noun: int, start: int) -> Iterator[Span]:
    """«… is my password», «use … as the password»."""
    line = text.rfind("\n", start, noun) + 1 or start
    words = list(_tokens(text, line, noun))
    seen: set[str] = set()
    while words and words[-1].core.lower() in _OWNERS:
        seen.add(words.pop().core.lower())
    if words and seen & {"as", "is", "was", "for", "like"} and like_password(_inside(words[-1])):
        yield from _span(text, words[-1])


def _pair(text: str, start: int, stop: int) -> Iterator[Span]:
    """The second of two words behind «log in»: `me / …`, `me:…`, «me and …»."""
    words = [w for w in _tokens(text, start, stop) if w.core or w.text in (":", "/", "=")][: _BETWEEN + 3]
    for number, token in enumerate(words):
        if (span := _joined(token, text)) is not None:
            yield span
            return
        joined = number >= 2 and words[number - 1].text.lower() in ("/", ":", "and", "und", "et", "y", "&")
        if joined and like_password(_inside(token)) and looks_made_up(_inside(token)):
            yield from _span(text, token)
            return
        if token.text[-1] in ".!?;":
            return


def _pair_before(text: str, noun: int, start: int) -> Iterator[Span]:
    """«me:… to log in»."""
    words = list(_tokens(text, text.rfind("\n", start, noun) + 1 or start, noun))
    while words and words[-1].core.lower() in ("to", "for", "as", "and", "i", "you", "can", "a"):
        words.pop()
    if words and (span := _joined(words[-1], text)) is not None:
        yield span


def _joined(token: _Token, text: str) -> Span | None:
    """The password of `me:…` and `me/…`."""
    found = re.match(r"[(\"'`]{0,2}[\w.@-]{2,40}[:/]([^:/\s]{6,80})\Z", token.text)
    if found is None or not like_password(found[1].rstrip(").,;\"'`")):
        return None
    start = token.start + found.start(1)
    return Span(start, trimmed(text, start, token.end), "secret")


def _span(text: str, token: _Token) -> Iterator[Span]:
    start = token.start
    while start < token.end and text[start] in "\"'`*([{<“„«":
        start += 1
    end = trimmed(text, start, token.end)
    if end > start and not NOT_SECRET.match(text[start:end]):
        yield Span(start, end, "secret")
