"""Kafka's own tools take every option that a runbook names, and do what the page of operations says."""

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from jars.java import find_java
from lab import Lab
from lab.jvm import launcher
from lab.topics import Topics
from tests.names import fresh
from tests.paths import ROOT
from tests.unit.dashboards.test_runbooks import KAFKA, of
from tests.waiting import until

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
PAGE = ROOT / "docs" / "operations.md"
REMOVALS = re.findall(r"^\$ kafka-topics\.sh (.+ --delete --topic) \S+$", PAGE.read_text(), re.MULTILINE)
assert len(REMOVALS) == PAGE.read_text().count("$ kafka-topics.sh"), "one removes in another way"


@pytest.mark.parametrize("tool", sorted(MAINS.keys() & set(KAFKA)))
def test_the_tool_knows_the_options(tool: str, tmp_path: Path) -> None:
    (used,) = [{word for words in of(tool) for word in words if word.startswith("--")}]
    subcommands = sorted({words[3] for words in of(tool) if words[3:] and not words[3].startswith("-")})
    told = "".join(_help(tool, command, tmp_path) for command in (*([c] for c in subcommands), []))
    assert used <= set(re.findall(r"--[a-z][a-z-]*", told)), told


@pytest.mark.parametrize("line", sorted(set(REMOVALS)))
def test_a_topic_is_removed_as_the_page_of_operations_says(lab: Lab, line: str, tmp_path: Path) -> None:
    topic, topics = fresh("removed-"), Topics(lab.bootstrap_servers)
    topics.create(topic)
    topics.produce(topic, [b"v"])
    words = shlex.split(line.replace("kafka:9092", lab.bootstrap_servers))
    main = f"org.apache.kafka.tools.{MAINS['kafka-topics.sh']}"
    subprocess.run(
        [*launcher(find_java().path, "apps", 64), main, *words, topic],
        cwd=tmp_path,
        capture_output=True,
        timeout=WITHIN_S,
        check=True,
    )
    until(lambda: topics.end(topic) == 0, f"{topic} is still there")


def _help(tool: str, arguments: list[str], directory: Path) -> str:
    main = f"org.apache.kafka.tools.{MAINS[tool]}"
    command = [*launcher(find_java().path, "apps", 64), main, *arguments, "--help"]
    done = subprocess.run(command, cwd=directory, capture_output=True, timeout=WITHIN_S, check=False)
    return (done.stdout + done.stderr).decode()
