"""The house rules that are known by heart: bounded by count and by bytes."""

import gc
import tracemalloc
from datetime import timedelta

import pytest

from emissary.model.robots import RobotsFile
from emissary.reading.robots import MAX_ROBOTS_BYTES, parse_robots
from emissary.reading.rules_memory import KnownRules, RulesMemory
from emissary.testing.clock import FakeClock

_NOW = FakeClock().now()
_HOUR = timedelta(hours=1)
_SMALL = b"User-agent: *\nDisallow: /private/\n"
_LARGE = b"User-agent: *\n" + b"".join(b"Disallow: /shelf/%d/\n" % number for number in range(1_000))


def _known(body: bytes = _SMALL) -> KnownRules:
    return KnownRules(RobotsFile(200, b"", _NOW), "a.example", parse_robots(body, "Emissary"), _NOW + _HOUR)


def test_rules_are_known_until_their_time_is_over() -> None:
    memory, known = RulesMemory(), _known()
    memory.keep("http://a.example", known)
    assert memory.recall("http://a.example", _NOW + _HOUR - timedelta.resolution) is known
    assert memory.recall("http://a.example", _NOW + _HOUR) is None
    assert (len(memory), memory.weight) == (0, 0)


def test_there_are_no_more_files_than_fit() -> None:
    memory = RulesMemory(most_files=3)
    for name in "abc":
        memory.keep(name, _known())
    assert memory.recall("a", _NOW) is not None
    memory.keep("d", _known())
    assert [name for name in "abcd" if memory.recall(name, _NOW) is not None] == ["a", "c", "d"]


def test_there_are_no_more_bytes_than_fit() -> None:
    small, large = _known().rules.weight, _known(_LARGE).rules.weight
    memory = RulesMemory(most_bytes=large + 2 * small)
    memory.keep("large", _known(_LARGE))
    for name in "abc":
        memory.keep(name, _known())
    assert memory.recall("large", _NOW) is None
    assert memory.weight == 3 * small
    memory.keep("large", _known(_LARGE))
    assert memory.weight == large + 2 * small


def test_rules_that_are_learned_anew_take_no_more_room() -> None:
    memory = RulesMemory()
    for body in (_LARGE, _SMALL, _SMALL):
        memory.keep("a", _known(body))
    assert (len(memory), memory.weight) == (1, _known().rules.weight)


def test_what_is_too_heavy_by_itself_is_not_remembered() -> None:
    memory = RulesMemory(most_bytes=100)
    memory.keep("a", _known())
    assert (len(memory), memory.weight) == (0, 0)


@pytest.mark.parametrize(
    "lines",
    [
        b"".join(b"allow:/%d\n" % number for number in range(60_000)),
        b"".join(b"allow:/%d/index.htm\n" % number for number in range(30_000)),
        (b"Disallow: /" + b"ab*" * 5_000 + b"\n") * 40,
        b"".join(b"content-usage:/%d a=y\n" % number for number in range(30_000)),
        (b"content-usage:/x " + b",".join(b"k%d=y" % number for number in range(900)) + b"\n") * 50,
        b"".join(b"sitemap:%d\n" % number for number in range(40_000)),
    ],
    ids=["short rules", "index pages", "stars", "usage", "many keys", "sitemaps"],
)
def test_rules_weigh_no_less_than_the_memory_they_take(lines: bytes) -> None:
    body = (b"User-agent: *\n" + lines)[:MAX_ROBOTS_BYTES]
    gc.collect()
    tracemalloc.start()
    rules = parse_robots(body, "Emissary")
    gc.collect()
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert taken <= rules.weight < 3 * taken
