"""The OpenAPI document: what the routes say of themselves, and no answer that is never given."""

from collections.abc import Callable
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from emissary.api.addresses import STRICT
from emissary.api.door import ALWAYS_OPEN
from emissary.api.idempotency import HEADER, LONGEST_KEY, REPLAYED
from emissary.api.problems import ProblemDocument

__all__ = ["install_openapi", "problems", "reference_to"]

_SCHEMAS = "#/components/schemas/"
_referred: set[type[BaseModel]] = set()
_RATE_HEADERS = {
    "RateLimit-Policy": {
        "description": 'Where the account has a rate: requests in so many seconds, as in `"default";q=600;w=60`. Where'
        ' the server has its hands full: how many it takes at once, as in `"at-once";q=100;qu="concurrent-requests"`.',
        "schema": {"type": "string"},
    },
    "RateLimit": {
        "description": "What is left of it (`r`), and in how many seconds (`t`) all is there again.",
        "schema": {"type": "string"},
    },
}
_IDEMPOTENCY_KEY = {
    "name": HEADER,
    "in": "header",
    "required": False,
    "description": "A name of your own for this request: sent again with it within a day, it gets the first answer.",
    "schema": {"type": "string", "minLength": 1, "maxLength": LONGEST_KEY, "pattern": "^[!-~]([ -~]*[!-~])?$"},
}
_REPLAYED = {
    "description": "`true` where this is the first answer again, and nothing was done.",
    "schema": {"type": "string", "enum": ["true"]},
}
_NEVER_SENT = ("HTTPValidationError", "ValidationError")


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The part of a route's `responses` that says with which statuses a problem document may come."""
    schema = reference_to(ProblemDocument)
    return {status: {"content": {"application/problem+json": {"schema": schema}}} for status in statuses}


def reference_to(model: type[BaseModel]) -> dict[str, Any]:
    """A schema that points to the model's, which FastAPI itself does not come across."""
    _referred.add(model)
    return {"$ref": f"{_SCHEMAS}{model.__name__}"}


def install_openapi(app: FastAPI, finish: Callable[[dict[str, Any]], None]) -> None:
    """Serve the document at /openapi.json; `finish` says of it what only some routes do."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _describe(app)
            finish(app.openapi_schema)
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]  # the way that FastAPI documents


def _describe(app: FastAPI) -> dict[str, Any]:
    document = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
    schemas = document.setdefault("components", {}).setdefault("schemas", {})
    for name in _NEVER_SENT:
        schemas.pop(name, None)
    referred = sorted(_referred, key=lambda model: model.__name__)
    _, told = models_json_schema([(each, "validation") for each in referred], ref_template=_SCHEMAS + "{model}")
    schemas.update(told["$defs"])
    for path, item in document["paths"].items():
        for method, operation in item.items():
            # FastAPI writes this one everywhere; here a request that does not fit is a 400.
            operation["responses"].pop("422", None)
            if "security" in operation:
                _say_of_keys(operation["responses"])
                if path.startswith(STRICT):
                    (told,) = problems(400).values()
                    operation["responses"].setdefault("400", {"description": "The query has an unknown name", **told})
                if method == "post":
                    _say_of_idempotency(operation)
            if path not in ALWAYS_OPEN:
                (told,) = problems(429).values()
                operation["responses"].setdefault("429", {"description": "The server has its hands full", **told})
    return document


def _say_of_idempotency(operation: dict[str, Any]) -> None:
    """Whatever has effects may be sent again under its key."""
    operation.setdefault("parameters", []).append(_IDEMPOTENCY_KEY)
    responses = operation["responses"]
    said = {
        400: "The key cannot be used",
        409: "The same request has not been answered yet",
        422: "The key came with another body before",
    }
    for status, description in said.items():
        (told,) = problems(status).values()
        responses.setdefault(str(status), {"description": description, **told})
    for answer in responses.values():
        answer.setdefault("headers", {})[REPLAYED] = _REPLAYED


def _say_of_keys(responses: dict[str, Any]) -> None:
    """Wherever a key is asked for, it may be the wrong one for this, or shown too often."""
    said = {
        403: "The key has not the scope for this",
        429: "The account has asked too often or has too much in line, or the server has its hands full",
    }
    for status, description in said.items():
        (told,) = problems(status).values()
        responses.setdefault(str(status), {"description": description, **told})
    for given, answer in responses.items():
        if given != "401":
            answer.setdefault("headers", {}).update(_RATE_HEADERS)
