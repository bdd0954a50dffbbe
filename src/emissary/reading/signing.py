"""Who we say we are, proven: Web Bot Auth signatures on requests, and the directory of the keys they verify with.

The form is that of draft-ietf-webbotauth-httpsig-protocol-01 on RFC 9421; docs/identity.md shows it.
"""

import hashlib
from binascii import b2a_base64
from collections.abc import Iterable
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Literal, NamedTuple, assert_never

import msgspec

from emissary.model.pages import WebUrl
from emissary.reading.keys import KeyRing, SigningKey

__all__ = [
    "DIRECTORY_PATH",
    "DIRECTORY_TYPE",
    "Form",
    "Signature",
    "directory_document",
    "directory_headers",
    "directory_url",
    "sign",
    "sign_request",
]

DIRECTORY_PATH = "/.well-known/http-message-signatures-directory"
DIRECTORY_TYPE = "application/http-message-signatures-directory+json"

Form = Literal["current", "pre-01"]
"""How Signature-Agent is written: as the draft has it, or as verifiers older than its revision 01 expect it."""

_LABEL = "sig1"
_REQUEST_LIFETIME = 60  # seconds
# Lists that pass our directory on may republish it once a day; a proof that ended sooner would undo their copy.
_PROOF_LIFETIME = timedelta(days=3)
# A proxy that compressed the directory would break its digest, hence no-transform.
_CACHE_CONTROL = "public, max-age=3600, no-transform"


class Signature(NamedTuple):
    """One member each of Signature-Input and Signature, without its label."""

    input: str
    value: str


def sign(key: SigningKey, covered: Iterable[tuple[str, str]], parameters: str) -> Signature:
    """Sign components, each an identifier as RFC 9421 writes it with its value; `parameters` is written likewise."""
    components = tuple(covered)
    signed = f"({' '.join([name for name, _ in components])}){parameters}"
    lines = "".join([f"{name}: {value}\n" for name, value in components])
    base = f'{lines}"@signature-params": {signed}'
    return Signature(signed, _byte_sequence(key.sign(base.encode("ascii"))))


def sign_request(
    key: SigningKey, *, method: str, url: WebUrl, agent_directory: str, now: datetime, form: Form = "current"
) -> dict[str, str]:
    """The three headers that prove one request to be ours. They hold for this method, host and path, for a minute."""
    agent, covered = _agent(agent_directory, form)
    target = (('"@method"', method), ('"@authority"', _authority(url)), ('"@path"', _path(url)))
    created = int(now.timestamp())
    parameters = _parameters(key, created, created + _REQUEST_LIFETIME, "web-bot-auth")
    signature = sign(key, (*target, covered), parameters)
    return {
        "Signature-Agent": agent,
        "Signature-Input": f"{_LABEL}={signature.input}",
        "Signature": f"{_LABEL}={signature.value}",
    }


@lru_cache(maxsize=8)
def _agent(agent_directory: str, form: Form) -> tuple[str, tuple[str, str]]:
    """The header that says where our keys are, and how it is covered: the same with every request."""
    match form:
        case "current":
            value = _string(agent_directory)
            return f"{_LABEL}={value}", (f'"signature-agent";key="{_LABEL}"', value)
        case "pre-01":
            value = _string(agent_directory.removesuffix(DIRECTORY_PATH))
            return value, ('"signature-agent"', value)
        case _:
            assert_never(form)


def directory_url(agent: WebUrl) -> str:
    """Where the keys of the installation at this address are published: to a verifier, this URL is who we are."""
    return agent.origin + DIRECTORY_PATH


def directory_document(ring: KeyRing) -> bytes:
    """The published keys as a JWK Set; the same ring always gives the same bytes."""
    return msgspec.json.encode({"keys": [key.public_jwk() for key in ring.published]})


def directory_headers(ring: KeyRing, *, authority: str, body: bytes, now: datetime) -> dict[str, str]:
    """The headers the directory is served with; each key proves by a signature that its owner published it there.

    `authority` is the configured one and never the request's Host: else a stranger's domain that passes requests on
    to us would be given proof that our keys are its own.
    """
    digest = f"sha-256={_byte_sequence(hashlib.sha256(body).digest())}"
    covered = (('"@authority";req', authority), ('"content-digest"', digest))
    proofs = {f"binding{place}": _proof(key, covered, now) for place, key in enumerate(ring.published)}
    return {
        "Content-Type": DIRECTORY_TYPE,
        "Content-Digest": digest,
        "Signature-Input": ", ".join(f"{label}={proof.input}" for label, proof in proofs.items()),
        "Signature": ", ".join(f"{label}={proof.value}" for label, proof in proofs.items()),
        "Cache-Control": _CACHE_CONTROL,
    }


def _proof(key: SigningKey, covered: tuple[tuple[str, str], ...], now: datetime) -> Signature:
    # A copy of the directory must not vouch for a key longer than the directory itself does.
    ends = now + _PROOF_LIFETIME
    expires = ends if key.expires is None else min(ends, key.expires)
    times = int(now.timestamp()), int(expires.timestamp())
    return sign(key, covered, _parameters(key, *times, "http-message-signatures-directory"))


def _parameters(key: SigningKey, created: int, expires: int, tag: str) -> str:
    return f';created={created};expires={expires};keyid="{key.key_id}";alg="ed25519";tag="{tag}"'


def _authority(url: WebUrl) -> str:
    """As the Host header has it, which our client writes without the dots that may end a name."""
    if url.host.endswith("."):
        url = msgspec.structs.replace(url, host=url.host.rstrip("."))
    return url.authority.lower()


def _path(url: WebUrl) -> str:
    return url.path.partition("?")[0] or "/"


def _string(text: str) -> str:
    """A structured field's String: printable ASCII in quotes."""
    if not (text.isascii() and text.isprintable()):
        raise ValueError(f"{text!r} cannot be written in a structured field")
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _byte_sequence(raw: bytes) -> str:
    return f":{b2a_base64(raw, newline=False).decode()}:"
