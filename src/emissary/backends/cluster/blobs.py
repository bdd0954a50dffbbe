"""The object store on S3, or on anything that speaks as it does."""

from pathlib import PurePosixPath

from obstore.store import S3Store

from emissary.backends.cluster.objects import named_refusals

__all__ = ["S3Blobs"]

_FOLDER = "objects"
_NAMES_AT_ONCE = 1000


class S3Blobs:
    """Keeps the promise of `ports.blobs.Blobs`: S3 answers when an object is safe, and shows it whole or not at all."""

    def __init__(self, store: S3Store) -> None:
        self._store = store

    async def put(self, name: str, body: bytes) -> None:
        with named_refusals("written"):
            await self._store.put_async(_path(name), body)

    async def get(self, name: str) -> bytes | None:
        try:
            with named_refusals("read"):
                found = await self._store.get_async(_path(name))
                return bytes(await found.bytes_async())
        except FileNotFoundError:
            return None

    async def delete(self, name: str) -> None:
        try:
            with named_refusals("written"):
                await self._store.delete_async(_path(name))
        except FileNotFoundError:
            return  # some stores say so, others do not

    async def names(self, prefix: str) -> list[str]:
        # The store looks into folders only: the rest of the prefix is compared here.
        folder = "/".join([_FOLDER, *prefix.split("/")[:-1]])
        found: list[str] = []
        with named_refusals("read"):
            async for page in self._store.list(folder, chunk_size=_NAMES_AT_ONCE):
                found += [each["path"].removeprefix(f"{_FOLDER}/") for each in page]
        return sorted(name for name in found if name.startswith(prefix))


def _path(name: str) -> str:
    parts = PurePosixPath(name).parts
    # Names are made by us, never by a caller; this holds even if that should change.
    if not parts or name.startswith("/") or "\0" in name or any(part.startswith(".") for part in parts):
        raise ValueError(f"not a name for an object: {name!r}")
    return "/".join((_FOLDER, *parts))
