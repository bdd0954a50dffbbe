"""The way to an S3-compatible object store: its URL, and what can go wrong with it."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from obstore.exceptions import BaseError
from obstore.store import S3Store

from emissary.model.errors import SettingsError, StoreUnavailable

__all__ = ["named_refusals", "open_objects"]

_URL = "EMISSARY_OBJECTS_URL"
_FORM = "s3://key:secret@bucket/folder?endpoint=https://host:port&region=name, with % for odd characters"
_PATIENCE_SECONDS = 20.0
_CONNECT_SECONDS = 5.0
_TOLD = re.compile(r"<\?xml.*?<Code>(\w+)</Code>(?:\s*<Message>([^<]*))?.*", re.DOTALL)
_LONGEST = 400

_HINTS = {
    "/latest/api/token": f"there are no credentials: give them in {_URL}, or as AWS_ACCESS_KEY_ID and its like",
    "NoSuchBucket": f"create the bucket, or name another in {_URL}",
    "403 Forbidden": f"check the credentials in {_URL}, or AWS_ACCESS_KEY_ID and its like, and what they may do",
    "301 Moved": f"the bucket is in another region: name it in {_URL} with region=",
    "error sending request": f"check that the store runs, and that the endpoint in {_URL} leads to it",
}


async def open_objects(url: str, *, patience: float = _PATIENCE_SECONDS) -> S3Store:
    """The store that the URL names, once it has answered. No request may take longer than `patience` seconds."""
    store = _store(url, patience)
    with named_refusals("opened"):
        async for _ in store.list(chunk_size=1):
            break
    return store


@contextmanager
def named_refusals(deed: str) -> Iterator[None]:
    """Whatever the store fails at in this block is a StoreUnavailable; that an object is not there stays as it is."""
    try:
        yield
    except FileNotFoundError as error:
        if "NoSuchBucket" in str(error):
            raise StoreUnavailable(f"the object store could not be {deed}: {_reason(error)}") from error
        raise
    except (BaseError, OSError) as error:
        raise StoreUnavailable(f"the object store could not be {deed}: {_reason(error)}") from error


def _reason(error: Exception) -> str:
    """The first paragraph of what it says, with the server's own words and what to do about it."""
    said = str(error).partition("\n\nDebug source")[0]
    advice = next((hint for sign, hint in _HINTS.items() if sign in said), None)
    said = _TOLD.sub(r"\1 \2", said).strip()[:_LONGEST]
    return said if advice is None else f"{said}; {advice}"


def _store(url: str, patience: float) -> S3Store:
    try:
        bucket, given = _read(url)
    except ValueError as error:
        raise SettingsError(f"{_URL}: {error}; write {_FORM}") from None
    return S3Store(
        bucket,
        client_options={
            "allow_http": True,  # where the endpoint says so; nothing else is ever asked
            "connect_timeout": timedelta(seconds=min(patience, _CONNECT_SECONDS)),
            "timeout": timedelta(seconds=patience),
        },
        retry_config={
            "max_retries": 5,
            "retry_timeout": timedelta(seconds=patience),
            "backoff": {"init_backoff": timedelta(milliseconds=50), "max_backoff": timedelta(seconds=2), "base": 2},
        },
        **given,
    )


def _read(url: str) -> tuple[str, dict[str, Any]]:
    """The bucket, and what else a URL says. What is wrong is told without what is secret."""
    parts = urlsplit(url)
    user, _, bucket = parts.netloc.rpartition("@")
    if parts.scheme != "s3" or not bucket:
        raise ValueError("it names no bucket")
    given: dict[str, Any] = {"prefix": parts.path.strip("/") or None}
    for name, value in parse_qsl(parts.query, strict_parsing=bool(parts.query)):
        if name not in ("endpoint", "region"):
            raise ValueError(f"there is no option {name!r}")
        given[name] = value
    endpoint = urlsplit(given.get("endpoint", "https://any"))
    if endpoint.scheme not in ("http", "https") or not endpoint.hostname or endpoint.port == 0:
        raise ValueError("its endpoint is no http or https address")
    if user:
        given["credential_provider"] = _credentials(user)
    return bucket, given


def _credentials(user: str) -> Any:
    """Those of the URL, and nothing of the environment beside them."""
    key, _, secret = user.partition(":")
    if not key or not secret:
        raise ValueError("its key has no secret, or the other way round")
    known = {"access_key_id": unquote(key), "secret_access_key": unquote(secret), "expires_at": None}
    return lambda: known
