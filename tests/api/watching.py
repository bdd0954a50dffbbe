"""What the local web saw of a server, request by request, and further accounts on a server."""

import asyncio
import copy
import http.client
import json
from pathlib import Path
from typing import Any

from served import Emissary

from emissary.backends.embedded.database import Database
from emissary.backends.embedded.keys import SqliteKeys
from emissary.backends.embedded.records import SqliteAccounts
from emissary.compose import the_clock
from emissary.model.accounts import Account
from emissary.model.ids import AccountId, KeyId
from emissary.model.keys import ApiKey, digest_of
from emissary.testing.web import TestWebProcess

__all__ = ["as_another_account", "every_file", "opened_by_admin", "requests_to", "with_key"]


def requests_to(web: TestWebProcess, site: str, path: str | None = None) -> list[dict[str, Any]]:
    """The requests that a site got since the log was cleared: at, method, path, headers."""
    connection = http.client.HTTPConnection(web.addresses.sites["log"], web.port, timeout=10)
    try:
        connection.request("GET", f"/exchanges.json?host={web.addresses.sites[site]}")
        told: list[dict[str, Any]] = json.loads(connection.getresponse().read())
    finally:
        connection.close()
    return [each for each in told if path is None or each["path"].partition("?")[0] == path]


def as_another_account(server: Emissary, name: str) -> Emissary:
    """The same server, as somebody else sees it."""
    key = f"em_live_of_account_{name}"
    asyncio.run(_open_account(server.database, name, key))
    return with_key(server, key)


async def _open_account(file: Path, name: str, key: str) -> None:
    database, now = await Database.open(file), the_clock().now()
    try:
        account = AccountId(f"acc_{name}")
        await SqliteAccounts(database).open_account(Account(account, name, now))
        await SqliteKeys(database).add(ApiKey(KeyId(f"key_{name}"), account, digest_of(key), now), now)
    finally:
        await database.close()


def with_key(server: Emissary, key: str) -> Emissary:
    """The same server, for whoever has this key."""
    other = copy.copy(server)
    other.key = key
    return other


def opened_by_admin(
    server: Emissary, *scopes: str, name: str = "customer", **granted: object
) -> tuple[dict[str, Any], Emissary]:
    """A new account as the operator opens it, and the server as it is for the key it gets."""
    account = server.post("/v1/admin/accounts", {"name": name, **granted})
    assert account.status == 201, account.body
    wish = {"name": "first", "scopes": list(scopes or ("read", "write", "keys"))}
    key = server.post(f"/v1/admin/accounts/{account.json()['id']}/keys", wish)
    assert key.status == 201, key.body
    return account.json(), with_key(server, key.json()["key"])


def every_file(folder: Path) -> dict[str, bytes]:
    """The bytes of everything that a server keeps."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
