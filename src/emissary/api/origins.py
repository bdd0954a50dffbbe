"""Which pages in a browser may read what is answered here (CORS): those of the origins that the operator has named."""

from collections.abc import Sequence

from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp

from emissary.api.idempotency import HEADER, REPLAYED

__all__ = ["opened_to"]

_METHODS = ("GET", "POST", "PATCH", "DELETE")
_TAKEN = ("Authorization", "Content-Type", HEADER, f"X-{HEADER}", "Last-Event-ID")
_SHOWN = ("RateLimit", "RateLimit-Policy", "Retry-After", REPLAYED)


def opened_to(origins: Sequence[str], app: ASGIApp) -> ASGIApp:
    """The app for these origins as well; without cookies and the like, so that a page has no key but its own."""
    if not origins:
        return app
    return CORSMiddleware(
        app, allow_origins=origins, allow_methods=_METHODS, allow_headers=_TAKEN, expose_headers=_SHOWN
    )
