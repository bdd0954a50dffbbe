"""A certificate authority for tests: nobody trusts it who was not told to."""

import ssl
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

__all__ = ["Authority"]


class Authority:
    """A certificate authority that lives for one test."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test authority")])
        constraints = x509.BasicConstraints(ca=True, path_length=None)
        usage = x509.KeyUsage(*(True, False, False, False, False, True, True, False, False))
        identifier = x509.SubjectKeyIdentifier.from_public_key(self._key.public_key())
        made = self._builder(self._name, self._key).add_extension(constraints, critical=True)
        made = made.add_extension(usage, critical=True).add_extension(identifier, critical=False)
        self.file = folder / "authority.pem"
        self.file.write_bytes(made.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
        self.trust = ssl.create_default_context(cafile=str(self.file))

    def _builder(self, subject: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
        now = datetime.now(UTC)  # noqa: TID251 - OpenSSL looks at the real clock, too
        return (
            x509.CertificateBuilder(self._name, subject, key.public_key(), x509.random_serial_number())
            .not_valid_before(now - timedelta(hours=1))
            .not_valid_after(now + timedelta(hours=1))
        )

    def server(self, *names: str) -> ssl.SSLContext:
        """How a server secures itself that has a certificate for these names."""
        key = ec.generate_private_key(ec.SECP256R1())
        authority = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        made = (
            self._builder(x509.Name([]), key)
            .add_extension(x509.SubjectAlternativeName([_general(name) for name in names]), critical=True)
            .add_extension(authority, critical=False)
            .sign(self._key, hashes.SHA256())
        )
        file = self._folder / f"{len(list(self._folder.iterdir()))}.pem"
        file.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
            + made.public_bytes(serialization.Encoding.PEM)
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(file)
        return context


def _general(name: str) -> x509.GeneralName:
    return x509.IPAddress(ip_address(name)) if name[0].isdigit() else x509.DNSName(name)
