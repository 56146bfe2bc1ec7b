"""The program: its commands, and how it reports errors."""

import functools
import importlib
import os
import sys
from collections.abc import Callable
from typing import Annotated, Any, NamedTuple

import typer

from irem.cli.groups import expand
from irem.compiled import keep_programs
from irem.errors import DivergenceError, InputError
from irem.interrupt import exit_code
from irem.version import __version__


class Command(NamedTuple):
    """A command: one line of help, and the module that has its `command` and its `EXAMPLE`."""

    help: str
    module: str


COMMANDS: dict[str, Command] = {
    name: Command(help_line, f"irem.cli.{name}")
    for name, help_line in {
        "demo": "Learn to invert matrices in half a minute, and write a page.",
        "tasks": "List the tasks with the paper's errors and the floors.",
        "recipes": "List the recipes that tasks are trained with, or print one.",
        "train": "Train a method on a task and keep the run in a folder.",
        "fit": "Fit an energy to problems and answers of your own.",
        "evaluate": "Measure the error of a trained run on fresh problems.",
        "solve": "Answer the problems in a file with a trained run.",
        "check": "Check answers to problems, whoever found them.",
        "calibrate": "Learn which error to expect of an answer of a run.",
        "compose": "Apply a learned addition several times to its own output.",
        "figure": "Draw one figure of a trained run: errors, energies or steps.",
        "reproduce": "Make the paper's tables and figures again.",
        "report": "Render results of `irem reproduce` as a page or as Markdown.",
        "zoo": "List the models that come along, or print the card of one.",
        "export": "Write a model as a file that solves without irem.",
        "benchmark": "Measure the costs of irem over those of named peers.",
        "denoise": "Remove the noise from a picture, grey or colour.",
        "serve": "Serve models over HTTP, with a page to watch descents.",
        "sat": "Satisfy a formula in DIMACS form by descent on its verifier.",
        "doctor": "Tell what irem runs on, what it keeps on the disk, and what is wrong.",
    }.items()
}
"""Every command by name, in the order of `irem --help`; modules are loaded when they are used."""


def main() -> None:
    """Run the program.

    Bad input ends in one sentence on standard error and exit code 2, a run that diverged in exit
    code 1; anything else that is raised is a bug and keeps its traceback.
    """
    try:
        _app(sys.argv[1:])()
    except InputError as error:
        _end(str(error), 2)
    except DivergenceError as error:
        _end(str(error), 1)
    except OSError as error:
        place = f" '{error.filename}'" if error.filename else " a file"
        reason = os.strerror(error.errno) if error.errno else str(error)
        _end(f"Cannot use{place}: {reason}; what was written whole before is kept.", 2)
    except MemoryError:
        _end(_TOO_LARGE, 2)
    except RuntimeError as error:  # what JAX raises is one
        if "RESOURCE_EXHAUSTED" not in str(error):
            raise
        _end(_TOO_LARGE, 2)


def _app(arguments: list[str]) -> typer.Typer:
    """The program with the one command that is asked for; of the others, name and help alone."""
    app = typer.Typer(
        name="irem",
        help=_SUMMARY,
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_root)
    asked = next((a for a in arguments if not a.startswith("-")), None)
    for name, command in COMMANDS.items():
        if name == asked:
            keep_programs()
            module = importlib.import_module(command.module)
            run = expand(_ends_by_signal(module.command))
            app.command(name=name, help=command.help, epilog=module.EXAMPLE)(run)
        else:
            app.command(name=name, help=command.help)(_not_loaded)
    return app


_TOO_LARGE = "This needs more memory than there is; ask for a smaller size, batch or buffer."


def _ends_by_signal(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command that ends with the exit code of the signal that interrupted it."""

    @functools.wraps(command)
    def run(*arguments: Any, **options: Any) -> None:
        try:
            command(*arguments, **options)
        except KeyboardInterrupt:
            typer.echo("irem: interrupted.", err=True)
            raise typer.Exit(exit_code()) from None

    return run


_SUMMARY = "Learn an energy over answers, then reason by descending on it."


def _not_loaded() -> None:
    """Stand for a command in the help of the program."""


def _version(asked: bool) -> bool:
    if asked:
        typer.echo(f"irem {__version__}")
        raise typer.Exit
    return asked


def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    del version


def _end(sentence: str, code: int) -> None:
    print(f"irem: {sentence}", file=sys.stderr)
    sys.exit(code)
