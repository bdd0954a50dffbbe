"""Moments as they are kept: milliseconds since 1970 in UTC, the same in every store."""

from datetime import UTC, datetime, timedelta

__all__ = ["from_ms", "rest_ms", "to_ms"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_ALMOST_A_MILLISECOND = timedelta(microseconds=999)


def to_ms(moment: datetime) -> int:
    """The moment as it is kept."""
    return (moment - _EPOCH) // _MILLISECOND


def from_ms(value: int) -> datetime:
    """The moment that was kept."""
    return _EPOCH + timedelta(milliseconds=value)


def rest_ms(until: datetime, now: datetime) -> int:
    """The end of a rest as it is kept: rounded up, since a rest may be longer than asked and never shorter."""
    return to_ms(until if until <= now else until + _ALMOST_A_MILLISECOND)
