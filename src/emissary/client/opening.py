"""Opens an Emissary in this process. Whoever speaks to a server does without: to load one takes a second."""

from contextlib import AbstractAsyncContextManager
from importlib import import_module
from pathlib import Path
from typing import Any

from emissary.client.wire import Wire

__all__ = ["inside"]


def inside(data_dir: Path | str | None, **settings: Any) -> AbstractAsyncContextManager[Wire]:
    """The way to it, as `client.inside` has it."""
    opened: AbstractAsyncContextManager[Wire] = import_module("emissary.client.inside").inside(data_dir, **settings)
    return opened
