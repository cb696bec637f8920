"""What ``maskwright explain`` says of data: roles, types, missing cells, and the file formats that are installed."""

from __future__ import annotations

import textwrap
from importlib.resources import files
from typing import TYPE_CHECKING

from maskwright.cli.show.explained_parameters import WIDTH, parameters
from maskwright.data.declaration import VariableDeclaration
from maskwright.data.hierarchies.declaration import HierarchyDeclaration
from maskwright.data.levels.declaration import LevelDeclaration
from maskwright.foundation.file_names import PACKINGS

if TYPE_CHECKING:
    from maskwright.plugins.registered import Registry
    from maskwright.plugins.source import Source

KEYS = {
    "roles": ("role", "release", "unchanged"),
    "types": ("type", "format", "decimals", "min", "max", "categories", "unit"),
    "missing": ("missing", "suppressed_as"),
    "hierarchies": ("hierarchy",),
}
"""Pages on data, and what a variable's declaration may say of each."""

CODEBOOKS = "codebooks"
LEVELS = "levels"
HIERARCHIES = "hierarchies"


HOLDS = (
    "What each format can hold of microdata, and what it cannot, as its source says and `maskwright explain formats` "
    "shows; made from that. `none`: there is no place for it. What is lost on the way from one format to another "
    "(missing codes, labels) the plan and the report say; `output: {codebook: about.csv}` keeps it beside the data."
)


def data_page(name: str) -> str:
    """Page on roles, types, missing cells or hierarchies, with the keys of a declaration that are about them."""
    page = files("maskwright.data").joinpath("pages", f"{name}.txt").read_text(encoding="utf-8").rstrip()
    lines = [page, "", "Keys of a variable", *parameters(VariableDeclaration, KEYS[name])]
    if name == HIERARCHIES:
        lines += ["", "Keys of a hierarchy, of which there is one", *parameters(HierarchyDeclaration)]
    return "\n".join(lines)


def codebooks_page() -> str:
    """Page on codebooks: what is read of them, and what the one of a release says."""
    return files("maskwright.data").joinpath("pages", f"{CODEBOOKS}.txt").read_text(encoding="utf-8").rstrip()


def levels_page() -> str:
    """Page on data of several levels, with the keys of a level."""
    page = files("maskwright.data").joinpath("pages", f"{LEVELS}.txt").read_text(encoding="utf-8").rstrip()
    return "\n".join([page, "", "Keys of a level", *parameters(LevelDeclaration)])


def formats_page(registry: Registry) -> str:
    """Every file format that is installed, with its endings and options."""
    lead = (
        "File formats. The ending of a file's name tells the format, or `format: NAME` in the data section (--format). "
        "Options stand in the data section beside `source`; on the command line, --option name=value. The masked file "
        "may be of another format than the original; what the formats hold is also in docs/reference/formats.md."
    )
    lines = textwrap.wrap(lead, WIDTH)
    for name, source in sorted(registry.sources.items()):
        info = registry.info("source", name)
        origin = f" (of {info.distribution})" if info.distribution != "maskwright" else ""
        lines += ["", f"{name}: {', '.join(source.suffixes)}{origin}"]
        lines += textwrap.wrap(source.summary, WIDTH - 4, initial_indent="    ", subsequent_indent="    ")
        lines += _facts(source)
        lines += parameters(source.params)
    broken = [info for info in registry.infos if info.kind == "source" and info.status == "broken"]
    for info in broken:
        lines += ["", f"{info.name}: cannot be used: {info.error}"]
    return "\n".join(lines)


def _facts(source: Source) -> list[str]:
    """What files of a format hold."""
    if source.holds is None:
        return []
    lines = []
    for name, said in {**source.holds.told(), "is written": _written(source)}.items():
        lines += textwrap.wrap(f"{name}: {said}", WIDTH - 4, initial_indent="    ", subsequent_indent="      ")
    return lines


def _written(source: Source) -> str:
    return "yes" if source.not_written is None else f"no. {source.not_written}"


def formats_table(registry: Registry) -> str:
    """Text of ``docs/reference/formats.md``: what each format holds, as its source says."""
    own = [
        source
        for name, source in sorted(registry.sources.items())
        if source.holds is not None and registry.info("source", name).distribution == "maskwright"
    ]
    lines = [
        "# What file formats hold",
        "",
        HOLDS,
        "",
    ]
    for source in own:
        assert source.holds is not None
        endings = ", ".join(f"`{each}`" for each in source.suffixes if not each.endswith(PACKINGS))
        packed = any(each.endswith(".gz") for each in source.suffixes)
        lines += [
            f"## {source.name}", "", source.summary, "", "| | |", "|---|---|", f"| endings | {endings or 'none'} |",
            *(f"| {name} | {said} |" for name, said in source.holds.told().items()),
            f"| compressed | {'`.gz`, `.zip` (one file), `.zst`' if packed else 'by the format itself, or not'} |",
            f"| is written | {_written(source)} |", "",
        ]  # fmt: skip
    return "\n".join(lines)
