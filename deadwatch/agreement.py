"""Whether the processes of one service would meet."""

from collections.abc import Sequence
from functools import reduce

from pydantic import BaseModel

from collector.settings_file import ProcessSettings, SettingsError

AGREED = (
    "kafka.bootstrap_servers",
    "kafka.security_protocol",
    "events_topic",
    "quarantine_topic",
    "quarantine_topic_prefix",
    "quarantine_auto_create_topics_enable",
    "quarantine_copy_record_enable",
    "kafka_cluster",
    "store_url",
    "dlq_topics",
    "dlq_topics_deny",
    "targets_allow",
    "log_format",
)
"""What the processes have to say alike: otherwise one writes where the other does not look."""


def refuse_contradictions(processes: Sequence[ProcessSettings]) -> None:
    """Refuse processes that would not meet; a value is never shown, it may be a secret."""
    if not any("bootstrap_servers" in _said(process, "kafka") for process in processes):
        raise SettingsError(
            "which Kafka? give --bootstrap-servers HOST:PORT, or kafka.bootstrap_servers in --config FILE"
        )
    for path in AGREED:
        having = [process for process in processes if path.split(".")[0] in type(process).model_fields]
        if len({str(_get(process, path)) for process in having}) > 1:
            names = " and ".join(process.section for process in having)
            raise SettingsError(f"{names} disagree on {path}: say it once, at the top level of --config FILE")


def _said(settings: ProcessSettings, name: str) -> set[str]:
    """The fields of a nested setting that file or environment name."""
    nested = getattr(settings, name, None)
    return nested.model_fields_set if isinstance(nested, BaseModel) else set()


def _get(settings: object, path: str) -> object:
    return reduce(getattr, path.split("."), settings)
