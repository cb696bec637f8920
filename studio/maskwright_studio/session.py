"""One session of the studio: its folder, open pipeline, jobs, and documents in windows."""

from __future__ import annotations

import os
import re
import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from maskwright_studio.data_process import CommandLine, DataProcess
from maskwright_studio.explorer.exploration import Exploration
from maskwright_studio.jobs import Jobs
from maskwright_studio.pipeline_file import PipelineFile
from maskwright_studio.refusal import Refusal

PIPELINES = (".yaml", ".yml")


def inside(folder: Path, name: str) -> Path:
    """Path of a file under a folder."""
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


SANDBOX = (
    "sandbox allow-popups allow-modals; default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
    "frame-ancestors 'self'"
)
"""Of a document: it has styles and pictures of its own, and no script of it runs."""


@dataclass(eq=False)
class Documents:
    """Files that may be opened once each."""

    _waiting: dict[str, tuple[Path, bool]] = field(default_factory=dict)

    def address(self, path: Path, *, download: bool = False) -> str:
        """Address under which a file can be read once."""
        key = secrets.token_urlsafe(32)
        self._waiting[key] = path, download
        return f"/document/{key}"

    def take(self, key: str) -> tuple[Path, bool] | None:
        """The file, and whether it is kept; never again."""
        return self._waiting.pop(key, None)


GRID = re.compile(rb"^grid[ \t]*:", re.MULTILINE)
"""The section that only experiments have."""


class Session:
    """What all pages share.

    `start`: a folder, or a pipeline in one: absolute. `private`: a folder of the studio's own, which is removed at its
    end. `folder`: nothing outside it is opened. `data`: holds the data of the pipeline. `commands`: for files that no
    pipeline names yet. `plans`: how often a plan was requested anew.
    """

    def __init__(self, start: Path, private: Path) -> None:
        self.folder = start if start.is_dir() else start.parent
        self.private = private
        self.pipeline: PipelineFile | None = None if start.is_dir() else PipelineFile(start)
        self.jobs = Jobs()
        self.data = DataProcess()
        self.commands = CommandLine(self.folder)
        self.plans = 0
        self.documents = Documents()
        self.exploration = Exploration()

    def __enter__(self) -> Self:
        """Return itself; its processes are ended by the application, which has the loop they live in."""
        return self

    def __exit__(self, *_: object) -> None:
        """Forget everything."""
        self.pipeline = None

    async def close(self) -> None:
        """End the processes of the session."""
        await self.jobs.close()
        await self.data.close()
        await self.commands.close()
        await self.exploration.close()

    def pipelines(self) -> list[str]:
        """Files of the folder that are pipelines by their first lines, as the page names them."""
        return [shown(self.folder, path) for path in files_of(self.folder) if _is_of(path) == "pipeline"]

    def experiments(self) -> list[str]:
        """Files of the folder that are experiments by their first lines, as the page names them."""
        return [shown(self.folder, path) for path in files_of(self.folder) if _is_of(path) == "experiment"]

    def open(self, name: str) -> PipelineFile:
        """Open a pipeline of the folder."""
        self.pipeline = PipelineFile(inside(self.folder, name))
        return self.pipeline

    def needed_pipeline(self) -> PipelineFile:
        """Return the pipeline that is open."""
        if self.pipeline is None:
            raise Refusal("no pipeline is open", "Choose one on the page Open, or start one from a data file.")
        return self.pipeline


def _is_of(path: Path) -> str:
    """What a file is by its first lines: 'pipeline', 'experiment', or ''."""
    if path.suffix.lower() not in PIPELINES:
        return ""
    try:
        with path.open("rb") as file:
            begin = file.read(20_000)
    except OSError:
        return ""
    if b"maskwright:" not in begin:
        return ""
    return "experiment" if GRID.search(begin) else "pipeline"
