"""The first key: without one nobody could ask for anything."""

from emissary.compose.app import App
from emissary.compose.process import LOCAL_ACCOUNT
from emissary.model.accounts import Account
from emissary.model.errors import SettingsError
from emissary.model.ids import KeyId, ulid
from emissary.model.keys import ApiKey, digest_of, hint_of, spell_key

__all__ = ["first_key"]


async def first_key(app: App) -> str | None:
    """See to it that there is a key, good for everything. One that is made here is returned, to be shown this once."""
    now, entropy = app.services.clock.now(), app.chance.draw(10)
    await app.services.accounts.open_account(Account(LOCAL_ACCOUNT, "local", now))
    given = None if app.settings.api_key is None else app.settings.api_key.get_secret_value()
    if given is None and await app.keys.any_live(now):
        return None
    if given is None and not app.settings.is_loopback:
        what = f"{app.settings.host} can be reached from elsewhere, and there is no key yet"
        raise SettingsError(f"{what}: set EMISSARY_API_KEY, or start once on 127.0.0.1 to have one made")
    secret = given or spell_key(app.chance.draw(38))
    # Each key that is given has a name of its own: the setting may be changed as often as its owner likes.
    name = "first" if given is None else f"EMISSARY_API_KEY {entropy.hex()[:6]}"
    key = ApiKey(KeyId(f"key_{ulid(now, entropy)}"), LOCAL_ACCOUNT, digest_of(secret), now, name, hint=hint_of(secret))
    await app.keys.add(key, now)
    return None if given else secret
