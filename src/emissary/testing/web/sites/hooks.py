"""The receiver of webhooks. What was posted is in the log, with its headers and body."""

from emissary.testing.web.answers import Answer, Request, Whole, html
from emissary.testing.web.pages.plain import plain_page
from emissary.testing.web.site import Route, Site, robots

__all__ = ["hooks_site"]


def _answer_with(request: Request) -> Answer:
    code = request.places["code"]
    if not code.isdecimal() or not 200 <= int(code) <= 599:
        return html(plain_page("Not found", "That is not a status of an answer."), status=404)
    return Whole(int(code))


def hooks_site() -> Site:
    """A host that takes whatever is posted to it."""
    return Site(
        "hooks",
        "a receiver of webhooks",
        (
            robots(),
            Route("/hook", "POST: remembered, answered with 204", lambda _: Whole(204), methods=("POST",)),
            Route("/hook/{code}", "POST: remembered, answered with that status", _answer_with, methods=("POST",)),
        ),
    )
