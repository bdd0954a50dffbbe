"""The shapes of accounts and what they used, in the API's own names."""

from datetime import date
from typing import Any

from pydantic import Field

from emissary.api.schemas import Shape
from emissary.model.accounts import Allowance, Balance
from emissary.model.usage import UsageBy

__all__ = ["AccountAnswer", "AllowanceAnswer", "CreditsAnswer", "UsageAnswer", "allowance_answer", "credits_answer"]


class RateAnswer(Shape):
    """How often an account may ask."""

    per_minute: int = Field(description="Requests a minute.")
    burst: int = Field(description="Requests at once, after a pause.")


class AllowanceAnswer(Shape):
    """What an account may do; null is no limit."""

    weight: float = Field(description="Its part of the turns, beside other accounts.")
    most_active: int | None = Field(description="Hosts that are read for it at the same time.")
    most_queued: int | None = Field(description="Jobs that have not ended.")
    rate: RateAnswer | None = Field(description="Requests.")


class CreditsAnswer(Shape):
    """What an account has left to use."""

    left: int = Field(description="What was not used; below 0 where a crawl found more than there was.")
    reserved: int = Field(description="What jobs that have not ended may use: one each.")
    available: int = Field(description="What further work may use.")


class UsedAnswer(Shape):
    """How many jobs ended, and how. What was cancelled is not in it."""

    jobs: int = Field(description="All that completed, failed or were refused.")
    credits: int = Field(description="What they cost.")
    cached: int = Field(description="Of the jobs, those that were answered with a copy.")
    failed: int
    refused: int


class MonthAnswer(UsedAnswer):
    """What was used since the first day of the month, in UTC."""

    first: date = Field(alias="from")
    last: date = Field(alias="to")


class AccountAnswer(Shape):
    """The account of the key."""

    id: str
    allowance: AllowanceAnswer
    queued: int = Field(description="Its jobs that have not ended.")
    active: int = Field(description="Hosts that are being read for it.")
    credits: CreditsAnswer | None = Field(description="What it has left; null is as many as it likes.")
    usage: MonthAnswer


class UsageRowAnswer(UsedAnswer):
    """What was used of one day, kind or host."""

    key: str = Field(description="The day, the kind or the host.")


class UsageAnswer(Shape):
    """What was used from one day to another, both of them included, and where to go on."""

    first: date = Field(alias="from")
    last: date = Field(alias="to")
    by: UsageBy
    data: list[UsageRowAnswer]
    next: str | None


def allowance_answer(allowance: Allowance) -> dict[str, Any]:
    """What an account may do, as it is told."""
    rate = allowance.rate
    return {
        "weight": allowance.weight,
        "mostActive": allowance.most_active,
        "mostQueued": allowance.most_queued,
        "rate": None if rate is None else {"perMinute": rate.per_minute, "burst": rate.burst},
    }


def credits_answer(balance: Balance | None) -> dict[str, int] | None:
    """What it has left, as it is told."""
    if balance is None:
        return None
    return {"left": balance.left, "reserved": balance.reserved, "available": balance.available}
