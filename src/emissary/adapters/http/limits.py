"""How much and how long: what one exchange may take before it is broken off."""

from dataclasses import dataclass

__all__ = ["Limits"]

_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Limits:
    """The bounds of one exchange; the caller's own time-out and size come on top and can only be tighter.

    And of what is left afterwards: connections that are kept for the next one.
    """

    name_seconds: float = 5.0
    name_kept_seconds: float = 60.0
    addresses: int = 4
    connect_seconds: float = 10.0
    tls_seconds: float = 10.0
    silence_seconds: float = 15.0  # in the middle of a body; before it, the caller's time-out counts
    rate_seconds: float = 10.0
    least_rate: float = 100.0  # bytes a second, over every `rate_seconds` of a body
    header_bytes: int = 64 * 1024
    header_fields: int = 100
    wire_bytes: int = 16 * _MIB
    decoded_bytes: int = 64 * _MIB
    ratio: int = 200
    ratio_from: int = _MIB  # a small page may well be nothing but spaces
    kept_seconds: float = 15.0
    kept_per_purpose: int = 8
    kept: int = 500  # of all together: a process has no endless supply of sockets
