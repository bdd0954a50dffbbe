"""What we sign, others verify: by the reference implementation's packages for RFC 9421 and for Web Bot Auth."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from emissary.model.errors import BadRequest
from emissary.model.pages import WebUrl
from emissary.reading.keys import KeyRing, SigningKey, rotate
from emissary.reading.signing import (
    DIRECTORY_PATH,
    Form,
    directory_document,
    directory_headers,
    directory_url,
    sign_request,
)
from emissary.reading.urls import parse

_NOW = datetime(2026, 11, 18, 12, 0, tzinfo=UTC)
_AGENT = parse("https://bot.example/")
_PAGE = "https://shop.example/p/1?colour=red"
_RING = rotate(
    KeyRing((SigningKey(bytes(range(32)), not_before=_NOW),)), SigningKey(bytes(range(32, 64)), not_before=_NOW), _NOW
)
_SIGNER, _WAITING = _RING.published
_FORMS: tuple[Form, ...] = ("current", "pre-01")
_COVERED = {
    "current": ['"@method"', '"@authority"', '"@path"', '"signature-agent";key="sig1"'],
    "pre-01": ['"@method"', '"@authority"', '"@path"', '"signature-agent"'],
}


def _signed(url: WebUrl, form: Form = "current", method: str = "GET") -> dict[str, Any]:
    """A request as a site receives it."""
    headers = sign_request(
        _RING.active(_NOW), method=method, url=url, agent_directory=directory_url(_AGENT), now=_NOW, form=form
    )
    return {"method": method, "url": url.href, "headers": headers}


def _verify(verifiers: Any, message: dict[str, Any], **given: Any) -> dict[str, Any]:
    case = {
        "verifier": "rfc9421",
        "now": int(_NOW.timestamp()) + 1,
        "directory": directory_document(_RING).decode(),
        "label": "sig1",
        "message": message,
    }
    answer: dict[str, Any] = verifiers.verify(**{**case, **given})
    return answer


@pytest.mark.parametrize("form", _FORMS)
@pytest.mark.parametrize("method", ["GET", "HEAD", "POST"])
def test_a_signed_request_verifies(verifiers: Any, form: Form, method: str) -> None:
    assert _verify(verifiers, _signed(parse(_PAGE), form, method)) == {
        "verified": True,
        "keyid": _SIGNER.key_id,
        "tag": "web-bot-auth",
        "components": _COVERED[form],
    }


def test_the_form_before_revision_01_verifies_with_the_released_verifier_of_that_time(verifiers: Any) -> None:
    answer = _verify(verifiers, _signed(parse(_PAGE), "pre-01"), verifier="web-bot-auth")
    assert answer == {"verified": True, "keyid": _SIGNER.key_id, "tag": "web-bot-auth"}


def test_that_released_verifier_cannot_read_the_current_form_which_is_why_there_is_a_switch(verifiers: Any) -> None:
    answer = _verify(verifiers, _signed(parse(_PAGE), "current"), verifier="web-bot-auth")
    assert answer == {"verified": False, "reason": "invalid signature"}


def _with_header(message: dict[str, Any], name: str, pattern: str, instead: str) -> dict[str, Any]:
    changed, times = re.subn(pattern, instead, message["headers"][name])
    assert times >= 1, f"{pattern} is not in {name}"
    return {**message, "headers": {**message["headers"], name: changed}}


_CHANGES: dict[str, Any] = {
    "method": lambda message: {**message, "method": "POST"},
    "authority": lambda message: {**message, "url": _PAGE.replace("shop", "bank")},
    "port": lambda message: {**message, "url": _PAGE.replace("example", "example:8443")},
    "path": lambda message: {**message, "url": _PAGE.replace("/p/1", "/p/2")},
    "case of the path": lambda message: {**message, "url": _PAGE.replace("/p/1", "/P/1")},
    "signature-agent": lambda message: _with_header(message, "Signature-Agent", "bot", "rob"),
    "created": lambda message: _with_header(message, "Signature-Input", r"created=(\d+)\d", r"created=\g<1>1"),
    "expires": lambda message: _with_header(message, "Signature-Input", r"expires=(\d+)", r"expires=\g<1>0"),
    "keyid": lambda message: _with_header(message, "Signature-Input", _SIGNER.key_id, _WAITING.key_id),
    "tag": lambda message: _with_header(message, "Signature-Input", "web-bot-auth", "web-bot"),
    "fewer components": lambda message: _with_header(message, "Signature-Input", '"@method" ', ""),
    "no algorithm": lambda message: _with_header(message, "Signature-Input", ';alg="ed25519"', ""),
}


@pytest.mark.parametrize("form", _FORMS)
@pytest.mark.parametrize("part", _CHANGES)
def test_whoever_changes_a_covered_part_breaks_the_signature(verifiers: Any, form: Form, part: str) -> None:
    forged = _CHANGES[part](_signed(parse(_PAGE), form))
    assert _verify(verifiers, forged) == {"verified": False, "reason": "VerificationFailed"}


def test_the_query_is_not_covered(verifiers: Any) -> None:
    message = {**_signed(parse(_PAGE)), "url": _PAGE.replace("red", "blue")}
    assert _verify(verifiers, message)["verified"]


def test_a_key_that_the_directory_does_not_show_proves_nothing(verifiers: Any) -> None:
    directory = directory_document(KeyRing((_WAITING,))).decode()
    answer = _verify(verifiers, _signed(parse(_PAGE)), directory=directory)
    assert answer == {"verified": False, "reason": "UnknownKey"}


@pytest.mark.parametrize(("seconds", "verified"), [(-1, False), (0, True), (60, True), (61, False)])
@pytest.mark.parametrize("verifier", ["rfc9421", "web-bot-auth"])
def test_a_signature_holds_for_a_minute(verifiers: Any, verifier: str, seconds: int, verified: bool) -> None:  # noqa: FBT001
    then = int((_NOW + timedelta(seconds=seconds)).timestamp())
    message = _signed(parse(_PAGE), "pre-01")
    assert _verify(verifiers, message, now=then, verifier=verifier)["verified"] is verified


_HOSTS = st.one_of(
    st.from_regex(r"[a-zA-Z0-9äß]{1,8}(\.[a-zA-Z]{2,6}){1,2}", fullmatch=True),
    st.ip_addresses(v=4).map(str),
    st.ip_addresses(v=6).map("[{}]".format),
)
_URLS = st.builds(
    "{}://{}{}/{}".format,
    st.sampled_from(["http", "https"]),
    _HOSTS,
    st.one_of(st.just(""), st.sampled_from([":80", ":443", ":8080"])),
    st.text(st.characters(codec="utf-8"), max_size=40),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(text=_URLS, form=st.sampled_from(_FORMS))
def test_a_request_to_any_url_verifies(verifiers: Any, text: str, form: Form) -> None:
    try:
        url = parse(text)
    except BadRequest:
        return
    answer = _verify(verifiers, _signed(url, form))
    assert answer["verified"], answer


def _directory(authority: str = "bot.example", now: datetime = _NOW) -> dict[str, Any]:
    """The directory's response as a verifier receives it."""
    body = directory_document(_RING)
    return {
        "status": 200,
        "headers": directory_headers(_RING, authority=authority, body=body, now=now),
        "body": body.decode(),
        "request": {"method": "GET", "url": f"https://{authority}{DIRECTORY_PATH}", "headers": {}},
    }


