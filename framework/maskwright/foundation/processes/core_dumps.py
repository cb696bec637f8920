"""No core dump: the memory of a process that holds microdata must not be left on a disk."""

from __future__ import annotations

import sys


def prevent_core_dumps() -> None:
    """Forbid core dumps of this process and of those it starts.

    The limit is one byte where it may be: Linux then writes no file (less than a page), and starts no program that
    collects dumps either, which a limit of zero would not prevent. Windows has no such limit.
    """
    if sys.platform != "win32":
        import resource

        hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
        limit = 1 if hard == resource.RLIM_INFINITY else min(1, hard)
        resource.setrlimit(resource.RLIMIT_CORE, (limit, limit))
