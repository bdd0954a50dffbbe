"""The end that all faults must come to, whatever they were."""

from account import Account
from ledger_checker import batch_breaches, left_behind
from stage import Order, Stage

from emissary.model.jobs import JobState

__all__ = ["check_the_end"]


async def check_the_end(stage: Stage, order: Order, account: Account) -> None:
    """All workers live and go in order, every job has been done once, and nothing is left."""
    await order.seal()
    await order.until_all_ended()
    assert all(worker.lives for worker in stage.workers.values()), "an outage ends nobody"
    assert set(await stage.dismiss()) == {0}
    breaches = await batch_breaches(stage.backend, order.batch.id, order.accepted, ends={JobState.COMPLETED})
    account.close(len(order.accepted), breaches + await left_behind(stage.backend))
    assert "Traceback" not in stage.place.log.read_text()
