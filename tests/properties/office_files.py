"""A file as an office has it, with the pipeline that protects it, and ways in which either goes wrong.

The truth stays apart from the file: what the columns hold, and which of them must not leave, whatever becomes of the
file and of the pipeline on the way.
"""

from __future__ import annotations

import copy
import csv
import io
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

RECORDS = 80
SECRET = ("person", "age", "wage", "bonus", "gross")
AMOUNTS = ("wage", "bonus", "gross")
BRANCHES = {"47": "Retail trade", "62": "Software", "86": "Health", "01": "Farming", "55": "Hotels"}
STRANGE = ("NA", "n/a", ".", "-", "unknown", "1,234.50", "see remark", "12 345", "#N/A", "?", "-9")


@dataclass
class Office:
    """A file and its pipeline, both free to be changed.

    Attributes
    ----------
    rng : numpy.random.Generator
    truth : mapping of name to tuple of str
        Cells of each column with decimal points, empty where there is no value. Never changed.
    header : list of str
    columns : list of list of str
        Cells as the file will hold them.
    pipeline : dict
    delimiter, newline, encoding : str
    with_header, with_mark, quoted : bool
    form : {"csv", "xml", "parquet"}
    done : list of str
        What was changed.
    """

    rng: np.random.Generator
    truth: Mapping[str, tuple[str, ...]]
    header: list[str]
    columns: list[list[str]]
    pipeline: dict[str, Any]
    form: str
    delimiter: str = ","
    newline: str = "\n"
    encoding: str = "utf-8"
    with_header: bool = True
    with_mark: bool = False
    quoted: bool = False
    done: list[str] = field(default_factory=list)

    def write(self, folder: Path) -> Path:
        """Write both files; return the pipeline's."""
        (folder / f"people.{self.form}").write_bytes(self.content())
        path = folder / "pipeline.yaml"
        # JSON is YAML.
        path.write_text(json.dumps(self.pipeline), encoding="utf-8")
        return path

    def content(self) -> bytes:
        """Bytes of the data file."""
        rows = list(zip(*self.columns, strict=True))
        if self.form == "parquet":
            packed = io.BytesIO()
            twice = [self.header.index(name) != place for place, name in enumerate(self.header)]
            names = [f"{name}_2" if again else name for name, again in zip(self.header, twice, strict=True)]
            pq.write_table(pa.table(dict(zip(names, map(_parquet_column, self.columns), strict=True))), packed)
            return packed.getvalue()
        if self.form == "xml":
            lines = [
                "".join(f"<{name}>{_escaped(cell)}</{name}>" for name, cell in zip(self.header, row, strict=True))
                for row in rows
            ]
            text = "".join(f"<p>{line}</p>\n" for line in lines)
            return f"<people>\n{text}</people>".encode()
        stream = io.StringIO()
        quoting = csv.QUOTE_ALL if self.quoted else csv.QUOTE_MINIMAL
        writer = csv.writer(stream, delimiter=self.delimiter, lineterminator=self.newline, quoting=quoting)
        writer.writerows([self.header, *rows] if self.with_header else rows)
        return (b"\xef\xbb\xbf" if self.with_mark else b"") + stream.getvalue().encode(self.encoding, "replace")

    @property
    def declared(self) -> dict[str, dict[str, Any]]:
        """Declarations of the pipeline."""
        found: dict[str, dict[str, Any]] = self.pipeline["data"]["variables"]
        return found

    def column(self, name: str) -> list[str]:
        """Cells of a column as the file holds them."""
        return self.columns[self.header.index(name)]


def _parquet_column(cells: list[str]) -> pa.Array:
    """Numbers where all cells are numbers, as a statistician's data frame would have them; text otherwise."""
    try:
        return pa.array([None if cell == "" else float(cell) for cell in cells], pa.float64())
    except ValueError:
        return pa.array([None if cell == "" else cell for cell in cells], pa.string())


def _escaped(cell: str) -> str:
    return cell.replace("&", "&amp;").replace("<", "&lt;")


