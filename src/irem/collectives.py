"""What devices send each other, read from a compiled program."""

import math
import re
from typing import NamedTuple

_KINDS = (
    "all-reduce",
    "all-gather",
    "all-to-all",
    "reduce-scatter",
    "collective-permute",
    "collective-broadcast",
)
_CALL = re.compile(rf"= (.*?) ({'|'.join(_KINDS)})(?:-start)?\(")
_ARRAY = re.compile(r"([a-z]+)(\d+)?[a-z0-9]*\[([\d,]*)\]")


class Message(NamedTuple):
    """What every device of a group contributes to, or receives.

    Arguments:
        kind: What is done with it, in the words of XLA, such as `all-reduce`.
        size: The size of the result on each device, in bytes.
        again: Whether it stands in a loop or another part of the program, and not in its main
            sequence, where each instruction runs once.
    """

    kind: str
    size: int
    again: bool


def messages(program: str) -> list[Message]:
    """Return the messages between devices in the text of a compiled program.

    What stands in a loop is sent once in every turn, and listed once.

    Arguments:
        program: What `as_text()` of a compiled program returns.

    Examples:
        >>> messages("%a = (f32[8,4]{1,0}, f32[]) all-reduce(%g, %l), channel_id=1")
        [Message(kind='all-reduce', size=132, again=True)]
        >>> messages("%d = f32[8,4]{1,0} dot(%x, %w)")
        []
    """
    found, in_main = [], False
    for line in program.splitlines():
        if line and not line.startswith(" "):  # where a sequence of instructions begins
            in_main = line.startswith("ENTRY")
        for result, kind in _CALL.findall(line):
            found.append(Message(kind, _size(result), not in_main))
    return found


def _size(result: str) -> int:
    """The bytes of the arrays in the type of a result; a truth value takes one."""
    arrays = _ARRAY.findall(result)
    return sum(_numbers(shape) * max(1, int(bits or 8) // 8) for _, bits, shape in arrays)


def _numbers(shape: str) -> int:
    return math.prod(int(size) for size in shape.split(",") if size)
