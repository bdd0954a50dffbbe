"""The web over HTTP."""

from emissary.adapters.http.client import AiohttpWeb, Present, always
from emissary.adapters.http.dial import Outside
from emissary.adapters.http.limits import Limits

__all__ = ["AiohttpWeb", "Limits", "Outside", "Present", "always"]
