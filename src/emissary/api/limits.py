"""Around every request: a bound on its body, headers that keep browsers careful, and a count of what was answered."""

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from emissary.api.lines import NDJSON
from emissary.api.problems import problem
from emissary.model.rates import Standing
from emissary.ports.clock import Clock
from emissary.telemetry.metrics import Metrics

__all__ = ["CAREFUL", "MAX_BODY_BYTES", "UNKNOWN_ROUTE", "BodyLimit", "Instruments", "is_long_list"]

UNKNOWN_ROUTE = "unknown"
MAX_BODY_BYTES = 10 * 1024 * 1024

_TOO_LARGE = f"a body has at most {MAX_BODY_BYTES:,} bytes; long lists go to /v1/batch as application/x-ndjson"

CAREFUL = [
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"content-security-policy", b"default-src 'none'; style-src 'self' 'unsafe-inline'; frame-ancestors 'none'"),
    (b"cache-control", b"no-store"),
]


class BodyLimit:
    """Refuses bodies beyond 10 MB, whether or not they say how long they are; batches in lines have other bounds."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if is_long_list(scope):
            await self._app(scope, receive, send)  # read line by line, and bounded by lines
            return
        declared = _header(scope, b"content-length") or b"0"
        if declared.isdigit() and int(declared) > MAX_BODY_BYTES:
            await problem("body_too_large", _TOO_LARGE)(scope, receive, send)
            return
        received = 0

        async def counted() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > MAX_BODY_BYTES:
                # Of all errors, this one passes through whoever reads the body, and leaves as a problem document.
                raise HTTPException(413, _TOO_LARGE)
            return message

        await self._app(scope, counted, send)


def is_long_list(scope: Scope) -> bool:
    """Whether the body is read line by line: there may be more of it than memory."""
    kind = (_header(scope, b"content-type") or b"").partition(b";")[0].strip().lower()
    return (scope["method"], scope["path"]) == ("POST", "/v1/batch") and kind == NDJSON.encode()


def _header(scope: Scope, wanted: bytes) -> bytes | None:
    return next((value for name, value in scope["headers"] if name == wanted), None)


def _standing(scope: Scope) -> list[tuple[bytes, bytes]]:
    """How the account stands with its rate, where it has one (draft-ietf-httpapi-ratelimit-headers)."""
    standing: Standing | None = scope.get("state", {}).get("standing")
    if standing is None:
        return []
    policy = f'"default";q={standing.rate.per_minute};w=60'
    left = f'"default";r={standing.remaining};t={standing.full_after}'
    return [(b"ratelimit-policy", policy.encode()), (b"ratelimit", left.encode())]


class Instruments:
    """Counts and times every answer, by its route and not by its path; and says what is left of the rate."""

    def __init__(self, app: ASGIApp, metrics: Metrics, clock: Clock) -> None:
        self._app = app
        self._metrics = metrics
        self._clock = clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = self._clock.monotonic()
        status = 500

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                given = {name for name, _ in message["headers"]}
                careful = (pair for pair in CAREFUL if pair[0] not in given)
                message["headers"] = [*message["headers"], *careful, *_standing(scope)]
            await send(message)

        try:
            await self._app(scope, receive, noted)
        finally:
            route = scope.get("route")
            path = getattr(route, "path", UNKNOWN_ROUTE)
            self._metrics.requests.labels(path, str(status)).inc()
            self._metrics.request_seconds.labels(path).observe(self._clock.monotonic() - began)
