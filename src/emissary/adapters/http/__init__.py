"""The web over HTTP."""

from emissary.adapters.http.client import AiohttpWeb

__all__ = ["AiohttpWeb"]
