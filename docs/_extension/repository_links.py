"""Links from a page to a file of the repository that is no page of the site."""

from __future__ import annotations

from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.transforms import SphinxTransform
from sphinx.util import logging

ROOT = Path(__file__).parents[2]
ADDRESS = "https://github.com/maskwright/maskwright/blob/main/"

_log = logging.getLogger(__name__)


class RepositoryLinks(SphinxTransform):
    """Lead links to files outside of ``docs/`` to the repository's address; on disk they work as they stand."""

    default_priority = 5

    def apply(self) -> None:
        """Replace each such link of the page; a file that does not exist is a warning."""
        for node in [each for each in self.document.findall(nodes.Element) if _is_link(each)]:
            target = str(node["reftarget"])
            folder = Path(self.env.doc2path(self.env.docname)).parent
            path = (folder / target).resolve()
            if path.is_relative_to(ROOT / "docs") or not path.is_relative_to(ROOT):
                continue
            if not path.exists() and path.with_suffix(".md").exists():
                path = path.with_suffix(".md")
            if not path.exists():
                _log.warning("the repository has no file %r", target, location=node)
                continue
            anchor = node.get("reftargetid")
            address = ADDRESS + path.relative_to(ROOT).as_posix() + (f"#{anchor}" if anchor else "")
            node.replace_self(nodes.reference("", "", *node.children, refuri=address))


def _is_link(node: nodes.Element) -> bool:
    is_reference = isinstance(node, addnodes.pending_xref | addnodes.download_reference)
    return is_reference and node.get("reftype") == "myst"
