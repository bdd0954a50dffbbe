"""`emissary keys`: makes, lists, rotates and revokes keys, at a server or in the store itself."""

import re
from datetime import timedelta
from typing import Annotated

import msgspec
import typer
from rich.console import Console
from rich.table import Table

from emissary.cli import kept_keys
from emissary.cli.output import err, tell
from emissary.cli.reaching import Json, Server, is_served, reach
from emissary.cli.starting import in_app
from emissary.client.answers import Key, NewKey
from emissary.compose import the_clock
from emissary.engine.key_book import KeyWish
from emissary.model.errors import BadRequest
from emissary.model.keys import Scope

__all__ = ["AccountOption", "verbs"]

verbs = typer.Typer(help="Make, list, rotate or revoke API keys.", no_args_is_help=True)

_UNITS = {"m": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1)}

AccountOption = Annotated[
    str | None, typer.Option("--account", help="Whose, on the data directory; your own unless you say otherwise.")
]
_Key = Annotated[str, typer.Argument(help="The id of the key, such as key_….")]


@verbs.command("list")
def list_keys(*, account: AccountOption = None, json: Json = False, server: Server = None) -> None:
    """List the keys that the account has had, without their secrets."""
    if is_served(server, account):
        with reach(server) as client:
            keys = list(client.keys())
    else:
        keys = in_app(lambda app: kept_keys.every(app, account))
    tell(keys) if json else _print_table(keys)


@verbs.command("create")
def create(
    name: Annotated[str, typer.Argument(help="What it is for. Two keys of one name may be live.")],
    *,
    scope: Annotated[
        list[Scope] | None, typer.Option(help="What it may be used for: read and write if left out.")
    ] = None,
    expires: Annotated[str | None, typer.Option(help="After how long it opens nothing: 12h, 90d.")] = None,
    account: AccountOption = None,
    json: Json = False,
    server: Server = None,
) -> None:
    """Make a key and print it, this once."""
    if not name.isprintable() or not 1 <= len(name) <= 100:
        raise BadRequest("the name of a key has 1 to 100 printable characters")
    scopes = scope or [Scope.READ, Scope.WRITE]
    lifetime = None if expires is None else _duration("--expires", expires)
    if is_served(server, account):
        ends = None if lifetime is None else the_clock().now() + lifetime
        with reach(server) as client:
            made = client.create_key(name, scopes=scopes, expires_at=ends)
    else:
        made = in_app(lambda app: kept_keys.create(app, account, KeyWish(name, frozenset(scopes)), lifetime))
    _show(made, as_json=json)


@verbs.command("rotate")
def rotate(
    key: _Key,
    *,
    grace: Annotated[str, typer.Option(help="For how long the old key still opens: 0m, 12h, 7d.")] = "1d",
    account: AccountOption = None,
    json: Json = False,
    server: Server = None,
) -> None:
    """Make a key in place of this one and print it, this once."""
    wait = _duration("--grace", grace)
    if is_served(server, account):
        with reach(server) as client:
            made = client.rotate_key(key, grace_seconds=int(wait.total_seconds()))
    else:
        made = in_app(lambda app: kept_keys.rotate(app, account, key, wait))
    _show(made, as_json=json)


@verbs.command("revoke")
def revoke(key: _Key, *, account: AccountOption = None, json: Json = False, server: Server = None) -> None:
    """Let the key open nothing from now on; servers that run notice within five seconds."""
    if is_served(server, account):
        with reach(server) as client:
            revoked = client.revoke_key(key)
    else:
        revoked = in_app(lambda app: kept_keys.revoke(app, account, key))
    if json:
        print(msgspec.json.encode(revoked).decode())
    else:
        err.print(f"{revoked.id} ({revoked.name}) opens nothing any more", markup=False, soft_wrap=True)


def _print_table(keys: list[Key]) -> None:
    table = Table(box=None, pad_edge=False)
    for column in ("id", "name", "scopes", "begins with", "last used", "state"):
        table.add_column(column, no_wrap=True)
    for key in keys:
        used = "never" if key.last_used_at is None else f"{key.last_used_at:%Y-%m-%d %H:%M}"
        table.add_row(key.id, key.name, " ".join(key.scopes), key.hint or "", used, _state(key))
    Console(highlight=False, markup=False, width=None if err.is_terminal else 300).print(table)


def _show(made: NewKey, *, as_json: bool) -> None:
    if as_json:
        print(msgspec.json.encode(made).decode())
        return
    err.print(f"{made.id} ({made.name}: {', '.join(made.scopes)}), shown this once:", markup=False, soft_wrap=True)
    print(made.key)


def _state(key: Key) -> str:
    if key.revoked_at is not None:
        return "revoked"
    if not key.live:
        return "expired"
    return "live" if key.expires_at is None else f"live until {key.expires_at:%Y-%m-%d %H:%M}"


def _duration(option: str, given: str) -> timedelta:
    found = re.fullmatch(r"(\d{1,5})([mhd])", given)
    if found is None:
        raise BadRequest(f"{option} {given!r} is no duration: write 30m, 12h or 90d")
    return int(found[1]) * _UNITS[found[2]]
