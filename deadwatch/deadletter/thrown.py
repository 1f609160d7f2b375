"""The exception that was thrown, where the headers of a dead letter name another one that only wraps it.

Spring calls every exception of a listener a ``ListenerExecutionFailedException``. Which one was thrown says a
header with the class of the cause; else the first ``Caused by:`` of the stack trace does whose class is no
wrapper: what stands behind that one is why it was thrown. Its message is the one behind the class in the
stack trace (``Throwable.printStackTrace``), else that of the wrapper stays.
"""

import re
from collections.abc import Collection, Sequence
from typing import Final

CAUSED_BY: Final = "\nCaused by: "
FRAMES: Final = "\n\t"
"""Begins the frames, which end the message of an exception."""
_CLASS: Final = re.compile(r"[\w.$/-]+")


def printed_causes(stacktrace: str) -> Sequence[str]:
    """What a stack trace prints of each exception behind the first one: ``Throwable.toString``."""
    return [part.partition(FRAMES)[0] for part in stacktrace.split(CAUSED_BY)[1:]]


def thrown(
    wrapper: str, cause_class: str, cause_message: str, causes: Sequence[str], wrappers: Collection[str]
) -> tuple[str, str | None]:
    """Class and message of the exception that ``wrapper`` is around; None: the wrapper's message stays.

    ``causes`` are ``printed_causes`` of the stack trace. Where no other exception is named it is the wrapper.
    """
    read = [_class_and_message(printed) for printed in causes]
    name, message = cause_class, cause_message
    if not name or name in wrappers:
        direct = (cause for cause in read if _CLASS.fullmatch(cause[0]) and cause[0] not in wrappers)
        name, message = next(direct, ("", ""))
    if not _CLASS.fullmatch(name):
        return wrapper, None
    return name, message or next((text for cause, text in read if cause == name), None)


def _class_and_message(printed: str) -> tuple[str, str]:
    name, _, message = printed.rstrip().partition(": ")
    return name, message
