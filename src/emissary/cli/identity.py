"""`emissary identity`: who we say we are, and the keys that prove it."""

import json as json_module
from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from emissary.cli.output import err
from emissary.cli.starting import in_app
from emissary.compose import App

__all__ = ["verbs"]

verbs = typer.Typer(help="Show who we say we are, or change the signing keys.", no_args_is_help=True)

_Json = Annotated[bool, typer.Option("--json", help="As JSON, for scripts.")]


@verbs.command("show")
def show(*, json: _Json = False) -> None:
    """Say under which name requests go out, and which key signs them now."""
    _tell(in_app(_facts), as_json=json)


@verbs.command("rotate")
def rotate(
    *,
    stolen: Annotated[
        bool, typer.Option("--stolen", help="Drop the old key at once: somebody else may have it.")
    ] = False,
    json: _Json = False,
) -> None:
    """Publish a new signing key. It signs a day later; a running server takes it over within a minute."""

    async def work(app: App) -> dict[str, Any]:
        stores = app.stores
        await stores.credentials.rotate(stores.secrets, stores.vault, app.chance, stolen=stolen)
        return await _facts(app)

    _tell(in_app(work), as_json=json)


async def _facts(app: App) -> dict[str, Any]:
    credentials, now = app.stores.credentials, app.services.clock.now()
    ring = credentials.ring
    active = None if ring is None else ring.active(now).key_id
    return {
        "agent": credentials.identity.agent,
        "email": credentials.identity.email,
        "directory": credentials.directory_url,
        "signs": credentials.key_id,
        "keys": [
            {
                "id": key.key_id,
                "active": key.key_id == active,
                "notBefore": _written(key.not_before),
                "expires": None if key.expires is None else _written(key.expires),
            }
            for key in (() if ring is None else ring.published)
        ],
    }


def _written(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def _tell(facts: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print(json_module.dumps(facts, indent=2))
        return
    print(f"agent      {facts['agent']}")
    print(f"from       {facts['email'] or 'not set'}")
    print(f"directory  {facts['directory'] or 'none: nothing is signed'}")
    for key in facts["keys"]:
        ends = f", gone {key['expires']}" if key["expires"] else ""
        state = "signs" if key["active"] else f"from {key['notBefore']}"
        print(f"key        {key['id']}  {state}{ends}")
    if facts["directory"] is None:
        err.print("Set EMISSARY_AGENT_URL to a public https address to have requests signed.")