def office(seed: int) -> Office:
    """A file and a pipeline that protects it as it should be."""
    rng = np.random.default_rng([20261122, seed])
    n = RECORDS
    wage = np.round(rng.gamma(3.0, 900.0, n), 2)
    bonus = np.where(rng.random(n) < 0.5, 0.0, np.round(rng.gamma(2.0, 150.0, n), 2))
    absent = rng.permutation(n) < n // 10
    # Zeros among the few with cells missing would be fewer than k.
    bonus[absent & (bonus == 0)] = 250.0
    sector = rng.choice(list(BRANCHES), n)
    cells = {
        "person": [f"P{number:05d}" for number in rng.permutation(90000)[:n]],
        "region": rng.choice(["North", "South", "East"], n).tolist(),
        "sector": sector.tolist(),
        "branch": [BRANCHES[code] for code in sector],
        "age": [str(age) for age in rng.integers(18, 80, n)],
        "wage": ["" if gone else f"{amount:.2f}" for amount, gone in zip(wage, absent, strict=True)],
        "bonus": [f"{amount:.2f}" for amount in bonus],
        "gross": ["" if gone else f"{amount:.2f}" for amount, gone in zip(wage + bonus, absent, strict=True)],
        "started": [f"20{rng.integers(10, 26)}-0{rng.integers(1, 10)}-1{rng.integers(0, 10)}" for _ in range(n)],
    }
    form = str(rng.choice(["csv", "csv", "csv", "xml", "parquet"]))
    comma = form == "csv" and bool(rng.random() < 0.5)
    code = str(rng.choice(["", "NA", "-1"])) if form != "parquet" else ""
    columns = {name: list(column) for name, column in cells.items()}
    for name in AMOUNTS:
        shown = [cell.replace(".", ",") if comma else cell for cell in columns[name]]
        columns[name] = [cell or code for cell in shown]
    variables: dict[str, Any] = {
        "person": {"role": "identifier"},
        "region": {"role": "other"},
        "sector": {"role": "quasi_identifier", "type": "nominal", "release": "as is"},
        "branch": {"role": "other"},
        "age": {"role": "quasi_identifier"},
        "started": {"role": "other"},
        **{name: {"role": "confidential"} for name in AMOUNTS},
    }
    for name in ("wage", "gross"):
        variables[name] |= {"missing": [code]} if code else {}
    data: dict[str, Any] = {"source": f"people.{form}", "variables": variables}
    data |= {"record": "p"} if form == "xml" else {}
    data |= {"delimiter": ";", "decimal": ","} if comma else {}
    steps: list[dict[str, Any]] = [_masking(rng)]
    if rng.random() < 0.4:
        variables["branch"] = {"role": "identifier"}
        del variables["sector"]["release"]
        keys = ["region", "sector"]
        steps.append({"method": "local_suppression", "params": {"k": 3, "keys": keys}, "variables": keys})
    edits = ["wage + bonus == gross", "wage >= 0", "bonus >= 0", "age in [15, 99]"]
    pipeline = {
        "maskwright": 1, "data": data, "edits": edits if rng.random() < 0.4 else edits[3:], "protect": steps,
        "output": {"data": f"masked.{form}"}, "seed": int(rng.integers(1, 10**6)),
    }  # fmt: skip
    return Office(
        rng, {name: tuple(column) for name, column in cells.items()}, list(columns), list(columns.values()), pipeline,
        form, ";" if comma else ",",
    )  # fmt: skip


def _masking(rng: np.random.Generator) -> dict[str, Any]:
    names, kept = ["age", *AMOUNTS], {"structural_zeros": ["bonus"]}
    steps: list[dict[str, Any]] = [
        {"method": "microaggregation", "params": {"k": 3, "group_size": "all", **kept}, "variables": names},
        {"method": "microaggregation", "params": {"k": 4, "group_size": "all", **kept}},
        {"method": "additive_noise", "variables": names, "params": kept},
        {"method": "rank_swapping", "variables": names, "params": kept},
    ]
    chosen: dict[str, Any] = copy.deepcopy(steps[int(rng.integers(len(steps)))])
    return chosen


# --- what goes wrong -------------------------------------------------------------------------------------------------


def _one(office: Office, names: list[str]) -> str:
    return str(office.rng.choice(names))


def _misspelt(office: Office, name: str) -> str:
    place = int(office.rng.integers(len(name)))
    ways = [name[:place] + name[place + 1 :], name.upper(), name + "s", name[:place] + "x" + name[place:]]
    return _one(office, ways)


def drop_declaration(office: Office) -> str:
    """Forget all that is declared of a variable."""
    name = _one(office, sorted(office.declared))
    del office.declared[name]
    return name


def drop_fact(office: Office) -> str:
    """Forget one fact that is declared of a variable."""
    name = _one(office, sorted(each for each, facts in office.declared.items() if facts))
    fact = _one(office, sorted(office.declared[name]))
    del office.declared[name][fact]
    return f"{name}.{fact}"


