"""The keys in the store itself, where no key is needed, told as a server tells them; and whose they are."""

from datetime import datetime, timedelta

from emissary.client.answers import Key, NewKey
from emissary.compose import LOCAL_ACCOUNT, App
from emissary.engine.key_book import KeyWish
from emissary.model.accounts import Account
from emissary.model.errors import BadRequest
from emissary.model.ids import AccountId, KeyId
from emissary.model.keys import ALL_SCOPES, ApiKey, told

__all__ = ["account_in", "create", "every", "revoke", "rotate"]


async def account_in(app: App, name: str | None) -> AccountId:
    """The account of this name; our own, where none is named. Raises BadRequest where there is none such."""
    if name is None or name == LOCAL_ACCOUNT:
        await app.services.accounts.open_account(Account(LOCAL_ACCOUNT, "local", app.services.clock.now()))
        return LOCAL_ACCOUNT
    found = await app.services.accounts.account(AccountId(name)) if name.isprintable() else None
    if found is None:
        raise BadRequest(f"there is no account {name}: open it with POST /v1/admin/accounts")
    return found.id


async def every(app: App, account: str | None) -> list[Key]:
    """All keys that the account has had."""
    owner, keys = await account_in(app, account), list[ApiKey]()
    while page := await app.keys.of_account(owner, after=keys[-1].id if keys else ""):
        keys += page
    return [_shown(key, app.services.clock.now()) for key in keys]


async def create(app: App, account: str | None, wish: KeyWish, lifetime: timedelta | None) -> NewKey:
    """A new key, and its secret this once."""
    ends = None if lifetime is None else app.services.clock.now() + lifetime
    owner, wish = await account_in(app, account), KeyWish(wish.name, wish.scopes, ends)
    return _made(app, *await app.services.key_book.make(owner, wish, ALL_SCOPES))


async def rotate(app: App, account: str | None, key: str, grace: timedelta) -> NewKey:
    """A key in place of this one, which opens for so long still."""
    owner = await account_in(app, account)
    return _made(app, *await app.services.key_book.rotate(owner, KeyId(key), grace, ALL_SCOPES))


async def revoke(app: App, account: str | None, key: str) -> Key:
    """The key, which opens nothing any more."""
    revoked = await app.services.key_book.revoke(await account_in(app, account), KeyId(key))
    return _shown(revoked, app.services.clock.now())


def _made(app: App, key: ApiKey, secret: str) -> NewKey:
    shown = _shown(key, app.services.clock.now())
    return NewKey(**{name: getattr(shown, name) for name in shown.__struct_fields__}, key=secret)


def _shown(key: ApiKey, now: datetime) -> Key:
    return Key(
        id=key.id,
        name=key.name,
        scopes=told(key.scopes),
        hint=key.hint,
        live=key.is_live(now),
        created_at=key.created_at,
        expires_at=key.expires_at,
        revoked_at=key.revoked_at,
        last_used_at=key.last_used_at,
    )
