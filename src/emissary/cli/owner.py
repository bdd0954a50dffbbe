"""`emissary owner`: shows that a site is the operator's own, so that it may be read faster."""

from datetime import timedelta
from typing import Annotated

import typer

from emissary.cli.output import Exit, complain, err
from emissary.cli.starting import in_app
from emissary.compose import App
from emissary.model.pages import WebUrl
from emissary.model.site_owners import Ownership
from emissary.reading.owners import OWNER_PATH, owner_token, proves, site_of

__all__ = ["verbs"]

verbs = typer.Typer(help="Show that a site is your own, to read it faster.", no_args_is_help=True)

_Host = Annotated[str, typer.Argument(help="The host, such as example.org; with http:// where there is no https.")]


@verbs.command("token")
def token(host: _Host) -> None:
    """Print the token that the site has to show. It is always the same for one host and one installation."""
    site = site_of(host)
    print(in_app(lambda app: _token(app, site)))
    err.print(
        f"Put it at {site.origin}{OWNER_PATH}, then run: emissary owner prove {host}", markup=False, soft_wrap=True
    )


@verbs.command("prove")
def prove(
    host: _Host,
    *,
    gap: Annotated[float, typer.Option(help="Seconds between two requests to it.", min=0, max=3600)] = 0.0,
    concurrency: Annotated[int, typer.Option(help="Requests to it at the same time.", min=1, max=64)] = 4,
) -> None:
    """Look for the token, and read the site at this pace for 30 days.

    Exit codes: 0 proven, 2 wrong usage, 4 the token is not there.
    """
    site = site_of(host)
    missing = in_app(lambda app: _prove(app, site, timedelta(seconds=gap), concurrency))
    if missing is not None:
        complain(f"not proven: {missing}. Run `emissary owner token {host}` for what to put there")
        raise typer.Exit(Exit.UNREACHABLE)
    err.print(
        f"{site.authority} is yours: {gap:g} s apart, {concurrency} at a time, for 30 days",
        markup=False,
        soft_wrap=True,
    )


async def _token(app: App, site: WebUrl) -> str:
    return await owner_token(app.stores.secrets, app.stores.vault, app.chance, site)


async def _prove(app: App, site: WebUrl, gap: timedelta, concurrency: int) -> str | None:
    missing = await proves(app.web, site, await _token(app, site))
    if missing is None:
        now = app.services.clock.now()
        await app.stores.owners.prove(Ownership(site.authority, gap, concurrency, now))
    return missing
