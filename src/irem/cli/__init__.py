"""The command line, one file for each command."""

from irem.cli.program import main as main
