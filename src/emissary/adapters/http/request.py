"""Writes requests: who we are, what we ask for, and nothing that could be read as more than that."""

from collections.abc import Callable, Mapping

from emissary.adapters.http.decoding import ACCEPT_ENCODING
from emissary.adapters.http.dial import DialFailed
from emissary.model.pages import Code, WebUrl
from emissary.ports.web import Ask

__all__ = ["Present", "RequestWriter", "always", "check_url"]

Present = Callable[[str, WebUrl], Mapping[str, str]]
"""Who we are, said anew for every request: its method and its URL may have to be signed.

A mapping that is given a second time must not have changed since: it is not written out again.
"""

_ENCODINGS = {"Accept-Encoding": ACCEPT_ENCODING}


def always(headers: Mapping[str, str]) -> Present:
    """Present the same headers with every request."""
    said = dict(headers)
    return lambda method, url: said  # noqa: ARG005 - the form of Present


class RequestWriter:
    """Writes the heads of requests. What is the same in all of them is written once."""

    def __init__(self, present: Present) -> None:
        self._present = present
        self._presented: Mapping[str, str] = {}
        self._fields = _lines(_ENCODINGS)

    def write(self, ask: Ask) -> bytes:
        """The head for this ask; raises DialFailed where it could be read in two ways."""
        url, method, more = ask.url, "GET", ask.headers
        check_url(url)
        if ask.body is not None:
            method, more = "POST", _with_body(more, ask.body)
        fields = self._fields_for(self._present(method, url), more)
        head = f"{method} {url.path} HTTP/1.1\r\nHost: {_host(url)}\r\n{fields}\r\n"
        try:
            return head.encode("utf-8", "surrogateescape")  # what a site has said goes back to it as it came
        except UnicodeEncodeError:
            raise _ambiguous("a header has a character that cannot be sent") from None

    def _fields_for(self, presented: Mapping[str, str], more: Mapping[str, str]) -> str:
        if presented is not self._presented:
            self._presented, self._fields = presented, _lines({**presented, **_ENCODINGS})
        if not more:
            return self._fields
        # A caller may want another language or media type. Who we are is not in his: the Ask sees to that.
        wanted = {name.lower() for name in more}
        if wanted.isdisjoint(name.lower() for name in presented):
            return self._fields + _lines(more)
        kept = {name: value for name, value in presented.items() if name.lower() not in wanted}
        return _lines({**kept, **_ENCODINGS, **more})


def check_url(url: WebUrl) -> None:
    """There is one parser of URLs: where parts do not make up the whole, they are not its own. Raises DialFailed."""
    whole = f"{url.scheme}://{url.authority}{url.path}"
    if url.href not in (whole, f"{whole}?") or not _is_plain(whole):
        raise _ambiguous("this URL can be read in two ways")


def _host(url: WebUrl) -> str:
    """Without the dots that may end a name: few servers know themselves by it."""
    return url.authority.replace(url.host, url.host.rstrip("."), 1) if url.host.endswith(".") else url.authority


def _with_body(headers: dict[str, str], body: bytes) -> dict[str, str]:
    said = {**headers, "Content-Length": str(len(body))}
    if not any(name.lower() == "content-type" for name in headers):
        said["Content-Type"] = "application/octet-stream"
    return said


def _lines(fields: Mapping[str, str]) -> str:
    text = "".join([f"{name}: {value}\r\n" for name, value in fields.items()])
    # A break within a value would make a field of its own of what follows.
    if not text.count("\n") == text.count("\r") == len(fields) or "\0" in text:
        raise _ambiguous("a header has a line break in it")
    return text


def _is_plain(text: str) -> bool:
    return text.isascii() and text.isprintable() and " " not in text


def _ambiguous(detail: str) -> DialFailed:
    return DialFailed(Code.GUARD, detail, passing=False)
