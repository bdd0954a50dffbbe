"""The first key: without one nobody could ask for anything."""

from emissary.compose.app import App
from emissary.compose.process import LOCAL_ACCOUNT
from emissary.model.accounts import Account, ApiKey, digest_of, spell_key
from emissary.model.errors import SettingsError
from emissary.model.ids import KeyId, ulid

__all__ = ["first_key"]


async def first_key(app: App) -> str | None:
    """See to it that there is a key. One that is made here is returned, to be shown this once."""
    accounts, now = app.services.accounts, app.services.clock.now()
    await accounts.open_account(Account(LOCAL_ACCOUNT, "local", now))
    given = None if app.settings.api_key is None else app.settings.api_key.get_secret_value()
    if given is None and await accounts.has_keys():
        return None
    if given is None and not app.settings.is_loopback:
        what = f"{app.settings.host} can be reached from elsewhere, and there is no key yet"
        raise SettingsError(f"{what}: set EMISSARY_API_KEY, or start once on 127.0.0.1 to have one made")
    secret = given or spell_key(app.chance.draw(38))
    key = ApiKey(KeyId(f"key_{ulid(now, app.chance.draw(10))}"), LOCAL_ACCOUNT, digest_of(secret), now)
    await accounts.add_key(key)
    return None if given else secret
