"""What is made while a wheel is built: the man pages, and the machine code of the kernels of a usual run.

The man pages go into share/man of the environment. Machine code lies where Numba looks for it, and is used where
sources, Python, Numba, llvmlite and processor are those of the build, as after ``pip install .``; elsewhere kernels are
compiled when they are first used. ``MASKWRIGHT_KERNELS=none`` builds a wheel without it, for any machine.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SECONDS = 900
"""A build does not wait longer for a part of the kernels."""


class BuildHook(BuildHookInterface[Any]):
    """Adds to the wheel what is made from the sources, from folders that last as long as the build."""

    PLUGIN_NAME = "made-from-sources"

    def dependencies(self) -> list[str]:
        """What kernels are compiled with: the installation needs it next."""
        return self.metadata.core.dependencies if _wanted() else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Make the pages and the code, in processes of their own: another Maskwright may be imported in this one."""
        self.folder = tempfile.TemporaryDirectory()
        made = Path(self.folder.name)
        script = Path(self.root) / "packaging" / "man_pages.py"
        (made / "pages").mkdir()
        subprocess.run([sys.executable, "-I", str(script), str(made / "pages")], check=True)
        for page in sorted((made / "pages").glob("*.1")):
            build_data["shared_data"][str(page)] = f"share/man/man1/{page.name}"
        if version != "editable" and _wanted():
            self._add_kernels(made / "packages", build_data)

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002
        """Remove the folder."""
        self.folder.cleanup()

    def _add_kernels(self, copy: Path, build_data: dict[str, Any]) -> None:
        for package in self.build_config.packages:
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(Path(self.root) / package, copy / Path(package).name, ignore=ignored)
        self._declare_plugins(copy)
        try:
            compile_kernels(Path(self.root) / "packaging" / "kernels.py", copy)
        except (OSError, subprocess.SubprocessError) as error:
            self.app.display_warning(f"Kernels are not compiled now but when they are first used: {error}")
            return
        for file in sorted(copy.rglob("*.nb[ic]")):
            build_data["force_include"][str(file)] = file.relative_to(copy).as_posix()
        build_data["pure_python"] = False
        build_data["infer_tag"] = True

    def _declare_plugins(self, copy: Path) -> None:
        """Write what an installation would say of the entry points, so that the built-in plugins are found."""
        told = copy / f"maskwright-{self.metadata.version}.dist-info"
        told.mkdir()
        (told / "METADATA").write_text(f"Metadata-Version: 2.1\nName: maskwright\nVersion: {self.metadata.version}\n")
        plugins = self.metadata.core.entry_points["maskwright"]
        lines = ["[maskwright]", *(f"{name} = {module}" for name, module in plugins.items())]
        (told / "entry_points.txt").write_text("\n".join(lines) + "\n")


def compile_kernels(script: Path, packages: Path) -> None:
    """Compile the kernels of packages in a folder, beside their sources, on as many processors as there are parts.

    Parameters
    ----------
    script : Path
        ``kernels.py``.
    packages : Path
        Folder with the packages, which is written to.

    Raises
    ------
    subprocess.SubprocessError
        A part failed, as it does where a library is not there, or took too long.
    """
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    # pip names the libraries of a build in PYTHONPATH.
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, (str(packages), os.environ.get("PYTHONPATH"))))
    environment["PYTHONDONTWRITEBYTECODE"] = "1"

    def compiled(part: str) -> None:
        subprocess.run(
            [sys.executable, str(script), part],
            check=True, capture_output=True, env=environment, cwd=packages, timeout=SECONDS,
        )  # fmt: skip

    with ThreadPoolExecutor(os.cpu_count() or 1) as workers:
        list(workers.map(compiled, ("mdav", "refine", "others")))


def _wanted() -> bool:
    return os.environ.get("MASKWRIGHT_KERNELS") != "none"
