"""Checks that an sdist and a wheel hold what they must, and nothing else: ``python .ci/check_archives.py FILE ...``.

Exits with 1 and one line for each thing that is wrong.
"""

from __future__ import annotations

import re
import sys
import tarfile
import zipfile
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

LARGEST = 1_000_000
"""Bytes of a file: data of others, or something built, would be larger."""

SDIST = {
    "PKG-INFO", "README.md", "CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md", "LICENSE", "SECURITY.md", ".gitignore",
    "pyproject.toml", "framework", "plugins", "studio", "schemas", "packaging", "tests", "docs",
}  # fmt: skip
"""At the top of an sdist."""

SDIST_NEEDS = (
    "LICENSE", "README.md", "pyproject.toml", "PKG-INFO", "packaging/build_hook.py", "packaging/man_pages.py",
    "schemas/pipeline.schema.json", "schemas/experiment.schema.json", "schemas/edits.schema.json",
    "schemas/run_record.schema.json", "schemas/microdata.rng", "framework/maskwright/py.typed", "tests/conftest.py",
)  # fmt: skip

WHEEL_PACKAGES = {"maskwright", "maskwright_builtin", "maskwright_studio"}

WHEEL_NEEDS = (
    "maskwright/py.typed", "maskwright/data/dates.txt", "maskwright/plugins/contract.txt",
    "maskwright/cli/main.py", "maskwright_builtin/__init__.py", "maskwright_studio/templates/pipeline.html",
    "maskwright_studio/static/studio.css",
)  # fmt: skip

ENDINGS = {
    ".py", ".txt", ".yaml", ".sch", ".lark", ".typed", ".md", ".j2", ".html", ".js", ".svg", ".css", ".json", ".rng",
    ".csv", ".xml", ".toml", ".png", ".cff", ".1",
}  # fmt: skip

UNWANTED = re.compile(
    r"__pycache__|\.py[co]$|\.nb[ic]$|\.egg-info|(^|/)\.(env|netrc|pypirc|venv|hypothesis|[a-z]+_cache)|tarragona"
    r"|\.(pem|key|log|parquet|duckdb|sav|dta|lock)$|~$",
    re.IGNORECASE,
)
"""Caches, what is built, keys, logs; and a reference file whose licence is not known."""


def problems_of_sdist(names: Iterable[tuple[str, int]]) -> Iterator[str]:
    """What is wrong with an sdist.

    Parameters
    ----------
    names : iterable of (str, int)
        Its files, under the one folder that it has, and their bytes.
    """
    files = {str(PurePosixPath(*PurePosixPath(name).parts[1:])): size for name, size in names}
    yield from (f"{each} is missing" for each in SDIST_NEEDS if each not in files)
    tops = {PurePosixPath(name).parts[0] for name in files}
    yield from (f"{top} does not belong there" for top in sorted(tops - SDIST))
    yield from (f"{top} is missing" for top in sorted(SDIST - tops - {".gitignore"}))
    yield from _unwanted(files)


def problems_of_wheel(names: Iterable[tuple[str, int]]) -> Iterator[str]:
    """What is wrong with a wheel.

    Parameters
    ----------
    names : iterable of (str, int)
        Its files, and their bytes.
    """
    files = dict(names)
    yield from (f"{each} is missing" for each in WHEEL_NEEDS if each not in files)
    tops = {PurePosixPath(name).parts[0] for name in files}
    extra = {top for top in tops - WHEEL_PACKAGES if not top.startswith("maskwright-")}
    yield from (f"{top} does not belong there" for top in sorted(extra))
    for ending in (".dist-info/licenses/LICENSE", ".dist-info/entry_points.txt", "share/man/man1/maskwright.1"):
        if not any(name.endswith(ending) for name in files):
            yield f"{ending} is missing"
    yield from _unwanted({name: size for name, size in files.items() if ".dist-info/" not in name})


def _unwanted(files: dict[str, int]) -> Iterator[str]:
    for name, size in sorted(files.items()):
        if UNWANTED.search(name):
            yield f"{name} must not be there"
        elif size > LARGEST:
            yield f"{name} is larger than {LARGEST:,} bytes"
        elif PurePosixPath(name).suffix not in ENDINGS and PurePosixPath(name).name not in SDIST:
            yield f"{name} is of a kind that is not expected; add its ending where it belongs there"


def problems_of(path: Path) -> list[str]:
    """What is wrong with an archive; its ending tells which kind it is."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as wheel:
            return list(problems_of_wheel((each.filename, each.file_size) for each in wheel.infolist()))
    with tarfile.open(path) as sdist:
        members = sdist.getmembers()
        odd = [f"{each.name} is neither a file nor a folder" for each in members if not (each.isfile() or each.isdir())]
        return odd + list(problems_of_sdist((each.name, each.size) for each in members if each.isfile()))


def main() -> int:
    """Look at each archive that is named."""
    if len(sys.argv) < 2:
        print("usage: python .ci/check_archives.py FILE ...", file=sys.stderr)
        return 2
    wrong = [f"{Path(name).name}: {problem}" for name in sys.argv[1:] for problem in problems_of(Path(name))]
    print("\n".join(wrong) if wrong else f"{len(sys.argv) - 1} archives hold what they must, and nothing else")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
