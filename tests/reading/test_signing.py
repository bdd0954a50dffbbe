"""Signatures to the bit as the standards publish them, and keys that change without a gap."""

import json
from base64 import urlsafe_b64decode
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emissary.model.pages import WebUrl
from emissary.reading.keys import KEPT_FOR, PUBLISHED_AHEAD, KeyRing, SigningKey, drop_retired, rotate
from emissary.reading.signing import (
    DIRECTORY_TYPE,
    Form,
    directory_document,
    directory_headers,
    directory_url,
    sign,
    sign_request,
)
from emissary.reading.urls import parse

_VECTORS: dict[str, Any] = json.loads(
    (Path(__file__).parent.parent / "data" / "webbotauth" / "vectors.json").read_text(encoding="utf-8")
)
_NOW = datetime(2026, 11, 18, 12, 0, 0, 750_000, tzinfo=UTC)
_CREATED = 1_795_003_200
_AGENT = parse("https://bot.example/")
_SECOND = timedelta(seconds=1)


def _named(case: dict[str, Any]) -> str:
    return str(case["name"])


def _key(number: int = 1) -> SigningKey:
    return SigningKey(bytes([number]) * 32, not_before=_NOW)


def _published_key(place: int) -> SigningKey:
    return SigningKey(urlsafe_b64decode(_VECTORS["keys"][place]["d"] + "="), not_before=_NOW)


def _headers(url: WebUrl, form: Form = "current") -> dict[str, str]:
    return sign_request(_key(), method="GET", url=url, agent_directory=directory_url(_AGENT), now=_NOW, form=form)


@pytest.mark.parametrize("place", range(len(_VECTORS["keys"])))
def test_a_key_has_the_name_and_the_public_half_that_the_rfcs_print(place: int) -> None:
    key = _published_key(place)
    assert key.x == _VECTORS["keys"][place]["x"]
    assert key.key_id == _VECTORS["keys"][place]["thumbprint"]


@pytest.mark.parametrize("case", _VECTORS["signatures"], ids=_named)
def test_a_published_signature_comes_out_to_the_bit(case: dict[str, Any]) -> None:
    signature = sign(_published_key(1), [(name, value) for name, value in case["covered"]], case["parameters"])
    assert signature.value == case["signature"]


def test_the_published_digest_comes_out_to_the_bit() -> None:
    case = _VECTORS["digest"]
    headers = directory_headers(KeyRing((_key(),)), authority="a.example", body=case["body"].encode(), now=_NOW)
    assert headers["Content-Digest"] == case["header"]


def test_a_request_is_signed_as_the_draft_has_it() -> None:
    headers = _headers(parse("https://shop.example/p/1?colour=red"))
    assert headers["Signature-Agent"] == 'sig1="https://bot.example/.well-known/http-message-signatures-directory"'
    assert headers["Signature-Input"] == (
        'sig1=("@method" "@authority" "@path" "signature-agent";key="sig1")'
        f';created={_CREATED};expires={_CREATED + 60};keyid="{_key().key_id}";alg="ed25519";tag="web-bot-auth"'
    )
    assert headers["Signature"].startswith("sig1=:")
    assert headers["Signature"].endswith("==:")


def test_verifiers_from_before_revision_01_are_given_the_bare_origin() -> None:
    headers = _headers(parse("https://shop.example/"), "pre-01")
    assert headers["Signature-Agent"] == '"https://bot.example"'
    assert headers["Signature-Input"].startswith('sig1=("@method" "@authority" "@path" "signature-agent");created=')


@pytest.mark.parametrize("form", get_args(Form))
def test_the_documented_example_is_what_we_send(form: Form) -> None:
    documented = (Path(__file__).parent.parent.parent / "docs" / "identity.md").read_text(encoding="utf-8").splitlines()
    headers = sign_request(
        SigningKey(bytes(range(32)), not_before=_NOW),
        method="GET",
        url=parse("https://shop.example/p/1?colour=red"),
        agent_directory=directory_url(_AGENT),
        now=_NOW,
        form=form,
    )
    for name, value in headers.items():
        assert f"{name}: {value}" in documented


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("https://shop.example/a", "https://SHOP.example:443/a"),
        ("https://shop.example", "https://shop.example/"),
        ("https://shop.example/a?x=1", "https://shop.example/a?y=2"),
        ("https://shop.example/a", "https://shop.example./a"),
    ],
)
def test_two_spellings_of_the_same_place_have_one_signature(one: str, other: str) -> None:
    assert _headers(parse(one)) == _headers(parse(other))


def test_a_url_that_was_made_by_hand_is_normalised_too() -> None:
    by_hand = WebUrl("https://SHOP.example?x", "https", "SHOP.example", 443, "?x")
    assert _headers(by_hand) == _headers(parse("https://shop.example/"))


@pytest.mark.parametrize(
    "other",
    ["https://shop.example/b", "https://www.shop.example/a", "https://shop.example:8443/a", "https://shop.example/A"],
)
def test_another_place_has_another_signature(other: str) -> None:
    assert _headers(parse(other))["Signature"] != _headers(parse("https://shop.example/a"))["Signature"]


def test_quotes_and_backslashes_cannot_end_the_string_they_stand_in() -> None:
    url = parse("https://shop.example/")
    headers = sign_request(_key(), method="GET", url=url, agent_directory='a"b\\c', now=_NOW)
    assert headers["Signature-Agent"] == 'sig1="a\\"b\\\\c"'


