"""The app: routes, problems and limits, on whatever services it is given."""

from fastapi import FastAPI

from emissary.api.limits import BodyLimit, Instruments
from emissary.api.problems import install_problems
from emissary.api.reference import install_reference
from emissary.api.routes import operations, scrape
from emissary.api.services import Services

__all__ = ["create_app"]

_DESCRIPTION = "Reads the web for people, openly. Every document comes with a receipt; a refusal is an answer."


def create_app(services: Services) -> FastAPI:
    """The whole HTTP API."""
    app = FastAPI(title="Emissary", version=services.version, description=_DESCRIPTION, docs_url=None, redoc_url=None)
    app.state.services = services
    install_problems(app)
    app.include_router(scrape.router)
    app.include_router(operations.router)
    install_reference(app)
    app.add_middleware(BodyLimit)
    app.add_middleware(Instruments, metrics=services.metrics, clock=services.clock)
    return app
