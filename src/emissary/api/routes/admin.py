"""The operator's routes: all accounts, what they may do, and their keys."""

from typing import Any

from fastapi import APIRouter, Response

from emissary.api.account_schemas import allowance_answer, credits_answer
from emissary.api.answers import as_json
from emissary.api.auth import Admin, Provided
from emissary.api.bodies import JsonRoute
from emissary.api.key_schemas import (
    AccountChange,
    AccountRequest,
    AccountsAnswer,
    HeldAccountAnswer,
    KeyAnswer,
    KeyRequest,
    KeysAnswer,
    NewKeyAnswer,
    account_of,
    key_answer,
)
from emissary.api.openapi import problems
from emissary.api.routes.keys import After, Limit, made, some_keys
from emissary.api.services import Services
from emissary.model.accounts import Account
from emissary.model.errors import BadRequest, NotFound
from emissary.model.ids import AccountId, KeyId, ulid
from emissary.model.keys import ALL_SCOPES

__all__ = ["router"]

router = APIRouter(prefix="/v1/admin/accounts", tags=["admin"], route_class=JsonRoute)

_LINKS = {
    operation: {"operationId": operation, "parameters": {"account": "$response.body#/id"}}
    for operation in ("seeHeldAccount", "changeAccount", "makeKeyOfAccount", "listKeysOfAccount")
}


@router.post(
    "",
    summary="Open an account",
    operation_id="openAccount",
    status_code=201,
    response_model=HeldAccountAnswer,
    responses={201: {"links": _LINKS}, **problems(400, 401, 413, 415, 503)},
)
async def open_account(asked: AccountRequest, _: Admin, services: Provided) -> Response:
    """Opens an account; it has no key yet."""
    now = services.clock.now()
    account = Account(AccountId(f"acc_{ulid(now, services.chance.draw(10))}"), asked.name, now)
    _check(asked)
    await services.accounts.open_account(account)
    await _apply(services, account.id, asked)
    return as_json(await _shown(services, await _found(services, account.id)), 201)


@router.get(
    "",
    summary="List all accounts",
    operation_id="listAccounts",
    response_model=AccountsAnswer,
    responses=problems(400, 401, 503),
)
async def list_accounts(_: Admin, services: Provided, *, after: After = "", limit: Limit = 100) -> Response:
    """All accounts, by their ids."""
    found = await services.accounts.accounts(after=after, most=limit + 1)
    data = [account_of(account) for account in found[:limit]]
    return as_json({"data": data, "next": data[-1]["id"] if len(found) > limit else None})


@router.get(
    "/{account}",
    summary="See any account",
    operation_id="seeHeldAccount",
    response_model=HeldAccountAnswer,
    responses=problems(401, 404, 503),
)
async def see_account(account: str, _: Admin, services: Provided) -> Response:
    """What it was granted, what it has in line and what it has left."""
    return as_json(await _shown(services, await _found(services, account)))


@router.patch(
    "/{account}",
    summary="Change an account",
    operation_id="changeAccount",
    response_model=HeldAccountAnswer,
    responses=problems(400, 401, 404, 413, 415, 503),
)
async def change_account(account: str, asked: AccountChange, _: Admin, services: Provided) -> Response:
    """Changes what you name of it. It holds at once, for requests on other machines within five seconds."""
    found = await _found(services, account)
    _check(asked)
    if asked.name is not None:
        await services.accounts.rename(found.id, asked.name)
    await _apply(services, found.id, asked)
    return as_json(await _shown(services, await _found(services, account)))


@router.post(
    "/{account}/keys",
    summary="Make a key of any account",
    operation_id="makeKeyOfAccount",
    status_code=201,
    response_model=NewKeyAnswer,
    responses=problems(400, 401, 404, 409, 413, 415, 503),
)
async def make_key(account: str, asked: KeyRequest, _: Admin, services: Provided) -> Response:
    """Makes a key of the account and shows its secret, this once."""
    found = await _found(services, account)
    return made(services, *await services.key_book.make(found.id, asked.to_wish(), ALL_SCOPES))


@router.get(
    "/{account}/keys",
    summary="List the keys of any account",
    operation_id="listKeysOfAccount",
    response_model=KeysAnswer,
    responses=problems(400, 401, 404, 503),
)
async def list_keys(account: str, _: Admin, services: Provided, *, after: After = "", limit: Limit = 100) -> Response:
    """All keys that the account has had."""
    found = await _found(services, account)
    return await some_keys(services, found.id, after, limit)


@router.delete(
    "/{account}/keys/{key}",
    summary="Revoke a key of any account",
    operation_id="revokeKeyOfAccount",
    response_model=KeyAnswer,
    responses=problems(401, 404, 503),
)
async def revoke_key(account: str, key: str, _: Admin, services: Provided) -> Response:
    """From now on the key opens nothing; on other machines within five seconds."""
    found = await _found(services, account)
    revoked = await services.key_book.revoke(found.id, KeyId(key))
    return as_json(key_answer(revoked, services.clock.now()))


async def _found(services: Services, account: str) -> Account:
    found = await services.accounts.account(AccountId(account)) if account.isprintable() else None
    if found is None:
        raise NotFound(f"there is no account {account}")
    return found


def _check(asked: AccountChange) -> None:
    if asked.add_credits is not None and "credits" in asked.model_fields_set:
        raise BadRequest("`credits` sets the balance and `addCredits` adds to it: send one of them")


async def _apply(services: Services, account: AccountId, asked: AccountChange) -> None:
    said = asked.model_fields_set
    if said & {"weight", "most_active", "most_queued", "rate"}:
        await services.allowances.grant(account, asked.applied_to(await services.allowances.allowance_of(account)))
    if "credits" in said:
        await services.allowances.set_credits(account, asked.credits)
    elif asked.add_credits is not None:
        await services.allowances.add_credits(account, asked.add_credits)
    services.key_ring.forget_account(account)


async def _shown(services: Services, account: Account) -> dict[str, Any]:
    load = await services.allowances.load_of(account.id)
    return {
        **account_of(account),
        "allowance": allowance_answer(await services.allowances.allowance_of(account.id)),
        "queued": load.queued,
        "active": load.active,
        "credits": credits_answer(await services.allowances.balance_of(account.id)),
    }
