"""Which characters a body's bytes stand for, found in the order a browser looks for it."""

import codecs
import re
from functools import lru_cache

from resiliparse.parse.encoding import detect_encoding, map_encoding_to_html5  # type: ignore[import-untyped]

__all__ = ["charset_of", "decode"]

_PRESCAN = 1024  # a browser looks no further for a declaration
_PARAMETER = re.compile(r"charset\s*+=\s*+[\"']?\s*+([^\s\"';,>/]++)", re.IGNORECASE)
_COMMENT = re.compile(rb"<!--.*?-->", re.DOTALL)
_META = re.compile(rb"<meta[\s/][^>]*+", re.IGNORECASE)
_XML = re.compile(rb"\s*+<\?xml[^>]*?\sencoding\s*+=\s*+[\"']([^\"'>]*+)", re.IGNORECASE)

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)

# Where Python's codec is narrower than what the WHATWG label means on the web.
_WIDER = {
    "gbk": "gb18030",
    "gb2312": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "big5": "big5hkscs",
    "iso8859-11": "cp874",
    "iso8859-1": "windows-1252",
    "ascii": "windows-1252",
}


def charset_of(body: bytes, content_type: str) -> str:
    """A codec's name: byte order mark, header, declaration, valid UTF-8, then the detector's guess."""
    for mark, name in _MARKS:
        if body.startswith(mark):
            return name
    return _parameter(content_type[:1000]) or _declared(body[:_PRESCAN]) or _guessed(body)


def decode(body: bytes, charset: str) -> str:
    """The text of a body: what cannot be read becomes U+FFFD, the byte order mark goes, nothing is raised."""
    try:
        text = body.decode(charset, "replace")
    except (LookupError, ValueError):
        text = body.decode("utf-8", "replace")
    return text.removeprefix("\ufeff")


def _known(label: str) -> str | None:
    """A codec for a WHATWG label; None if there is no such label."""
    name = map_encoding_to_html5(label.strip().lower(), False)
    return None if name is None else _python_name(name)


def _python_name(name: str) -> str:
    wider = _WIDER.get(name, name)
    return f"windows-{wider[2:]}" if wider.startswith("cp125") else wider


@lru_cache(maxsize=256)  # all pages of a site say the same
def _parameter(text: str) -> str | None:
    found = _PARAMETER.search(text)
    return _known(found[1]) if found else None


def _declared(head: bytes) -> str | None:
    """What `<meta>` or the XML declaration says. Whoever could read that is not looking at UTF-16."""
    name = next(filter(None, map(_of_meta, _META.findall(_COMMENT.sub(b"", head)))), None) or _of_xml(head)
    return "utf-8" if name in ("utf-16-le", "utf-16-be") else name


def _of_meta(tag: bytes) -> str | None:
    lowered = tag.lower()
    if b"content" in lowered and b"http-equiv" not in lowered:
        return None  # a description that speaks of charsets declares none
    return _parameter(tag.decode("latin-1"))


def _of_xml(head: bytes) -> str | None:
    found = _XML.match(head)
    return _known(found[1].decode("latin-1")) if found else None


def _guessed(body: bytes) -> str:
    try:
        body.decode("utf-8")
    except UnicodeDecodeError:
        return _detected(body)
    return "utf-8"


def _detected(body: bytes) -> str:
    """The detector's own name: its HTML5 mapping loses Korean. Windows-1252 is the web's last resort."""
    name: str | None = detect_encoding(body, html5_compatible=False)
    try:
        return _python_name(codecs.lookup(name).name if name else "cp1252")
    except LookupError:
        return "windows-1252"
