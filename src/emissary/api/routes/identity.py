"""Who we are, for the owners of sites and for their machines."""

from html import escape
from typing import Annotated, Any

import ada_url
from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.responses import HTMLResponse

from emissary.api.auth import Provided
from emissary.api.bot_page import render_bot_page
from emissary.api.openapi import problems
from emissary.model.errors import BadRequest, NotFound
from emissary.reading.agent_card import CARD_PATH, AgentFacts, card_document
from emissary.reading.signing import DIRECTORY_PATH, DIRECTORY_TYPE

__all__ = ["router"]

router = APIRouter(tags=["identity"])

_HTML: dict[str, Any] = {"content": {"text/html": {"schema": {"type": "string"}}}}


@router.get(
    DIRECTORY_PATH,
    summary="Our signing keys",
    operation_id="keyDirectory",
    response_class=Response,
    responses={200: {"content": {DIRECTORY_TYPE: {"schema": {"type": "object"}}}}, **problems(404)},
)
async def key_directory(services: Provided) -> Response:
    """The keys with which our requests are signed, each proven by a signature on this answer."""
    found = services.credentials.directory()
    if found is None:
        raise NotFound("nothing is signed here: EMISSARY_AGENT_URL is not set to an https address")
    body, headers = found
    return Response(body, headers=headers, media_type=DIRECTORY_TYPE)


@router.get(
    CARD_PATH,
    summary="Our agent card",
    operation_id="agentCard",
    response_class=Response,
    responses={200: {"content": {"application/json": {"schema": {"type": "object"}}}}, **problems(404)},
)
async def agent_card(services: Provided) -> Response:
    """What machines want to know of us: name, contact, keys, and how we behave."""
    credentials = services.credentials
    if credentials.agent is None:
        raise NotFound("there is no card: EMISSARY_AGENT_URL is not set")
    email = credentials.identity.email
    facts = AgentFacts(
        agent=credentials.agent,
        identity=credentials.identity,
        about=f"{credentials.agent.origin}/bot",
        contacts=(f"mailto:{email}",) if email else (f"{credentials.agent.origin}/bot",),
        gap=services.gap,
    )
    return Response(card_document(facts), media_type="application/json")


@router.get(
    "/bot", summary="For site owners", operation_id="botPage", response_class=HTMLResponse, responses={200: _HTML}
)
async def bot_page(services: Provided) -> HTMLResponse:
    """Who reads your site, why, how to slow it down, and how to keep it away."""
    return HTMLResponse(render_bot_page(services.credentials, services.gap))


class OptOutRequest(BaseModel):
    """A site that we should stay away from."""

    model_config = ConfigDict(extra="forbid")

    host: Annotated[str, Field(min_length=1, max_length=253, description="The host; everything below it is meant too.")]
    contact: Annotated[str, Field(max_length=200, description="How we may reach you, if you like.")] = ""
    reason: Annotated[str, Field(max_length=1000, description="Why, if you like.")] = ""


class OptOutAnswer(BaseModel):
    """What was noted."""

    host: str
    detail: str


@router.post(
    "/bot/opt-out",
    summary="Keep us away from a site",
    operation_id="optOut",
    response_model=OptOutAnswer,
    responses={200: {**_HTML, "content": {"application/json": {}, **_HTML["content"]}}, **problems(400, 413, 415, 503)},
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {
                kind: {"schema": OptOutRequest.model_json_schema()}
                for kind in ("application/json", "application/x-www-form-urlencoded")
            },
        }
    },
)
async def opt_out(request: Request, services: Provided) -> Response:
    """Takes effect at once here, and within a minute on every worker. No key is needed, and no reason."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    word = _read(await request.body(), kind)
    host = await services.owners.opt_out(word.host, word.contact, word.reason)
    detail = f"we stay away from {host} and everything below it, within a minute everywhere"
    if kind == "application/json":
        return Response(OptOutAnswer(host=host, detail=detail).model_dump_json(), media_type="application/json")
    return HTMLResponse(f"<!doctype html><title>Noted</title><p>Noted: {escape(detail)}.</p>")


def _read(body: bytes, kind: str) -> OptOutRequest:
    try:
        if kind == "application/json":
            return OptOutRequest.model_validate_json(body)
        if kind == "application/x-www-form-urlencoded":
            fields = ada_url.parse_search_params(body.decode("utf-8", "strict"))
            return OptOutRequest.model_validate({name: values[-1] for name, values in fields.items()})
    except (ValidationError, ValueError) as error:
        what = error.errors()[0]["msg"] if isinstance(error, ValidationError) else str(error)
        raise BadRequest(f"send the name of your host as `host`: {what}") from error
    raise BadRequest("send a form or JSON with the name of your host as `host`", "unsupported_media_type")
