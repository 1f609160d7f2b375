"""What Spark is told, on whichever master."""

import pytest
from pydantic import ValidationError

from streaming import session
from streaming.settings import StreamingSettings

JARS = ("local:///opt/jars/kafka.jar", "s3a://house/jars/clients.jar")


def test_a_cluster_finds_its_jars_where_the_settings_say_and_the_driver_where_it_is() -> None:
    settings = StreamingSettings(
        master="spark://spark:7077", jars=JARS, spark={"spark.executor.memory": "4g", "spark.cores.max": "16"}
    )
    told = session.configuration(settings)
    assert told["spark.jars"] == ",".join(JARS)
    assert (told["spark.executor.memory"], told["spark.cores.max"]) == ("4g", "16")
    assert "spark.driver.host" not in told


def test_on_this_machine_alone_nobody_else_is_let_in() -> None:
    for master in ("local[2]", "local-cluster[2,1,1024]"):
        told = session.configuration(StreamingSettings(master=master, jars=JARS))
        assert (told["spark.driver.host"], told["spark.driver.bindAddress"]) == ("127.0.0.1", "127.0.0.1")


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("spark.sql.ansi.enabled", "the figures depend on it"),
        ("spark.sql.mapKeyDedupPolicy", "the figures depend on it"),
        ("executor.memory", "no setting of Spark"),
    ],
)
def test_what_results_depend_on_is_not_set_by_hand(name: str, why: str) -> None:
    with pytest.raises(ValidationError, match=why):
        StreamingSettings(spark={name: "true"})
