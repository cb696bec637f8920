"""Formulas as MathML, which browsers show by themselves: no script is requested from another host."""

from __future__ import annotations

import re
from html import unescape
from typing import TYPE_CHECKING

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from lxml import etree
from sphinx.util import logging

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.writers.html5 import HTML5Translator

NAME = "mathml"
ACCENTS = frozenset("ˉˆ˜˙¨ˇ˘´`→^~¯")

_log = logging.getLogger(__name__)


def add_math(app: Sphinx) -> None:
    """Add the renderer that ``html_math_renderer = "mathml"`` names."""
    app.add_html_math_renderer(NAME, inline_renderers=(_inline, None), block_renderers=(_block, None))


def _inline(writer: HTML5Translator, node: nodes.math) -> None:
    _write(writer, node, as_block=False)
    raise nodes.SkipNode


def _block(writer: HTML5Translator, node: nodes.math_block) -> None:
    writer.body.append('<div class="math-block" tabindex="0">')
    _write(writer, node, as_block=True)
    writer.body.append("</div>")
    raise nodes.SkipNode


def as_mathml(formula: str, *, as_block: bool) -> str:
    """A formula of TeX as MathML; docutils sets an index below a letter with an accent, and here it stands beside it.

    Parameters
    ----------
    formula : str
    as_block : bool
        Whether it stands on a line of its own.

    Raises
    ------
    docutils.utils.math.MathError
        What cannot be shown.
    """
    # The name of three dots that the converter knows.
    shown = tex2mathml(re.sub(r"\\dots\b", r"\\ldots", formula), as_block=as_block)
    root = etree.fromstring(re.sub(r"&\w+;", _character, shown))
    for both in list(root.iter("{*}munderover")):
        letter, index, over = both
        if (over.text or "").strip() in ACCENTS:
            accented = etree.Element(etree.QName(root, "mover"))
            accented.extend([letter, over])
            both.tag = etree.QName(root, "msub").text
            both.extend([accented, index])
    return str(etree.tostring(root, encoding="unicode"))


def _character(entity: re.Match[str]) -> str:
    """What a name of HTML stands for, which XML does not know; its own names stay."""
    return entity[0] if entity[0] in ("&lt;", "&gt;", "&amp;", "&quot;", "&apos;") else unescape(entity[0])


def _write(writer: HTML5Translator, node: nodes.math | nodes.math_block, *, as_block: bool) -> None:
    try:
        writer.body.append(as_mathml(node.astext(), as_block=as_block))
    except MathError as error:
        _log.warning("this formula cannot be shown: %s", error, location=node)
        writer.body.append(writer.encode(node.astext()))
