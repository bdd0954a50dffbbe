"""The app: routes, problems and limits, on whatever services it is given."""

from fastapi import FastAPI
from starlette.types import ASGIApp

from emissary.api.door import Door
from emissary.api.facade import many, pages
from emissary.api.facade.shape import InTheirShape, describe_failures
from emissary.api.idempotency import AnsweredBefore, Idempotency, answered_before
from emissary.api.limits import BodyLimit, Instruments
from emissary.api.openapi import install_openapi
from emissary.api.origins import opened_to
from emissary.api.problems import install_problems
from emissary.api.reference import install_reference
from emissary.api.routes import (
    account,
    admin,
    batch,
    batches,
    documents,
    events,
    identity,
    jobs,
    keys,
    operations,
    scrape,
    sites,
    webhooks,
)
from emissary.api.services import Services
from emissary.engine.admission import Admission

__all__ = ["create_app"]

_DESCRIPTION = "Reads the web for people, openly. Every document comes with a receipt; a refusal is an answer."


class _Api(FastAPI):
    def build_middleware_stack(self) -> ASGIApp:
        """The instruments are around everything: an unexpected error is answered at FastAPI's own outermost edge."""
        services: Services = self.state.services
        inner = InTheirShape(super().build_middleware_stack())
        whole: ASGIApp = Instruments(inner, metrics=services.metrics, clock=services.clock)
        admission: Admission | None = self.state.admission
        if admission is not None:
            whole = Door(whole, admission, services.metrics, shape=InTheirShape)
        return opened_to(services.origins, whole)  # a page is to see as well that it was turned away


def create_app(services: Services, admission: Admission | None = None) -> FastAPI:
    """The whole HTTP API. Without `admission` everybody is let in, however many there are."""
    app = _Api(
        title="Emissary",
        version=services.version,
        description=_DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.services = services
    app.state.admission = admission
    install_problems(app)
    app.add_exception_handler(AnsweredBefore, answered_before)
    app.include_router(scrape.router)
    app.include_router(jobs.router)
    app.include_router(documents.router)
    app.include_router(batches.router)
    app.include_router(batch.routes_of("batch"))
    app.include_router(batch.routes_of("crawl"))
    app.include_router(events.events_of("batch"))
    app.include_router(events.events_of("crawl"))
    app.include_router(sites.router)
    app.include_router(account.router)
    app.include_router(keys.router)
    app.include_router(webhooks.router)
    app.include_router(admin.router)
    app.include_router(operations.router)
    app.include_router(identity.router)
    app.include_router(pages.router)
    app.include_router(many.router)
    install_openapi(app, describe_failures)
    install_reference(app)
    app.add_middleware(Idempotency)
    app.add_middleware(BodyLimit)
    return app
