"""The program: its commands, and how it says no."""

import os
import sys
from typing import Annotated

import typer
from jax.errors import JaxRuntimeError

from irem._errors import DivergenceError, InputError
from irem._version import __version__
from irem.cli import (
    _calibrate,
    _compose,
    _demo,
    _denoise,
    _evaluate,
    _figure,
    _report,
    _reproduce,
    _sat,
    _solve,
    _tasks,
    _train,
    _zoo,
)

app = typer.Typer(
    name="irem",
    help="Learn an energy over answers, then reason by walking downhill on it.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
_COMMANDS = (
    _demo,
    _tasks,
    _train,
    _evaluate,
    _solve,
    _calibrate,
    _compose,
    _figure,
    _reproduce,
    _report,
    _zoo,
    _denoise,
    _sat,
)
for command in _COMMANDS:
    app.command(name=command.NAME, help=command.HELP, epilog=command.EXAMPLE)(command.command)


def _version(asked: bool) -> bool:
    if asked:
        typer.echo(f"irem {__version__}")
        raise typer.Exit
    return asked


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Learn an energy over answers, then reason by walking downhill on it."""


def main() -> None:
    """Run the program.

    Bad input ends in one sentence on standard error and exit code 2, a run that diverged in exit
    code 1; anything else that is raised is a bug and keeps its traceback.
    """
    try:
        app()
    except InputError as error:
        _end(str(error), 2)
    except DivergenceError as error:
        _end(str(error), 1)
    except JaxRuntimeError as error:
        if "RESOURCE_EXHAUSTED" not in str(error):
            raise
        _end("This needs more memory than there is; ask for a smaller size, batch or buffer.", 2)
    except OSError as error:
        place = f" '{error.filename}'" if error.filename else " a file"
        reason = os.strerror(error.errno) if error.errno else str(error)
        _end(f"Cannot use{place}: {reason}; what was written whole before is kept.", 2)


def _end(sentence: str, code: int) -> None:
    print(f"irem: {sentence}", file=sys.stderr)
    sys.exit(code)