@pytest.mark.parametrize(("label", "key"), [("binding0", _SIGNER), ("binding1", _WAITING)])
def test_every_key_of_the_directory_is_proven(verifiers: Any, label: str, key: SigningKey) -> None:
    assert _verify(verifiers, _directory(), label=label) == {
        "verified": True,
        "keyid": key.key_id,
        "tag": "http-message-signatures-directory",
        "components": ['"@authority";req', '"content-digest"'],
    }


def test_a_directory_with_a_port_of_its_own_is_proven(verifiers: Any) -> None:
    assert _verify(verifiers, _directory("bot.example:8443"), label="binding0")["verified"]


def test_a_directory_that_another_domain_serves_is_not_proven(verifiers: Any) -> None:
    copied = _directory()
    copied["request"]["url"] = f"https://thief.example{DIRECTORY_PATH}"
    assert _verify(verifiers, copied, label="binding0") == {"verified": False, "reason": "VerificationFailed"}


def test_a_directory_with_a_key_slipped_in_is_not_proven(verifiers: Any) -> None:
    slipped = _directory()
    slipped["body"] = slipped["body"].replace(_WAITING.x, SigningKey(bytes(32), not_before=_NOW).x)
    assert _verify(verifiers, slipped, label="binding0")["reason"] == "BadDigest"


def test_a_proof_does_not_outlive_the_key(verifiers: Any) -> None:
    ends = _SIGNER.expires
    assert ends is not None
    shortly_before = _directory(now=ends - timedelta(hours=1))
    until, after = int(ends.timestamp()), int(ends.timestamp()) + 1
    assert _verify(verifiers, shortly_before, label="binding0", now=until)["verified"]
    assert _verify(verifiers, shortly_before, label="binding0", now=after)["reason"] == "PolicyViolation"
    assert _verify(verifiers, shortly_before, label="binding1", now=after)["verified"]
