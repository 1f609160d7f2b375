"""What the chart lets pass to the processes' settings, made from the settings models themselves.

``python -m cli.generate.chart_schema helm/deadwatch/values.schema.json`` rewrites the definitions ``shared``
and one for each process. What the chart sets itself is left out, and so are secrets: those come as variables.
"""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from pydantic import SecretStr

from cli.generate.settings_page import PROCESSES
from deadwatch.runtime.settings_file import SHARED, ProcessSettings

Schema = dict[str, Any]

OWN_VALUES: Final[Mapping[str, str]] = {
    "kafka": "kafka",
    "kafka_cluster": "kafka.cluster",
    "store_url": "store",
    "data": "collector.persistence",
    "checkpoint": "streaming.persistence",
    "master": "streaming.spark",
    "driver_memory": "streaming.spark.driverMemory",
    "ui_port": "podMonitor",
    "host": "api.host",
    "port": "api.service.port",
    "anonymous": "api.auth.anonymous",
    "token_pepper": "api.auth.existingSecret",
    "local_token_file": "",
}
"""Settings that the chart sets, and by which of its values; "": never, it is for a single machine."""

UNNAMED: Final = ("redrive.name",)
"""Settings that all replicas would share although each needs its own; unset, each worker has its own."""


def definitions() -> dict[str, Schema]:
    """``shared`` and the settings of each process by its section, each with the models inside it."""
    made = {process.section: _of(process, _passed(process)) for process in PROCESSES}
    shared: Schema = {}
    for process in PROCESSES:
        names = [name for name in process.model_fields if name in SHARED - set(OWN_VALUES)]
        shared |= _of(process, names)["properties"]
    return {"shared": _strict(dict(sorted(shared.items()))), **made}


def names(process: type[ProcessSettings]) -> list[str]:
    """The settings of a process that may come from a Secret instead."""
    return [name for name in process.model_fields if name not in {*OWN_VALUES, *SHARED}]


def page(text: str) -> str:
    """The chart's schema with these definitions made anew."""
    schema = json.loads(text)
    schema["$defs"] |= definitions()
    for process in PROCESSES:
        schema["$defs"][f"{process.section}Secrets"] = {
            "type": "object",
            "description": "Settings whose value is in a Secret, nested names joined by __.",
            "propertyNames": {"pattern": f"^({'|'.join(names(process))})(__[a-z0-9_]+)*$"},
            "additionalProperties": {"$ref": "#/$defs/secretKey"},
        }
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def _passed(process: type[ProcessSettings]) -> list[str]:
    return [
        name
        for name in names(process)
        if f"{process.section}.{name}" not in UNNAMED
        and process.model_fields[name].annotation not in {SecretStr, SecretStr | None}
    ]


def _of(process: type[ProcessSettings], fields: list[str]) -> Schema:
    schema = process.model_json_schema()
    models = schema.get("$defs", {})
    return _strict({name: _inlined(schema["properties"][name], models) for name in fields})


def _strict(properties: Schema) -> Schema:
    return {"type": "object", "additionalProperties": False, "properties": properties}


def _inlined(node: Any, models: Mapping[str, Any]) -> Any:  # noqa: ANN401 -- JSON
    """The schema without references, titles and secrets; defaults are the models' own affair."""
    if isinstance(node, list):
        return [_inlined(each, models) for each in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        return _inlined(models[node["$ref"].rpartition("/")[2]], models)
    kept = {key: value for key, value in node.items() if key not in {"title", "default", "properties"}}
    made = {key: _inlined(value, models) for key, value in kept.items()}
    if "properties" in node:
        made["properties"] = {
            name: _inlined(each, models) for name, each in node["properties"].items() if not _secret(each)
        }
    return made


def _secret(node: Schema) -> bool:
    return any(part.get("writeOnly") for part in (node, *node.get("anyOf", ())))


if __name__ == "__main__":
    file = Path(sys.argv[1])
    file.write_text(page(file.read_text()))
