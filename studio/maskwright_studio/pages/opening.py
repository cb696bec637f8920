"""Open: choose a pipeline of the folder, or start one from a data file."""

from __future__ import annotations

import os
from pathlib import PurePath, PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from maskwright_studio.folder import PIPELINES, files_of, inside, shown
from maskwright_studio.page import Answer, Page
from maskwright_studio.pipeline_file import PipelineFile
from maskwright_studio.pipeline_text import append
from maskwright_studio.refusal import Refusal
from maskwright_studio.showing import html

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from maskwright_studio.page import Form, Query
    from maskwright_studio.session import Session

DATA = (
    ".csv", ".tsv", ".txt", ".dat", ".xml", ".parquet", ".xlsx", ".xls", ".ods", ".sav", ".dta", ".sas7bdat", ".gz",
)  # fmt: skip
"""Endings of files that are offered as data."""

OPTIONS = {
    "record": ("Element that holds one record", "XML; Household"),
    "encoding": ("Encoding", "found out; latin-1"),
    "delimiter": ("Delimiter", "found out; ;"),
    "decimal": ("Decimal mark", "found out; ,"),
}
"""What can be said of a data file: flags of the command line, with their labels."""


async def show(session: Session, query: Query) -> str:
    """Pipelines and data files of the folder, and the pipeline that is open."""
    pipeline = session.pipeline
    if pipeline is not None:
        session.data.begin(pipeline)
    names = [shown(session.folder, path) for path in files_of(session.folder)]
    data = query.get("data", "")
    stated = {name: query.get(name, "") for name in OPTIONS}
    return html(
        "opening.html",
        folder=str(session.folder),
        pipelines=session.pipelines(),
        open=None if pipeline is None else pipeline.path.relative_to(session.folder).as_posix(),
        text="" if pipeline is None else pipeline.text,
        files=[name for name in names if name.lower().endswith(DATA)],
        data=data,
        options=OPTIONS,
        stated=stated,
        preview=urlencode({"data": data, **stated, "values": query.get("values", "")}),
    )


async def preview(session: Session, query: Query) -> str:
    """What was understood of a data file, as ``maskwright describe`` says it; and the form that starts a pipeline."""
    data = inside(session.folder, query.get("data", ""))
    values = query.get("values") == "shown"
    words = ("describe", str(data), *_flags(query), *(["--show-values"] if values else []))
    found = await session.commands.look(data, *words)
    again = {"data": query.get("data", ""), **{name: query.get(name, "") for name in OPTIONS}}
    names = (shown(session.folder, path) for path in files_of(session.folder))
    return html(
        "preview.html",
        found=found,
        values=values,
        stated=again,
        to=str(PurePosixPath(again["data"]).with_suffix(".yaml")),
        rules=[name for name in names if _rule_language(session.folder / name)],
        with_values=f"/open?{urlencode({**again, 'values': 'shown'})}",
        without_values=f"/open?{urlencode(again)}",
    )


async def start(session: Session, form: Form) -> Answer:
    """Start a pipeline from a data file, as ``maskwright init`` does, and open it."""
    data, to = inside(session.folder, str(form.get("data", ""))), inside(session.folder, str(form.get("to", "")))
    if to.suffix.lower() not in PIPELINES:
        raise Refusal(f"{to.name} is no name of a pipeline", "It ends in .yaml.")
    if to.exists():
        raise Refusal(f"{to.name} is there already; it was left alone", "Give the new pipeline another name.")
    given = form.get("rules", [])
    rules = [inside(session.folder, str(name)) for name in (given if isinstance(given, list) else [given])]
    found = await session.commands.answer("init", str(data), "--to", str(to), *_flags(form))
    pipeline = session.pipeline = PipelineFile(to)
    for path in rules:
        language = _rule_language(path)
        if not language:
            raise Refusal(f"{path.name} holds no rules that are known by its name")
        name = PurePath(os.path.relpath(path, to.parent)).as_posix()
        pipeline.save(append(pipeline.text, ("edits",), {language: name}), pipeline.text)
    decisions = len(found["doubts"])
    left = f" {decisions} decisions are to be made before it runs; they stand at its top." if decisions else ""
    return Answer(go="/open", say=f"{to.name} was written and is open.{left}")


async def choose(session: Session, form: Form) -> Answer:
    """Open a pipeline."""
    pipeline = session.open(str(form.get("pipeline", "")))
    return Answer(go="/", say=f"{pipeline.path.name} is open.")


async def undo(session: Session, _: Form) -> Answer:
    """Undo the last change of the pipeline."""
    session.needed_pipeline().undo()
    return Answer(go="here", say="The last change is undone.")


async def redo(session: Session, _: Form) -> Answer:
    """Do again what was undone."""
    session.needed_pipeline().redo()
    return Answer(go="here", say="The change is made again.")


async def read_again(session: Session, _: Form) -> Answer:
    """Take the pipeline as it is on disk."""
    pipeline = session.needed_pipeline()
    if not pipeline.changed_outside():
        raise Refusal(f"{pipeline.path.name} is as it was last read")
    pipeline.read_again()
    return Answer(go="here", say=f"{pipeline.path.name} was read again.")


def _flags(given: Mapping[str, Any]) -> list[str]:
    """Flags of what was said of the file; one text each, so that no value is taken for a flag."""
    return [f"--{name}={given[name]}" for name in OPTIONS if given.get(name)]


def _rule_language(path: Path) -> str:
    """Language of a rule file, by its name and, of YAML, its first key; '' where it is none."""
    if path.suffix.lower() == ".sch":
        return "schematron"
    if path.suffix.lower() in PIPELINES:
        try:
            with path.open("rb") as file:
                begins = file.read(20_000)
        except OSError:
            return ""
        return "yaml" if b"edits:" in begins and b"maskwright:" not in begins else ""
    return ""


OPENING = Page(
    path="/open", title="Open", show=show, parts={"preview": preview},
    acts={"choose": choose, "start": start, "undo": undo, "redo": redo, "read_again": read_again},
)  # fmt: skip
