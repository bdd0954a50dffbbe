"""Content that is hard to read: packed, in other alphabets, broken, or not a page at all."""

import codecs
import json

from emissary.testing.web.answers import Answer, Headers, Request, Streamed, Whole, html, text
from emissary.testing.web.packing import CODINGS, coding_name, pack, pack_zeros
from emissary.testing.web.pages.odd import BAD_HTML, CHARSETS, PDF, foreign_page
from emissary.testing.web.pages.plain import plain_page
from emissary.testing.web.pages.product import product_page
from emissary.testing.web.site import Route

__all__ = ["content_routes"]

_HTML = ("Content-Type", "text/html; charset=utf-8")
_BOMS = {"utf-8": codecs.BOM_UTF8, "utf-16": codecs.BOM_UTF16_LE}


def _lost(words: str) -> Whole:
    return html(plain_page("Not found", words), status=404)


def _bomb(request: Request) -> Answer:
    if (coding := request.places["coding"]) not in CODINGS:
        return _lost("There is no such coding.")
    headers: Headers = (_HTML, ("Content-Encoding", coding_name(coding)))
    return Streamed(pack_zeros(coding, int(request.number("mib", 100))), headers)


def _encoded(request: Request) -> Answer:
    if (coding := request.places["coding"]) not in CODINGS:
        return _lost("There is no such coding.")
    packed = pack(coding, product_page(1, origin=request.origin).encode())
    return Whole(200, (_HTML, ("Content-Encoding", coding_name(coding)), ("Vary", "Accept-Encoding")), packed)


def _charset(request: Request) -> Answer:
    name, declared = request.places["name"], request.query.get("declared", "header")
    if name not in CHARSETS or (declared == "bom" and name not in _BOMS):
        return _lost("There is no page in that charset, or it has no byte order mark.")
    page = foreign_page(name, says_so=declared in {"meta", "lie"})
    body = page.encode("utf-16-le" if name == "utf-16" else name)
    kinds = {"header": f"text/html; charset={name}", "lie": f"text/html; charset={_lie(name)}"}
    mark = _BOMS[name] if declared == "bom" else b""
    return Whole(200, (("Content-Type", kinds.get(declared, "text/html")),), mark + body)


def _lie(name: str) -> str:
    return "iso-8859-1" if name == "utf-8" else "utf-8"


def _fixed(kind: str, body: bytes) -> Whole:
    return Whole(200, (("Content-Type", kind),), body)


def content_routes() -> tuple[Route, ...]:
    """The routes of content that is hard to read."""
    tides = text(
        json.dumps({"town": "Saltmere", "tides": [{"high": "04:12"}, {"low": "10:25"}]}), kind="application/json"
    )
    return (
        Route("/encoded/{coding}", "a product page in gzip, deflate, deflate-raw, br or zstd", _encoded),
        Route("/bomb/{coding}?mib=", "so many MiB (100) of zeros, packed", _bomb),
        Route(
            "/charset/{name}?declared=", f"{', '.join(CHARSETS)}; declared by header, meta, lie, bom or none", _charset
        ),
        Route("/badhtml", "broken markup", lambda _: _fixed("text/html", BAD_HTML)),
        Route("/empty", "200 and nothing", lambda _: _fixed("text/html", b"")),
        Route("/binary", "4 KiB of octets", lambda _: _fixed("application/octet-stream", bytes(range(256)) * 16)),
        Route("/pdf", "a small PDF", lambda _: _fixed("application/pdf", PDF)),
        Route("/json", "a small JSON document", lambda _: tides),
    )
