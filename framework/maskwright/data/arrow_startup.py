"""Starting pyarrow without pandas, for commands that read a file as a stream of text."""

from __future__ import annotations

import sys
import types
import warnings


def leave_pandas_out() -> None:
    """Let pyarrow take it that pandas is not installed, in this process.

    The first scalar or array that pyarrow makes loads pandas, to recognise its objects: 40 MB and 0.4 s. A stream of
    text has none of them. Only for a process of our own; nothing happens where pandas is loaded already, and pandas
    itself can still be imported.
    """
    if "pandas" in sys.modules:
        return
    # Of a pandas before 1.0 pyarrow says that it does without.
    ancient = types.ModuleType("pandas")
    ancient.__dict__["__version__"] = "0.0"
    sys.modules["pandas"] = ancient
    try:
        import pyarrow as pa

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pa.scalar("", pa.string())
    finally:
        del sys.modules["pandas"]
