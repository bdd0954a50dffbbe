"""The composition root: settings become an app. The only package that names a backend or an adapter."""

from emissary.compose.app import App, open_app
from emissary.compose.keys import first_key
from emissary.compose.process import LOCAL_ACCOUNT, steady_process, the_clock

__all__ = ["LOCAL_ACCOUNT", "App", "first_key", "open_app", "steady_process", "the_clock"]
