"""Random two-level worlds through the command line: released, refused and why, and everything that is wrong.

Run: ``python benchmarks/worlds_of_levels.py 2000 [--first 0]``. Bars: nothing wrong, every refusal justified, every
built-in method released. Parts of a long run: ``--first``.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "maskwright" / "levels"))
from worlds.judged import judged, show


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("worlds", type=int, nargs="?", default=2000)
    parser.add_argument("--first", type=int, default=0, help="first world")
    options = parser.parse_args()
    with TemporaryDirectory() as folder:
        show(judged(range(options.first, options.first + options.worlds), Path(folder), show))


if __name__ == "__main__":
    main()
