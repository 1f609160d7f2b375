"""``deadwatch policies``: policies, which make redrives by themselves, from a terminal."""

import json
import sys
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from cli.api_client import DONE, Api, UsageError
from cli.commands import tables
from cli.commands.api import Output, group
from cli.commands.output import Answer, Format, shown, text_of

PATH: Final = "/redrive-policies"
COLUMNS: Final[tables.Columns] = {
    "id": "id",
    "state": lambda policy: "enabled" if policy["enabled"] else "disabled",
    "topics": lambda policy: policy["request"]["dlq_topics"],
    "filter": lambda policy: policy["request"]["filter"],
    "latest redrive": "latest_order",
    "why": lambda policy: policy["status_reason"] or policy["request"]["reason"],
}
table: Final = partial(tables.of_items, "Policies", COLUMNS, optional=("latest redrive", "filter"))
"""Policies, or one, as a table."""
PolicyId = Annotated[str, typer.Argument(metavar="ID", help="Of a policy; deadwatch policies list tells.")]


def listed(api: Api, *, output: Output = Format.TABLE) -> int:
    """List the policies.

    deadwatch policies list --json | jq '.items[] | select(.enabled)'
    """
    return shown(api.pages(PATH, sys.maxsize), output, table)


def create(
    api: Api,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="YAML or JSON, docs/redrive-semantics.md.")],
    *,
    output: Output = Format.TABLE,
) -> int:
    """Make a policy from a file.

    deadwatch policies create orders.yaml
    """
    return shown(api.post(PATH, read(file)), output, table)


def enable(api: Api, policy: PolicyId, *, output: Output = Format.TABLE) -> int:
    """Let a policy make redrives again."""
    return shown(switched(api, policy, enabled=True), output, table)


def disable(api: Api, policy: PolicyId, *, output: Output = Format.TABLE) -> int:
    """Let a policy make no more redrives for now; one that is active goes on."""
    return shown(switched(api, policy, enabled=False), output, table)


def delete(api: Api, policy: PolicyId) -> int:
    """Delete a policy; one redrive that is active goes on, its history stays."""
    api.delete(f"{PATH}/{policy}")
    return DONE


app: Final = group(
    "Standing orders: what arrives is redriven by itself.",
    {"list": listed, "create": create, "enable": enable, "disable": disable, "delete": delete},
)


def read(file: Path) -> dict[str, Any]:
    """The policy in a file; the api judges it. Raises ``UsageError``."""
    import yaml

    from deadwatch.runtime import strict_yaml

    text = text_of(file)
    try:
        policy = strict_yaml.parsed(text)
        json.dumps(policy)
    except strict_yaml.DuplicateKeyError as error:
        raise UsageError(f"{file}: {error}") from None
    except (yaml.YAMLError, TypeError, ValueError) as error:
        line = " ".join(str(error).split())
        raise UsageError(f"{file} is neither YAML nor JSON of a policy: {line}") from None
    if not isinstance(policy, dict):
        raise UsageError(f"{file} holds no policy: it begins with fields, as dlq_topics: [dlq.orders]")
    return policy


def switched(api: Api, policy: str, *, enabled: bool) -> Answer:
    """The policy, enabled or not and otherwise as it was. Raises ``RefusedError``."""
    before = api.get(f"{PATH}/{policy}")
    body = {**before["request"], "enabled": enabled}
    after: Answer = api.put(f"{PATH}/{policy}", body, f'"{before["version"]}"')
    return after
