"""Schedules as both stores keep them, column by column."""

from datetime import timedelta
from typing import Any, Protocol, assert_never

from emissary.model.ids import AccountId, ScheduleId
from emissary.model.jobs import Kind, Priority
from emissary.model.moments import from_ms, to_ms
from emissary.model.schedules import CatchUp, Due, Schedule, Template
from emissary.model.timing import Cron, Every, Timing

__all__ = ["COLUMNS", "Row", "due_of", "values_of"]

COLUMNS = (
    *("id", "account", "kind", "lane", "order", "priority"),
    *("cron", "every_ms", "first_at", "zone", "catch_up", "created_at", "next_at"),
)


def values_of(due: Due) -> tuple[Any, ...]:
    """The values of a row, in the order of the columns."""
    schedule, made = due.schedule, due.schedule.template
    job = (made.account, made.kind, made.lane, made.order, made.priority.value)
    rest = (schedule.timing.zone, schedule.catch_up.value, to_ms(schedule.created_at), to_ms(due.at))
    return (schedule.id, *job, *_when(schedule.timing), *rest)


class Row(Protocol):
    """A row whose values are found by the names of their columns."""

    def __getitem__(self, column: str, /) -> Any: ...


def due_of(row: Row) -> Due:
    """The schedule of a row, and when it is due."""
    template = Template(
        AccountId(row["account"]), Kind(row["kind"]), row["lane"], bytes(row["order"]), Priority(row["priority"])
    )
    schedule = Schedule(
        id=ScheduleId(row["id"]),
        template=template,
        timing=_timing(row),
        catch_up=CatchUp(row["catch_up"]),
        created_at=from_ms(row["created_at"]),
    )
    return Due(schedule, from_ms(row["next_at"]))


def _when(timing: Timing) -> tuple[str | None, int | None, int | None]:
    match timing:
        case Cron():
            return timing.expression, None, None
        case Every():
            return None, timing.interval // timedelta(milliseconds=1), to_ms(timing.first)
        case _:
            assert_never(timing)


def _timing(row: Row) -> Timing:
    if row["cron"] is not None:
        return Cron(row["cron"], row["zone"])
    return Every(timedelta(milliseconds=row["every_ms"]), from_ms(row["first_at"]), row["zone"])
