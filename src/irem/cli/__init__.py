"""The command line, one file for each command."""

from irem.interrupt import exit_on_interrupt


def main() -> None:
    """Run the program; signals end it from the first import on."""
    with exit_on_interrupt():
        from irem.cli import program  # noqa: PLC0415  (half of the time before the first command)

        program.main()
