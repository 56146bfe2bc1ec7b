"""Options about the devices and hosts that share the work of a command."""

import contextlib
import dataclasses
import os
import sys
from collections.abc import Iterator
from typing import Annotated

import typer

from irem.devices import Devices
from irem.hosts import hosts, join_hosts


@dataclasses.dataclass(frozen=True)
class DeviceOptions:
    """Which devices share the work."""

    devices: Annotated[
        int | None,
        typer.Option(
            help="Number of devices that share the work, of all hosts together.",
            show_default="1; with --hosts all",
        ),
    ] = None
    hosts: Annotated[
        bool,
        typer.Option(
            "--hosts",
            help="Share the work with the other hosts of a job of Slurm, Open MPI or Kubernetes.",
        ),
    ] = False
    coordinator: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS:PORT",
            help="Where the first host is, if no such job says it.",
            show_default="as the job says",
        ),
    ] = None
    num_hosts: Annotated[
        int | None, typer.Option(help="Number of hosts.", show_default="as the job says")
    ] = None
    host_id: Annotated[
        int | None,
        typer.Option(help="Number of this host, from 0.", show_default="as the job says"),
    ] = None

    @contextlib.contextmanager
    def entered(self) -> Iterator[None]:
        """Come together with the other hosts, and share what follows among the devices."""
        given = (self.coordinator, self.num_hosts, self.host_id)
        with contextlib.ExitStack() as stack:
            if self.hosts or any(g is not None for g in given):
                stack.enter_context(_results_alone_on_stdout())
                join_hosts(*given)
            if self.devices is not None or hosts() > 1:
                stack.enter_context(Devices(self.devices))
            yield


@contextlib.contextmanager
def _results_alone_on_stdout() -> Iterator[None]:
    """Send to standard error what libraries print, as that by which JAX's CPUs talk does."""
    sys.stdout.flush()
    kept, python = os.dup(1), sys.stdout
    os.dup2(2, 1)
    try:
        with open(kept, "w", encoding="utf-8", closefd=False) as sys.stdout:
            yield
    finally:
        sys.stdout = python
        os.dup2(kept, 1)
        os.close(kept)
