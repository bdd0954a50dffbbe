"""Secrets sealed with AES-256-GCM: each with a key of its own, wrapped by the master key from a file only we read."""

import contextlib
import os
import secrets
import tempfile
from pathlib import Path
from typing import Self

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from emissary.model.errors import SealBroken, SettingsError

__all__ = ["FileVault"]

_KEY_BYTES = 32
_NONCE_BYTES = 12
_VERSION = b"\x01"
_WRAPPED_BYTES = _NONCE_BYTES + _KEY_BYTES + 16


class FileVault:
    """Keeps the promise of `ports.vault.Vault`."""

    def __init__(self, master: bytes) -> None:
        self._master = AESGCM(master)

    @classmethod
    def at(cls, file: Path) -> Self:
        """The vault whose master key is in the file; a file that is not there is made, readable by us alone."""
        if not file.exists():
            _make(file)
        return cls(_read(file))

    def seal(self, secret: bytes, place: str) -> bytes:
        key, nonce, wrapping = secrets.token_bytes(_KEY_BYTES), _nonce(), _nonce()
        context = _VERSION + place.encode()
        wrapped = wrapping + self._master.encrypt(wrapping, key, context)
        return _VERSION + wrapped + nonce + AESGCM(key).encrypt(nonce, secret, context)

    def open(self, sealed: bytes, place: str) -> bytes:
        context = _VERSION + place.encode()
        wrapped, rest = sealed[1 : 1 + _WRAPPED_BYTES], sealed[1 + _WRAPPED_BYTES :]
        try:
            key = self._master.decrypt(wrapped[:_NONCE_BYTES], wrapped[_NONCE_BYTES:], context)
            return AESGCM(key).decrypt(rest[:_NONCE_BYTES], rest[_NONCE_BYTES:], context)
        except (InvalidTag, ValueError) as error:
            raise SealBroken(
                f"what was kept for {place} cannot be opened: it was changed, or sealed elsewhere"
            ) from error


def _nonce() -> bytes:
    return secrets.token_bytes(_NONCE_BYTES)


def _make(file: Path) -> None:
    """Whole or not at all: of two processes that begin at once, one makes the key and both read it."""
    handle, temporary = tempfile.mkstemp(dir=file.parent, prefix=".master-")
    try:
        with os.fdopen(handle, "wb") as opened:
            opened.write(secrets.token_bytes(_KEY_BYTES))
            opened.flush()
            os.fsync(opened.fileno())
        Path(temporary).chmod(0o400)
        with contextlib.suppress(FileExistsError):
            file.hardlink_to(temporary)
    finally:
        Path(temporary).unlink()


def _read(file: Path) -> bytes:
    if file.stat().st_mode & 0o077:
        raise SettingsError(f"{file} can be read by others: run chmod 400 {file}")
    master = file.read_bytes()
    if len(master) != _KEY_BYTES:
        raise SettingsError(f"{file} is not a master key of {_KEY_BYTES} bytes")
    return master
