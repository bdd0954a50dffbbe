"""The client: every verb of the API as typed calls, to a server or in this process."""

from emissary.client.asynchronous import AsyncEmissary
from emissary.client.blocking import Emissary
from emissary.client.calling import Patience
from emissary.client.errors import ApiError, ServerUnreachable
from emissary.model.errors import BadRequest, EmissaryError, SettingsError

__all__ = [
    "ApiError",
    "AsyncEmissary",
    "BadRequest",
    "Emissary",
    "EmissaryError",
    "Patience",
    "ServerUnreachable",
    "SettingsError",
]
