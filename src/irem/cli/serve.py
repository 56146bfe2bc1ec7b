"""`irem serve`."""

import dataclasses
import os
import sys
from typing import Annotated

import typer

from irem.cli.common import Json, print_json
from irem.errors import InputError
from irem.interrupt import Interrupt, exit_code

EXAMPLE = "Example: irem serve zoo:sudoku zoo:maze --port 8000"

_LOOPBACK = ("127.0.0.1", "::1", "localhost")
_TERMINATED = 143


@dataclasses.dataclass(frozen=True)
class Place:
    """Where the server listens, and to whom."""

    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 for one that is free.")] = (
        8000
    )
    host: Annotated[
        str, typer.Option(help="Address to listen at; all but 127.0.0.1 need a token.")
    ] = "127.0.0.1"
    token: Annotated[
        str | None,
        typer.Option(
            envvar="IREM_TOKEN", help="What every request has to bear.", show_default="none"
        ),
    ] = None

    def check(self) -> None:
        """Refuse to be reached from elsewhere without a token."""
        if self.token is not None and not self.token.strip():
            raise InputError(
                "The token is empty; give one of many random characters, or none at all."
            )
        if self.host not in _LOOPBACK and self.token is None:
            raise InputError(
                f"At {self.host} other machines reach the server: give a token with --token or "
                "IREM_TOKEN, or leave out --host."
            )

    @property
    def names(self) -> tuple[str, ...]:
        """By which names the server may be called; with a token by any."""
        return _LOOPBACK if self.token is None else ()

    def address(self, port: int) -> str:
        """Return what browsers call it."""
        return f"http://{f'[{self.host}]' if ':' in self.host else self.host}:{port}"


@dataclasses.dataclass(frozen=True)
class Work:
    """How much is done at the same time, and before it is asked for."""

    seconds: Annotated[float, typer.Option(min=1, help="How long a request may take.")] = 120.0
    waiting: Annotated[
        int, typer.Option(min=1, help="Problems that may be answered or wait at the same time.")
    ] = 2048
    warm: Annotated[
        bool, typer.Option(help="Compile programs of all models before they are asked for.")
    ] = True


def command(
    place: Place,
    work: Work,
    models: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[MODEL]...",
            help="Folders made by `irem train` or `irem fit`, or zoo:NAME.",
            show_default="the models that come along",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Serve models over HTTP, with a page to watch descents."""
    place.check()
    try:
        from irem.serve import (  # noqa: PLC0415  (loads FastAPI, which is not always there)
            Limits,
            create_app,
            load_models,
            open_socket,
            run_server,
        )
    except ModuleNotFoundError as error:
        raise InputError(
            f"`irem serve` needs {error.name}; install it with `pip install irem[serve]`."
        ) from error
    limits = Limits(seconds=work.seconds, waiting=work.waiting)
    loaded = load_models(models or _those_of_the_zoo(), limits)
    app = create_app(loaded, limits, token=place.token, hosts=place.names, warm=work.warm)
    listening = open_socket(place.host, place.port)
    address = place.address(listening.getsockname()[1])

    def tell() -> None:
        typer.echo(f"irem: serving {', '.join(loaded)} at {address} (Ctrl-C ends)", err=True)
        if json:
            print_json({"address": address, "models": list(loaded)})
            sys.stdout.flush()

    with Interrupt("irem: finishing what is under way; once more to end at once.") as stop:
        run_server(app, listening, limits, stop=lambda: stop.asked, started=tell)
        code = exit_code()
    sys.stdout.flush()
    sys.stderr.flush()
    # Programs may still be compiled by another thread, which cannot be told to end.
    os._exit(0 if code == _TERMINATED else code)


def _those_of_the_zoo() -> list[str]:
    """Return the models that come along, but for those that follow the paper's protocol."""
    from irem.training import zoo  # noqa: PLC0415  (not needed where models are named)

    return [model.name for model in zoo() if not model.name.endswith("-protocol")]
