"""`emissary keys`: makes, lists, rotates and revokes keys in the store itself, where no key is needed."""

import json as json_module
import re
from datetime import datetime, timedelta
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from emissary.cli.output import err
from emissary.cli.starting import in_app
from emissary.compose import LOCAL_ACCOUNT, App
from emissary.engine.key_book import KeyWish
from emissary.model.accounts import Account
from emissary.model.errors import BadRequest
from emissary.model.ids import AccountId, KeyId
from emissary.model.keys import ALL_SCOPES, ApiKey, Scope, told

__all__ = ["AccountOption", "JsonOption", "verbs"]

verbs = typer.Typer(help="Make, list, rotate or revoke API keys.", no_args_is_help=True)

_UNITS = {"m": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1)}

AccountOption = Annotated[str, typer.Option("--account", help="Whose; your own account unless you say otherwise.")]
JsonOption = Annotated[bool, typer.Option("--json", help="As JSON, for scripts.")]
_Key = Annotated[str, typer.Argument(help="The id of the key, such as key_….")]


@verbs.command("list")
def list_keys(*, account: AccountOption = LOCAL_ACCOUNT, json: JsonOption = False) -> None:
    """List the keys that the account has had, without their secrets."""
    keys, now = in_app(lambda app: _list(app, AccountId(account)))
    if json:
        print(json_module.dumps([_as_json(key, now) for key in keys], indent=2))
        return
    table = Table(box=None, pad_edge=False)
    for column in ("id", "name", "scopes", "begins with", "last used", "state"):
        table.add_column(column, no_wrap=True)
    for key in keys:
        used = "never" if key.last_used_at is None else f"{key.last_used_at:%Y-%m-%d %H:%M}"
        table.add_row(key.id, key.name, " ".join(told(key.scopes)), key.hint or "", used, _state(key, now))
    Console(highlight=False, markup=False, width=None if err.is_terminal else 300).print(table)


@verbs.command("create")
def create(
    name: Annotated[str, typer.Argument(help="What it is for. Two keys of one name may be live.")],
    *,
    scope: Annotated[
        list[Scope] | None, typer.Option(help="What it may be used for: read and write if left out.")
    ] = None,
    expires: Annotated[str | None, typer.Option(help="After how long it opens nothing: 12h, 90d.")] = None,
    account: AccountOption = LOCAL_ACCOUNT,
    json: JsonOption = False,
) -> None:
    """Make a key and print it, this once."""
    if not name.isprintable() or not 1 <= len(name) <= 100:
        raise BadRequest("the name of a key has 1 to 100 printable characters")
    scopes = frozenset(scope or (Scope.READ, Scope.WRITE))
    lifetime = None if expires is None else _duration("--expires", expires)
    key, secret, now = in_app(lambda app: _create(app, AccountId(account), KeyWish(name, scopes), lifetime))
    _show(key, secret, now, as_json=json)


@verbs.command("rotate")
def rotate(
    key: _Key,
    *,
    grace: Annotated[str, typer.Option(help="For how long the old key still opens: 0m, 12h, 7d.")] = "1d",
    account: AccountOption = LOCAL_ACCOUNT,
    json: JsonOption = False,
) -> None:
    """Make a key in place of this one and print it, this once."""
    wait = _duration("--grace", grace)
    made, secret, now = in_app(lambda app: _rotate(app, AccountId(account), KeyId(key), wait))
    _show(made, secret, now, as_json=json)


@verbs.command("revoke")
def revoke(key: _Key, *, account: AccountOption = LOCAL_ACCOUNT, json: JsonOption = False) -> None:
    """Let the key open nothing from now on; servers that run notice within five seconds."""
    revoked, now = in_app(lambda app: _revoke(app, AccountId(account), KeyId(key)))
    if json:
        print(json_module.dumps(_as_json(revoked, now)))
    else:
        err.print(f"{revoked.id} ({revoked.name}) opens nothing any more", markup=False, soft_wrap=True)


async def _list(app: App, account: AccountId) -> tuple[list[ApiKey], datetime]:
    keys: list[ApiKey] = []
    while page := await app.keys.of_account(account, after=keys[-1].id if keys else ""):
        keys += page
    return keys, app.services.clock.now()


async def _create(
    app: App, account: AccountId, wish: KeyWish, lifetime: timedelta | None
) -> tuple[ApiKey, str, datetime]:
    now = app.services.clock.now()
    if account == LOCAL_ACCOUNT:
        await app.services.accounts.open_account(Account(LOCAL_ACCOUNT, "local", now))
    elif await app.services.accounts.account(account) is None:
        raise BadRequest(f"there is no account {account}: open it with POST /v1/admin/accounts")
    ends = None if lifetime is None else now + lifetime
    return *await app.services.key_book.make(account, KeyWish(wish.name, wish.scopes, ends), ALL_SCOPES), now


async def _rotate(app: App, account: AccountId, key: KeyId, grace: timedelta) -> tuple[ApiKey, str, datetime]:
    made = await app.services.key_book.rotate(account, key, grace, ALL_SCOPES)
    return *made, app.services.clock.now()


async def _revoke(app: App, account: AccountId, key: KeyId) -> tuple[ApiKey, datetime]:
    return await app.services.key_book.revoke(account, key), app.services.clock.now()


def _show(key: ApiKey, secret: str, now: datetime, *, as_json: bool) -> None:
    if as_json:
        print(json_module.dumps({**_as_json(key, now), "key": secret}))
        return
    err.print(f"{key.id} ({key.name}: {', '.join(told(key.scopes))}), shown this once:", markup=False, soft_wrap=True)
    print(secret)


def _as_json(key: ApiKey, now: datetime) -> dict[str, Any]:
    moments = {
        "createdAt": key.created_at,
        "expiresAt": key.expires_at,
        "revokedAt": key.revoked_at,
        "lastUsedAt": key.last_used_at,
    }
    times = {name: None if moment is None else moment.isoformat() for name, moment in moments.items()}
    shown = {"id": key.id, "name": key.name, "scopes": told(key.scopes), "hint": key.hint, "live": key.is_live(now)}
    return {**shown, **times}


def _state(key: ApiKey, now: datetime) -> str:
    if key.revoked_at is not None:
        return "revoked"
    if not key.is_live(now):
        return "expired"
    return "live" if key.expires_at is None else f"live until {key.expires_at:%Y-%m-%d %H:%M}"


def _duration(option: str, given: str) -> timedelta:
    found = re.fullmatch(r"(\d{1,5})([mhd])", given)
    if found is None:
        raise BadRequest(f"{option} {given!r} is no duration: write 30m, 12h or 90d")
    return int(found[1]) * _UNITS[found[2]]
