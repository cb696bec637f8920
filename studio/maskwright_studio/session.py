"""One session of the studio: the folder, the pipeline that is open, its jobs and documents."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Self

from maskwright_studio.command_line import CommandLine
from maskwright_studio.data_process import DataProcess
from maskwright_studio.documents import Documents
from maskwright_studio.explorer.exploration import Exploration
from maskwright_studio.folder import PIPELINES, files_of, inside, shown
from maskwright_studio.jobs import Jobs
from maskwright_studio.pipeline_file import PipelineFile
from maskwright_studio.refusal import Refusal

if TYPE_CHECKING:
    from pathlib import Path

GRID = re.compile(rb"^grid[ \t]*:", re.MULTILINE)
"""The section that only experiments have."""


class Session:
    """What all pages share.

    `start`: a folder, or a pipeline in one: absolute. `private`: a folder of the studio's own, which is removed at its
    end. `folder`: nothing outside it is opened. `data`: holds the data of the pipeline. `commands`: for files that no
    pipeline names yet. `plans`: how often a plan was asked for anew.
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
