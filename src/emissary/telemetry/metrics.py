"""Every metric, declared once. docs/metrics.md lists them, and a test compares the two."""

from collections.abc import Sequence

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

__all__ = ["Metrics"]

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
_BATCHES = (1, 2, 5, 10, 20, 50, 100, 200)


class Metrics:
    """The metrics of one process, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        # the engine
        self.accepted = self._counter("jobs_accepted", "Jobs accepted, by kind.", "kind")
        self.settled = self._counter("jobs_settled", "Settlements written, by the state they led to.", "state")
        self.fenced = self._counter("settlements_fenced", "Settlements that came too late to be written.")
        self.leases_lost = self._counter("leases_lost", "Leases lost while work was under way.")
        self.recovered = self._counter("lanes_recovered", "Lanes taken back from dead workers.")
        self.mended = self._counter("lanes_mended", "Lanes that stood empty with work in them; there should be none.")
        self.broken = self._counter("handlers_broken", "Items whose handler raised an error, by kind.", "kind")
        self.lanes_held = self._gauge("lanes_held", "Lanes this process holds now.")
        self.open_jobs = self._gauge("jobs_open", "Jobs that have not ended.")
        self.settle_batch = self._histogram("settle_batch_size", "Settlements written in one transaction.", _BATCHES)
        # the coordinator
        self.leads = self._gauge("leads", "Whether this process leads.")
        self.terms = self._counter("terms_led", "Terms in which this process led.")
        self.duties_failed = self._counter("duties_failed", "Duties that failed and were tried again.", "duty")
        self.workers_dead = self._counter("workers_dead", "Workers found dead with lanes in hand.")
        self.fired = self._counter("schedules_fired", "Jobs made by schedules.")
        self.passed_over = self._counter("schedules_passed_over", "Times that missed moments were not made up for.")
        self.dropped = self._counter("records_dropped", "Rows, or whole days at once, dropped as too old.")
        self.wanted_workers = self._gauge("wanted_workers", "Workers there should be; told by the leader.")
        self.ready_lanes = self._gauge("ready_lanes", "Lanes that wait for a worker; told by the leader.")
        self.waiting_items = self._gauge("waiting_items", "Jobs that have not ended; told by the leader.")
        self.oldest_wait = self._gauge("oldest_wait_seconds", "How long a ready lane has waited; told by the leader.")
        # reading
        self.visits = self._counter("visits", "Visits, by what came of them.", "kind", "code")
        self.visit_seconds = self._histogram("visit_seconds", "Seconds a visit took, its waiting included.", _SECONDS)
        self.extractions_in_children = self._counter("extractions_in_children", "Pages read in a child process.")
        self.extractions_failed = self._counter("extractions_failed", "Pages that ended their child, by why.", "why")
        self.extraction_children = self._gauge("extraction_children", "Child processes for extraction there are now.")
        # the API
        self.requests = self._counter("api_requests", "API requests, by route and status.", "route", "status")
        self.request_seconds = self._histogram("api_request_seconds", "Seconds an API request took.", _SECONDS, "route")

    def step_down(self) -> None:
        """Only the leader knows how much there is to do."""
        for gauge in (self.leads, self.wanted_workers, self.ready_lanes, self.waiting_items, self.oldest_wait):
            gauge.set(0)

    def _counter(self, name: str, meaning: str, *labels: str) -> Counter:
        return Counter(f"emissary_{name}", meaning, labels, registry=self.registry)

    def _gauge(self, name: str, meaning: str) -> Gauge:
        return Gauge(f"emissary_{name}", meaning, registry=self.registry)

    def _histogram(self, name: str, meaning: str, buckets: Sequence[float], *labels: str) -> Histogram:
        return Histogram(f"emissary_{name}", meaning, labels, buckets=buckets, registry=self.registry)
