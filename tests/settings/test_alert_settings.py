"""The settings of alerts: an address and what signs them come together, and a secret is never shown."""

import pytest

from emissary.model.errors import SettingsError
from emissary.settings import load_settings

SECRET = "whsec_c2VjcmV0IHNlY3JldCBzZWNyZXQgc2VjcmV0"


def test_alerts_are_sent_where_it_is_said_and_signed() -> None:
    settings = load_settings(alert_webhook="https://operator.example/alerts", alert_secret=SECRET)
    assert str(settings.alert_webhook) == "https://operator.example/alerts"
    assert settings.alert_secret is not None
    assert settings.alert_secret.get_secret_value() == SECRET
    assert SECRET not in repr(settings)


def test_without_an_address_there_are_no_alerts_to_sign() -> None:
    settings = load_settings()
    assert (settings.alert_webhook, settings.alert_secret) == (None, None)


def test_an_address_without_a_secret_is_said_at_start() -> None:
    with pytest.raises(SettingsError, match=r"EMISSARY_ALERT_SECRET: .*needed with EMISSARY_ALERT_WEBHOOK"):
        load_settings(alert_webhook="https://operator.example/alerts")


@pytest.mark.parametrize("secret", ["whsec_short", "whsec_!!!", "password"])
def test_a_secret_that_cannot_sign_is_said_at_start_and_not_shown(secret: str) -> None:
    with pytest.raises(SettingsError, match="EMISSARY_ALERT_SECRET") as error:
        load_settings(alert_webhook="https://operator.example/alerts", alert_secret=secret)
    assert secret not in error.value.detail


@pytest.mark.parametrize("days", [0, -1, 100_000])
def test_how_long_jobs_are_kept_has_bounds(days: int) -> None:
    with pytest.raises(SettingsError, match="EMISSARY_KEEP_DAYS"):
        load_settings(keep_days=days)
