"""The kinds of work that there are, and what is behind the lanes in which each of them stands."""

from collections.abc import Iterable, Mapping

from emissary.engine.events import DELIVER
from emissary.model.jobs import Kind
from emissary.model.lanes import Thing
from emissary.products.scrape.order import CRAWL_LISTING, SCRAPE_HTTP

__all__ = ["KINDS", "things_of"]

KINDS: Mapping[Kind, Thing] = {SCRAPE_HTTP: Thing.HOST, CRAWL_LISTING: Thing.HOST, DELIVER: Thing.HOOK}


def things_of(kinds: Iterable[str]) -> frozenset[Thing] | None:
    """What whoever does these kinds of work serves; where none is named, everything. Raises ValueError.

    A lane is in one worker's hands as a whole: kinds that stand in the same lanes are done by the same workers.
    """
    named = list(kinds)
    for name in named:
        if name not in KINDS:
            raise ValueError(f"{name!r} is no kind of work; there are {', '.join(KINDS)}")
    return frozenset(KINDS[Kind(name)] for name in named) if named else None
