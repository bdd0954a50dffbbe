"""The keys of the caller's own account: made, listed, rotated, revoked."""

from datetime import timedelta
from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import AfterValidator

from emissary.api.answers import as_json
from emissary.api.auth import KeyKeeper, Provided
from emissary.api.bodies import JsonRoute
from emissary.api.key_schemas import KeyAnswer, KeyRequest, KeysAnswer, NewKeyAnswer, RotateRequest, key_answer
from emissary.api.openapi import problems
from emissary.api.services import Services
from emissary.model.errors import BadRequest
from emissary.model.ids import AccountId, KeyId
from emissary.model.keys import ApiKey

__all__ = ["After", "Limit", "made", "router", "some_keys"]

router = APIRouter(prefix="/v1/keys", tags=["keys"], route_class=JsonRoute)


def _printable(after: str) -> str:
    if not after.isprintable():
        raise BadRequest("this is not a cursor: use a `next` of an earlier answer", "invalid_cursor")
    return after


After = Annotated[
    str,
    Query(max_length=100, description="A `next` of an earlier answer; go on behind it."),
    AfterValidator(_printable),
]
Limit = Annotated[int, Query(ge=1, le=1_000, description="How many at most.")]

_LINKS = {
    operation: {"operationId": operation, "parameters": {"key": "$response.body#/id"}}
    for operation in ("rotateKey", "revokeKey")
}


@router.post(
    "",
    summary="Make a key",
    operation_id="makeKey",
    status_code=201,
    response_model=NewKeyAnswer,
    responses={201: {"links": _LINKS}, **problems(400, 401, 409, 413, 415, 503)},
)
async def make_key(asked: KeyRequest, caller: KeyKeeper, services: Provided) -> Response:
    """Makes a further key of your account and shows its secret, this once. It can do no more than your own."""
    return made(services, *await services.key_book.make(caller.account, asked.to_wish(), caller.scopes))


@router.get(
    "",
    summary="List your keys",
    operation_id="listKeys",
    response_model=KeysAnswer,
    responses=problems(400, 401, 503),
)
async def list_keys(caller: KeyKeeper, services: Provided, *, after: After = "", limit: Limit = 100) -> Response:
    """All keys that your account has had, those that open nothing any more as well."""
    return await some_keys(services, caller.account, after, limit)


@router.post(
    "/{key}/rotate",
    summary="Rotate a key",
    operation_id="rotateKey",
    status_code=201,
    response_model=NewKeyAnswer,
    responses={201: {"links": _LINKS}, **problems(400, 401, 404, 409, 413, 415, 503)},
)
async def rotate_key(key: str, caller: KeyKeeper, services: Provided, asked: RotateRequest | None = None) -> Response:
    """Makes a key in place of this one, with the same name, scopes and lifetime. The old one opens for a day still."""
    grace = timedelta(seconds=(asked or RotateRequest()).grace_seconds)
    return made(services, *await services.key_book.rotate(caller.account, KeyId(key), grace, caller.scopes))


@router.delete(
    "/{key}",
    summary="Revoke a key",
    operation_id="revokeKey",
    response_model=KeyAnswer,
    responses=problems(401, 404, 503),
)
async def revoke_key(key: str, caller: KeyKeeper, services: Provided) -> Response:
    """From now on the key opens nothing; on other machines of the same installation within five seconds."""
    revoked = await services.key_book.revoke(caller.account, KeyId(key))
    return as_json(key_answer(revoked, services.clock.now()))


def made(services: Services, key: ApiKey, secret: str) -> Response:
    """The answer with the secret."""
    return as_json({**key_answer(key, services.clock.now()), "key": secret}, 201)


async def some_keys(services: Services, account: AccountId, after: str, limit: int) -> Response:
    """A page of the account's keys."""
    keys = await services.key_book.page(account, after=after, most=limit + 1)
    data = [key_answer(key, services.clock.now()) for key in keys[:limit]]
    return as_json({"data": data, "next": data[-1]["id"] if len(keys) > limit else None})
