import pytest

from jars.resolve import complaint, look

RESOLVING = """\
:: resolving dependencies :: deadwatch#jars;working@vm
\tconfs: [spark, kafka, apps, agents]
\tfound org.apache.kafka#kafka-clients;3.9.2 in public
\tfound org.apache.commons#commons-pool2;2.13.1 in public
"""
DOWNLOADING = f"""{RESOLVING}\
downloading kafka-clients-3.9.2.jar ...
....................... (5331kB)
.. (0kB)
\t[SUCCESSFUL ] org.apache.kafka#kafka-clients;3.9.2!kafka-clients.jar (176ms)
"""
FAILED = """\
\t\tmodule not found: org.apache.kafka#kafka_2.13;9.9.9
\t\t::::::::::::::::::::::::::::::::::::::::::::::
:: USE VERBOSE OR DEBUG MESSAGE LEVEL FOR MORE DETAILS
"""


@pytest.mark.parametrize(
    ("log", "line"),
    [
        (RESOLVING, "jars: resolving, 2 found"),
        (DOWNLOADING, "jars: 1 of 2, 5 MB"),
        (DOWNLOADING[:-20], "jars: 1 of 2, 5 MB"),
        (DOWNLOADING + ".......", "jars: 1 of 2, 5 MB"),
    ],
    ids=["what is found", "downloads with their size", "cut in a line", "cut in a download"],
)
def test_a_log_is_read_as_far_as_it_goes(log: str, line: str) -> None:
    assert look(log) == line


NO_NETWORK = "\tServer access error at url scheme://host/a.pom (java.net.ConnectException: refused)\n"


@pytest.mark.parametrize(
    ("log", "reason"),
    [
        (FAILED, "module not found: org.apache.kafka#kafka_2.13;9.9.9"),
        (FAILED + NO_NETWORK, "java.net.ConnectException: refused"),
        ("Error: Unable to access jarfile\n", "Error: Unable to access jarfile"),
        ("", "Ivy said nothing"),
    ],
    ids=["what is missing", "the network", "its last line", "nothing"],
)
def test_a_failure_has_a_reason(log: str, reason: str) -> None:
    assert complaint(log) == reason
