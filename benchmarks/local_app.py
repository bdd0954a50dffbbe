"""Emissary as the benchmarks of whole batches set it up: on the local web, without a gap, on either backend."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
from pydantic import SecretStr

from benchmarks.workload import SCHEMA
from emissary.compose import LOCAL_ACCOUNT, App
from emissary.model.ids import BatchId
from emissary.model.pages import Format
from emissary.products.scrape.batches import BatchWish, Line
from emissary.products.scrape.order import ScrapeOptions
from emissary.settings import Settings

__all__ = ["Place", "progress", "submit", "wish_for_fields"]

_CHUNK = 1_000


@dataclass(frozen=True, slots=True)
class Place:
    """A store, as settings and as what a process of its own is told by its environment.

    One request per host at a time and no gap between them: what is measured is not the hosts' patience.
    """

    folder: Path
    database_url: str | None = None
    objects_url: str | None = None

    @property
    def settings(self) -> Settings:
        return Settings(
            data_dir=self.folder,
            host_gap=0,
            allow_networks=("127.0.0.0/8",),
            log_level="warning",
            database_url=None if self.database_url is None else SecretStr(self.database_url),
            objects_url=None if self.objects_url is None else SecretStr(self.objects_url),
        )

    @property
    def variables(self) -> Mapping[str, str]:
        named = {
            "EMISSARY_DATA_DIR": str(self.folder),
            "EMISSARY_HOST_GAP": "0",
            "EMISSARY_ALLOW_NETWORKS": "127.0.0.0/8",
            "EMISSARY_LOG_LEVEL": "warning",
            "EMISSARY_DATABASE_URL": self.database_url,
            "EMISSARY_OBJECTS_URL": self.objects_url,
        }
        return {name: value for name, value in named.items() if value is not None}


def wish_for_fields() -> BatchWish:
    """The six fields of the batch's workload."""
    return BatchWish(ScrapeOptions(formats=(Format.FIELDS,), fields=msgspec.json.encode(SCHEMA).decode()))


async def submit(app: App, urls: Sequence[str], wish: BatchWish) -> BatchId:
    """A batch of these pages, accepted and sealed."""
    intake = await app.services.batches.begin(LOCAL_ACCOUNT, wish)
    for start in range(0, len(urls), _CHUNK):
        await intake.add([Line(url) for url in urls[start : start + _CHUNK]])
    return (await intake.end()).id


async def progress(app: App, batch: BatchId, *, every: float) -> AsyncIterator[int]:
    """How many pages have ended, look after look, until all have; all of them must have been read."""
    while True:
        found = await app.services.batches.show(LOCAL_ACCOUNT, batch)
        yield found.counts.ended
        if found.counts.ended == found.total:
            break
        await app.services.clock.sleep(every)
    if found.counts.completed != found.total:
        raise AssertionError(f"not every page of {batch} was read: {found.counts}")
