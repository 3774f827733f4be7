"""The names of what holds a secret: variables, keys, options. Light, for it is needed where nothing is redacted."""

from __future__ import annotations

import re
from typing import Literal

# "password" in other languages
PASSWORDS = (
    "passwort", "mot de passe", "contraseña", "contrasena", "senha", "parola", "hasło", "wachtwoord", "wagwoord",
    "lösenord", "şifre", "пароль", "密码", "密碼", "口令", "パスワード", "비밀번호",
)  # fmt: skip
_NO_PASSWORD = frozenset("bypass compass trespass overpass underpass encompass surpass".split())  # noqa: SIM905
_STRONG = frozenset(
    [
        "password",
        "passwd",
        "passphrase",
        "passcode",
        "kennwort",
        *PASSWORDS,
        "pwd",
        "secret",
        "secrets",
        "credential",
        "credentials",
        "creds",
        "apikey",
        "secretkey",
        "accesskey",
        "privatekey",
        "authtoken",
        "accesstoken",
        "refreshtoken",
        "authorization",
        "cookie",
        "connectionstring",
        "accountkey",
        "sharedaccesskey",
        "clientsecret",
        "masterkey",
        "sessiontoken",
    ]
)
_WEAK = frozenset(
    "token bearer auth oauth jwt dsn signature sig sid otp sessionid cred pat session webhook psk".split()  # noqa: SIM905
)
_OF_A_KEY = frozenset(
    """
    api access secret private account auth encryption signing sign license licence storage shared master ssh client
    session consumer deploy service subscription wandb hf ngc comet neptune function host admin product app openai
    anthropic primary secondary server aws azure gcp rsa crypto webhook bot project write ingest registration
    """.split()  # noqa: SIM905
)
_SPLIT = re.compile(r"[-_.]+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def is_secret_name(name: str) -> bool:
    """Whether what has this name (a variable, a key) holds a secret for sure."""
    return strength(name) == "strong" or (strength(name) == "weak" and name.isupper() and len(name) > 3)


def strength(name: str) -> Literal["strong", "weak", ""]:
    """ "strong": a secret whatever its value is; "weak": one if it looks like one; "": none."""
    parts = [part.lower() for part in _SPLIT.split(name) if part]
    if not parts:
        return ""
    for place, part in enumerate(parts):
        if part in _STRONG or part.endswith(("password", "passwd", "passphrase", "secretkey", "apikey", "accesskey")):
            return "strong"
        if part == "key" and place and (parts[place - 1] in _OF_A_KEY or parts[place - 1].endswith(("api", "secret"))):
            return "strong"
        if part in ("pass", "pw") and (place or len(parts) > 1):
            return "strong"
    last = next((part for part in reversed(parts) if not part.isdigit() and part not in ("value", "env", "file")), "")
    if last.endswith(("pass", "pw")) and last not in _NO_PASSWORD:  # requirepass, DBPASS, bindpw
        return "weak"
    if last in _WEAK or last.endswith(("token", "key", "sessionid")):
        return "weak"
    return "weak" if parts[-1] in ("pass", "pw", "id") and any(p in ("session", "secret") for p in parts) else ""
