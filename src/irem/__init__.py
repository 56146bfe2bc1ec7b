"""Reasoning as energy minimisation: learn an energy over answers, then descend on it.

The public names stand in `__init__.pyi`; each is loaded when it is first used.
"""

import lazy_loader as _lazy

from irem.version import __version__ as __version__

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
