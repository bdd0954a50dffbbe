"""The account of the key: what it may do, what it has in line, what it used."""

import re
from dataclasses import asdict
from datetime import date
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Response
from pydantic import BeforeValidator
from pydantic_core import PydanticCustomError

from emissary.api.account_schemas import AccountAnswer, UsageAnswer, allowance_answer, credits_answer
from emissary.api.answers import as_json
from emissary.api.auth import Caller, Provided
from emissary.api.openapi import problems
from emissary.model.errors import BadRequest
from emissary.model.usage import UsageBy, UsageRow

__all__ = ["router"]

router = APIRouter(prefix="/v1", tags=["account"])


def _only_a_day(value: object) -> object:
    """A day is written as 2030-01-31; seconds since 1970 and the like are none."""
    if isinstance(value, str) and re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", value) is None:
        raise PydanticCustomError("day", "Input should be a day such as 2030-01-31")
    return value


_Day = Annotated[date, BeforeValidator(_only_a_day)]


async def _days(
    services: Provided,
    first: Annotated[
        _Day | None, Query(alias="from", description="The first day (UTC); that of the month if left out.")
    ] = None,
    last: Annotated[_Day | None, Query(alias="to", description="The last day (UTC); today if left out.")] = None,
) -> tuple[date, date]:
    """The first and the last day that are asked for: this month, where nothing is said."""
    today = services.account_book.today()
    days = ((last or today).replace(day=1) if first is None else first, last or today)
    if days[0] > days[1]:
        raise BadRequest(f"{days[0]} is after {days[1]}: `from` is the first day and `to` the last")
    return days


_Days = Annotated[tuple[date, date], Depends(_days)]
_By = Annotated[UsageBy, Query(description="By what it is added up.")]
_After = Annotated[str, Query(max_length=300, description="A `next` of an earlier answer; go on behind it.")]
_Limit = Annotated[int, Query(ge=1, le=1_000, description="How many at most.")]


@router.get(
    "/account",
    summary="See your account",
    operation_id="seeAccount",
    response_model=AccountAnswer,
    responses=problems(401, 503),
)
async def see_account(caller: Caller, services: Provided) -> Response:
    """What it may do, what it has in line and in hand, and what it used since the first day of the month."""
    shown = await services.account_book.show(caller)
    load = shown.load
    return as_json(
        {
            "id": caller,
            "allowance": allowance_answer(shown.allowance),
            "queued": load.queued,
            "active": load.active,
            "credits": credits_answer(shown.balance),
            "usage": {"from": shown.first, "to": shown.today, **_figures(shown.used)},
        }
    )


@router.get(
    "/usage",
    summary="See what you used",
    operation_id="seeUsage",
    response_model=UsageAnswer,
    responses=problems(400, 401, 503),
)
async def see_usage(
    caller: Caller,
    services: Provided,
    days: _Days,
    *,
    by: _By = UsageBy.DAY,
    after: _After = "",
    limit: _Limit = 100,
) -> Response:
    """Jobs that ended, by day, by kind of work or by host; days without any are left out."""
    if not after.isprintable():
        raise BadRequest("this is not a cursor: use a `next` of an earlier answer", "invalid_cursor")
    rows = await services.account_book.used(caller, days, by, after=after, most=limit)
    data = [{"key": row.key, **_figures(row)} for row in rows]
    cursor = rows[-1].key if len(rows) == limit else None
    return as_json({"from": days[0], "to": days[1], "by": by, "data": data, "next": cursor})


def _figures(row: UsageRow) -> dict[str, Any]:
    return {name: value for name, value in asdict(row).items() if name != "key"}
