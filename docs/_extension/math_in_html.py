"""Formulas as MathML, which browsers show by themselves: no script is asked for from another host."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.writers.html5 import HTML5Translator

NAME = "mathml"

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


def _write(writer: HTML5Translator, node: nodes.math | nodes.math_block, *, as_block: bool) -> None:
    formula = re.sub(r"\\dots\b", r"\\ldots", node.astext())  # the one that the converter of docutils knows
    try:
        writer.body.append(tex2mathml(formula, as_block=as_block))
    except MathError as error:
        _log.warning("this formula cannot be shown: %s", error, location=node)
        writer.body.append(writer.encode(node.astext()))
