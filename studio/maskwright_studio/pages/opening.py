"""Open: choose a pipeline of the folder, or start one from a data file."""

from __future__ import annotations

import asyncio
import os
import re
from pathlib import Path, PurePath, PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import maskwright as mw
from maskwright_studio.output_files import with_own_outputs, written_by
from maskwright_studio.page import Answer, Page, ended, html
from maskwright_studio.pipeline_file import PipelineFile, write_whole
from maskwright_studio.pipeline_text import append
from maskwright_studio.refusal import Refusal
from maskwright_studio.session import PIPELINES, files_of, inside, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

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


OF_OPTION = re.compile(
    rf"`(?P<name>{'|'.join(OPTIONS)}): (?P<value>[^`]+)`(?P<or>[^`]*?) in the pipeline's data section, "
    r"or --\w+( [\w-]+)?"
)
"""How the hint of a command names an option of a data file."""


async def show(session: Session, query: Query) -> str:
    """Pipelines and data files of the folder, and the pipeline that is open."""
    pipeline = session.pipeline
    if pipeline is not None:
        session.data.begin(pipeline)
    names = [shown(session.folder, path) for path in files_of(session.folder)]
    data = query.get("data", "")
    stated = {name: query.get(name, "") for name in OPTIONS}
    every = session.pipelines()
    points = [name for name in every if _is_point(session.folder / name)]
    return html(
        "opening.html",
        folder=str(session.folder),
        pipelines=[name for name in every if name not in points],
        points=points,
        open=None if pipeline is None else pipeline.path.relative_to(session.folder).as_posix(),
        text="" if pipeline is None else pipeline.text,
        files=_data_files(session, [name for name in names if name.lower().endswith(DATA)]),
        data=data,
        options=OPTIONS,
        stated=stated,
        preview=urlencode({"data": data, **stated, "values": query.get("values", "")}),
    )


def _data_files(session: Session, names: list[str]) -> list[str]:
    """Files to start from: those that a pipeline of the folder writes come last, validations are left out."""
    written = _written(session, session.pipelines())
    found = [name for name in names if not _is_validation(session.folder / name)]
    return sorted(found, key=lambda name: name in written)


def _is_point(path: Path) -> bool:
    """Whether a comparison wrote a pipeline for one of its points."""
    return path.parent.name == "pipelines" and (path.parent.parent / "table.csv").is_file()


def _written(session: Session, pipelines: Iterable[str]) -> set[str]:
    """Files that pipelines write."""
    return {name for pipeline in pipelines for name in written_by(session.folder, pipeline).values()}


def _is_validation(path: Path) -> bool:
    """Whether an XML file begins as a report of a validation."""
    if path.suffix.lower() != ".xml":
        return False
    try:
        with path.open("rb") as file:
            return b"<svrl:schematron-output" in file.read(2_000)
    except OSError:
        return False


