"""``deadwatch policies`` before a real api where Kafka is not asked."""

from pathlib import Path

import httpx2
import pytest
from sqlalchemy import Engine

from cli.api_client import Api, RefusedError, UsageError
from cli.commands.policies import PATH, read, switched, table
from tests.unit.cli.terminal import printed

YAML = r"""
dlq_topics: ['dlq\.orders']
exclude_error_classes: [a.b.SerializationException]
retry: {max_attempts: 3}
include_existing: true
reason: the database is away now and then
"""
JSON = r'{"dlq_topics": ["dlq\\.orders"], "include_existing": true, "reason": "flaky"}'


@pytest.mark.parametrize("content", [YAML, JSON], ids=["YAML", "JSON"])
def test_a_file_becomes_a_policy_that_is_switched_and_deleted(
    client: httpx2.Client, store: Engine, tmp_path: Path, content: str
) -> None:
    del store  # it has to be there
    file = tmp_path / "policy"
    file.write_text(content)
    api = Api(client)
    made = api.post(PATH, read(file))
    assert made["request"]["dlq_topics"] == [r"dlq\.orders"]
    off = switched(api, made["id"], enabled=False)
    assert (off["enabled"], off["version"]) == (False, 2)
    on = switched(api, made["id"], enabled=True)
    assert on["request"] == made["request"]
    shown = printed(table(api.get(PATH)))
    assert all(part in shown for part in ("enabled", r"dlq\.orders", made["request"]["reason"]))
    with pytest.raises(RefusedError, match="is at version 3, not 2"):
        api.put(f"{PATH}/{made['id']}", made["request"], '"2"')
    api.delete(f"{PATH}/{made['id']}")
    assert api.get(PATH) == {"items": [], "next": None}


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("mode: retry\nmode: park", "line 2: mode stands twice"),
        ("dlq_topics: [", "is neither YAML nor JSON of a policy"),
        ("from: 2026-11-21", "is neither YAML nor JSON of a policy"),
        ("- dlq.orders", "holds no policy"),
        ("", "holds no policy"),
    ],
)
def test_a_file_that_holds_no_policy_is_one_line(tmp_path: Path, content: str, complaint: str) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text(content)
    with pytest.raises(UsageError, match=complaint) as refused:
        read(file)
    assert "\n" not in str(refused.value)
