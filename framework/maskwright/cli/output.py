"""What every command shares: JSON on standard output, progress on standard error."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from maskwright.foundation.progress import Reporter


def print_json(content: Any) -> None:
    """Print on standard output; NaN and infinity are no JSON and raise ValueError."""
    print(json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False))


def reporter(*, quiet: bool = False) -> Reporter:
    """Progress and notices on standard error, or nowhere."""
    if quiet:
        from maskwright.foundation.progress import Quiet

        return Quiet()
    from maskwright.cli.show.progress_bar import Terminal

    return Terminal()
