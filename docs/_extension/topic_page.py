"""The page with what ``maskwright explain`` says of topics, as it stands on the screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from _extension.markdown_text import block
from maskwright.cli.show.explain import CONTRACT, DOUBTS, FORMATS, explain, topic_names

if TYPE_CHECKING:
    from collections.abc import Mapping

ELSEWHERE = (CONTRACT, DOUBTS, FORMATS)
"""Topics that have pages of their own."""


def topic_page() -> Mapping[str, str]:
    """Text of the page, by the name of its file."""
    parts = ["# Topics", "What `maskwright explain TOPIC` says."]
    for name in topic_names():
        if name not in ELSEWHERE:
            parts += [f"## {name}", block(explain(name))]
    return {"topics.md": "\n\n".join(parts) + "\n"}
