"""What every command shares: JSON on standard output, progress on standard error, and mistakes in its options."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from maskwright.foundation.progress import Reporter


def print_json(content: Any) -> None:
    """Print on standard output; NaN and infinity are no JSON and raise ValueError."""
    import json

    print(json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False))


def refuse(message: str) -> NoReturn:
    """Raise InputError: what was said on the command line does not go together."""
    # A command's parser is made for every help text; the errors are not needed before one is made.
    from maskwright.foundation.errors import InputError

    raise InputError(message) from None


def reporter(*, quiet: bool = False) -> Reporter:
    """Progress and notices on standard error, or nowhere."""
    if quiet:
        from maskwright.foundation.progress import Quiet

        return Quiet()
    from maskwright.cli.show.progress_bar import Terminal

    return Terminal()
