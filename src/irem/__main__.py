"""`python -m irem` is the command `irem`."""

from irem.cli import main

main()
