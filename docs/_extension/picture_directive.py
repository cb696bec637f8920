"""The directive ``{maskwright-picture} NAME``: a picture that the build makes, with a caption as its content."""

from __future__ import annotations

import hashlib
import json
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from _extension.drawn_clusters import k_clusters
from _extension.drawn_demo import ledger, risk_utility_map
from _extension.drawn_edits import edits_kept
from maskwright import __version__

if TYPE_CHECKING:
    from collections.abc import Callable

PICTURES: dict[str, Callable[[], tuple[str, str]]] = {
    "edits-kept": edits_kept,
    "k-clusters": k_clusters,
    "ledger": ledger,
    "risk-utility-map": risk_utility_map,
}
"""What draws each picture: the element, and what it says to those who do not see it."""


class MaskwrightPicture(SphinxDirective):
    """Put a picture into the page."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Draw it, or take it from the last build."""
        name = self.arguments[0]
        if name not in PICTURES:
            raise self.error(f"no picture is called {name!r}; there are: {', '.join(sorted(PICTURES))}")
        shown, said = self._drawn(name)
        figure = nodes.figure(classes=["maskwright-picture"])
        figure += nodes.raw("", _told(shown, said), format="html")
        if self.content:
            caption = nodes.caption()
            inside, messages = self.parse_inline(" ".join(self.content), lineno=self.lineno)
            caption += inside
            figure += caption
            return [figure, *messages]
        return [figure]

    def _drawn(self, name: str) -> tuple[str, str]:
        # Drawing runs pipelines: it is done again only where the version or the drawing has changed.
        drawing = "".join(path.read_text(encoding="utf-8") for path in sorted(Path(__file__).parent.glob("*.py")))
        state = hashlib.sha256(f"{__version__} {drawing}".encode()).hexdigest()
        kept = Path(self.env.doctreedir) / f"picture-{name}.json"
        if kept.exists():
            found = json.loads(kept.read_text(encoding="utf-8"))
            if found["state"] == state:
                return found["shown"], found["said"]
        shown, said = PICTURES[name]()
        kept.write_text(json.dumps({"state": state, "shown": shown, "said": said}), encoding="utf-8")
        return shown, said


def _told(shown: str, said: str) -> str:
    if not shown.startswith("<svg"):
        return shown
    return shown.replace("<svg", f'<svg role="img" aria-label="{escape(said)}"', 1)
