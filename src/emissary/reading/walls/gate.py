"""The cheap look at every answer: is there anything about it that is worth a closer one?"""

import re

from emissary.reading.walls.gate_words import (
    IN_TEXT,
    IN_TITLES,
    LOOKED_FOR,
    PAGES,
    SOUGHT,
    STEM,
    STEMS,
    THINGS,
    WITHOUT_SPACES,
)
from emissary.reading.walls.vendors import CHALLENGE_HEADERS, HINTS
from emissary.reading.walls.way import Reaction

__all__ = ["is_suspicious", "says_challenge"]

_REFUSING = frozenset({202, 401, 403, 405, 407, 418, 428, 429, 503})
_MARKED = frozenset({*CHALLENGE_HEADERS, *HINTS, "refresh"})
_TINY = 1_200
_SMALL = 12_000
_LARGEST = 256 * 1024  # walls are small; what is larger is content, or said so by its status
_HEAD = 8_192
_HEADING_BEFORE = 64 * 1024
_MAIN_BEFORE = 32 * 1024
_LONGEST_TITLE = 160
_LONGEST_HEADING = 300
_UNHEADED = 1_500  # bytes, where there is no heading
_BEFORE = 150  # bytes, for the name of what the heading stands in
_BEGINNING = 300  # bytes: who has to apologise, or to ask, does it first

_URL = re.compile(
    "log-?[io]n|sign[-_]?in|anmeld|einlogg|connexion|/connect|/identif|iniciar|ingresar|/acced|/acceso|inlog|logowanie|"
    "zaloguj|entrar|/auth|[/.]sso|saml|/adfs|/cas/|/session|consent|guce\\.|privacy|cookie|zustimm|einwillig|gdpr|/cmp|"
    "//cmp|queue-it|crowdhandler|/queue|waiting|captcha|/sorry/|perfdrive"
)
_LOST_URL = re.compile("404|not-?_?found|noroute|error|fehler|erreur|introuvable")
_SIGNS = (
    b"captcha",
    b"_Incapsula_",
    b"KPSDK",
    b"bm-verify",
    b"queue-it.net",
    b"turnstile",
    b"/TSPD/",
    b"hallenge",
    b"=password",
    b"='password",
)
_LARGE_SIGNS = (b"captcha", b"_Incapsula_", b"bm-verify", b"/TSPD/")
_PASSWORD = b'type="password"'
_MANY_COOKIES = 3  # a small page that says the word so often speaks of little else
_SOON = 2_048  # bytes
_HEADING_ENDS = re.compile(rb"</h[1-4]>")
_TAG = re.compile(rb"<[^>]{0,400}>")
_TELLING = IN_TEXT | LOOKED_FOR  # a beginning with none of these says nothing odd, as most do
_APOSTROPHE = "’".encode()
_BETWEEN = tuple(
    (sign.encode(), plain) for sign, plain in (("’", b"'"), ("¡", b" "), ("¿", b" "), ("\xa0", b" "), ("…", b" "))
)
# Letters, digits and whatever is not ASCII stay; the rest parts words.
_PARTS = bytes(c if c > 127 or chr(c).isalnum() or c in b"'-" else 32 for c in range(256))


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
    href = reaction.url.href.lower()
    if size < _TINY or not _MARKED.isdisjoint(reply.headers) or _URL.search(href):
        return True
    if reaction.hops and _LOST_URL.search(href):
        return True
    return _odd_title(reply.body, size) or _odd_beginning(reply.body) or _odd_body(reply.body, size)


def _odd_title(body: bytes, size: int) -> bool:
    start = body.find(b"<title", 0, _HEAD)
    if start < 0:
        return size < _SMALL
    end = body.find(b"</title", start, start + _LONGEST_TITLE)
    title = body[start + 6 : end if end > 0 else start + _LONGEST_TITLE].partition(b">")[2].lower()
    return not title.strip() or _is_odd(title)


def _odd_beginning(body: bytes) -> bool:
    """The first heading and what it is over; and the next, for one of a menu may stand before the page's own."""
    first = _HEADING_ENDS.search(body, 0, _HEADING_BEFORE)
    if first is None:
        begins = max(body.find(b"<main", 0, _MAIN_BEFORE), body.find(b"<body", 0, _MAIN_BEFORE))
        return begins >= 0 and _is_odd(_TAG.sub(b" ", body[begins : begins + _UNHEADED]).lower())
    end = first.end()
    if _odd_heading(body, end) or _says(body[max(0, end - _BEFORE) : end + _BEGINNING]):
        return True
    second = None if first[0] == b"</h1>" else _HEADING_ENDS.search(body, end, end + _SOON)
    if second is None:
        return False
    end = second.end()
    return _odd_heading(body, end) or _says(body[end : end + _BEGINNING])


def _odd_heading(body: bytes, end: int) -> bool:
    start = body.rfind(b"<h", max(0, end - _LONGEST_HEADING), end - 5)
    return start >= 0 and _is_odd(_TAG.sub(b" ", body[start:end]).lower())


def _says(beginning: bytes) -> bool:
    said = beginning.lower().replace(_APOSTROPHE, b"'").translate(_PARTS).split()
    if _TELLING.isdisjoint(said):
        return False
    if not IN_TEXT.isdisjoint(said):
        return True
    looked_for = not LOOKED_FOR.isdisjoint(said)
    return looked_for and not (PAGES.isdisjoint(said) and (THINGS.isdisjoint(said) or SOUGHT.isdisjoint(said)))


def _is_odd(words: bytes) -> bool:
    strange = not words.isascii()
    if strange:
        for sign, plain in _BETWEEN:
            words = words.replace(sign, plain)
    said = words.translate(_PARTS).split()
    if not IN_TITLES.isdisjoint(said) or not STEMS.isdisjoint([word[:STEM] for word in said]):
        return True
    if not (LOOKED_FOR.isdisjoint(said) or (PAGES.isdisjoint(said) and THINGS.isdisjoint(said))):
        return True
    return strange and any(said in words for said in WITHOUT_SPACES)


def _odd_body(body: bytes, size: int) -> bool:
    if _PASSWORD in body:
        return True
    if size >= _SMALL:
        head = body[:1_024]
        return any(sign in head for sign in _LARGE_SIGNS)
    if b'"refresh"' in body or body.count(b"ookie") >= _MANY_COOKIES:
        return True
    return any(sign in body for sign in _SIGNS)
