"""``deadwatch policies``: standing orders of redrives, from a terminal."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml
from rich.table import Table

from deadwatch import redrive_tables
from deadwatch.api_client import DONE, Api, SaidError
from deadwatch.api_command import EXIT_CODES, Json, of_api, shown
from deadwatch.one_line import OneLine
from streaming.store.policies import MAX_POLICIES

PATH = "/redrive-policies"
Answer = Mapping[str, Any]
PolicyId = Annotated[str, typer.Argument(metavar="ID", help="Of a policy; deadwatch policies list tells.")]

app = typer.Typer(
    cls=OneLine, help="Standing orders: what arrives is redriven by itself.", no_args_is_help=True
)


def listed(api: Api, *, as_json: Json = False) -> int:
    """List the policies.

    deadwatch policies list --json | jq '.items[] | select(.enabled)'
    """
    return shown(api.pages(PATH, MAX_POLICIES), as_json, table)


def create(
    api: Api,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="YAML or JSON, docs/redrive-semantics.md.")],
    *,
    as_json: Json = False,
) -> int:
    """Make a policy from a file.

    deadwatch policies create orders.yaml
    """
    return shown(api.post(PATH, read(file)), as_json, _one)


def enable(api: Api, policy: PolicyId, *, as_json: Json = False) -> int:
    """Let a policy make redrives again."""
    return shown(switched(api, policy, enabled=True), as_json, _one)


def disable(api: Api, policy: PolicyId, *, as_json: Json = False) -> int:
    """Let a policy make no more redrives for now; one that is active goes on."""
    return shown(switched(api, policy, enabled=False), as_json, _one)


def delete(api: Api, policy: PolicyId) -> int:
    """Delete a policy; one redrive that is active goes on, its history stays."""
    api.delete(f"{PATH}/{policy}")
    return DONE


COMMANDS: dict[str, Callable[..., int]] = {
    "list": listed,
    "create": create,
    "enable": enable,
    "disable": disable,
    "delete": delete,
}
for command, run in COMMANDS.items():
    app.command(command, epilog=EXIT_CODES)(of_api(run))


def read(file: Path) -> dict[str, Any]:
    """The request that a file holds; the api judges it. Raises ``SaidError``."""
    try:
        told = yaml.safe_load(file.read_text())
        json.dumps(told)
    except (OSError, UnicodeDecodeError) as error:
        raise SaidError(f"{file} cannot be read: {error}") from None
    except (yaml.YAMLError, TypeError, ValueError) as error:
        line = " ".join(str(error).split())
        raise SaidError(f"{file} is neither YAML nor JSON of a policy: {line}") from None
    if not isinstance(told, dict):
        raise SaidError(f"{file} holds no policy: it begins with fields, as dlq_topics: [dlq.orders]")
    return told


def switched(api: Api, policy: str, *, enabled: bool) -> Answer:
    """The policy, enabled or not and otherwise as it was. Raises ``RefusedError``."""
    told = api.get(f"{PATH}/{policy}")
    body = {**told["request"], "enabled": enabled}
    changed: Answer = api.put(f"{PATH}/{policy}", body, f'"{told["version"]}"')
    return changed


def _one(told: Answer) -> Table:
    return table({"items": [told]})


def table(told: Answer) -> Table:
    """Policies, as the list has them."""
    rows = (
        (
            one["id"],
            "enabled" if one["enabled"] else "disabled",
            one["request"]["dlq_topics"],
            one["request"]["filter"],
            one["latest_order"],
            one["status_reason"] or one["request"]["reason"],
        )
        for one in told["items"]
    )
    return redrive_tables.table(
        "Policies", ("id", "state", "topics", "filter", "latest redrive", "why"), rows
    )
