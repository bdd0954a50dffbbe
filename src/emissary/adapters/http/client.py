"""One shared HTTP client over aiohttp: one request, no redirect followed, no cookie kept, no more taken than asked."""

import ssl
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Self

import aiohttp
from aiohttp import ClientResponse, ClientSession, ClientTimeout, DummyCookieJar, HttpVersion10
from aiohttp.connector import Connection
from yarl import URL

from emissary.adapters.http.connector import DIALLED, GuardedConnector, Line, Opening, trusting
from emissary.adapters.http.decoding import ACCEPT_ENCODING, BadEncoding
from emissary.adapters.http.dial import Dial, DialFailed, Outside, Permits
from emissary.adapters.http.intake import TooLarge, TooSlow, take
from emissary.adapters.http.limits import Limits
from emissary.model.pages import Code, Heads, Reply, Timings, Unreachable, WebUrl
from emissary.ports.clock import Clock
from emissary.ports.web import Ask, Proxy

__all__ = ["AiohttpWeb", "Present", "always"]

Present = Callable[[str, WebUrl], Mapping[str, str]]
"""Who we are, said anew for every request: its method and its URL may have to be signed."""


def always(headers: Mapping[str, str]) -> Present:
    """Present the same headers with every request."""
    said = dict(headers)
    return lambda method, url: said  # noqa: ARG005 - the form of Present


class _Answer(ClientResponse):
    """Notes who is at the other end while the connection is still ours: a short answer gives it back at once."""

    address = ""
    tls: str | None = None
    opening: Opening | None = None

    async def start(self, connection: Connection) -> ClientResponse:
        line = connection.protocol
        assert isinstance(line, Line)
        self.address, self.tls = line.address, line.tls
        self.opening, line.opening = line.opening, None
        return await super().start(connection)


class _BadHead(Exception):
    pass


class AiohttpWeb:
    """Keeps the promise of `ports.web.Web`. Each egress has connections of its own; all go through one dial."""

    def __init__(
        self,
        *,
        permits: Permits,
        present: Present | Mapping[str, str],
        clock: Clock,
        limits: Limits = Limits(),  # noqa: B008 - a value
        outside: Outside = Outside(),  # noqa: B008 - a value
        trust: ssl.SSLContext | None = None,
    ) -> None:
        self._clock = clock
        self._limits = limits
        self._present = always(present) if isinstance(present, Mapping) else present
        self._dial = Dial(permits, clock, limits, outside)
        self._trust = trusting(trust)
        self._sessions: dict[Proxy | None, ClientSession] = {}
        self._closed = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._closed = True
        for session in self._sessions.values():
            await session.close()

    async def ask(self, ask: Ask) -> Reply | Unreachable:
        DIALLED.set(False)
        try:
            return await self._exchange(ask)
        except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError) as error:
            # A site may close a kept connection just as we use it. Whether it saw the request is unknown: asking again
            # is for whoever keeps the pace. (aiohttp would do it at once, and so ask a site twice.)
            stale = not DIALLED.get() and ask.body is None
            return replace(_unreachable(ask.url, error), stale=stale)
        except DialFailed as error:
            return Unreachable(ask.url, error.code, error.detail, passing=error.passing, http_status=error.status)
        except (TooLarge, TooSlow, BadEncoding, _BadHead) as error:
            code, passing = _OURS[type(error)]
            return Unreachable(ask.url, code, str(error), passing=passing)
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            return _unreachable(ask.url, error)

    async def _exchange(self, ask: Ask) -> Reply:
        clock, method = self._clock, "GET" if ask.body is None else "POST"
        presented, began = self._present(method, ask.url), clock.monotonic()
        async with (self._sessions.get(ask.via) or self._session(ask.via)).request(
            method,
            _same(URL(ask.url.href, encoded=True), ask.url),
            headers=_merged(presented, ask.headers) if ask.headers else presented,
            data=ask.body,
            allow_redirects=False,
            timeout=ClientTimeout(total=ask.timeout),
        ) as answer:
            assert isinstance(answer, _Answer)
            headed = clock.monotonic()
            headers = self._headers(answer)
            wire, body = await take(answer, ask, headers.get("content-encoding", ""), limits=self._limits, clock=clock)
            ended = clock.monotonic()
            version = "1.0" if answer.version == HttpVersion10 else "1.1"
            return Reply(
                status=answer.status,
                headers=headers,
                body=body,
                address=answer.address,
                http_version=version,
                timings=_timings(headed - began, ended - began, answer.opening),
                wire_bytes=len(wire),
                tls=answer.tls,
                wire=wire,
                egress="direct" if ask.via is None else ask.via.name,
                heads=Heads(
                    (method, ask.url.path),
                    answer.request_info.headers,
                    (version, answer.status, answer.reason or ""),
                    answer.raw_headers,
                ),
            )

    def _session(self, via: Proxy | None) -> ClientSession:
        if self._closed:
            raise ValueError("this client is closed")
        connector = GuardedConnector(
            self._dial, via, trust=self._trust, tls_seconds=self._limits.tls_seconds, clock=self._clock
        )
        self._sessions[via] = session = ClientSession(
            connector=connector,
            headers={"Accept-Encoding": ACCEPT_ENCODING},
            cookie_jar=DummyCookieJar(),
            response_class=_Answer,
            auto_decompress=False,
            trust_env=False,
            max_line_size=self._limits.header_bytes,
            max_field_size=self._limits.header_bytes,
            max_headers=self._limits.header_fields,
        )
        session._retry_connection = False  # see `ask`
        return session

    def _headers(self, answer: ClientResponse) -> dict[str, str]:
        headers: dict[str, str] = {}
        size = 0
        for name, value in answer.headers.items():
            key = name.lower()
            headers[key] = f"{headers[key]}, {value}" if key in headers else value
            size += len(name) + len(value)
        if size > self._limits.header_bytes:
            raise _BadHead(f"the head of the answer is larger than {self._limits.header_bytes:,} bytes")
        return headers


