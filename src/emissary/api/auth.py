"""Whose request it is: a bearer key, looked up by its digest."""

from typing import Annotated

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from emissary.api.services import Services
from emissary.model.accounts import digest_of
from emissary.model.errors import NotAuthorized
from emissary.model.ids import AccountId

__all__ = ["Caller", "Provided", "services_of"]

_bearer = HTTPBearer(auto_error=False, scheme_name="apiKey", description="`Authorization: Bearer em_…`")


def services_of(request: Request) -> Services:
    """What the composition root gave this app."""
    services: Services = request.app.state.services
    return services


Provided = Annotated[Services, Depends(services_of)]


async def _caller(
    services: Provided, credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]
) -> AccountId:
    if credentials is None:
        raise NotAuthorized("send your key as `Authorization: Bearer em_…`", "missing_key")
    account = await services.accounts.account_by_key(digest_of(credentials.credentials))
    if account is None:
        raise NotAuthorized("this key opens nothing here: check it for slips, or make a new one")
    return account


Caller = Annotated[AccountId, Depends(_caller)]
