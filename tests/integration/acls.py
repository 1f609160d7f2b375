"""Rights on a broker with an authorizer: what they are on, and how a test gives and takes them."""

from collections.abc import Iterable
from typing import Any, Final

from confluent_kafka import admin as typed_admin

admin: Any = typed_admin  # its types leave out what is used here

TOPIC, GROUP, TRANSACTIONS, CLUSTER = (
    admin.ResourceType.TOPIC,
    admin.ResourceType.GROUP,
    admin.ResourceType.TRANSACTIONAL_ID,
    admin.ResourceType.BROKER,
)
LITERAL, PREFIXED = admin.ResourcePatternType.LITERAL, admin.ResourcePatternType.PREFIXED
AUTHORIZER: Final = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
WITHIN_S: Final = 30


def grant(servers: str, bindings: Iterable[object]) -> None:
    """Make them; one that is there already stays."""
    client = admin.AdminClient({"bootstrap.servers": servers})
    for made in client.create_acls(list(bindings)).values():
        made.result(WITHIN_S)


def take_away(servers: str, bindings: Iterable[object]) -> None:
    """Remove exactly these."""
    client = admin.AdminClient({"bootstrap.servers": servers})
    for removed in client.delete_acls([_only(one) for one in bindings]).values():
        removed.result(WITHIN_S)


def _only(binding: Any) -> object:  # noqa: ANN401 -- as above
    return admin.AclBindingFilter(
        binding.restype,
        binding.name,
        binding.resource_pattern_type,
        binding.principal,
        binding.host,
        binding.operation,
        binding.permission_type,
    )
