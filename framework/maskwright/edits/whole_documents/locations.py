"""Locations in a report as libxslt writes them; Saxon has a function for it."""

from __future__ import annotations

from maskwright.edits.engines.engine_tests import SIBLING_NUMBER

X = "maskwright.xsl"
OURS = "maskwright.extensions"
"""Prefixes that no schema would choose: of XSLT, and of functions of our own."""

_NUMBER = "$maskwright.number"


def _step(test: str, same: str, written: str) -> str:
    """Template that writes one step of a location: the number of a node is left out where it is the only one."""
    # xsl:number counts the nodes before of the same kind and name, many times faster than a path would.
    number = f'<{X}:variable name="maskwright.number"><{X}:number/></{X}:variable>'
    return _numbered(test, written, number, f"{_NUMBER} != 1 or following-sibling::{same}")


def _numbered(test: str, written: str, number: str, has_others: str) -> str:
    return (
        f'<{X}:template match="{test}" mode="maskwright.location">'
        f'<{X}:if test="parent::*"><{X}:apply-templates select="parent::*" mode="maskwright.location"/></{X}:if>'
        f"<{X}:text>/</{X}:text>{written}{number}"
        f'<{X}:if test="{has_others}">[<{X}:value-of select="{_NUMBER}"/>]</{X}:if></{X}:template>'
    )


def _qualified(sign: str) -> str:
    """A name, or a test of its parts where it has a namespace: a location needs no prefixes."""
    space = f'<{X}:value-of select="namespace-uri()"/>'
    return (
        f'<{X}:choose><{X}:when test="namespace-uri() = \'\'">{sign}<{X}:value-of select="local-name()"/></{X}:when>'
        f"<{X}:otherwise>{sign}*[local-name()='<{X}:value-of select=\"local-name()\"/>' and namespace-uri()='{space}']"
        f"</{X}:otherwise></{X}:choose>"
    )


_ATTRIBUTE = (
    f'<{X}:template match="@*" mode="maskwright.location"><{X}:apply-templates select="parent::*" '
    f'mode="maskwright.location"/><{X}:text>/</{X}:text>{_qualified("@")}</{X}:template>'
)
_ELEMENT = _numbered(
    "*",
    _qualified(""),
    f'<{X}:variable name="maskwright.number" select="{OURS}:{SIBLING_NUMBER}()"/>',
    f"{_NUMBER} != 0",
)
LOCATIONS = "\n".join(
    (
        f'<{X}:template match="/" mode="maskwright.location"><{X}:text>/</{X}:text></{X}:template>',
        _ELEMENT,
        _step("text()", "text()", "text()"),
        _step("comment()", "comment()", "comment()"),
        _step(
            "processing-instruction()",
            "processing-instruction()[name() = name(current())]",
            f"processing-instruction('<{X}:value-of select=\"name()\"/>')",
        ),
        _ATTRIBUTE,
    )
)
