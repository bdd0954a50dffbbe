"""What every verb that needs the data directory does first."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import uvloop

from emissary.compose import App, open_app
from emissary.model.errors import SettingsError
from emissary.settings import Settings, load_settings
from emissary.telemetry.logs import configure_logs

__all__ = ["in_app", "settle_in"]

T = TypeVar("T")


def settle_in(file: Path | None = None, **given: Any) -> Settings:
    """The settings, and the directory that they name; raises SettingsError where there can be none."""
    settings = load_settings(file, **given)
    try:
        settings.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        what = f"{settings.data_dir} cannot be used as a directory ({error.strerror})"
        raise SettingsError(f"EMISSARY_DATA_DIR: {what}; name another, here or with --data-dir") from error
    return settings


def in_app(work: Callable[[App], Awaitable[T]]) -> T:
    """Do something with the parts, in this process; nothing is served, and no worker works."""
    settings = settle_in()
    configure_logs(settings.log, "error")

    async def run() -> T:
        async with open_app(settings) as app:
            return await work(app)

    return uvloop.run(run())
