"""The cheap look at every answer: is there anything about it that is worth a closer one?"""

import re

from emissary.reading.walls.vendors import CHALLENGE_HEADERS, HINTS
from emissary.reading.walls.view import Reaction

__all__ = ["is_suspicious", "says_challenge"]

_REFUSING = frozenset({202, 401, 403, 405, 407, 418, 428, 429, 503})
_MARKED = frozenset({*CHALLENGE_HEADERS, *HINTS, "refresh"})
_TINY = 1_200
_SMALL = 12_000
_LARGEST = 256 * 1024  # walls are small; what is larger is content, or said so by its status
_HEAD = 8_192
_LONGEST_TITLE = 160

_URL = re.compile(
    "login|log-in|logon|signin|sign-in|sign_in|anmeld|connexion|/auth|oauth|consent|guce\\.|privacy|cookiewall|zustimmung|"
    "queue-it|crowdhandler|captcha|/sorry/|perfdrive|/404|not-found|notfound|/error"
)
# Literals only, so that the pattern is scanned for by its first letters.
_TITLE = re.compile(
    "|".join((
        "a moment", "einen moment", "un momento", "un instant", "please wait", "hold on", "hang tight", "more step",
        "robot", "a bot", "humanity", "human verif", "verify", "verifying", "checking you", "security check",
        "browser check", "challenge", "captcha", "secure conn", "attention req", "interruption", "being redirected",
        "denied", "rejected", "blocked", "been limited", "forbidden", "ddos-guard", "sicherheits", "de seguridad",
        "di sicurezza", "проверка", "one moment", "しばらく", "请稍候", "loading",
        "queue", "waiting room", "in line", "warte", "attente", "espera", "fila ", "high demand",
        "sign in", "sign-in", "signin", "log in", "login", "log into", "log-in", "logon", "anmeld", "einlogg",
        "connexion",
        "identifi", "sesión", "accedi", "inlogg", "zaloguj", "вход", "войти", "ログイン", "登录", "登入", "로그인",
        "before you", "bevor sie", "avant de", "privacy", "cookie", "consent", "vie priv", "datenschutz", "zustimmung",
        "data protection", "privacidad",
        "404", "not found", "be found", "nothing found", "t available", "t exist", "oops", "gefunden", "introuvable",
        "encontrada", "trovata", "gevonden", "не найдена", "見つかりません",
    )).encode()
)  # fmt: skip
_SIGNS = (b"captcha", b"_Incapsula_", b"KPSDK", b"bm-verify", b"queue-it.net", b"turnstile", b"/TSPD/")
_SMALL_SIGNS = (b'"refresh"', b">404<", b"hallenge", b"not found", b"be found", b"not exist", b" queue")


def says_challenge(reaction: Reaction) -> tuple[str, str] | None:
    """The maker and the header, where a header alone says that this is a challenge."""
    headers = reaction.reply.headers
    for name in CHALLENGE_HEADERS.keys() & headers.keys():
        vendor, values = CHALLENGE_HEADERS[name]
        if headers[name].strip().lower() in values:
            return vendor, f"{name}: {headers[name]}"
    return None


def is_suspicious(reaction: Reaction) -> bool:
    """Whether to look closer. Says yes too often rather than too seldom, and costs next to nothing."""
    reply = reaction.reply
    size = len(reply.body)
    if size > _LARGEST:
        return False
    if reply.status in _REFUSING:
        return True
    if size < _TINY or not _MARKED.isdisjoint(reply.headers) or _URL.search(reaction.url.href):
        return True
    return _odd_title(reply.body, size) or _odd_body(reply.body, size)


def _odd_title(body: bytes, size: int) -> bool:
    start = body.find(b"<title", 0, _HEAD)
    if start < 0:
        return size < _SMALL
    end = body.find(b"</title", start, start + _LONGEST_TITLE)
    title = body[start + 7 : end if end > 0 else start + _LONGEST_TITLE].lower()
    return not title.strip() or _TITLE.search(title) is not None


def _odd_body(body: bytes, size: int) -> bool:
    if size >= _SMALL:
        head = body[:2_048]
        return any(sign in head for sign in _SIGNS)
    return any(sign in body for sign in _SIGNS) or any(sign in body for sign in _SMALL_SIGNS)
