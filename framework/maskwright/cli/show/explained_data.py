"""What ``maskwright explain`` says of data: roles, types, missing cells, and the file formats that are installed."""

from __future__ import annotations

import textwrap
from importlib.resources import files
from typing import TYPE_CHECKING

from maskwright.cli.show.explained_parameters import WIDTH, parameters
from maskwright.data.declaration import VariableDeclaration
from maskwright.data.hierarchies.declaration import HierarchyDeclaration

if TYPE_CHECKING:
    from maskwright.plugins.registry import Registry

KEYS = {
    "roles": ("role", "release", "unchanged"),
    "types": ("type", "format", "decimals", "min", "max", "categories", "unit"),
    "missing": ("missing", "suppressed_as"),
    "hierarchies": ("hierarchy",),
}
"""Pages on data, and what a variable's declaration may say of each."""

CODEBOOKS = "codebooks"
HIERARCHIES = "hierarchies"


def data_page(name: str) -> str:
    """Page on roles, types, missing cells or hierarchies, with the keys of a declaration that are about them.

    Parameters
    ----------
    name : str
        In `KEYS`.
    """
    page = files("maskwright.data").joinpath("pages", f"{name}.txt").read_text(encoding="utf-8").rstrip()
    lines = [page, "", "Keys of a variable", *parameters(VariableDeclaration, KEYS[name])]
    if name == HIERARCHIES:
        lines += ["", "Keys of a hierarchy, of which there is one", *parameters(HierarchyDeclaration)]
    return "\n".join(lines)


def codebooks_page() -> str:
    """Page on codebooks: what is read of them, and what the one of a release says."""
    return files("maskwright.data").joinpath("pages", f"{CODEBOOKS}.txt").read_text(encoding="utf-8").rstrip()


def formats_page(registry: Registry) -> str:
    """Every file format that is installed, with its endings and options.

    Parameters
    ----------
    registry : Registry
    """
    lead = (
        "File formats. The ending of a file's name tells the format, or `format: NAME` in the data section (--format). "
        "Options stand in the data section beside `source`; on the command line, --option name=value. The masked file "
        "may be of another format than the original."
    )
    lines = textwrap.wrap(lead, WIDTH)
    for name, source in sorted(registry.sources.items()):
        info = registry.info("source", name)
        origin = f" (of {info.distribution})" if info.distribution != "maskwright" else ""
        lines += ["", f"{name}: {', '.join(source.suffixes)}{origin}"]
        lines += textwrap.wrap(source.summary, WIDTH - 4, initial_indent="    ", subsequent_indent="    ")
        lines += parameters(source.params)
    broken = [info for info in registry.infos if info.kind == "source" and info.status == "broken"]
    for info in broken:
        lines += ["", f"{info.name}: cannot be used: {info.error}"]
    return "\n".join(lines)
