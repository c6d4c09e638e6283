"""A request that a run cannot begin or go on with."""

from __future__ import annotations


class RunError(Exception):
    """The request is wrong, and nothing was changed. `hint` says what would do; the command line exits with 2."""

    def __init__(self, message: str, hint: str = "", *, code: str = "run", where: str = "") -> None:
        self.message = message
        self.hint = hint
        self.code = code
        self.where = where
        super().__init__(f"{message}; {hint}" if hint else message)
