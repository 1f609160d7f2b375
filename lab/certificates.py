"""A certificate authority, and the certificate of a server on loopback that it has signed; good for a week.

They live as long as the lab and are worth nothing outside it.
"""

import ipaddress
import secrets
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, pkcs12
from cryptography.x509.oid import NameOID

_VALID: Final = timedelta(days=7)
_AUTHORITY: Final = x509.KeyUsage(
    key_cert_sign=True,
    digital_signature=False,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    crl_sign=False,
    encipher_only=False,
    decipher_only=False,
)


def make(authority: Path, store: Path) -> str:
    """Write the authority's certificate (PEM) and the server's key store (PKCS #12); the store's password."""
    password = secrets.token_hex(16)
    ca_key, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    ca = (
        _draft("lab CA", "lab CA", ca_key)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(_AUTHORITY, critical=True)
        .sign(ca_key, SHA256())
    )
    loopback = [x509.IPAddress(ipaddress.ip_address("127.0.0.1")), x509.DNSName("localhost")]
    certificate = (
        _draft("lab broker", "lab CA", key)
        .add_extension(x509.SubjectAlternativeName(loopback), critical=False)
        .sign(ca_key, SHA256())
    )
    authority.write_bytes(ca.public_bytes(Encoding.PEM))
    store.touch(mode=0o600)
    encryption = BestAvailableEncryption(password.encode())
    store.write_bytes(pkcs12.serialize_key_and_certificates(b"key", key, certificate, [ca], encryption))
    return password


def _draft(subject: str, issuer: str, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return x509.CertificateBuilder(
        subject_name=x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, subject)]),
        issuer_name=x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer)]),
        public_key=key.public_key(),
        serial_number=x509.random_serial_number(),
        not_valid_before=now - timedelta(minutes=1),
        not_valid_after=now + _VALID,
    )
