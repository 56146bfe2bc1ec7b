"""What a check says of an answer, as a sentence."""

from irem.serve.answers import Answer
from irem.serve.models import ServedModel

_HOLDS = {
    "sudoku": "Every row, column and box has every symbol once, and the givens are kept.",
    "maze": "The marked cells are a shortest path from the start to the end.",
    "prefix-sums": "Every bit is the parity of all bits up to it.",
    "shortest-path": "The distances satisfy the equations of shortest paths",
    "connected-components": "Exactly the pairs that edges connect are marked.",
    "matrix-inverse": "The product of the answer and the matrix is the identity",
    "addition": "Every entry is the sum of its two numbers",
    "edge-copy": "Every entry is that of the problem",
}
_MISSES = {
    "sudoku": "{residual:.0f} of the rules are broken.",
    "maze": "The marked cells are no shortest path: {residual:.0f} cells are missing or too many.",
    "prefix-sums": "{residual:.0f} of the bits are wrong.",
    "matrix-inverse": "The product of the answer and the matrix is not the identity",
}
_UNCHECKED = "Nothing checks this answer: the problem does not say what would be right."


def sentence(model: ServedModel, answer: Answer) -> str:
    """Return what was checked of an answer, and the outcome.

    Arguments:
        model: The model that answered.
        answer: The answer.
    """
    if answer.verified is None:
        return _UNCHECKED
    name = model.run.task.name
    if answer.verified:
        return _with_residual(_HOLDS.get(name, "The answer satisfies the problem"), model, answer)
    if not answer.residual < float("inf"):
        return "The answer does not satisfy the problem at all."
    missed = _MISSES.get(name, "The answer does not satisfy the problem")
    return _with_residual(missed.format(residual=answer.residual), model, answer)


def _with_residual(text: str, model: ServedModel, answer: Answer) -> str:
    """Finish a sentence about numbers by how far off they are."""
    if text.endswith("."):
        return text
    tolerance = model.run.task.tolerance
    return f"{text}: off by {answer.residual:.2g}, at most {tolerance:g} is accepted."
