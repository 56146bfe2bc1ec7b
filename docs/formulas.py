"""Formulas of the reference as MathML, which browsers draw without a script."""

import html
import re
from typing import Any

from latex2mathml.converter import convert

# What pymdownx.arithmatex makes of $...$ and $$...$$.
_FORMULA = re.compile(
    r'<(span|div) class="arithmatex">(?:\\\((?P<inline>.*?)\\\)|\\\[(?P<block>.*?)\\\])</\1>',
    re.DOTALL,
)


def on_page_content(content: str, **_: Any) -> str:
    """Replace every formula of a page."""
    return _FORMULA.sub(_mathml, content)


def _mathml(found: re.Match[str]) -> str:
    display = "block" if found["block"] is not None else "inline"
    return convert(html.unescape(found["block"] or found["inline"]), display=display)