def misspell_variable(office: Office) -> str:
    """Declare a name that the file may not have."""
    name = _one(office, sorted(office.declared))
    office.pipeline["data"]["variables"] = {
        _misspelt(office, name) if each == name else each: facts for each, facts in office.declared.items()
    }
    return name


def misspell_role(office: Office) -> str:
    """Write a role wrongly."""
    name = _one(office, sorted(office.declared))
    office.declared[name]["role"] = _misspelt(office, office.declared[name].get("role", "confidential"))
    return name


def misspell_key(office: Office) -> str:
    """Write a key of the data section wrongly."""
    data = office.pipeline["data"]
    name = _one(office, sorted(data))
    data[_misspelt(office, name)] = data.pop(name)
    return name


def wrong_type(office: Office) -> str:
    """Declare an amount to be categories, or text to be a number."""
    name = _one(office, ["wage", "gross", "age", "region", "person"])
    if name in office.declared:
        office.declared[name]["type"] = _one(office, ["nominal", "continuous", "integer"])
    return name


def drop_option(office: Office) -> str:
    """Forget an option of the file format."""
    data = office.pipeline["data"]
    name = _one(office, sorted(set(data) - {"source", "variables"}) or ["variables"])
    data.pop(name)
    data.setdefault("variables", {})
    return name


def wrong_decimal(office: Office) -> str:
    """Declare the other decimal sign."""
    if office.form != "csv":
        return drop_fact(office)
    data = office.pipeline["data"]
    data["decimal"] = "." if data.get("decimal") == "," else ","
    return str(data["decimal"])


def wrong_missing_code(office: Office) -> str:
    """Declare a code that the file does not use."""
    name = _one(office, list(AMOUNTS))
    if name in office.declared:
        office.declared[name]["missing"] = [_one(office, list(STRANGE))]
    return name


def drop_step(office: Office) -> str:
    """Leave out a step."""
    steps = office.pipeline["protect"]
    gone = steps.pop(int(office.rng.integers(len(steps))))
    return str(gone["method"])


def drop_step_variable(office: Office) -> str:
    """Leave a variable out of a step."""
    step = office.rng.choice(office.pipeline["protect"])
    names = step.get("variables", [])
    if names:
        return str(names.pop(int(office.rng.integers(len(names)))))
    return "none"


def misspell_step_variable(office: Office) -> str:
    """Write a variable of a step wrongly."""
    step = office.rng.choice(office.pipeline["protect"])
    names = step.get("variables", [])
    if names:
        place = int(office.rng.integers(len(names)))
        names[place] = _misspelt(office, names[place])
    return str(names)


def swap_steps(office: Office) -> str:
    """Turn the order of the steps around."""
    office.pipeline["protect"].reverse()
    return "reversed"


def add_step(office: Office) -> str:
    """Add a step anywhere."""
    more: list[dict[str, Any]] = [
        {"method": "additive_noise", "variables": ["wage"]},
        {"method": "rounding", "params": {"base": 10}, "variables": ["bonus"]},
        {"method": "recoding", "params": {"recode": {"age": [30, 50]}}, "variables": ["age"]},
        {"method": "recoding", "params": {"recode": {"started": {}}}, "variables": ["started"]},
        {"method": "pram", "variables": ["region"]},
        {"method": "microaggregation", "params": {"k": 3}, "variables": ["age"]},
        {"method": "top_and_bottom_coding", "params": {"top": 5000}, "variables": ["wage"]},
        {"method": "local_suppression", "params": {"k": 2, "keys": ["sector", "region"]}, "variables": ["sector"]},
    ]
    step = more[int(office.rng.integers(len(more)))]
    steps = office.pipeline["protect"]
    steps.insert(int(office.rng.integers(len(steps) + 1)), step)
    return str(step["method"])


def add_domain_edit(office: Office) -> str:
    """Ask for combinations that occur in the original."""
    pairs = ["(sector, branch) in original", "(region, sector) in original"]
    edit = _one(office, [*pairs, "region in original", "wage in original"])
    office.pipeline["edits"].append(edit)
    return edit


def drop_edit(office: Office) -> str:
    """Leave out a rule."""
    edits = office.pipeline["edits"]
    return str(edits.pop(int(office.rng.integers(len(edits)))))


def publish_branch(office: Office) -> str:
    """Declare the label to be published where the code is suppressed."""
    office.declared["branch"] = {"role": "other"}
    return "branch"


def strange_cells(office: Office) -> str:
    """Put a text into one, a few or half of the cells of a column."""
    name, text = _one(office, office.header), _one(office, list(STRANGE))
    share = float(office.rng.choice([0.0, 0.05, 0.5]))
    column = office.column(name)
    where = office.rng.random(len(column)) < share
    where[int(office.rng.integers(len(column)))] = True
    column[:] = [text if strange else cell for cell, strange in zip(column, where, strict=True)]
    return f"{text} in {name}"


