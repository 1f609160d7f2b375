"""One connection setting for all three Kafka clients: kafka-python, librdkafka and Spark's."""

import re
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self

from pydantic import AfterValidator, BaseModel, Field, SecretStr, model_validator

Options = dict[str, object]
TOPIC_NAME: Final = r"^[A-Za-z0-9._-]{1,249}$"
Topic = Annotated[str, Field(pattern=TOPIC_NAME)]
"""A name that Kafka takes for a topic."""


def is_topic_name(text: str) -> bool:
    """Whether Kafka may have a topic of this name: headers and events may name others."""
    return text not in {".", ".."} and re.fullmatch(TOPIC_NAME, text) is not None


_KAFKA_PYTHON: Final = {
    "sasl_username": "sasl_plain_username",
    "sasl_password": "sasl_plain_password",
    "ssl_ca_location": "ssl_cafile",
    "ssl_certificate_location": "ssl_certfile",
    "ssl_key_location": "ssl_keyfile",
    "ssl_key_password": "ssl_password",
}
"""kafka-python's names for settings that it names otherwise than Kafka."""
_HOST: Final = r"(?:\w+://)?(?:\[[^\[\]]+\]|[^\s:\[\]/]+)(?::[0-9]{1,5})?"
_IPV6: Final = r"[0-9A-Fa-f]*(?::[0-9A-Fa-f.]*){2,}"
_SERVER: Final = re.compile(f"{_HOST}|{_IPV6}")


def _servers(text: str) -> str:
    """The servers without blanks, of which only kafka-python would make a part of a name."""
    servers = [one for part in text.split(",") if (one := part.strip())]
    if not servers or not all(map(_SERVER.fullmatch, servers)):
        raise ValueError("must be HOST:PORT, comma-separated")
    return ",".join(servers)


class KafkaConnection(BaseModel, frozen=True, extra="forbid"):
    """How to reach a Kafka cluster, in Kafka's own names. PEM files only; contradictions are refused."""

    bootstrap_servers: Annotated[str, AfterValidator(_servers)] = Field(
        "127.0.0.1:9092", min_length=1, description="HOST:PORT, comma-separated."
    )
    security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = "PLAINTEXT"
    sasl_mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] | None = None
    sasl_username: str | None = None
    sasl_password: SecretStr | None = None
    ssl_ca_location: Path | None = Field(
        None, description="PEM file of the authorities that sign the brokers."
    )
    ssl_certificate_location: Path | None = Field(None, description="PEM file: our certificate chain (mTLS).")
    ssl_key_location: Path | None = Field(None, description="PEM file: our PKCS #8 private key (mTLS).")
    ssl_key_password: SecretStr | None = None

    @model_validator(mode="after")
    def _refuse_contradictions(self) -> Self:
        sasl = (self.sasl_mechanism, self.sasl_username, self.sasl_password)
        if self.uses_sasl and None in sasl:
            raise ValueError(
                f"{self.security_protocol} needs sasl_mechanism, sasl_username and sasl_password"
            )
        if not self.uses_sasl and any(sasl):
            raise ValueError(f"sasl_* settings need a SASL security_protocol, not {self.security_protocol}")
        files = (self.ssl_ca_location, self.ssl_certificate_location, self.ssl_key_location)
        if not self.uses_ssl and any(files):
            raise ValueError(f"ssl_* settings need an SSL security_protocol, not {self.security_protocol}")
        if (self.ssl_certificate_location is None) != (self.ssl_key_location is None):
            raise ValueError("ssl_certificate_location and ssl_key_location go together")
        for file in files:
            if file is not None and not file.is_file():
                raise ValueError(f"{file} is not a readable file")
        return self

    @property
    def uses_sasl(self) -> bool:
        """Whether we authenticate by SASL."""
        return self.security_protocol.startswith("SASL")

    @property
    def uses_ssl(self) -> bool:
        """Whether the connection is encrypted."""
        return self.security_protocol.endswith("SSL")

    def kafka_python(self) -> Options:
        """Keyword arguments of every kafka-python client."""
        options = {_KAFKA_PYTHON.get(name, name): value for name, value in self._revealed().items()}
        return {**options, "bootstrap_servers": self.bootstrap_servers.split(",")}

    def librdkafka(self) -> Options:
        """Configuration of every confluent-kafka client."""
        return {name.replace("_", "."): value for name, value in self._revealed().items()}

    def _revealed(self) -> dict[str, str]:
        """The settings that are set, as texts; secrets are no longer hidden."""
        return {
            name: value.get_secret_value() if isinstance(value, SecretStr) else str(value)
            for name, value in self
            if value is not None
        }

    def spark(self) -> dict[str, str]:
        """Options of Spark's Kafka source and sink (the Java client behind a ``kafka.`` prefix)."""
        options = {"bootstrap.servers": self.bootstrap_servers, "security.protocol": self.security_protocol}
        if self.uses_sasl:
            options |= {"sasl.mechanism": str(self.sasl_mechanism), "sasl.jaas.config": self._jaas()}
        if self.ssl_ca_location is not None:
            options |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(self.ssl_ca_location)}
        if self.ssl_certificate_location is not None and self.ssl_key_location is not None:
            options |= {
                "ssl.keystore.type": "PEM",
                "ssl.keystore.certificate.chain": self.ssl_certificate_location.read_text(),
                "ssl.keystore.key": self.ssl_key_location.read_text(),
            }
            if self.ssl_key_password is not None:
                options["ssl.key.password"] = self.ssl_key_password.get_secret_value()
        return {f"kafka.{name}": value for name, value in options.items()}

    def _jaas(self) -> str:
        module = f"{'plain.Plain' if self.sasl_mechanism == 'PLAIN' else 'scram.Scram'}LoginModule"
        own = self._revealed()
        username, password = (_quoted(own[name]) for name in ("sasl_username", "sasl_password"))
        return f"org.apache.kafka.common.security.{module} required username={username} password={password};"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def create_no_topics(client: Any) -> None:  # noqa: ANN401 -- kafka-python has no types
    """Let a consumer or producer of kafka-python ask for topics without creating those that are gone.

    Its own setting ``allow_auto_create_topics`` does not reach its metadata (3.0.12).
    """
    metadata = client._cluster if hasattr(client, "_cluster") else client._metadata  # noqa: SLF001 -- see above
    metadata.config["allow_auto_create_topics"] = False
