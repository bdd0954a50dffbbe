"""Taking from a page what is wanted of it, whatever the page does to whoever reads it."""

from typing import Protocol

from emissary.model.extraction import Extracted, Unextractable, Wanted
from emissary.model.pages import Page

__all__ = ["Extraction"]


class Extraction(Protocol):
    """Turns pages into data. Of a page it reads the address, the status, the type and the body, and nothing else.

    A page that takes too much memory or time, or breaks what reads it, is an `Unextractable`. It harms nobody else:
    neither other pages, nor the loop, nor this process. Whoever stops waiting ends the work.
    """

    async def extract(self, page: Page, wanted: Wanted) -> Extracted | Unextractable:
        """What was asked for; raises ExtractionUnavailable if nobody can read it now, which is not the page's fault."""
        ...
