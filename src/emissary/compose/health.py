"""Looks at each part when asked."""

import shutil
from collections.abc import Awaitable, Callable

from emissary.api.services import PartHealth
from emissary.model.errors import StoreUnavailable
from emissary.settings import Settings

__all__ = ["Health"]

_LOW_DISK_BYTES = 500 * 1024 * 1024


class Health:
    """Whether each part can do its work; `touch` writes to the store, and raises if that cannot be done."""

    def __init__(self, settings: Settings, touch: Callable[[], Awaitable[None]]) -> None:
        self._data_dir = settings.data_dir
        self._wants_browser = settings.chromium is not None
        self._touch = touch

    async def parts(self) -> list[PartHealth]:
        return [await self._store(), self._disk(), PartHealth("http", "ok"), self._browser()]

    async def _store(self) -> PartHealth:
        try:
            await self._touch()
        except StoreUnavailable as error:
            return PartHealth("store", "down", error.detail)
        return PartHealth("store", "ok")

    def _disk(self) -> PartHealth:
        free = shutil.disk_usage(self._data_dir).free
        if free < _LOW_DISK_BYTES:
            return PartHealth("disk", "degraded", f"only {free // 1024**2} MiB are free in {self._data_dir}")
        return PartHealth("disk", "ok")

    def _browser(self) -> PartHealth:
        reason = "this version reads over HTTP only: there is no browser engine yet"
        return PartHealth("browser", "degraded", reason, is_wanted=self._wants_browser)
