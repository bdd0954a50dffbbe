"""What is kept of a page follows the site's last word."""

import pytest
from served import Emissary

from emissary.testing.web import TestWebProcess


@pytest.mark.parametrize("directive", ["no-store", "private"])
def test_a_page_that_is_not_to_be_stored_is_not_captured(server: Emissary, web: TestWebProcess, directive: str) -> None:
    receipt = server.scrape(web.url("trouble", f"/cache/{directive}"))["receipt"]
    assert receipt["capture"] is None


def test_an_ordinary_page_is_captured(server: Emissary, web: TestWebProcess) -> None:
    assert server.scrape(web.url("shop", "/product/815"))["receipt"]["capture"] is not None


def test_a_redirect_that_leads_nowhere_is_no_page(server: Emissary, web: TestWebProcess) -> None:
    answer = server.scrape(web.url("moved", "/nowhere"))
    assert (answer["status"], answer["outcome"]["code"]) == ("failed", "bad_response")
