"""The origins whose pages may ask from a browser."""

import pytest

from emissary.model.errors import SettingsError
from emissary.settings import load_settings


def test_there_is_none_unless_it_is_set() -> None:
    assert load_settings().api_origins == ()


def test_they_are_written_as_browsers_do() -> None:
    given = "https://app.example, http://localhost:3000,http://[::1]:3000,*"
    assert load_settings(api_origins=given).api_origins == tuple(part.strip() for part in given.split(","))


@pytest.mark.parametrize(
    "given", ["app.example", "https://app.example/", "https://App.example", "https://*.app.example"]
)
def test_what_no_browser_sends_is_said_at_start(given: str) -> None:
    with pytest.raises(SettingsError, match=r"EMISSARY_API_ORIGINS: .*is no origin: write it as browsers do"):
        load_settings(api_origins=given)
