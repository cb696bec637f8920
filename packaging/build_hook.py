"""What is made while a wheel is built: the man pages, which pip puts into share/man of the environment."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class ManPages(BuildHookInterface[Any]):
    """Writes the man pages to a folder that lasts as long as the build."""

    PLUGIN_NAME = "man-pages"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 - named by the interface
        """Make the pages, in a process of its own: another Maskwright may be imported in this one."""
        self.folder = tempfile.TemporaryDirectory()
        script = Path(self.root) / "packaging" / "man_pages.py"
        subprocess.run([sys.executable, "-I", str(script), self.folder.name], check=True)
        for page in sorted(Path(self.folder.name).glob("*.1")):
            build_data["shared_data"][str(page)] = f"share/man/man1/{page.name}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002
        """Remove the folder."""
        self.folder.cleanup()
