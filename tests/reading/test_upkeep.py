"""What is done now and then: what is too old is forgotten, and nothing else."""

from datetime import datetime, timedelta
from pathlib import Path

import pytest

from emissary.adapters.vault import FileVault
from emissary.backends.embedded.database import Database
from emissary.backends.embedded.reading_records import (
    SqlitePageCache,
    SqliteSecrets,
    SqliteSessions,
    SqliteSiteOwners,
)
from emissary.backends.embedded.records import SqliteHouseRules
from emissary.model.captures import Capture, Exchange, Segment
from emissary.model.robots import RobotsFile
from emissary.reading.credentials import Credentials
from emissary.reading.identity import Identity
from emissary.reading.owners import OwnersBook
from emissary.reading.upkeep import Stores, Upkeep
from emissary.testing.clock import FakeClock, SeededChance

pytestmark = pytest.mark.anyio

_DAY = timedelta(days=1)


class _NoCaptures:
    """Keeps the promise of `ports.captures.Captures` for an installation that has captured nothing."""

    async def keep(self, exchange: Exchange) -> Capture:
        raise AssertionError(f"nothing is captured here: {exchange.url}")

    async def read(self, _capture: Capture) -> bytes | None:
        return None

    async def segments(self, _since: datetime | None = None) -> list[Segment]:
        return []

    async def segment(self, _name: str) -> bytes | None:
        return None

    async def drop(self, _before: datetime) -> int:
        return 0


async def test_house_rules_of_a_site_that_nobody_asks_for_are_forgotten_after_a_week(tmp_path: Path) -> None:
    clock, database = FakeClock(), await Database.open(tmp_path / "emissary.db")
    rules, now = SqliteHouseRules(database), clock.now()
    stores = Stores(
        owners=OwnersBook(SqliteSiteOwners(database), clock),
        credentials=Credentials(Identity("1", "https://bot.example/"), None, "current", clock=clock),
        secrets=SqliteSecrets(database),
        vault=FileVault.at(tmp_path / "master.key"),
        cache=SqlitePageCache(database),
        sessions=SqliteSessions(database),
        captures=_NoCaptures(),
        rules=rules,
    )
    for days in (1, 6, 8):
        await rules.keep_rules(f"https://{days}.example", RobotsFile(200, b"Disallow:", now - days * _DAY))
    await Upkeep(stores, clock, SeededChance()).forget()
    kept = [days for days in (1, 6, 8) if await rules.rules_of(f"https://{days}.example") is not None]
    await database.close()
    assert kept == [1, 6]