def _merged(presented: Mapping[str, str], asked: dict[str, str]) -> dict[str, str]:
    """A caller may want another language or media type. Who we are is not in `asked`: the Ask sees to that."""
    wanted = {name.lower() for name in asked}
    return {**{name: value for name, value in presented.items() if name.lower() not in wanted}, **asked}


def _same(url: URL, parsed: WebUrl) -> URL:
    """There is one parser, and it is not aiohttp's: where the two read a URL differently, it is not dialled."""
    if url.raw_host != parsed.host.strip("[]") or url.port != parsed.port or url.scheme != parsed.scheme:
        raise DialFailed(Code.GUARD, "this URL can be read in two ways", passing=False)
    return url


def _timings(first: float, total: float, opening: Opening | None) -> Timings:
    if opening is None:
        return Timings(round(first * 1000, 2), round(total * 1000, 2))
    return Timings(round(first * 1000, 2), round(total * 1000, 2), opening.dns_ms, opening.connect_ms, opening.tls_ms)


# What we broke off ourselves, and whether it may go better next time.
_OURS: dict[type[Exception], tuple[Code, bool]] = {
    TooLarge: (Code.TOO_LARGE, False),
    TooSlow: (Code.TIMEOUT, True),
    BadEncoding: (Code.BAD_RESPONSE, True),
    _BadHead: (Code.BAD_RESPONSE, False),
}

# What went wrong, told by the kind of error, the first that fits. What the library says is not passed on: it may name
# addresses behind the guard.
_FAILURES: tuple[tuple[tuple[type[Exception], ...], Code, str], ...] = (
    ((ssl.SSLError,), Code.TLS, "the secure connection broke"),
    ((TimeoutError,), Code.TIMEOUT, "the site took too long"),
    (
        (aiohttp.ServerDisconnectedError, aiohttp.ClientPayloadError, aiohttp.ClientOSError, ConnectionError),
        Code.CONNECT,
        "the connection was lost before the answer was whole",
    ),
    ((aiohttp.ClientError, ValueError), Code.BAD_RESPONSE, "the answer is not valid HTTP"),
)


def _unreachable(url: WebUrl, error: Exception) -> Unreachable:
    for kinds, code, detail in _FAILURES:
        if isinstance(error, kinds):
            return Unreachable(url, code, detail)
    return Unreachable(url, Code.CONNECT, "the connection failed")
