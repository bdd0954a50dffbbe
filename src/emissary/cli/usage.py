"""`emissary usage`: what an account used, as a server says, or from the store itself."""

import json as json_module
from dataclasses import asdict
from datetime import UTC, date
from typing import Annotated

import msgspec
import typer
from rich.console import Console
from rich.table import Table

from emissary.cli.kept_keys import account_in
from emissary.cli.keys import AccountOption
from emissary.cli.output import err
from emissary.cli.reaching import Json, Server, is_served, reach
from emissary.cli.starting import in_app
from emissary.compose import App, the_clock
from emissary.model.errors import BadRequest
from emissary.model.usage import UsageBy, UsageRow, add_up

__all__ = ["usage"]

_PAGE = 1_000
_FIGURES = ("jobs", "credits", "cached", "failed", "refused")

Given = tuple[date | None, date | None]
Days = tuple[date, date]


def usage(
    *,
    first: Annotated[
        str | None, typer.Option("--from", help="The first day (UTC); that of the month if left out.")
    ] = None,
    last: Annotated[str | None, typer.Option("--to", help="The last day (UTC); today if left out.")] = None,
    by: Annotated[UsageBy, typer.Option(help="By what it is added up.")] = UsageBy.DAY,
    account: AccountOption = None,
    json: Json = False,
    server: Server = None,
) -> None:
    """Say what was used: jobs that ended, by day, by kind of work or by host."""
    given = (_day("--from", first), _day("--to", last))
    if is_served(server, account):
        days, rows = _told_by(server, given, by)
    else:
        days, rows = in_app(lambda app: _used(app, account, given, by))
    if json:
        told = {"from": days[0].isoformat(), "to": days[1].isoformat(), "by": by.value}
        print(json_module.dumps({**told, "data": [asdict(row) for row in rows]}, indent=2))
    elif rows:
        _print_table(rows, by)
    else:
        err.print(f"nothing ended from {days[0]} to {days[1]}")


def _print_table(rows: list[UsageRow], by: UsageBy) -> None:
    table = Table(box=None, pad_edge=False, show_footer=True)
    total = add_up(rows)
    table.add_column(by.value, "all", no_wrap=True)
    for figure in _FIGURES:
        table.add_column(figure, f"{getattr(total, figure):,}", justify="right", no_wrap=True)
    for row in rows:
        table.add_row(row.key, *(f"{getattr(row, figure):,}" for figure in _FIGURES))
    Console(highlight=False, markup=False).print(table)


def _told_by(server: str | None, given: Given, by: UsageBy) -> tuple[Days, list[UsageRow]]:
    days = _days(given, the_clock().now().astimezone(UTC).date())
    with reach(server) as client:
        return days, [UsageRow(**msgspec.structs.asdict(row)) for row in client.usage(*days, by.value)]


async def _used(app: App, account: str | None, given: Given, by: UsageBy) -> tuple[Days, list[UsageRow]]:
    book, owner = app.services.account_book, await account_in(app, account)
    days = _days(given, book.today())
    rows: list[UsageRow] = []
    while page := await book.used(owner, days, by, after=rows[-1].key if rows else "", most=_PAGE):
        rows += page
    return days, rows


def _days(given: Given, today: date) -> Days:
    last = given[1] or today
    first = given[0] or last.replace(day=1)
    if first > last:
        raise BadRequest(f"{first} is after {last}: --from is the first day and --to the last")
    return first, last


def _day(option: str, given: str | None) -> date | None:
    try:
        return None if given is None else date.fromisoformat(given)
    except ValueError:
        raise BadRequest(f"{option} {given!r} is no day: write it as 2030-01-31") from None
