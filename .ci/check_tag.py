"""Checks that a tag, the version and the list of changes agree: ``python .ci/check_tag.py v0.1.0``."""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def problems_of(tag: str, version: str, changes: str) -> list[str]:
    """What is wrong with a tag.

    Parameters
    ----------
    tag : str
        ``v0.1.0``.
    version : str
        Of the sources.
    changes : str
        Text of ``CHANGELOG.md``.
    """
    found = []
    if tag != f"v{version}":
        found.append(f"the tag is {tag}, and the version is {version}: expected the tag v{version}")
    headings = re.findall(r"(?m)^## (.*)$", changes)
    if not headings or not re.fullmatch(rf"{re.escape(version)} \(\d{{4}}-\d{{2}}-\d{{2}}\)", headings[0]):
        first = f"not '## {headings[0]}'" if headings else "and there is none"
        found.append(f"CHANGELOG.md must begin with '## {version} (YYYY-MM-DD)', {first}")
    return found


def main() -> int:
    """Check the tag that is named."""
    if len(sys.argv) != 2:
        print("usage: python .ci/check_tag.py TAG", file=sys.stderr)
        return 2
    source = (ROOT / "framework" / "maskwright" / "__init__.py").read_text(encoding="utf-8")
    stated = re.search(r'(?m)^__version__ = "(.+)"$', source)
    if stated is None:
        print("framework/maskwright/__init__.py states no __version__", file=sys.stderr)
        return 1
    wrong = problems_of(sys.argv[1], stated[1], (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    print("\n".join(wrong) or f"tag, version and list of changes agree: {stated[1]}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
