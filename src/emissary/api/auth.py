"""Whose request it is: a bearer key, what it may be used for, and how often."""

from typing import Annotated

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from emissary.api.addresses import check_address
from emissary.api.idempotency import claim_key
from emissary.api.services import Services
from emissary.model.errors import NotAllowed, NotAuthorized, RateLimited
from emissary.model.ids import AccountId
from emissary.model.keys import ApiKey, Scope, is_misspelled

__all__ = ["Admin", "Caller", "KeyKeeper", "Provided", "services_of"]

_bearer = HTTPBearer(auto_error=False, scheme_name="apiKey", description="`Authorization: Bearer em_…`")

_READING = frozenset({"GET", "HEAD"})


async def services_of(request: Request) -> Services:
    """What the composition root gave this app. Like all here it is a coroutine: FastAPI sends others to a thread."""
    services: Services = request.app.state.services
    return services


Provided = Annotated[Services, Depends(services_of)]


async def _entered(
    request: Request,
    services: Provided,
    credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)],
) -> ApiKey:
    """The key that was shown, once it is known that its account may ask now."""
    if credentials is None:
        raise NotAuthorized("send your key as `Authorization: Bearer em_…`", "missing_key")
    secret = credentials.credentials
    if is_misspelled(secret):
        raise NotAuthorized("this key has a slip in it: its checksum does not fit. Copy it once more, all of it")
    opened = await services.key_ring.open(secret)
    if opened is None:
        raise NotAuthorized("this key opens nothing here: check it for slips, or make a new one")
    if opened.rate is not None:
        standing = await services.rate_gate.admit(opened.key.account, opened.rate)
        request.state.standing = standing  # the headers are written around every answer, refusals too
        if not standing.allowed:
            raise RateLimited(per_minute=opened.rate.per_minute, wait=standing.retry_after)
    return opened.key


_Entered = Annotated[ApiKey, Depends(_entered)]


async def _require(request: Request, key: ApiKey, scope: Scope) -> None:
    """Let the request in. If it came before under an Idempotency-Key, this is as far as it gets."""
    if scope not in key.scopes:
        raise NotAllowed(f"this takes a key with the scope `{scope.value}`, and yours has it not")
    check_address(request)
    await claim_key(request, key.account)


async def _caller(request: Request, key: _Entered) -> AccountId:
    """Looking takes one scope, and whatever has effects another."""
    await _require(request, key, Scope.READ if request.method in _READING else Scope.WRITE)
    return key.account


async def _key_keeper(request: Request, key: _Entered) -> ApiKey:
    await _require(request, key, Scope.KEYS)
    return key


async def _admin(request: Request, key: _Entered) -> ApiKey:
    await _require(request, key, Scope.ADMIN)
    return key


Caller = Annotated[AccountId, Depends(_caller)]
"""The account, if its key may be used for what the method does."""

KeyKeeper = Annotated[ApiKey, Depends(_key_keeper)]
"""The key, if it may be used to handle those of its account."""

Admin = Annotated[ApiKey, Depends(_admin)]
"""The key, if it is the operator's."""
