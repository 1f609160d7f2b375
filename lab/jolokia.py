"""What a Java process tells through its Jolokia agent."""

from typing import Final

from lab.http import call

_DUMP: Final = {
    "type": "exec",
    "mbean": "java.lang:type=Threading",
    "operation": "dumpAllThreads(boolean,boolean,int)",
    "arguments": [False, False, 0],
}


def threads_named(url: str, name: str) -> int:
    """How many live threads carry exactly this name."""
    return sum(thread["threadName"] == name for thread in call(url, _DUMP)["value"])
