"""The command line, one file for each command."""

from irem.cli._main import main as main
