"""The one parser of URLs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emissary.model.errors import BadRequest
from emissary.reading.urls import join, parse


@pytest.mark.parametrize(
    ("text", "href", "authority"),
    [
        ("HTTP://Example.ORG:80/a/../b?q=1#part", "http://example.org/b?q=1", "example.org"),
        ("https://example.org:8443", "https://example.org:8443/", "example.org:8443"),
        ("http://0x7f.1/", "http://127.0.0.1/", "127.0.0.1"),
        ("http://[::1]:8080/x", "http://[::1]:8080/x", "[::1]:8080"),
        ("https://m\u00fcnchen.example/", "https://xn--mnchen-3ya.example/", "xn--mnchen-3ya.example"),
        (" https://example.org/\t", "https://example.org/", "example.org"),
    ],
)
def test_a_url_is_read_as_browsers_read_it(text: str, href: str, authority: str) -> None:
    url = parse(text)
    assert (url.href, url.authority) == (href, authority)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "not an absolute URL"),
        ("example.org", "not an absolute URL"),
        ("http://", "not an absolute URL"),
        ("http://exa mple.org/", "not an absolute URL"),
        ("ftp://example.org/", "only http and https"),
        ("file:///etc/passwd", "only http and https"),
        ("javascript:alert(1)", "only http and https"),
        ("https://user:secret@example.org/", "signs in nowhere"),
        ("https://example.org/" + "a" * 9000, "longer than"),
        ("https://" + "a." * 200 + "org/", "a host of more than"),
    ],
)
def test_what_is_wrong_with_a_url_is_said(text: str, said: str) -> None:
    with pytest.raises(BadRequest, match=said) as raised:
        parse(text)
    assert raised.value.code == "invalid_url"


def test_a_reference_leads_from_its_page() -> None:
    page = parse("https://example.org/a/b?x=1")
    assert join(page, "../c#d").href == "https://example.org/c"
    assert join(page, "//other.example/").href == "https://other.example/"
    with pytest.raises(BadRequest):
        join(page, "mailto:someone@example.org")


@given(st.text(max_size=200))
def test_any_text_is_a_url_or_a_bad_request(text: str) -> None:
    try:
        url = parse(text)
    except BadRequest:
        return
    assert url.scheme in ("http", "https")
    assert parse(url.href) == url