async def preview(session: Session, query: Query) -> str:
    """What was understood of a data file, as ``maskwright describe`` says it; and the form that starts a pipeline."""
    data = inside(session.folder, query.get("data", ""))
    values = query.get("values") == "shown"
    words = ("describe", str(data), *_flags(query), *(["--show-values"] if values else []))
    try:
        found = await session.commands.look(data, *words)
    except Refusal as refusal:
        raise Refusal(_for_the_form(refusal.message), refusal.hint) from None
    again = {"data": query.get("data", ""), **{name: query.get(name, "") for name in OPTIONS}}
    names = (shown(session.folder, path) for path in files_of(session.folder))
    return html(
        "preview.html",
        found=found,
        values=values,
        stated=again,
        to=str(PurePosixPath(again["data"]).with_suffix(".yaml")),
        **await asyncio.to_thread(_rule_files, session.folder, [*names], [each["name"] for each in found["variables"]]),
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
    others = session.pipelines()
    found = await session.commands.answer("init", str(data), "--to", str(to), *_flags(form))
    text, folder = to.read_bytes().decode("utf-8"), shown(session.folder, to.parent)
    own = with_own_outputs(text, to.stem, folder, data.stem, _written(session, others))
    if own != text:
        write_whole(to, own)
    pipeline = session.pipeline = PipelineFile(to)
    for path in rules:
        language = _rule_language(path)
        if not language:
            raise Refusal(f"{path.name} holds no rules that are known by its name")
        name = PurePath(os.path.relpath(path, to.parent)).as_posix()
        pipeline.save(append(pipeline.text, ("edits",), {language: name}), pipeline.text)
    decisions = len(found["doubts"])
    left = (
        " One decision is to be made before it runs; it stands at its top."
        if decisions == 1
        else (f" {decisions} decisions are to be made before it runs; they stand at its top." if decisions else "")
    )
    named = " Its files have names of their own, as another pipeline writes those of the data." if own != text else ""
    failing = f" It cannot be planned yet: {ended(found['problem'])} {found['hint'] or ''}" if found["problem"] else ""
    return Answer(go="/open", say=f"{to.name} was written and is open.{named}{left}{failing}".rstrip())


async def choose(session: Session, form: Form) -> Answer:
    """Open a pipeline."""
    pipeline = session.open(str(form.get("pipeline", "")))
    return Answer(go="/", say=f"{pipeline.path.name} is open.")


async def undo(session: Session, _: Form) -> Answer:
    """Undo the last change of the pipeline."""
    pipeline = session.needed_pipeline()
    change = pipeline.undoes
    pipeline.undo()
    return Answer(go="here", say=f"This change is undone: {change}.")


async def redo(session: Session, _: Form) -> Answer:
    """Do again what was undone."""
    pipeline = session.needed_pipeline()
    change = pipeline.redoes
    pipeline.redo()
    return Answer(go="here", say=f"This change is made again: {change}.")


async def read_again(session: Session, _: Form) -> Answer:
    """Take the pipeline as it is on disk."""
    pipeline = session.needed_pipeline()
    if not pipeline.changed_outside():
        raise Refusal(f"{pipeline.path.name} is as it was last read")
    pipeline.read_again()
    return Answer(go="here", say=f"{pipeline.path.name} was read again.")


async def cancel(session: Session, form: Form) -> Answer:
    """Cancel what a page waits for."""
    number = str(form.get("number", ""))
    if not number.isdecimal() or not session.data.cancel(int(number)):
        return Answer(go="here", say="It had ended before it was cancelled.")
    return Answer(go="here", say="It is cancelled.")


async def compute_again(session: Session, _: Form) -> Answer:
    """Compute what was cancelled."""
    session.data.forget_cancelled()
    return Answer(go="here", say="It is computed again.")


def _flags(given: Mapping[str, Any]) -> list[str]:
    """Flags of what was said of the file; one text each, so that no value is taken for a flag."""
    return [f"--{name}={given[name]}" for name in OPTIONS if given.get(name)]


def _for_the_form(hint: str) -> str:
    """The hint of a command on an option, as one on the field of this page."""
    return OF_OPTION.sub(
        lambda found: f"{found['value']}{found['or']} in the field {OPTIONS[found['name']][0]} under 'How it is read'",
        hint,
    )


def _rule_files(folder: Path, names: list[str], variables: list[str]) -> dict[str, Any]:
    """Files with rules, each with what it reads that is no variable here: those that share one, and the others."""
    rules: list[tuple[str, list[str]]] = []
    others: list[tuple[str, list[str]]] = []
    for name in names:
        if not _rule_language(folder / name):
            continue
        try:
            read = mw.read_edits(folder / name).variables
        except mw.InputError:
            read = ()  # the pipeline says what is wrong with it
        unknown = [each for each in read if each not in variables]
        (others if read and len(unknown) == len(read) else rules).append((name, unknown))
    return {"rules": rules, "others": others}


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
    acts={"choose": choose, "start": start, "undo": undo, "redo": redo, "read_again": read_again, "cancel": cancel,
          "compute_again": compute_again},
    rests_on={"cancel": "nothing", "compute_again": "nothing", "show": "nothing", "choose": "nothing",
              "start": "nothing", "undo": "text", "redo": "text"},
)  # fmt: skip
