"""Errors of the console.

* ConsoleError
  * FormError         a form that cannot be read
  * CrossSiteError    a change that does not come from a page of ours
  * RoleError         the reader's role does not reach so far
"""


class ConsoleError(Exception):
    """Something the reader is told on a page."""

    status = 400
    title = "This cannot be done"


class FormError(ConsoleError):
    """The form was not sent by a page of the console, or was cut."""

    title = "The form cannot be read"


class CrossSiteError(ConsoleError):
    """Another site may not change anything here."""

    status = 403
    title = "Nothing was changed"

    def __init__(self) -> None:
        super().__init__(
            "the form did not come from a page of this console, or the page was open for too long: "
            "open it again and repeat"
        )


class RoleError(ConsoleError):
    """Somebody who may only look wants to act."""

    status = 403
    title = "This is not yours to do"

    def __init__(self, needed: str) -> None:
        super().__init__(f"it needs the role {needed}: sign in with a token that has it")
