"""What PostgreSQL and the way to it can do wrong, said so that whoever reads it knows what to look at."""

from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import asyncpg

from emissary.model.errors import StoreUnavailable

__all__ = ["LOST", "OUTAGES", "Misfit", "gave_way", "hint_of", "named_outages", "place_of"]

LOST = (
    asyncpg.PostgresConnectionError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    ConnectionError,
)
"""The connection is no good any more, and the next one may be."""

Misfit = asyncpg.CheckViolationError  # a row does not fit into its table, or into a part of it
OUTAGES = (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError)

# These say that what was to be written is wrong, not that the store is.
_THE_WRITERS_OWN = (asyncpg.IntegrityConstraintViolationError, asyncpg.DataError)

_URL = "EMISSARY_DATABASE_URL"
_HINTS: tuple[tuple[type[BaseException], str], ...] = (
    (asyncpg.InvalidAuthorizationSpecificationError, f"check user and password in {_URL}"),
    (asyncpg.InvalidCatalogNameError, f"create it with createdb, or name another in {_URL}"),
    (asyncpg.InsufficientPrivilegeError, f"give the user in {_URL} the right to create tables, or make it the owner"),
    (asyncpg.ReadOnlySQLTransactionError, f"this is a standby: name the primary in {_URL}"),
    (asyncpg.TooManyConnectionsError, "raise max_connections of the server, or run fewer processes"),
    (asyncpg.DiskFullError, "make room on the server's disk"),
    (asyncpg.CannotConnectNowError, "it starts or stops in this moment: try again"),
    (TimeoutError, f"check whether the server is overloaded, the address in {_URL}, and firewalls on the way"),
    (OSError, f"check that PostgreSQL runs there, and that {_URL} names the right host and port"),
)


def gave_way(error: StoreUnavailable) -> bool:
    """Whether the server ended the transaction so that another, with which it was in a circle, could go on."""
    return isinstance(error.__cause__, asyncpg.DeadlockDetectedError)


def place_of(url: str) -> str:
    """The database that a URL names, without what is secret in it."""
    parts = urlsplit(url)
    return f"{parts.netloc.rpartition('@')[2]}{parts.path}"


def hint_of(error: BaseException) -> str:
    """What happened, and what to do about it where that is known."""
    said = str(error) or "no answer in time"
    advice = next((hint for kind, hint in _HINTS if isinstance(error, kind)), None)
    return said if advice is None else f"{said}; {advice}"


@contextmanager
def named_outages(deed: str) -> Iterator[None]:
    """Whatever the database fails at in this block is a StoreUnavailable; what the caller gave wrong stays as it is."""
    try:
        yield
    except _THE_WRITERS_OWN:
        raise
    except OUTAGES as error:
        raise StoreUnavailable(f"the store could not be {deed}: {hint_of(error)}") from error