@given(st.text(min_size=1, max_size=20).filter(lambda text: not (text.isascii() and text.isprintable())))
def test_what_no_header_can_hold_is_not_signed(address: str) -> None:
    with pytest.raises(ValueError, match="structured field"):
        sign_request(_key(), method="GET", url=_AGENT, agent_directory=address, now=_NOW)


def test_the_secret_is_not_in_the_words_of_a_key() -> None:
    key = _key()
    assert repr(key.secret) not in repr(key)
    assert key.secret.hex() not in repr(KeyRing((key,)))


def test_a_key_needs_32_bytes() -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        SigningKey(b"short", not_before=_NOW)


def test_a_ring_is_never_empty() -> None:
    with pytest.raises(ValueError, match="at least one"):
        KeyRing(())


def test_a_new_key_is_published_at_once_signs_later_and_the_old_one_is_dropped_in_the_end() -> None:
    old, new = _key(1), _key(2)
    ring = rotate(KeyRing((old,)), new, _NOW)
    changes_over = _NOW + PUBLISHED_AHEAD
    retired = changes_over + KEPT_FOR

    assert [key.key_id for key in ring.published] == [old.key_id, new.key_id]
    assert ring.active(changes_over - _SECOND).key_id == old.key_id
    assert ring.active(changes_over).key_id == new.key_id
    assert drop_retired(ring, retired - _SECOND) == ring
    assert [key.key_id for key in drop_retired(ring, retired).published] == [new.key_id]


def test_a_stolen_key_is_gone_at_once_and_so_is_a_key_that_was_waiting() -> None:
    waiting = rotate(KeyRing((_key(1),)), _key(2), _NOW)
    ring = rotate(waiting, _key(3), _NOW + _SECOND, ahead=timedelta(0), keep=timedelta(0))
    ring = drop_retired(ring, _NOW + _SECOND)
    assert [key.key_id for key in ring.published] == [_key(3).key_id]
    assert ring.active(_NOW + _SECOND).key_id == _key(3).key_id


def test_the_key_that_was_published_last_signs_even_if_another_waits_longer() -> None:
    ring = rotate(KeyRing((_key(1),)), _key(2), _NOW)
    ring = rotate(ring, _key(3), _NOW, ahead=timedelta(0))
    assert ring.active(_NOW + PUBLISHED_AHEAD).key_id == _key(3).key_id


def test_the_same_key_is_not_published_twice() -> None:
    with pytest.raises(ValueError, match="already"):
        rotate(KeyRing((_key(),)), _key(), _NOW)


def test_a_clock_that_was_set_back_still_finds_a_key() -> None:
    assert KeyRing((_key(),)).active(_NOW - timedelta(days=400)) == _key()


_Step = st.tuples(st.integers(0, 200), st.integers(0, 72), st.integers(0, 72))


@given(st.lists(_Step, min_size=1, max_size=6))
def test_however_keys_are_changed_the_one_that_signs_is_published_and_has_not_ended(
    steps: list[tuple[int, int, int]],
) -> None:
    now, ring = _NOW, KeyRing((_key(),))
    for number, (hours, ahead, keep) in enumerate(steps, start=2):
        now += timedelta(hours=hours)
        ring = rotate(
            drop_retired(ring, now), _key(number), now, ahead=timedelta(hours=ahead), keep=timedelta(hours=keep)
        )
        for later in (0, 1, ahead, ahead + keep, 300):
            then = now + timedelta(hours=later)
            active = ring.active(then)
            assert active in drop_retired(ring, then).published
            assert active.not_before <= then


def test_the_directory_shows_the_public_halves_and_nothing_else() -> None:
    ring = rotate(KeyRing((_key(1),)), _key(2), _NOW)
    document = json.loads(directory_document(ring))
    old, new = ring.published
    ends = _CREATED + int((PUBLISHED_AHEAD + KEPT_FOR).total_seconds())
    fixed = {"kty": "OKP", "crv": "Ed25519", "use": "sig"}
    assert document == {
        "keys": [
            {**fixed, "kid": old.key_id, "x": old.x, "nbf": _CREATED, "exp": ends},
            {**fixed, "kid": new.key_id, "x": new.x, "nbf": _CREATED + int(PUBLISHED_AHEAD.total_seconds())},
        ]
    }


def test_the_directory_carries_one_proof_for_each_key() -> None:
    ring = rotate(KeyRing((_key(1),)), _key(2), _NOW, ahead=timedelta(0), keep=timedelta(hours=1))
    body = directory_document(ring)
    headers = directory_headers(ring, authority="bot.example", body=body, now=_NOW)
    old, new = ring.published
    proof = '=("@authority";req "content-digest");created='
    tail = 'alg="ed25519";tag="http-message-signatures-directory"'
    assert headers["Signature-Input"] == (
        f'binding0{proof}{_CREATED};expires={_CREATED + 3600};keyid="{old.key_id}";{tail}, '
        f'binding1{proof}{_CREATED};expires={_CREATED + 3 * 86400};keyid="{new.key_id}";{tail}'
    )
    assert [member.partition("=")[0] for member in headers["Signature"].split(", ")] == ["binding0", "binding1"]
    assert headers["Content-Type"] == DIRECTORY_TYPE
    assert headers["Cache-Control"] == "public, max-age=3600, no-transform"
