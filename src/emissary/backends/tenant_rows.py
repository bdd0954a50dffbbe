"""What accounts may do, as both backends keep it in a row; and what they are asked for."""

from collections.abc import Iterable
from typing import Any

from emissary.model.accounts import Allowance
from emissary.model.jobs import NewJob
from emissary.model.rates import Rate

__all__ = ["allowance_in", "price_of", "rate_columns"]


def allowance_in(row: Iterable[Any]) -> Allowance:
    """Weight, most active, most queued, requests a minute and how many of them at once."""
    weight, active, queued, per_minute, burst = row
    return Allowance(weight, active, queued, None if per_minute is None else Rate(per_minute, burst))


def rate_columns(allowance: Allowance) -> tuple[int | None, int | None]:
    """Requests a minute, and how many of them at once."""
    return (None, None) if allowance.rate is None else (allowance.rate.per_minute, allowance.rate.burst)


def price_of(account: str, jobs: Iterable[NewJob]) -> int:
    """What those of the jobs that are the account's may use."""
    return sum(job.price for job in jobs if job.account == account)
