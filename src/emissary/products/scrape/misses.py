"""Which pages count as asked for in vain, so that a later batch may leave them out for a day."""

from emissary.model.pages import Code, Outcome
from emissary.products.scrape.batches import mark_of
from emissary.products.scrape.order import ScrapeOrder

__all__ = ["miss_of"]

_WELL = frozenset({Code.OK})
_LATER = frozenset({Code.RATE_LIMITED, Code.UNAVAILABLE, Code.WAITING_ROOM})  # the site itself says so
_NOT_THE_PAGE = frozenset(  # but us, or what was wanted of it
    {Code.PROXY, Code.MISSING_FIELD, Code.EXTRACTION_FAILED, Code.LIMIT, Code.INTERNAL, Code.POISON}
)
_MISSES = frozenset(Code) - _WELL - _LATER - _NOT_THE_PAGE


def miss_of(order: ScrapeOrder, outcome: Outcome) -> bytes | None:
    """The mark of the page if it was asked for in vain. What a session sees says nothing about others."""
    if order.part != "page":
        return None  # what is no sitemap may well be a page
    return mark_of(order.url.href) if outcome.code in _MISSES and order.session is None else None
