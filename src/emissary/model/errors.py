"""Every error Emissary raises, and the one table of the codes that callers see.

EmissaryError
├── BadRequest            the caller can mend it: malformed URL, unknown option, bad selector
│   └── BadField          … and this part of the field schema is where it is wrong
├── NotAuthorized         no key, or one that opens nothing
├── NotFound              there is no such thing, or it is somebody else's
├── SettingsError         a setting that cannot work, found at start
├── LeaseLost             another worker holds the lane now: stop, write nothing
├── TermOver              another process leads now: stop, write nothing
├── SealBroken            a secret at rest that cannot be opened: changed, moved, or under another key
├── StoreUnavailable      the database or the object store did not take it
├── ExtractionUnavailable no process could be started to read a page in
└── PortInUse             the address to listen on is taken

An expected answer is not an error: a page that was refused is a `Refusal`, a host that is down is an `Unreachable`.
"""

from typing import NamedTuple

__all__ = [
    "PROBLEMS",
    "BadField",
    "BadRequest",
    "EmissaryError",
    "ExtractionUnavailable",
    "LeaseLost",
    "NotAuthorized",
    "NotFound",
    "PortInUse",
    "Problem",
    "SealBroken",
    "SettingsError",
    "StoreUnavailable",
    "TermOver",
]


class Problem(NamedTuple):
    """One row of the table of problems: what HTTP says, and what a person reads first."""

    status: int
    title: str


PROBLEMS: dict[str, Problem] = {
    "invalid_json": Problem(400, "The body is not JSON"),
    "invalid_request": Problem(400, "The request does not fit the schema"),
    "unknown_field": Problem(400, "The request has a field that does not exist"),
    "invalid_url": Problem(400, "The URL cannot be read"),
    "unknown_format": Problem(400, "There is no such format"),
    "invalid_fields": Problem(400, "The field schema cannot be used"),
    "engine_unavailable": Problem(400, "This engine is not available here"),
    "empty_batch": Problem(400, "The batch has no page that can be read"),
    "invalid_cursor": Problem(400, "The cursor leads nowhere"),
    "missing_key": Problem(401, "An API key is needed"),
    "invalid_key": Problem(401, "The API key opens nothing"),
    "not_found": Problem(404, "There is no such thing"),
    "method_not_allowed": Problem(405, "This route does not take that method"),
    "job_finished": Problem(409, "The job has already ended"),
    "batch_finished": Problem(409, "The batch has already ended"),
    "batch_too_large": Problem(413, "The batch has too many pages"),
    "body_too_large": Problem(413, "The body is too large"),
    "unsupported_media_type": Problem(415, "The body is of a type this route does not take"),
    "internal": Problem(500, "Something went wrong on our side"),
    "store_unavailable": Problem(503, "The store cannot take this now"),
}


class EmissaryError(Exception):
    """The root: every error has a stable code from the table, and a sentence that says what to do."""

    code = "internal"

    def __init__(self, detail: str, code: str | None = None) -> None:
        super().__init__(detail)
        self.detail = detail
        self.code = code or type(self).code


class BadRequest(EmissaryError):
    """The caller can mend this."""

    code = "invalid_request"


class BadField(BadRequest):
    """A field schema that cannot be used; `path` says where, as in `items.price.css`."""

    code = "invalid_fields"

    def __init__(self, path: str, detail: str) -> None:
        super().__init__(f"{path}: {detail}")
        self.path = path


class NotAuthorized(EmissaryError):
    """No key, or one that opens nothing."""

    code = "invalid_key"


class NotFound(EmissaryError):
    """There is no such thing, or it is somebody else's: the two answer alike."""

    code = "not_found"


class SettingsError(EmissaryError):
    """A setting that cannot work; said at start, never later."""

    code = "invalid_request"


class LeaseLost(EmissaryError):
    """The lane is in other hands now. Whoever sees this stops and writes nothing."""


class TermOver(EmissaryError):
    """Another leads by now. Whoever sees this stops leading and writes nothing."""


class SealBroken(EmissaryError):
    """A secret at rest was changed, moved to another place, or sealed under another master key."""


class StoreUnavailable(EmissaryError):
    """The database or the object store did not take it; nothing was accepted."""

    code = "store_unavailable"


class ExtractionUnavailable(EmissaryError):
    """The page is not to blame: there is no process to read it in, or we are stopping."""


class PortInUse(EmissaryError):
    """The address to listen on is taken."""
