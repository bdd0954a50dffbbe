"""`emissary usage`: what an account used, from the store itself."""

import json as json_module
from dataclasses import asdict
from datetime import date
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from emissary.cli.keys import AccountOption, JsonOption
from emissary.cli.output import err
from emissary.cli.starting import in_app
from emissary.compose import LOCAL_ACCOUNT, App
from emissary.model.errors import BadRequest
from emissary.model.ids import AccountId
from emissary.model.usage import UsageBy, UsageRow, add_up

__all__ = ["usage"]

_PAGE = 1_000
_FIGURES = ("jobs", "credits", "cached", "failed", "refused")


def usage(
    *,
    first: Annotated[
        str | None, typer.Option("--from", help="The first day (UTC); that of the month if left out.")
    ] = None,
    last: Annotated[str | None, typer.Option("--to", help="The last day (UTC); today if left out.")] = None,
    by: Annotated[UsageBy, typer.Option(help="By what it is added up.")] = UsageBy.DAY,
    account: AccountOption = LOCAL_ACCOUNT,
    json: JsonOption = False,
) -> None:
    """Say what was used: jobs that ended, by day, by kind of work or by host."""
    given = (_day("--from", first), _day("--to", last))
    days, rows = in_app(lambda app: _used(app, AccountId(account), given, by))
    if json:
        told = {"from": days[0].isoformat(), "to": days[1].isoformat(), "by": by.value}
        print(json_module.dumps({**told, "data": [asdict(row) for row in rows]}, indent=2))
        return
    if not rows:
        err.print(f"nothing ended from {days[0]} to {days[1]}")
        return
    table = Table(box=None, pad_edge=False, show_footer=True)
    total = add_up(rows)
    table.add_column(by.value, "all", no_wrap=True)
    for figure in _FIGURES:
        table.add_column(figure, f"{getattr(total, figure):,}", justify="right", no_wrap=True)
    for row in rows:
        table.add_row(row.key, *(f"{getattr(row, figure):,}" for figure in _FIGURES))
    Console(highlight=False, markup=False).print(table)


async def _used(
    app: App, account: AccountId, given: tuple[date | None, date | None], by: UsageBy
) -> tuple[tuple[date, date], list[UsageRow]]:
    book = app.services.account_book
    last = given[1] or book.today()
    days = (given[0] or last.replace(day=1), last)
    if days[0] > days[1]:
        raise BadRequest(f"{days[0]} is after {days[1]}: --from is the first day and --to the last")
    rows: list[UsageRow] = []
    while page := await book.used(account, days, by, after=rows[-1].key if rows else "", most=_PAGE):
        rows += page
    return days, rows


def _day(option: str, given: str | None) -> date | None:
    try:
        return None if given is None else date.fromisoformat(given)
    except ValueError:
        raise BadRequest(f"{option} {given!r} is no day: write it as 2030-01-31") from None
