from jars.ivy import Seen, complaint, look

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


def test_before_the_first_download_the_found_modules_are_shown() -> None:
    assert look(RESOLVING) == Seen(found=2, downloaded=0, kilobytes=0)
    assert str(look(RESOLVING)) == "jars: resolving, 2 found"


def test_downloads_are_shown_with_their_size() -> None:
    assert str(look(DOWNLOADING)) == "jars: 1 of 2, 5 MB"


def test_a_log_that_was_cut_in_a_line_is_read_up_to_there() -> None:
    assert look(DOWNLOADING[:-20]).downloaded == 1
    assert look(DOWNLOADING + ".......").kilobytes == 5331


def test_a_failure_is_told_by_the_line_that_names_what_is_missing() -> None:
    assert complaint(FAILED) == "module not found: org.apache.kafka#kafka_2.13;9.9.9"


def test_a_network_failure_is_told_by_its_cause() -> None:
    log = f"{FAILED}\tServer access error at url scheme://host/a.pom (java.net.ConnectException: refused)\n"
    assert complaint(log) == "java.net.ConnectException: refused"


def test_a_failure_without_words_is_said_so() -> None:
    assert complaint("") == "Ivy said nothing"
    assert complaint("Error: Unable to access jarfile\n") == "Error: Unable to access jarfile"
