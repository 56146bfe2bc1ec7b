"""A plugin of pytest: what a conftest.py makes once is made in one process.

pytest-xdist gives whole files to its processes. Files of a folder with a conftest.py go to the same
one, which would otherwise train the models of that folder again.
"""

from pathlib import Path

import pytest
from xdist.scheduler import LoadFileScheduling


class FolderScheduling(LoadFileScheduling):
    """Give a process one file at a time, or one folder with a conftest.py."""

    def _split_scope(self, nodeid):
        file = super()._split_scope(nodeid)
        folder = Path(file).parent
        shared = (self.config.rootpath / folder / "conftest.py").exists()
        return str(folder) if shared else file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    return FolderScheduling(config, log)
