"""``deadwatch policies``: standing orders of redrives, from a terminal."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml
from rich.table import Table

from deadwatch import redrive_tables
from deadwatch.api_client import Api, SaidError, connect
from deadwatch.api_commands import AT, Json, Url, end, shown
from deadwatch.one_line import OneLine

PATH = "/redrive-policies"
Answer = Mapping[str, Any]
PolicyId = Annotated[str, typer.Argument(metavar="ID", help="Of a policy; deadwatch policies list tells.")]

app = typer.Typer(
    cls=OneLine, help="Standing orders: what arrives is redriven by itself.", no_args_is_help=True
)


@app.command("list")
def listed(*, as_json: Json = False, url: Url = AT) -> None:
    """List the policies."""
    end(lambda: shown(connect(url).get(PATH), as_json, table))


@app.command()
def create(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="YAML or JSON, docs/redrive-semantics.md.")],
    *,
    as_json: Json = False,
    url: Url = AT,
) -> None:
    """Make a policy from a file.

    deadwatch policies create orders.yaml
    """
    end(lambda: shown(connect(url).post(PATH, read(file)), as_json, _one))


@app.command()
def enable(policy: PolicyId, *, as_json: Json = False, url: Url = AT) -> None:
    """Let a policy make redrives again."""
    end(lambda: shown(switched(connect(url), policy, enabled=True), as_json, _one))


@app.command()
def disable(policy: PolicyId, *, as_json: Json = False, url: Url = AT) -> None:
    """Let a policy make no more redrives for now; one that is active goes on."""
    end(lambda: shown(switched(connect(url), policy, enabled=False), as_json, _one))


@app.command()
def delete(policy: PolicyId, *, url: Url = AT) -> None:
    """Delete a policy; one redrive that is active goes on, its history stays."""
    end(lambda: _deleted(url, policy))


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


def _deleted(url: str, policy: str) -> int:
    connect(url).delete(f"{PATH}/{policy}")
    return 0


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
