"""Options that belong together, declared once as the fields of a dataclass."""

import dataclasses
import inspect
import typing
from collections.abc import Callable
from typing import Any


def expand(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command in which every parameter that is a dataclass is one option a field.

    Typer reads the signature of what is returned; the command itself is called with its groups.
    """
    groups, parameters = {}, []
    hints = typing.get_type_hints(command, include_extras=True)
    for parameter in inspect.signature(command).parameters.values():
        kind = hints[parameter.name]
        if not dataclasses.is_dataclass(kind):
            parameters.append(parameter.replace(kind=parameter.KEYWORD_ONLY, annotation=kind))
            continue
        groups[parameter.name] = kind
        parameters += _options(kind)

    def run(**given: Any) -> None:
        made = {
            name: kind(**{f.name: given.pop(f.name) for f in dataclasses.fields(kind)})
            for name, kind in groups.items()
        }
        command(**given, **made)

    run.__doc__ = command.__doc__
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    run.__signature__ = inspect.Signature(parameters)  # pyright: ignore[reportFunctionMemberAccess]
    return run


def _options(kind: Any) -> list[inspect.Parameter]:
    hints = typing.get_type_hints(kind, include_extras=True)
    required = lambda field: field.default is dataclasses.MISSING  # noqa: E731
    return [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if required(field) else field.default,
            annotation=hints[field.name],
        )
        for field in dataclasses.fields(kind)
    ]
