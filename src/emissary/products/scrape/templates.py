"""What the pages of a batch have in common, read once and remembered: it never changes."""

from collections import OrderedDict

import msgspec

from emissary.engine.handlers import Work
from emissary.model.errors import StoreUnavailable
from emissary.model.ids import BatchId
from emissary.ports.batches import Ledger
from emissary.products.scrape.order import (
    CRAWL_LISTING,
    ListingOfCrawl,
    PageOfBatch,
    ScrapeOptions,
    ScrapeOrder,
    order_of,
    order_of_listing,
)

__all__ = ["Templates"]

_MOST_REMEMBERED = 1_000

_decode_order = msgspec.json.Decoder(ScrapeOrder).decode
_decode_options = msgspec.json.Decoder(ScrapeOptions).decode
_decode_page = msgspec.json.Decoder(PageOfBatch).decode
_decode_listing = msgspec.json.Decoder(ListingOfCrawl).decode


class Templates:
    """Puts the order of a job together, of what is its own and what it shares with its batch."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._remembered: OrderedDict[BatchId, ScrapeOptions] = OrderedDict()

    async def order_for(self, work: Work) -> ScrapeOrder:
        """The whole order of this piece of work."""
        batch = work.item.batch
        if batch is None:
            return _decode_order(work.item.order)
        if batch not in self._remembered:
            shared = await self._ledger.order_of(batch)
            if shared is None:
                raise StoreUnavailable(f"the batch {batch} of {work.item.job} cannot be found")
            self._remembered[batch] = _decode_options(shared)
            if len(self._remembered) > _MOST_REMEMBERED:
                self._remembered.popitem(last=False)
        return self.known_order(work)

    def known_order(self, work: Work) -> ScrapeOrder:
        """The same, where the batch has been met before; raises msgspec's errors for what cannot be read."""
        if work.item.batch is None:
            return _decode_order(work.item.order)
        options = self._remembered.get(work.item.batch, ScrapeOptions())
        if work.item.kind == CRAWL_LISTING:
            return order_of_listing(options, _decode_listing(work.item.order))
        return order_of(options, _decode_page(work.item.order))
