"""Where a process's settings come from, and how they are refused.

Strongest first: variables of the environment (``COLLECTOR_KAFKA__BOOTSTRAP_SERVERS``), the process's own
section of the YAML file, the file's shared top level (``kafka``, ``kafka_cluster`` …), defaults. What is
unknown or contradicts itself is refused before the first connection.
"""

import argparse
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import ValidationError
from pydantic_settings import SettingsError as NoJsonError

from deadwatch.runtime import strict_yaml
from deadwatch.runtime.process import OTHERS, REFUSED, SettingsError, configure_logging
from deadwatch.runtime.settings import ProcessSettings

SHARED = frozenset(
    {
        "kafka",
        "kafka_cluster",
        "store_url",
        "events_topic",
        "quarantine_topic",
        "quarantine_topic_prefix",
        "quarantine_auto_create_topics_enable",
        "quarantine_copy_record_enable",
        "dlq_topics",
        "dlq_topics_deny",
        "targets_allow",
        "dialects",
        "first_header_counts",
        "log_format",
    }
)
"""Keys of the file's top level that more than one process reads."""

SECTIONS = ("collector", "streaming", "redrive", "api", "deadwatch")

NOT_YAML = (
    "a quote, a bracket or an indent is wrong, or a text that begins with a mark or looks like a date has no"
    " quotes"
)

S = TypeVar("S", bound=ProcessSettings)


def read_yaml(file: Path) -> Any:  # noqa: ANN401 -- what YAML holds
    """What the file says. Raises ``SettingsError``, ``OSError``, ``yaml.YAMLError``, ``ValueError``."""
    with file.open() as opened:
        try:
            return strict_yaml.parsed(opened)
        except strict_yaml.DuplicateKeyError as error:
            raise SettingsError(f"{file}: {error}") from None


def load(settings: type[S], file: Path | None = None) -> S:
    """The settings of one process, from the environment and, where given, a YAML file.

    Raises:
        SettingsError: the file cannot be read, a key is unknown, or values contradict each other.
    """
    _refuse_unknown_variables(settings, os.environ)
    where = f"{settings.section} settings"
    try:
        shared, own = _split(settings, _read(file))
        return settings(**{**shared, **own})
    except ValidationError as error:
        where += f" ({file})" if file else ""
        raise SettingsError(f"{where}: " + "; ".join(_lines(error, settings.section))) from None
    except NoJsonError as error:
        _, field, *_ = str(error).split('"')  # nothing else of the error names it
        variable = f"{settings.section}_{field}".upper()
        raise SettingsError(
            f"{where}: {field}: lists and mappings must be JSON (variables {variable}, {variable}__*)"
        ) from None
    except RecursionError:
        raise SettingsError(
            f"{where}: a value is nested deeper than any setting: do brackets repeat?"
        ) from None


def _refuse_unknown_variables(settings: type[S], environment: Mapping[str, str]) -> None:
    prefix = f"{settings.section}_".upper()
    for variable in sorted(environment):
        name = variable.removeprefix(prefix).split("__")[0].lower()
        if variable.startswith(prefix) and name not in settings.model_fields:
            known = ", ".join(f"{prefix}{field}".upper() for field in settings.model_fields)
            raise SettingsError(f"unknown variable {variable}; known: {known}")


def _read(file: Path | None) -> Mapping[str, Any]:
    if file is None:
        return {}
    try:
        content = read_yaml(file)
    except OSError as error:
        raise SettingsError(f"cannot read {file}: {error.strerror}") from None
    except (yaml.YAMLError, ValueError) as error:  # of what is no date, too; its text may show a value
        mark = getattr(error, "problem_mark", None)
        place = f" (line {mark.line + 1}, column {mark.column + 1})" if mark else ""
        raise SettingsError(f"{file} is not YAML{place}: {NOT_YAML}") from None
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise SettingsError(f"{file} must be a mapping with the keys {', '.join(SECTIONS)} and shared ones")
    return content


def _split(settings: type[S], content: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The file's shared keys that this process has, and its own section."""
    own = {} if content.get(settings.section) is None else content[settings.section]
    if not isinstance(own, dict):
        raise SettingsError(f"section {settings.section} must be a mapping")
    shared = {name: value for name, value in content.items() if name not in SECTIONS}
    unknown = sorted(map(str, set(shared) - SHARED))
    if unknown:
        raise SettingsError(
            f"unknown key {unknown[0]!r} at the top level; known: {', '.join(sorted({*SHARED, *SECTIONS}))}"
        )
    return {name: value for name, value in shared.items() if name in settings.model_fields}, {
        str(name): value for name, value in own.items()
    }


def _lines(error: ValidationError, section: str) -> list[str]:
    """One line an error: the setting's path, what is wrong, the variable that sets it."""
    lines = []
    for problem in error.errors(include_input=False, include_url=False):
        path = [str(part) for part in problem["loc"]]
        message = problem["msg"].removeprefix("Value error, ")
        variable = f"{section}_{'__'.join(path)}".upper()
        lines.append(f"{'.'.join(path)}: {message} (variable {variable})" if path else message)
    return lines


def begin(settings: type[S], description: str) -> S:
    """Load the settings and set up logging; ends the process with one line if the settings are refused."""
    parser = argparse.ArgumentParser(prog=f"python -m {settings.section}", description=description)
    parser.add_argument("--config", type=Path, metavar="FILE", help="settings as YAML (deadwatch.yaml)")
    arguments = parser.parse_args()
    os.umask(OTHERS)
    configure_logging(settings.section)
    try:
        loaded = load(settings, arguments.config)
    except SettingsError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(REFUSED)
    configure_logging(settings.section, form=loaded.log_format)
    return loaded
