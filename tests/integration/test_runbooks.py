"""Kafka's own tools take every option that a runbook names."""

import re
import subprocess
from pathlib import Path

import pytest

from jars.java import find_java
from lab.jvm import launcher
from tests.unit.test_dashboards_runbooks import KAFKA, of

pytestmark = pytest.mark.integration

MAINS = {
    "kafka-acls.sh": "AclCommand",
    "kafka-consumer-groups.sh": "consumer.group.ConsumerGroupCommand",
    "kafka-features.sh": "FeatureCommand",
    "kafka-get-offsets.sh": "GetOffsetShell",
    "kafka-metadata-quorum.sh": "MetadataQuorumCommand",
    "kafka-share-groups.sh": "consumer.group.ShareGroupCommand",
    "kafka-topics.sh": "TopicCommand",
}
"""``kafka-configs.sh`` is not among them: no jar that can be had has its class."""
WITHIN_S = 120


@pytest.mark.parametrize("tool", sorted(MAINS.keys() & set(KAFKA)))
def test_the_tool_knows_the_options(tool: str, tmp_path: Path) -> None:
    (used,) = [{word for words in of(tool) for word in words if word.startswith("--")}]
    subcommands = sorted({words[3] for words in of(tool) if words[3:] and not words[3].startswith("-")})
    told = "".join(_help(tool, command, tmp_path) for command in (*([c] for c in subcommands), []))
    assert used <= set(re.findall(r"--[a-z][a-z-]*", told)), told


def _help(tool: str, arguments: list[str], directory: Path) -> str:
    main = f"org.apache.kafka.tools.{MAINS[tool]}"
    command = [*launcher(find_java().path, "apps", 64), main, *arguments, "--help"]
    done = subprocess.run(command, cwd=directory, capture_output=True, timeout=WITHIN_S, check=False)
    return (done.stdout + done.stderr).decode()
