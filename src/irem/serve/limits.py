"""What a server refuses: requests that are too large, too many or too long."""

import dataclasses
from typing import Any


@dataclasses.dataclass(frozen=True)
class Limits:
    """Bounds that every request is held to.

    Arguments:
        body: Bytes of a request.
        problems: Problems of a request.
        entries: Numbers of an answer.
        waiting: Problems that are being answered or wait for it, of all clients together.
        walks: Walks at the same time.
        seconds: How long a request may take.
        reading: How many seconds its body may take to arrive.
        starts: First guesses of a problem.
        restarts: Further tries of a problem.
        steps: Step budget of a descent.
    """

    body: int = 8 * 2**20
    problems: int = 256
    entries: int = 2**16
    waiting: int = 2048
    walks: int = 16
    seconds: float = 120.0
    reading: float = 30.0
    starts: int = 16
    restarts: int = 256
    steps: int = 100_000


class Refusal(Exception):  # noqa: N818 (the client's error, not the server's)
    """A request that is answered by an error.

    Arguments:
        status: The status code of HTTP.
        code: The name of the error.
        message: One sentence: what was given, what is expected, what to do.
        more: Further fields of the answer.
    """

    def __init__(self, status: int, code: str, message: str, **more: Any) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.more = status, code, message, more

    def as_dict(self) -> dict[str, Any]:
        """Return the body of the answer."""
        return {"error": {"code": self.code, "message": self.message}, **self.more}


def malformed(message: str) -> Refusal:
    """Return the refusal of a request that cannot be read."""
    return Refusal(400, "malformed", message)


def too_large(message: str) -> Refusal:
    """Return the refusal of a request that is beyond a limit."""
    return Refusal(413, "too_large", message)


def busy(message: str) -> Refusal:
    """Return the refusal of a request for which there is no room now."""
    return Refusal(503, "queue_full", message)
