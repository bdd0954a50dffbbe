"""The batches, their ledgers, and what is tidied up behind them."""

from collections.abc import Collection
from datetime import datetime
from typing import Protocol

from emissary.model.batches import Batch, BatchState, Finished, LedgerLine, NewBatch
from emissary.model.ids import AccountId, BatchId, JobId
from emissary.model.jobs import JobState

__all__ = ["Batches", "Ledger"]


class Batches(Protocol):
    """Batches and their states. Jobs are put into a batch by `Lanes.submit`."""

    async def open(self, batch: NewBatch, now: datetime) -> None:
        """Begin a batch; jobs may come into it from now on."""
        ...

    async def seal(self, batch: BatchId) -> None:
        """Nothing more will come into the batch: it is completed once all in it has ended."""
        ...

    async def hear(self, batch: BatchId, now: datetime) -> bool:
        """More may still come into the batch; False if it has ended, and nothing more is taken in.

        A batch that is not sealed and of which nothing was heard for `LOST_AFTER` is cancelled by `tidy`: whoever
        filled it is gone.
        """
        ...

    async def find(self, batch: BatchId) -> Batch | None:
        """The batch with its exact counts at this moment; it costs the same for ten jobs and for a million."""
        ...

    async def mark(self, batch: BatchId, state: BatchState, now: datetime) -> bool:
        """Let the batch run, pause or be cancelled; False if it has ended.

        From the moment this returns nothing of a paused or cancelled batch is handed out; of a cancelled one nothing
        more is settled, and all its jobs that had not ended are cancelled.
        """
        ...

    async def again(self, batch: BatchId, states: Collection[JobState], now: datetime, *, most: int) -> int:
        """Put up to `most` jobs of a sealed batch that ended so back into line, as if they were new; how many."""
        ...

    async def admit(self, batch: BatchId, job: JobId, *, most: int) -> bool:
        """Let one more job of the batch begin, unless `most` others have. Whoever was let in once is let in again."""
        ...

    async def tidy(self, now: datetime, *, most: int) -> int:
        """Do up to `most` rows of what `mark` left behind; 0 when all is done.

        Batches that are completed are noted, those whose intake was lost are cancelled, and misses that have been
        remembered for long enough are forgotten.
        """
        ...


class Ledger(Protocol):
    """What batches there are, what became of each of their jobs, and what was missed."""

    async def of_account(self, account: AccountId, *, before: BatchId | None, most: int) -> list[Batch]:
        """The account's batches, the latest first, those before this one in time."""
        ...

    async def order_of(self, batch: BatchId) -> bytes | None:
        """What all jobs of the batch have in common; None if there is no such batch."""
        ...

    async def lines(
        self, batch: BatchId, *, after: int, most: int, states: Collection[JobState] | None = None
    ) -> list[LedgerLine]:
        """Jobs in the order of their positions, those after this position."""
        ...

    async def at(self, batch: BatchId, positions: Collection[int]) -> list[LedgerLine]:
        """The jobs at these positions, as far as there are any; it costs the same wherever in the batch they are."""
        ...

    async def misses(self, account: AccountId, marks: Collection[bytes], now: datetime) -> dict[bytes, str]:
        """Which of these marks the account asked for in vain during `MISS_KEPT`, each with the code it came to."""
        ...

    async def finished(self, batch: BatchId, *, after: str, most: int) -> list[Finished]:
        """Jobs with results in the order in which they ended, those behind this cursor ('' is the beginning).

        Whoever follows the cursors sees every result, also those that come while he reads, and none twice unless its
        job was put back into line and ended anew.
        """
        ...

    async def halted(self, batches: Collection[BatchId]) -> frozenset[BatchId]:
        """Those of these batches that are paused or cancelled: whoever has some of them in hand begins nothing more."""
        ...

    async def all_told(self, batch: BatchId) -> bool:
        """Whether `finished`, asked after this, shows every result of the batch that was there when this was asked."""
        ...
