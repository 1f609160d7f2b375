"""The encrypted listener: a certificate authority of our own, a server certificate, one user.

Everything is made by the Java runtime's keytool, lives as long as the lab and is worth nothing outside it.
"""

import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from lab.jvm import Properties
from lab.processes import Processes

USERNAME: Final = "deadwatch"
_KEY: Final = ("-keyalg", "EC", "-groupname", "secp256r1", "-validity", "7")
_SIGN: Final = ("-rfc", "-validity", "7", "-ext", "san=ip:127.0.0.1,dns:localhost")
_STORE: Final = "server.p12"


@dataclass(frozen=True, slots=True)
class SaslSsl:
    """How a client reaches the SASL_SSL listener; the broker also takes mechanism PLAIN."""

    bootstrap_servers: str
    ca_file: Path
    password: str = field(repr=False)
    username: str = USERNAME
    mechanism: str = "SCRAM-SHA-512"


def make_certificates(processes: Processes, keytool: Path, directory: Path) -> str:
    """Write ``ca.pem`` and the server's key store into ``directory``; the store's password."""
    password = secrets.token_hex(16)
    ca, server = _store("ca.p12", password), _store(_STORE, password)
    for arguments in (
        ("-genkeypair", *ca, *_KEY, "-dname", "CN=lab CA", "-ext", "bc:c", "-ext", "ku:c=keyCertSign"),
        ("-genkeypair", *server, *_KEY, "-dname", "CN=lab broker"),
        ("-exportcert", *ca, "-rfc", "-file", "ca.pem"),
        ("-certreq", *server, "-file", "server.csr"),
        ("-gencert", *ca, *_SIGN, "-infile", "server.csr", "-outfile", "server.pem"),
    ):
        processes.run("keytool", [keytool, *arguments], directory)
    chain = (directory / "server.pem").read_text() + (directory / "ca.pem").read_text()
    (directory / "chain.pem").write_text(chain)
    reply: list[str | Path] = [keytool, "-importcert", *server, "-noprompt", "-file", "chain.pem"]
    processes.run("keytool", reply, directory)
    return password


def listener_properties(directory: Path, store_password: str, user_password: str) -> Properties:
    """The broker's settings for SCRAM-SHA-512 and PLAIN over TLS."""
    login = "org.apache.kafka.common.security"
    return {
        "sasl.enabled.mechanisms": "SCRAM-SHA-512,PLAIN",
        "listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config": f"{login}.scram.ScramLoginModule required;",
        "listener.name.sasl_ssl.plain.sasl.jaas.config": (
            f'{login}.plain.PlainLoginModule required user_{USERNAME}="{user_password}";'
        ),
        "ssl.keystore.type": "PKCS12",
        "ssl.keystore.location": directory / _STORE,
        "ssl.keystore.password": store_password,
    }


def _store(name: str, password: str) -> tuple[str, ...]:
    return ("-keystore", name, "-storetype", "PKCS12", "-storepass", password, "-alias", "key")
