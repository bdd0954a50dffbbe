"""The composition root: settings become an app. The only package that names a backend or an adapter."""

from emissary.compose.app import App, open_app
from emissary.compose.keys import first_key
from emissary.compose.process import LOCAL_ACCOUNT, settle_in, steady_process, the_chance, the_clock
from emissary.compose.working import at_work

__all__ = [
    "LOCAL_ACCOUNT",
    "App",
    "at_work",
    "first_key",
    "open_app",
    "settle_in",
    "steady_process",
    "the_chance",
    "the_clock",
]
