"""One shared HTTP client over aiohttp: one request, no redirect followed, no cookie kept, no more taken than asked."""

import ssl
from collections.abc import Callable, Mapping
from typing import Any, Self

import aiohttp
from aiohttp import ClientResponse, ClientSession, ClientTimeout, DummyCookieJar
from aiohttp.connector import Connection
from yarl import URL

from emissary.adapters.http.decoding import ACCEPT_ENCODING, BadEncoding, Overflow, decode
from emissary.adapters.http.dial import ForbiddenAddress, connector
from emissary.model.pages import Code, Reply, Timings, Unreachable, WebUrl
from emissary.ports.clock import Clock
from emissary.ports.web import Ask

__all__ = ["AiohttpWeb"]

_CONNECT_SECONDS = 10.0
_WIRE_BYTES = 16 * 1024 * 1024
_HEADER_BYTES = 64 * 1024
_HEADER_FIELDS = 100


class _Answer(ClientResponse):
    """Notes who is at the other end while the connection is still ours: a short answer gives it back at once."""

    address = ""
    tls: str | None = None

    async def start(self, connection: Connection) -> ClientResponse:
        transport = connection.transport
        if transport is not None:
            peer = transport.get_extra_info("peername")
            self.address = str(peer[0]) if peer else ""
            secured = transport.get_extra_info("ssl_object")
            self.tls = None if secured is None else secured.version()
        return await super().start(connection)


class _TooLarge(Exception):
    pass


class AiohttpWeb:
    """Keeps the promise of `ports.web.Web`."""

    def __init__(self, *, permits: Callable[[str], bool], present: Mapping[str, str], clock: Clock) -> None:
        self._clock = clock
        self._session = ClientSession(
            connector=connector(permits),
            headers={**present, "Accept-Encoding": ACCEPT_ENCODING},
            cookie_jar=DummyCookieJar(),
            response_class=_Answer,
            auto_decompress=False,
            trust_env=False,
            max_line_size=_HEADER_BYTES,
            max_field_size=_HEADER_BYTES,
            max_headers=_HEADER_FIELDS,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()

    async def ask(self, ask: Ask) -> Reply | Unreachable:
        try:
            return await self._exchange(ask)
        except (_TooLarge, Overflow):
            detail = f"the page is larger than {ask.max_bytes:,} bytes"
            return Unreachable(ask.url, Code.TOO_LARGE, detail, passing=False)
        except BadEncoding as error:
            return Unreachable(ask.url, Code.BAD_RESPONSE, str(error))
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            return _unreachable(ask.url, error)

    async def _exchange(self, ask: Ask) -> Reply:
        began = self._clock.monotonic()
        async with self._session.request(
            "GET" if ask.body is None else "POST",
            URL(ask.url.href, encoded=True),
            headers=ask.headers or None,
            data=ask.body,
            allow_redirects=False,
            timeout=ClientTimeout(total=ask.timeout, sock_connect=_CONNECT_SECONDS),
        ) as answer:
            assert isinstance(answer, _Answer)
            headed = self._clock.monotonic()
            wire = await _receive(answer, ask)
            headers = _headers(answer.headers.items())
            body = _decoded(wire, headers.get("content-encoding", ""), ask)
            ended = self._clock.monotonic()
            return Reply(
                status=answer.status,
                headers=headers,
                body=body,
                address=answer.address,
                http_version="1.1" if answer.version is None else f"{answer.version.major}.{answer.version.minor}",
                timings=Timings(round((headed - began) * 1000, 2), round((ended - began) * 1000, 2)),
                wire_bytes=len(wire),
                tls=answer.tls,
            )


async def _receive(answer: ClientResponse, ask: Ask) -> bytes:
    limit = min(ask.max_bytes, _WIRE_BYTES)
    if answer.content_length is not None and answer.content_length > limit and not ask.truncate:
        answer.close()
        raise _TooLarge
    pieces: list[bytes] = []
    size = 0
    while piece := await answer.content.readany():
        pieces.append(piece)
        size += len(piece)
        if size > limit:
            answer.close()
            if ask.truncate:
                break
            raise _TooLarge
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def _decoded(wire: bytes, encodings: str, ask: Ask) -> bytes:
    if not encodings:
        return wire[: ask.max_bytes]
    try:
        return decode(wire, encodings, ask.max_bytes)
    except Overflow as overflow:
        if ask.truncate:
            return overflow.start
        raise


def _headers(fields: Any) -> dict[str, str]:
    headers: dict[str, str] = {}
    for name, value in fields:
        key = name.lower()
        headers[key] = f"{headers[key]}, {value}" if key in headers else value
    return headers


# What went wrong, told by the kind of error, the first that fits. What the library says is not passed on: it may name
# addresses behind the guard.
_FAILURES: tuple[tuple[tuple[type[Exception], ...], Code, str], ...] = (
    ((aiohttp.ClientConnectorDNSError,), Code.DNS, "the name of the host could not be resolved"),
    (
        (aiohttp.ClientConnectorCertificateError, aiohttp.ClientConnectorSSLError, ssl.SSLError),
        Code.TLS,
        "no secure connection could be made: its certificate or its TLS was not acceptable",
    ),
    ((TimeoutError,), Code.TIMEOUT, "the site took too long"),
    ((aiohttp.ClientConnectorError,), Code.CONNECT, "no connection could be made"),
    (
        (aiohttp.ServerDisconnectedError, aiohttp.ClientPayloadError, aiohttp.ClientOSError, ConnectionError),
        Code.CONNECT,
        "the connection was lost before the answer was whole",
    ),
    ((aiohttp.ClientError, ValueError), Code.BAD_RESPONSE, "the answer is not valid HTTP"),
)


def _unreachable(url: WebUrl, error: Exception) -> Unreachable:
    if _is_forbidden(error):
        return Unreachable(url, Code.GUARD, "the address of this host is not one that may be read", passing=False)
    for kinds, code, detail in _FAILURES:
        if isinstance(error, kinds):
            return Unreachable(url, code, detail)
    return Unreachable(url, Code.CONNECT, "the connection failed")


def _is_forbidden(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, ForbiddenAddress):
            return True
        error = error.__cause__ or error.__context__
    return False
