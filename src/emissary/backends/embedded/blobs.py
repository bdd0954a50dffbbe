"""The object store as files, each written whole: to a name of its own, synced, then renamed."""

import asyncio
import os
import tempfile
from pathlib import Path, PurePosixPath

from emissary.model.errors import StoreUnavailable

__all__ = ["FileBlobs"]


class FileBlobs:
    """Keeps the promise of `ports.blobs.Blobs`. By hand, since the ready-made local stores do not sync to disk."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def put(self, name: str, body: bytes) -> None:
        try:
            await asyncio.to_thread(_write, self._path(name), body)
        except OSError as error:
            raise StoreUnavailable(f"the object store could not be written: {error}") from error

    async def get(self, name: str) -> bytes | None:
        try:
            return await asyncio.to_thread(self._path(name).read_bytes)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StoreUnavailable(f"the object store could not be read: {error}") from error

    async def delete(self, name: str) -> None:
        await asyncio.to_thread(self._path(name).unlink, missing_ok=True)

    async def names(self, prefix: str) -> list[str]:
        return await asyncio.to_thread(self._names, prefix)

    def _names(self, prefix: str) -> list[str]:
        found = (path.relative_to(self._folder).as_posix() for path in self._folder.rglob("*") if path.is_file())
        return sorted(name for name in found if name.startswith(prefix) and not name.rpartition("/")[2].startswith("."))

    def _path(self, name: str) -> Path:
        parts = PurePosixPath(name).parts
        # Names are made by us, never by a caller; this holds even if that should change.
        if not parts or name.startswith("/") or any(part.startswith(".") for part in parts):
            raise ValueError(f"not a name for an object: {name!r}")
        return self._folder.joinpath(*parts)


def _write(path: Path, body: bytes) -> None:
    _make_folder(path.parent)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(body)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def _make_folder(folder: Path) -> None:
    """A new folder, too, is on disk only when the one around it is."""
    if folder.is_dir():
        return
    _make_folder(folder.parent)
    folder.mkdir(exist_ok=True)
    _sync_folder(folder.parent)


def _sync_folder(folder: Path) -> None:
    """A rename is on disk only when its folder is."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
