"""Random schedules for tests."""

from datetime import UTC, datetime, timedelta

import hypothesis.strategies as st

from emissary.model.timing import Cron, Every, Timing

ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Cairo", "Asia/Kathmandu")
_FIELDS = ((0, 59), (0, 23), (1, 28), (1, 12), (0, 6))


def _field(least: int, most: int) -> st.SearchStrategy[str]:
    number = st.integers(least, most)
    several = st.lists(number, min_size=1, max_size=3, unique=True).map(lambda found: ",".join(map(str, found)))
    stretch = st.tuples(number, number).map(lambda ends: f"{min(ends)}-{max(ends)}")
    steps = st.integers(2, 20).map(lambda step: f"*/{step}")
    return st.one_of(st.just("*"), several, stretch, steps)


crons: st.SearchStrategy[Cron] = st.builds(
    Cron, st.tuples(*(_field(*ends) for ends in _FIELDS)).map(" ".join), st.sampled_from(ZONES)
)
intervals: st.SearchStrategy[Every] = st.builds(
    Every,
    st.one_of(
        st.integers(1, 100_000).map(lambda seconds: timedelta(seconds=seconds)),
        st.integers(1, 40).map(lambda days: timedelta(days=days)),
    ),
    st.integers(0, 30_000_000).map(lambda seconds: datetime(2025, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)),
    st.sampled_from(ZONES),
)
timings: st.SearchStrategy[Timing] = st.one_of(crons, intervals)
