"""The web over HTTP."""

from emissary.adapters.http.client import HttpWeb
from emissary.adapters.http.dial import Outside
from emissary.adapters.http.limits import Limits
from emissary.adapters.http.request import Present, always

__all__ = ["HttpWeb", "Limits", "Outside", "Present", "always"]
