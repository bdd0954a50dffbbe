"""The cluster backend as the composition root opens it."""

from datetime import UTC, datetime
from pathlib import Path

import asyncpg
import pytest

from emissary.adapters.clock import SystemChance
from emissary.compose.backends import open_backend
from emissary.model.accounts import Account
from emissary.model.captures import Exchange
from emissary.model.errors import StoreUnavailable
from emissary.model.ids import AccountId
from emissary.settings import load_settings

pytestmark = pytest.mark.anyio

_NOWHERE = "s3://a:b@bucket?endpoint=http://127.0.0.1:9"
_AT = datetime(2030, 1, 1, tzinfo=UTC)
_SESSIONS = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'emissary' AND datname = current_database()"


async def sessions(url: str) -> int:
    connection = await asyncpg.connect(url)
    try:
        return int(await connection.fetchval(_SESSIONS))
    finally:
        await connection.close()


async def until_left_alone(url: str) -> None:
    """Come back when nobody is connected any more: a server takes a moment to notice."""
    while await sessions(url):
        pass


async def test_every_store_is_opened_and_closed_again(database_url: str, objects_url: str, tmp_path: Path) -> None:
    settings = load_settings(database_url=database_url, objects_url=objects_url, data_dir=tmp_path)
    async with open_backend(settings, SystemChance()) as stores:
        await stores.accounts.open_account(Account(AccountId("acc_1"), "one", _AT))
        await stores.blobs.put("results/a", b"body")
        capture = await stores.captures.keep(Exchange("http://a.example/", _AT, "", b"", b"", b"body", {}))
        await stores.captures.flush()
        assert capture.segment.startswith(f"20300101T00-{stores.worker}-")
        assert await stores.captures.read(capture) is not None
        assert await sessions(database_url) >= 2, "a pool, and the bus"
    await until_left_alone(database_url)


async def test_where_one_store_cannot_be_opened_the_other_is_closed_again(database_url: str, tmp_path: Path) -> None:
    settings = load_settings(database_url=database_url, objects_url=_NOWHERE, data_dir=tmp_path)
    with pytest.raises(StoreUnavailable, match="the object store could not be opened"):
        async with open_backend(settings, SystemChance()):
            pass
    await until_left_alone(database_url)


def test_what_is_secret_in_the_urls_is_not_shown() -> None:
    settings = load_settings(database_url="postgresql://ann:s3cret@host/x", objects_url="s3://ann:s3cret@bucket")
    assert "s3cret" not in f"{settings!r} {settings}"