def other_decimal_sign(office: Office) -> str:
    """Write an amount, or all, with the other decimal sign."""
    names = list(AMOUNTS) if office.rng.random() < 0.5 else [_one(office, list(AMOUNTS))]
    for name in (each for each in names if each in office.header):
        column = office.column(name)
        column[:] = [cell.translate(str.maketrans(".,", ",.")) for cell in column]
    return str(names)


def written_otherwise(office: Office) -> str:
    """Write a number as a person would: thousands apart, currency, leading zeros, blanks, a typographic minus."""
    name = _one(office, ["age", *AMOUNTS])
    if name not in office.header:
        return "none"
    how = _one(office, ["thousands", "currency", "zeros", "blanks", "minus", "exponent", "apostrophe", "percent"])
    forms: dict[str, Callable[[str], str]] = {
        "thousands": lambda cell: f"{float(cell):,.2f}", "currency": lambda cell: f"EUR {cell}",
        "zeros": lambda cell: cell.zfill(9), "blanks": lambda cell: f" {cell}\u00a0",
        "minus": lambda cell: f"\u2212{cell}", "exponent": lambda cell: f"{float(cell):.5e}",
        "apostrophe": lambda cell: f"'{cell}", "percent": lambda cell: f"{cell} %",
    }  # fmt: skip
    column = office.column(name)
    share = float(office.rng.choice([0.02, 0.5, 1.0]))
    for place, cell in enumerate(column):
        if office.rng.random() < share and cell.replace(".", "", 1).isdigit():
            column[place] = forms[how](cell)
    return f"{name} {how} {share}"


def add_column(office: Office) -> str:
    """Add a column that holds a secret again, under another name."""
    name = _one(office, list(SECRET))
    if name not in office.header:
        return "none"
    suffix = _one(office, ["", " EUR", "*"])
    place = int(office.rng.integers(len(office.header) + 1))
    office.columns.insert(place, [cell + suffix if cell else cell for cell in office.column(name)])
    office.header.insert(place, "extra")
    return f"{name}{suffix}"


def change_header(office: Office) -> str:
    """Lose the line of names, misspell a name, double one, or leave one empty."""
    how = _one(office, ["none", "misspelt", "twice", "empty"])
    place = int(office.rng.integers(len(office.header)))
    if how == "none" and office.form == "csv":
        office.with_header = False
    elif how == "misspelt":
        office.header[place] = _misspelt(office, office.header[place])
    elif how == "twice" and office.form == "csv":
        office.header[place] = office.header[place - 1]
    elif office.form == "csv":
        office.header[place] = ""
    return f"{how} {place}"


def change_bytes(office: Office) -> str:
    """Write the file as another program does."""
    how = _one(office, ["mark", "newline", "encoding", "delimiter", "quoted"])
    if how == "mark":
        office.with_mark = True
    elif how == "newline":
        office.newline = "\r\n"
    elif how == "encoding":
        office.encoding = _one(office, ["latin-1", "utf-16"])
    elif how == "delimiter":
        office.delimiter = _one(office, list(";,\t|"))
    else:
        office.quoted = True
    return how


def drop_column(office: Office) -> str:
    """Leave a column out of the file."""
    place = int(office.rng.integers(len(office.header)))
    del office.columns[place]
    return office.header.pop(place)


CHANGES: tuple[Callable[[Office], str], ...] = (
    drop_declaration, drop_fact, misspell_variable, misspell_role, misspell_key, wrong_type, drop_option, wrong_decimal,
    wrong_missing_code, drop_step, drop_step_variable, misspell_step_variable, swap_steps, add_step, add_step,
    add_domain_edit, drop_edit, publish_branch, strange_cells, strange_cells, other_decimal_sign, written_otherwise,
    written_otherwise, add_column, change_header, change_bytes, drop_column,
)  # fmt: skip


def mutated(seed: int) -> Office:
    """An office's file and pipeline in which one to three things went wrong."""
    made = office(seed)
    for _ in range(int(made.rng.choice([1, 1, 1, 2, 3]))):
        change = CHANGES[int(made.rng.integers(len(CHANGES)))]
        try:
            made.done.append(f"{change.__name__}: {change(made)}")
        except (ValueError, IndexError, KeyError):
            # What it would change is gone already.
            made.done.append(f"{change.__name__}: nothing")
    return made
