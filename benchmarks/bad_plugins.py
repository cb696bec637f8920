"""One table of all bad plugins that the tests know: what each does, and whether kit and engine catch it.

    python benchmarks/bad_plugins.py

The last line counts: no wrong file is released, no run ends with exit code 0 and without a file, and every message
names the plugin. It takes some minutes; the exit code is 1 where one of them is not so.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1] / "tests" / "maskwright" / "plugins"
sys.path[:0] = [str(ROOT), str(ROOT / "guarded")]

TABLE = importlib.import_module("table_of_bad_plugins")


def main() -> int:
    found = list(TABLE.rows())
    print(TABLE.table(found))
    return int(any(row.is_wrong or row.is_silent or row.is_unnamed for row in found))


if __name__ == "__main__":
    sys.exit(main())
