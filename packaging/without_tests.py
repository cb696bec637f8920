"""Removes what installed libraries test themselves with: ``python packaging/without_tests.py ENVIRONMENT``.

For images, which nobody adds packages to. Maskwright's own packages are left alone.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

LIBRARIES = ("numba", "numpy", "pandas", "pyarrow", "scipy")
"""Those whose tests are large, and that work without: `.ci/run container` runs Maskwright so."""


def remove_tests(environment: Path) -> int:
    """Remove them.

    Parameters
    ----------
    environment : Path

    Returns
    -------
    int
        Bytes that were freed.

    Raises
    ------
    SystemExit
        When there is no such library.
    """
    freed = 0
    for library in LIBRARIES:
        folders = [*environment.glob(f"[Ll]ib/**/site-packages/{library}")]
        if not folders:
            raise SystemExit(f"{environment} has no library {library}: is it an environment with Maskwright?")
        for tests in [each for folder in folders for each in folder.rglob("tests")]:
            # One inside another has gone with it.
            if not tests.is_dir():
                continue
            freed += sum(path.stat().st_size for path in tests.rglob("*") if path.is_file())
            shutil.rmtree(tests)
    return freed


def main() -> None:
    """Remove them from the environment that is named."""
    if len(sys.argv) != 2:
        raise SystemExit("usage: python packaging/without_tests.py ENVIRONMENT")
    print(f"removed {remove_tests(Path(sys.argv[1])) / 1e6:.0f} MB of tests of libraries")


if __name__ == "__main__":
    main()
