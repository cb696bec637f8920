"""The folder that the studio was started in: nothing outside it is opened."""

from __future__ import annotations

import os
from pathlib import Path

from maskwright_studio.refusal import Refusal

PIPELINES = (".yaml", ".yml")


def inside(folder: Path, name: str) -> Path:
    """Path of a file under a folder.

    `name`: as the page sends it: relative to the folder.
    """
    if not name or "\0" in name:
        raise Refusal("no file is named")
    path = Path(os.path.realpath(folder / name))
    if not path.is_relative_to(folder):
        raise Refusal(
            f"{name} is not in the folder that the studio was started in",
            "Start the studio in the folder that holds it: maskwright studio FOLDER",
        )
    return path


def shown(folder: Path, path: Path) -> str:
    """A path as the page shows it: relative to the folder where it is in it."""
    return path.relative_to(folder).as_posix() if path.is_relative_to(folder) else str(path)


def files_of(folder: Path, limit: int = 500) -> list[Path]:
    """Files to choose from: those of the folder and of the folders in it, hidden ones apart."""
    found = [path for path in sorted(folder.glob("*")) if not path.name.startswith(".")]
    below = _within(found)
    deeper = _within([each for each in below if each.name == "pipelines"])  # of points that were chosen
    files = (path for path in (*found, *below, *deeper) if path.is_file())
    return [path for path, _ in zip(files, range(limit), strict=False)]


def _within(paths: list[Path]) -> list[Path]:
    folders = (each for each in paths if each.is_dir() and not each.is_symlink())
    return [path for each in folders for path in sorted(each.glob("*")) if not path.name.startswith(".")]
