"""The two ways in which `irem` says no."""


class InputError(ValueError):
    """What was given cannot be used; the message says what is expected and what to do.

    The command line turns it into one sentence and exit code 2.
    """


class DivergenceError(RuntimeError):
    """Training was stopped, or a model is useless, because of numbers that are not finite."""
