"""Every error Emissary raises, and the one table of the codes that callers see.

EmissaryError
├── BadRequest            the caller can mend it: malformed URL, unknown option, bad selector
│   └── BadField          … and this part of the field schema is where it is wrong
├── NotAuthorized         no key, or one that opens nothing
├── NotFound              there is no such thing, or it is somebody else's
├── NotAllowed            the key opens the account, but not for this
├── TooManyKeys           two keys of that name are live already
├── QueueFull             the account has as many jobs in line as it may
├── RateLimited           the account has asked as often as it may
├── Overloaded            the process has as many requests in hand as it may
├── RequestInFlight       the same request is being answered already
├── InsufficientCredits   the account has not enough left for this
├── SettingsError         a setting that cannot work, found at start
├── LeaseLost             another worker holds the lane now: stop, write nothing
├── TermOver              another process leads now: stop, write nothing
├── SealBroken            a secret at rest that cannot be opened: changed, moved, or under another key
├── StoreUnavailable      the database or the object store did not take it
├── ExtractionUnavailable no process could be started to read a page in
├── PortInUse             the address to listen on is taken
├── ApiError              the client's: a server answered with a problem
└── ServerUnreachable     the client's: a server did not answer, or not to the end

An expected answer is not an error: a page that was refused is a `Refusal`, a host that is down is an `Unreachable`.
"""

import math
from datetime import timedelta
from typing import NamedTuple

__all__ = [
    "PROBLEMS",
    "BadField",
    "BadRequest",
    "EmissaryError",
    "ExtractionUnavailable",
    "InsufficientCredits",
    "LeaseLost",
    "NotAllowed",
    "NotAuthorized",
    "NotFound",
    "Overloaded",
    "PortInUse",
    "Problem",
    "QueueFull",
    "RateLimited",
    "RequestInFlight",
    "SealBroken",
    "SettingsError",
    "StoreUnavailable",
    "TermOver",
    "TooManyKeys",
]

_LONGEST_WAIT = 3600  # seconds


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
    "unknown_webhook": Problem(400, "There is no such webhook to refer to"),
    "invalid_idempotency_key": Problem(400, "The Idempotency-Key cannot be used"),
    "missing_key": Problem(401, "An API key is needed"),
    "invalid_key": Problem(401, "The API key opens nothing"),
    "insufficient_credits": Problem(402, "The account has not enough credits"),
    "missing_scope": Problem(403, "The key may not be used for this"),
    "not_found": Problem(404, "There is no such thing"),
    "method_not_allowed": Problem(405, "This route does not take that method"),
    "job_finished": Problem(409, "The job has already ended"),
    "batch_cancelled": Problem(409, "The batch was cancelled while it was filled"),
    "batch_finished": Problem(409, "The batch has already ended"),
    "key_ended": Problem(409, "The key opens nothing any more"),
    "too_many_keys": Problem(409, "There are enough keys of that name"),
    "too_many_webhooks": Problem(409, "There are enough webhooks"),
    "webhook_inactive": Problem(409, "The webhook is told nothing now"),
    "delivery_pending": Problem(409, "The delivery is still under way"),
    "idempotency_in_flight": Problem(409, "A request with this Idempotency-Key has not been answered yet"),
    "batch_too_large": Problem(413, "The batch has too many pages"),
    "body_too_large": Problem(413, "The body is too large"),
    "unsupported_media_type": Problem(415, "The body is of a type this route does not take"),
    "idempotency_key_reused": Problem(422, "The Idempotency-Key was used for another request"),
    "queue_full": Problem(429, "Too many jobs stand in line"),
    "rate_limited": Problem(429, "Too many requests"),
    "overloaded": Problem(429, "The server has its hands full"),
    "internal": Problem(500, "Something went wrong on our side"),
    "store_unavailable": Problem(503, "The store cannot take this now"),
}


class EmissaryError(Exception):
    """The root: every error has a stable code from the table, and a sentence that says what to do."""

    code = "internal"
    is_callers = False  # whether it is for the caller to mend, and not for us

    def __init__(self, detail: str, code: str | None = None) -> None:
        super().__init__(detail)
        self.detail = detail
        self.code = code or type(self).code


class BadRequest(EmissaryError):
    """The caller can mend this."""

    code = "invalid_request"
    is_callers = True


class BadField(BadRequest):
    """A field schema that cannot be used; `path` says where, as in `items.price.css`."""

    code = "invalid_fields"

    def __init__(self, path: str, detail: str) -> None:
        super().__init__(f"{path}: {detail}")
        self.path = path


class NotAuthorized(EmissaryError):
    """No key, or one that opens nothing."""

    code = "invalid_key"


class NotAllowed(EmissaryError):
    """The key opens the account, but not for this."""

    code = "missing_scope"


class TooManyKeys(EmissaryError):
    """As many keys of that name as there may be are live already; nothing was written."""

    code = "too_many_keys"
    is_callers = True

    def __init__(self, name: str) -> None:
        super().__init__(f"two keys named {name!r} are live already: revoke one of them, or choose another name")


class NotFound(EmissaryError):
    """There is no such thing, or it is somebody else's: the two answer alike."""

    code = "not_found"
    is_callers = True


class QueueFull(EmissaryError):
    """The account has as many jobs in line as it may, or would have more; nothing of the call was accepted."""

    code = "queue_full"

    def __init__(self, *, most: int, queued: int, more: int, active: int) -> None:
        what = f"{queued:,} of your jobs have not ended, {more:,} more were asked for, and {most:,} may stand in line"
        super().__init__(f"{what}: try again when some have ended, send fewer at once, or cancel what is not needed")
        self._over = queued + more - most
        self._active = active

    def wait(self, gap: timedelta) -> int:
        """After how many seconds it may fit in: as if each host in hand gave one page per gap. An hour at most."""
        return min(max(math.ceil(self._over * gap.total_seconds() / max(self._active, 1)), 1), _LONGEST_WAIT)


class RateLimited(EmissaryError):
    """The account has asked as often as it may; `wait` is in how many seconds it may again."""

    code = "rate_limited"

    def __init__(self, *, per_minute: int, wait: int) -> None:
        super().__init__(f"your account may ask {per_minute:,} times a minute: ask again in {wait} s")
        self.wait = wait


class Overloaded(EmissaryError):
    """The process has as many requests in hand as it may, of whichever accounts; nothing of this one was looked at."""

    code = "overloaded"
    wait = 1

    def __init__(self, why: str) -> None:
        super().__init__(f"{why}: ask again in a second, or ask another server")


class RequestInFlight(EmissaryError):
    """The same request came before and has not been answered; `wait` is in how many seconds to ask again."""

    code = "idempotency_in_flight"
    wait = 1

    def __init__(self) -> None:
        super().__init__("a request with this Idempotency-Key has not been answered yet: send it again in a second")


class InsufficientCredits(EmissaryError):
    """The account has not enough left for what it asked for; nothing of the call was accepted."""

    code = "insufficient_credits"

    def __init__(self, *, needed: int, available: int) -> None:
        what = f"this may use {needed:,} credits, and your account has {max(available, 0):,} that nothing else may use"
        super().__init__(f"{what}: {needed - max(available, 0):,} are missing. Ask for less, or have some added")
        self.needed = needed
        self.available = max(available, 0)


class SettingsError(EmissaryError):
    """A setting that cannot work; said at start, never later."""

    code = "invalid_request"
    is_callers = True


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
