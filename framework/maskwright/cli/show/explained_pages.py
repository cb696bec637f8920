"""Pages of ``maskwright explain``: data, formats, experiments, scale, keys of a plan, and parameters."""

from __future__ import annotations

import textwrap
from importlib.resources import files
from typing import TYPE_CHECKING

from pydantic_core import PydanticUndefined

from maskwright.commands.parted.feasibility import support
from maskwright.data.declaration import VariableDeclaration
from maskwright.data.hierarchies.declaration import HierarchyDeclaration
from maskwright.data.levels.linked_data import LevelDeclaration
from maskwright.experiments.experiment_file import ExperimentFile, Family
from maskwright.foundation.files import PACKINGS
from maskwright.plugins.registry import plugins

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic import BaseModel

    from maskwright.plugins.registered import Registry
    from maskwright.plugins.source import Source


WIDTH = 100


def parameters(model: type[BaseModel], names: Sequence[str] | None = None) -> list[str]:
    """Lines on the parameters of a model: name, default, what it is."""
    lines: list[str] = []
    for name, field in model.model_fields.items():
        if names is not None and name not in names:
            continue
        default = "required" if field.is_required() else f"default {_shown(field.get_default())}"
        lines.append(f"  {field.alias or name} ({default})")
        lines += textwrap.wrap(field.description or "", WIDTH - 6, initial_indent="      ", subsequent_indent="      ")
    return lines


def _shown(value: object) -> str:
    return "none" if value is None or value is PydanticUndefined else str(value)


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
    page = files("maskwright.data").joinpath("help_texts", f"{name}.txt").read_text(encoding="utf-8").rstrip()
    lines = [page, "", "Keys of a variable", *parameters(VariableDeclaration, KEYS[name])]
    if name == HIERARCHIES:
        lines += ["", "Keys of a hierarchy, of which there is one", *parameters(HierarchyDeclaration)]
    return "\n".join(lines)


def codebooks_page() -> str:
    """Page on codebooks: what is read of them, and what the one of a release says."""
    return files("maskwright.data").joinpath("help_texts", f"{CODEBOOKS}.txt").read_text(encoding="utf-8").rstrip()


def levels_page() -> str:
    """Page on data of several levels, with the keys of a level."""
    page = files("maskwright.data").joinpath("help_texts", f"{LEVELS}.txt").read_text(encoding="utf-8").rstrip()
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
    if source.format.holds is None:
        return []
    lines = []
    for name, text in {**source.format.holds.by_name(), "is written": _written(source)}.items():
        lines += textwrap.wrap(f"{name}: {text}", WIDTH - 4, initial_indent="    ", subsequent_indent="      ")
    return lines


def _written(source: Source) -> str:
    return "yes" if source.format.not_written is None else f"no. {source.format.not_written}"


def formats_table(registry: Registry) -> str:
    """Text of ``docs/reference/formats.md``: what each format holds, as its source says."""
    own = [
        source
        for name, source in sorted(registry.sources.items())
        if source.format.holds is not None and registry.info("source", name).distribution == "maskwright"
    ]
    lines = [
        "# What file formats hold",
        "",
        HOLDS,
        "",
    ]
    for source in own:
        assert source.format.holds is not None
        endings = ", ".join(f"`{each}`" for each in source.suffixes if not each.endswith(PACKINGS))
        packed = any(each.endswith(".gz") for each in source.suffixes)
        lines += [
            f"## {source.name}", "", source.summary, "", "| | |", "|---|---|", f"| endings | {endings or 'none'} |",
            *(f"| {name} | {text} |" for name, text in source.format.holds.by_name().items()),
            f"| compressed | {'`.gz`, `.zip` (one file), `.zst`' if packed else 'by the format itself, or not'} |",
            f"| is written | {_written(source)} |", "",
        ]  # fmt: skip
    return "\n".join(lines)


EXPERIMENT = "experiment"

_LEAD = (
    "An experiment compares pipelines: `maskwright compare experiment.yaml` runs each of its cells and writes a table "
    "and a risk-utility map; `maskwright tune` searches on between them. A family of the `grid` is one method with "
    "its `params`, or a chain of steps under `protect`, as in a pipeline; a cell is one combination of the values "
    "under `vary`. In a chain, a name under `vary` is a path into the steps, which count from 0: 1.params.k is the k "
    "of the second step. `maskwright compare experiment.yaml --choose CELL` writes the pipeline of a cell; --all shows "
    "all cells and not only those on the front."
)

_EXAMPLE = """\
maskwright: 1
data: {source: people.csv, variables: {region: {role: quasi_identifier}}}
grid:
  - family: suppressed
    method: local_suppression
    vary: {k: [3, 5]}
  - family: bands, then suppressed
    protect:
      - {method: recoding, variables: [age], params: {bands: 5}}
      - {method: local_suppression, variables: [region, age], params: {k: 3}}
    vary:
      0.params.bands: [5, 10]
      1.params.k: {from: 3, to: 9, step: 3}
measure: [k_anonymity, entropy_based_loss]"""


def experiment_page() -> str:
    """Text of the page."""
    return "\n".join(
        [
            *textwrap.wrap(_LEAD, WIDTH),
            *("", "Example", *(f"  {line}" for line in _EXAMPLE.splitlines())),
            *("", "Keys of the file", *parameters(ExperimentFile)),
            *("", "Keys of a family", *parameters(Family)),
        ]
    )


SCALE = "scale"

LEAD = (
    "With `execution: {engine: NAME}` a pipeline runs over the parts of its data, for files larger than memory: the "
    "parts are read once for their variables, moments, violations and a sample of 200,000 records chosen by the hash "
    "of their numbers; the plan is made; records are shuffled to the leaves of a k-d cut from that sample, masked and "
    "adjusted block by block, put back in their order, written, read back, and validated twice, part by part; measures "
    "are merged sums. All parts are released, or none. Results are the same bytes for every engine, any number of "
    "workers and any order of completion, and the same values for any number of files."
)

LIMITS = (
    "Exact: edits, strata, moments, counts, smallest classes, and methods and measures where the table says so. "
    "Blocked: clusters of numbers are made in blocks of near records. Sampled: up to 100,000 records are linked to all "
    "records of every part, with a 95 percent interval of 98 / sqrt(m) percentage points; dependencies between "
    "variables, which the plan warns of, are searched for in the sample. Methods that need something of all records "
    "first (frequencies, spreads, periods that occur) get it as exact counts and sums. What sees all records at once, "
    "clusters of categories among it, runs in the memory of one worker, with the columns that it reads; the plan "
    "estimates how much that is. What takes records or cells away, draws new ones, keeps groups together or gives "
    "records another order or new keys (`run` below), rules beyond a record, edits on values that occur together of "
    "which some are masked or recoded, and one file or another format for several parts have the whole run in one "
    "process: the bytes and doubts of a run in memory with the same `block_size`; the plan names what asks for it. "
    "Refused, before anything is masked: what does not fit into the memory of its process, with its size."
)


def scale_page() -> str:
    """The page, with a row for each method and measure that is installed."""
    lines: list[str] = []
    for paragraph in (LEAD, LIMITS):
        lines += [*textwrap.wrap(paragraph, WIDTH), ""]
    rows = [("", "runs", "result", ""), *((each.name, each.form, each.result, each.why) for each in support(plugins()))]
    widths = [max(len(row[at]) for row in rows) for at in range(3)]
    for row in rows:
        lead = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=False))
        lines.append(f"{lead}  {row[3]}".rstrip())
    return "\n".join(lines)
