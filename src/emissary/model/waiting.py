"""Why a job has not started, and when it may: told from where it stands."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from emissary.model.accounts import Allowance
from emissary.model.lanes import LaneKey, Pace, WhyWaiting

__all__ = ["PLAIN_TERMS", "Standing", "Terms", "why_waiting"]


@dataclass(frozen=True, slots=True)
class Terms:
    """What holds where nothing else was said: what an account may do, and how politely a lane is used."""

    allowance: Allowance
    pace_of: Callable[[LaneKey], Pace]


PLAIN_TERMS = Terms(Allowance(), lambda _: Pace(timedelta()))
"""No limits, no gaps."""


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a job stands that nobody has in hand."""

    lane: LaneKey
    is_paused: bool
    is_held: bool  # its lane is in somebody's hands
    rests_until: datetime | None  # the lane, and why
    reason: str | None
    not_before: datetime
    ahead: int
    gap: timedelta | None  # what the thing behind the lane asked for, where it did
    stretch: float
    active: int  # lanes that are in hand for the job's account
    most_active: int | None  # where the account has a limit of its own

    def is_kept_back(self, standard: Allowance) -> bool:
        """Whether its account has all the lanes in hand that it may have, and this is none of them."""
        most = standard.most_active if self.most_active is None else self.most_active
        return not self.is_held and most is not None and self.active >= most


def why_waiting(standing: Standing, now: datetime, terms: Terms) -> WhyWaiting:
    """Why the job waits. When it may start is an estimate: as if each before it took its turn and nothing else."""
    lane, ahead = standing.lane, standing.ahead
    if standing.is_paused:
        return WhyWaiting(lane, "paused", None, ahead)
    rested_at = max(standing.rests_until or now, now)
    if standing.not_before > rested_at:
        return WhyWaiting(lane, "back_off", standing.not_before, ahead)
    starts = rested_at + ahead * _gap(standing, terms.pace_of(lane))
    if standing.rests_until is not None:
        return WhyWaiting(lane, standing.reason or "gap", starts, ahead)
    reason = "account_limit" if standing.is_kept_back(terms.allowance) else "in_line"
    return WhyWaiting(lane, reason, starts, ahead)


def _gap(standing: Standing, pace: Pace) -> timedelta:
    return max(pace.gap, standing.gap or timedelta()) * standing.stretch / pace.concurrency
