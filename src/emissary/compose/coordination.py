"""Puts the coordinator together: every process has one, and one of them leads."""

from datetime import timedelta

from emissary.compose.backends import Backend
from emissary.compose.process import LOCAL_ACCOUNT
from emissary.engine.coordinator import Coordinator
from emissary.engine.duties import Accounting, Alarm, Forgetting, Mending, Recovery, Retiring, ScalingWatch, Tidying
from emissary.engine.events import Hook
from emissary.engine.schedules import FiringDuty
from emissary.engine.telling import TellingDuty
from emissary.products.scrape.telling import Crier, HappeningCrier
from emissary.reading.urls import parse
from emissary.settings import Settings
from emissary.telemetry.metrics import Metrics

__all__ = ["coordinator_of"]


def coordinator_of(settings: Settings, backend: Backend, crier: Crier, metrics: Metrics) -> Coordinator:
    """The coordinator of this process, with all its duties."""
    clock = backend.clock
    alarm = Alarm(backend.alerts, _alert_hook(settings), crier.hearers, LOCAL_ACCOUNT)
    happened = HappeningCrier(crier, backend.batches, backend.jobs, clock)
    keep = timedelta(days=settings.keep_days)
    duties = (
        Recovery(backend.workers, backend.lanes, alarm, gap=settings.gap, clock=clock, metrics=metrics),
        Tidying(backend.batches, clock),
        Accounting(backend.usage),
        TellingDuty(backend.happenings, happened.deliveries, backend.bus, clock),
        Forgetting(backend.first_answers, clock),
        FiringDuty(backend.schedules, backend.bus, clock=clock, metrics=metrics),
        Retiring(backend.retention, backend.blobs, keep, clock=clock, metrics=metrics),
        Mending(backend.workload, clock=clock, metrics=metrics),
        ScalingWatch(backend.workload, backend.jobs, settings.worker_lanes, clock=clock, metrics=metrics),
    )
    return Coordinator(backend.worker, backend.leadership, duties, clock=clock, metrics=metrics)


def _alert_hook(settings: Settings) -> Hook | None:
    if settings.alert_webhook is None or settings.alert_secret is None:
        return None
    return Hook(parse(str(settings.alert_webhook)), settings.alert_secret.get_secret_value())
