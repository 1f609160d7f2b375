"""Why Spark's JVM does not start: its standard error tells, of which PySpark knows nothing."""

import re
import tempfile

from pyspark import SparkConf
from pyspark.errors import PySparkRuntimeError
from pyspark.java_gateway import launch_gateway

import jars

REFUSED = re.compile(
    r"^.*(?:"
    r"Improperly specified VM option|Unrecognized (?:VM )?option|VM option '.+' is \w+ and must be enabled"
    r"|(?:Missing|Unexpected) \+/- setting|is outside the allowed range|must be \w+ than or equal to"
    r"|Invalid \w+ (?:heap|stack) size|Initial heap size set to a larger value|Multiple garbage collectors"
    r"|Too small (?:initial|maximum) heap|stack size specified is too small|Invalid -Xlog option"
    r"|Could not find (?:agent library|or load main class)|is no longer a supported option"
    r"|Error opening zip file or JAR manifest missing|Not allowed to specify"  # an agent; a setting's place
    r"|NumberFormatException|ClassNotFoundException|must be a positive number|Master must "
    r").*$",
    re.MULTILINE,
)
"""A line about a setting, which is the same the next time. Nothing of it is said where memory is short."""


def refusal(conf: SparkConf) -> str:
    """Why no JVM will ever start with this Java or these settings, in one line; "" where one may later."""
    try:
        jars.find_java()
    except jars.BrokenJavaError:
        pass  # it may have had no memory
    except jars.JavaError as error:
        return str(error)
    refused = REFUSED.search(_last_words(conf))
    return refused[0].strip() if refused else ""


def _last_words(conf: SparkConf) -> str:
    """What the JVM says when it is started once more, and does not start; "" where it does."""
    with tempfile.TemporaryFile() as said:
        try:
            heard = {"stdout": said, "stderr": said}
            gateway = launch_gateway(conf, heard)  # type: ignore[no-untyped-call]  # of PySpark, without types
        except PySparkRuntimeError:
            said.seek(0)
            return said.read().decode(errors="replace")
        gateway.shutdown()
        gateway.proc.kill()
        gateway.proc.wait()
        return ""
