"""What is said of a process at work that was ended from outside."""

from __future__ import annotations

from maskwright.foundation.errors import EXIT_BUG, MaskwrightError


class WorkerEnded(MaskwrightError):  # noqa: N818 - the state by its name
    """A process at work for a command was ended from outside; nothing was published (exit code 3)."""

    exit_code = EXIT_BUG
