"""The limits that settings give to all accounts."""

import pytest

from emissary.model.errors import SettingsError
from emissary.model.rates import Rate
from emissary.settings import load_settings


def test_there_is_no_rate_unless_one_is_set() -> None:
    assert load_settings().allowance.rate is None


def test_a_burst_is_a_minutes_worth_unless_it_is_said() -> None:
    assert load_settings(account_rate=600).allowance.rate == Rate(600, 600)
    assert load_settings(account_rate=600, account_burst=20).allowance.rate == Rate(600, 20)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"account_burst": 20}, "EMISSARY_ACCOUNT_BURST: .*set EMISSARY_ACCOUNT_RATE as well"),
        ({"account_rate": 0}, "EMISSARY_ACCOUNT_RATE"),
        ({"account_rate": 600, "account_burst": 0}, "EMISSARY_ACCOUNT_BURST"),
    ],
)
def test_a_rate_that_cannot_work_is_said_at_start(given: dict[str, int], told: str) -> None:
    with pytest.raises(SettingsError, match=told):
        load_settings(**given)
