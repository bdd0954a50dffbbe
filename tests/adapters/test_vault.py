"""Secrets at rest."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emissary.adapters.vault import FileVault
from emissary.model.errors import SealBroken, SettingsError

_VAULT = FileVault(bytes(range(32)))


@given(st.binary(max_size=2000), st.text(max_size=50))
def test_what_was_sealed_can_be_opened_in_its_place(secret: bytes, place: str) -> None:
    assert _VAULT.open(_VAULT.seal(secret, place), place) == secret


def test_a_secret_cannot_be_moved_to_another_place() -> None:
    with pytest.raises(SealBroken):
        _VAULT.open(_VAULT.seal(b"cookie", "session:a"), "session:b")


@given(st.integers(min_value=0, max_value=100))
def test_a_secret_that_was_changed_cannot_be_opened(where: int) -> None:
    sealed = bytearray(_VAULT.seal(b"some secret", "here"))
    sealed[1 + where % (len(sealed) - 1)] ^= 1
    with pytest.raises(SealBroken):
        _VAULT.open(bytes(sealed), "here")


def test_a_secret_under_another_master_key_cannot_be_opened() -> None:
    with pytest.raises(SealBroken):
        FileVault(bytes(32)).open(_VAULT.seal(b"x", "here"), "here")


def test_the_same_secret_is_never_sealed_alike() -> None:
    assert _VAULT.seal(b"x", "here") != _VAULT.seal(b"x", "here")


def test_the_master_key_is_made_once_and_read_by_us_alone(tmp_path: Path) -> None:
    file = tmp_path / "master.key"
    sealed = FileVault.at(file).seal(b"x", "here")
    assert file.stat().st_mode & 0o777 == 0o400
    assert FileVault.at(file).open(sealed, "here") == b"x"


def test_a_master_key_that_others_can_read_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "master.key"
    file.write_bytes(bytes(32))
    file.chmod(0o644)
    with pytest.raises(SettingsError, match="chmod 400"):
        FileVault.at(file)
