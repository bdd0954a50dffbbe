"""What every verb that needs the data directory does first."""

from pathlib import Path
from typing import Any

from emissary.model.errors import SettingsError
from emissary.settings import Settings, load_settings

__all__ = ["settle_in"]


def settle_in(file: Path | None = None, **given: Any) -> Settings:
    """The settings, and the directory that they name; raises SettingsError where there can be none."""
    settings = load_settings(file, **given)
    try:
        settings.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        what = f"{settings.data_dir} cannot be used as a directory ({error.strerror})"
        raise SettingsError(f"EMISSARY_DATA_DIR: {what}; name another, here or with --data-dir") from error
    return settings
