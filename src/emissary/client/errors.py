"""What can go wrong between the client and its server."""

from collections.abc import Mapping

import msgspec

from emissary.model.errors import EmissaryError

__all__ = ["ApiError", "ServerUnreachable", "read_problem"]

_LONGEST_SHOWN = 200


class ApiError(EmissaryError):
    """The server answered with a problem: a stable `code`, a sentence that says what to do, and the HTTP status.

    `retry_after` is in seconds, where the server has named a time; `errors` has each fault with a pointer to its place.
    """

    def __init__(
        self,
        detail: str,
        code: str = "internal",
        *,
        status: int,
        retry_after: float | None = None,
        errors: list[dict[str, str]] | None = None,
    ) -> None:
        super().__init__(detail, code)
        self.status = status
        self.retry_after = retry_after
        self.errors = errors or []
        self.is_callers = 400 <= status < 500


class ServerUnreachable(EmissaryError):
    """Nobody answered, or the answer broke off."""


class _Problem(msgspec.Struct):
    code: str = "internal"
    detail: str = ""
    errors: list[dict[str, str]] = []


_decode = msgspec.json.Decoder(_Problem).decode


def read_problem(status: int, headers: Mapping[str, str], body: bytes) -> ApiError:
    """The error in an answer. Somebody between us and the server may have sent it: then it is in no form of ours."""
    try:
        problem = _decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        problem = _Problem()
    shown = body[:_LONGEST_SHOWN].decode(errors="replace").strip()
    detail = problem.detail or f"the server answered with {status}: {shown or 'nothing more'}"
    return ApiError(detail, problem.code, status=status, retry_after=_seconds(headers), errors=problem.errors)


def _seconds(headers: Mapping[str, str]) -> float | None:
    """Our server names seconds; a date, which others may send, is as good as no time at all."""
    given = headers.get("retry-after", "")
    return float(given) if given.isascii() and given.isdecimal() else None
