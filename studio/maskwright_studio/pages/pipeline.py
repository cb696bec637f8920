"""Pipeline: forms beside the text; each change is shown as a difference before it is saved."""

from __future__ import annotations

import asyncio
import difflib
import functools
import json
from typing import TYPE_CHECKING, Any

import maskwright as mw
from maskwright_studio.page import Answer, Page, html
from maskwright_studio.parameter_form import LEFT_OUT, changed_fields, fields, measure_models, method_models
from maskwright_studio.pipeline_text.layout import EDITOR, settings_of
from maskwright_studio.proposals import changed, comments_lost, fingerprint, method_of, operations_of, value_at
from maskwright_studio.refusal import Refusal, changed_outside

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from maskwright_studio.page import Form, Query
    from maskwright_studio.parameter_form import FormField
    from maskwright_studio.pipeline_file import PipelineFile
    from maskwright_studio.proposals import Operation
    from maskwright_studio.session import Session

SECTIONS = ("release", "execution", "output")
"""Mappings of the file that have a form; data, variables and rules have pages of their own."""

NO_STEP = "This is the last step. A pipeline without one masks nothing, so it does not run: add another step."

FEW_COMMENTS = 3
"""Comments that go with a change and stand among its lines; more are folded."""

FEW_PLACES = 4
"""Places that change and are shown with the lines around them."""

_checking = asyncio.Lock()
"""Plugins that a pipeline allows are set while it is read: one at a time."""


@functools.cache
def _schema() -> dict[str, Any]:
    return mw.pipeline_schema(third_party=True)


async def schema() -> dict[str, Any]:
    """JSON Schema of pipelines, with the plugins that are installed."""
    async with _checking:
        return await asyncio.to_thread(_schema)


async def problems_of(pipeline: PipelineFile, text: str) -> tuple[mw.Problem, ...]:
    """Mistakes in a text, if it stood in the file."""
    async with _checking:
        return await asyncio.to_thread(mw.pipeline_problems, text, pipeline.path)


async def prepared(session: Session) -> None:
    """Import what reads pipelines, plugins included, before someone waits for this page."""
    await schema()
    if session.pipeline is not None:
        await problems_of(session.pipeline, session.pipeline.text)


async def show(session: Session, query: Query) -> str:
    """Forms and text, the mistakes in it, and what became of the file outside."""
    pipeline = session.needed_pipeline()
    described, problems = await schema(), await problems_of(pipeline, pipeline.text)
    try:
        settings = settings_of(pipeline.text)
    except mw.InputError:
        settings = None
    part = query.get("part", "")
    shown = None if settings is None else form_of(described, settings, part)
    return html(
        "pipeline.html", name=pipeline.path.name, lines=pipeline.text.removeprefix("\ufeff").splitlines(), part=part,
        marked=query.get("line", ""), places=[place_of(pipeline, each) for each in problems],
        steps=_steps(settings), measures=_measures(settings), sections=SECTIONS, is_read=settings is not None,
        form=shown, methods=sorted(method_models(described)), offered=sorted(measure_models(described)),
        draft=pipeline.draft, unkept=pipeline.history.problem,
        typed=pipeline.draft or pipeline.text.removeprefix("\ufeff"), dumps=json.dumps,
    )  # fmt: skip


def place_of(pipeline: PipelineFile, problem: mw.Problem) -> dict[str, Any]:
    """A mistake as the page shows it; its line is one of the pipeline, or 0."""
    place = problem.place
    here = place is not None and place.line is not None and place.file == pipeline.path.name
    return {
        "message": problem.sentence, "hint": problem.hint or "", "line": place.line if place and here else 0,
        "column": place.column if place and here else 0, "elsewhere": "" if here or place is None else str(place),
    }  # fmt: skip


def form_of(described: Mapping[str, Any], settings: Any, part: str) -> dict[str, Any]:
    """Title and fields of one part of the pipeline: ``step/1``, ``measure/2``, ``release``, or '' for the rest."""
    kind, _, number = part.partition("/")
    if part in SECTIONS:
        model = described["properties"][part]
        model = described["$defs"][model["$ref"].removeprefix("#/$defs/")] if "$ref" in model else model
        return {"title": part, "summary": "", "own": fields(described, model, (part,), value_at(settings, (part,)))}
    at = int(number) - 1 if number.isdecimal() else 0
    entry = value_at(settings, ("protect" if kind == "step" else "measure", at))
    if kind == "step" and isinstance(entry, dict):
        return _form_of_step(described, entry, at)
    if kind == "measure" and entry is not None:
        name = entry if isinstance(entry, str) else next(iter(entry), "")
        model = measure_models(described).get(name, {})
        now = entry.get(name) if isinstance(entry, dict) else None
        own = fields(described, model, ("measure", at, name), now)
        return {"title": f"Measure {at + 1}: {name}", "summary": model.get("summary", ""), "own": own}
    single = {
        "properties": {
            key: each for key, each in described["properties"].items() if key in ("on_input_violation", "seed")
        }
    }
    return {"title": "Settings of the whole", "summary": "", "own": fields(described, single, (), settings)}


def _form_of_step(described: Mapping[str, Any], entry: dict[str, Any], at: int) -> dict[str, Any]:
    item = described["properties"]["protect"]["items"]
    of_step = {**item, "properties": {key: each for key, each in item["properties"].items() if key != "params"}}
    method = str(entry.get("method", ""))
    models = method_models(described)
    model = models.get(method, {})
    common = set.intersection(*(set(each["properties"]) for each in models.values())) if models else set()
    params = fields(described, model, ("protect", at, "params"), entry.get("params"))
    return {
        "title": f"Step {at + 1}: {method}", "summary": model.get("description", ""),
        "own": [each for each in params if each.label not in common],
        "of_step": fields(described, of_step, ("protect", at), entry),
        "planner": [each for each in params if each.label in common],
    }  # fmt: skip


def _steps(settings: Any) -> list[str]:
    found = value_at(settings, ("protect",))
    return [method_of(each) for each in found or ()]


def _measures(settings: Any) -> list[str]:
    found = value_at(settings, ("measure",))
    return [each if isinstance(each, str) else ", ".join(each or ()) for each in found or ()]


async def preview(session: Session, form: Form) -> Answer:
    """Show what the fields of a form would change."""
    pipeline = session.needed_pipeline()
    settings = settings_of(pipeline.text)
    found = form_of(await schema(), settings, str(form.get("part", "")))
    shown: list[FormField] = [each for key in ("own", "of_step", "planner") for each in found.get(key, ())]
    operations = _operations(settings, changed_fields(shown, form))
    dropped, notes = _unknown_to_the_new_method(await schema(), settings, operations)
    kept = [each for each in operations if each[1] not in dropped]
    replaced = [["uncomment", ["protect", at]] for at in _replaced_steps(operations)]
    return await proposed(session, [*replaced, *_removals(settings, dropped), *kept], notes)


def _replaced_steps(operations: Sequence[Operation]) -> list[int]:
    """Steps that operations give another method: what comments say of them is about the old one."""
    return [
        path[1] for kind, path, *_ in operations if kind == "set" and path[:1] == ["protect"] and path[2:] == ["method"]
    ]


def _unknown_to_the_new_method(
    described: Mapping[str, Any], settings: Any, operations: Sequence[Operation]
) -> tuple[list[list[str | int]], list[str]]:
    """Parameters that the step has and its new method does not, and the sentence that says so."""
    chosen = next((each for each in operations if each[0] == "set" and each[1][2:] == ["method"]), None)
    if chosen is None:
        return [], []
    _, (_, at, _), method = chosen
    model = method_models(described).get(str(method))
    stated = value_at(settings, ("protect", at, "params"))
    if model is None or not isinstance(stated, dict):
        return [], []
    unknown = [name for name in stated if name not in model.get("properties", {})]
    note = f"{method} has no parameter {', '.join(unknown)}: what the step says of it goes too."
    return [["protect", at, "params", name] for name in unknown], [note] if unknown else []


def _removals(settings: Any, paths: Sequence[list[str | int]]) -> list[Operation]:
    """Operations that remove parameters; all of them go with their key."""
    if paths and len(value_at(settings, paths[0][:-1])) == len(paths):
        return [["remove", paths[0][:-1]]]
    return [["remove", path] for path in paths]


def _operations(settings: Any, found: Sequence[tuple[FormField, object]]) -> list[Operation]:
    operations: list[Operation] = []
    bare: dict[int, dict[str, object]] = {}
    for each, value in found:
        path = list(each.path)
        if path[0] == "measure" and isinstance(value_at(settings, path[:2]), str):
            bare.setdefault(int(path[1]), {})[each.label] = value
        elif value is LEFT_OUT:
            operations.append(["remove", path])
        else:
            operations.append(["set", path, value])
    for at, params in bare.items():
        operations.append(["set", ["measure", at], {value_at(settings, ("measure", at)): params}])
    return operations


async def change(session: Session, form: Form) -> Answer:
    """Show what an operation would change: a step moved, or removed."""
    return await proposed(session, operations_of(form.get("do")))


async def add(session: Session, form: Form) -> Answer:
    """Show what a new step or measure would change."""
    name, kind = str(form.get("name", "")), form.get("kind")
    if not name:
        raise Refusal(f"no {'method' if kind == 'step' else 'measure'} is chosen")
    entry: object = {"method": name} if kind == "step" else name
    return await proposed(session, [["append", ["protect" if kind == "step" else "measure"], entry]])


async def typed(session: Session, form: Form) -> Answer:
    """Keep what was typed as a draft, and show what it would change."""
    pipeline = session.needed_pipeline()
    operation: Operation = ["text", str(form.get("text", ""))]
    pipeline.keep_draft(changed(pipeline.text, [operation]))
    return await proposed(session, [operation])


async def proposed(session: Session, operations: list[Operation], notes: Sequence[str] = ()) -> Answer:
    """Show the difference that operations make, what goes with it, the mistakes in it, and the button that saves it."""
    pipeline = session.needed_pipeline()
    if not operations:
        raise Refusal("nothing was changed in the form")
    if pipeline.changed_outside():
        raise changed_outside(pipeline.path.name)
    try:
        new = changed(pipeline.text, operations)
    except Refusal as refusal:
        if refusal.hint != EDITOR:
            raise
        return Answer(html=html("in_the_editor.html", refusal=refusal))
    if ends_without_steps(pipeline.text, new):
        notes = [*notes, NO_STEP]
    known = {each.sentence for each in await problems_of(pipeline, pipeline.text)}
    problems = [each for each in await problems_of(pipeline, new) if each.sentence not in known]
    lost = [] if operations[0][0] == "text" else comments_lost(pipeline.text, new)
    whole = difference(pipeline.text, new, comments=True) or [("place", "Only line ends change.")]
    short = difference(pipeline.text, new, comments=False) if len(lost) > FEW_COMMENTS else []
    shown = html(
        "difference.html", lines=short or whole, whole=whole if short else [],
        problems=[place_of(pipeline, each) for each in problems],
        operations=json.dumps(operations), seen=fingerprint(pipeline.text), name=pipeline.path.name, notes=notes,
        comments=lost,
    )  # fmt: skip
    return Answer(html=shown, say="Nothing is saved yet: this is what would change.")


def difference(old: str, new: str, *, comments: bool) -> list[tuple[str, str]]:
    """Lines that change and those around them, each with what became of it: added, removed, kept or place.

    `comments`: whether lines that hold nothing else are among them.
    """
    before, after = (
        [(at, line) for at, line in enumerate(text.splitlines(), 1) if comments or not line.lstrip().startswith("#")]
        for text in (old, new)
    )
    matcher = difflib.SequenceMatcher(None, [line for _, line in before], [line for _, line in after])
    groups = list(matcher.get_grouped_opcodes(2))
    around = 2 if len(groups) <= FEW_PLACES else 0
    found: list[tuple[str, str]] = []
    for group in groups if around else matcher.get_grouped_opcodes(0):
        place = before[min(group[0][1], len(before) - 1)][0] if before else 1
        found.append(("place", f"from line {place}"))
        for what, first, last, start, end in group:
            if what == "equal":
                found += [("kept", line) for _, line in before[first:last]]
            elif last - first == end - start:
                for (_, line), (_, now) in zip(before[first:last], after[start:end], strict=True):
                    found += [("removed", line), ("added", now)]
            else:
                found += [("removed", line) for _, line in before[first:last]]
                found += [("added", line) for _, line in after[start:end]]
    return found


async def save(session: Session, form: Form) -> Answer:
    """Save the change that was shown."""
    pipeline = session.needed_pipeline()
    if form.get("seen") != fingerprint(pipeline.text):
        raise Refusal("the pipeline is not the one that this difference was made for", "Make the change again.")
    operations = operations_of(form.get("operations"))
    pipeline.save(changed(pipeline.text, operations), pipeline.text)
    return Answer(
        go=_added(operations, pipeline.text), say=f"{pipeline.path.name} is saved. Undo takes it back.", settled=True
    )


def _added(operations: Sequence[Operation], text: str) -> str:
    """Page that opens what was added: the form of a step or measure; 'here' for every other change."""
    for kind, path, *_ in operations:
        if kind == "append" and path in (["protect"], ["measure"]) and len(operations) == 1:
            last = len(value_at(settings_of(text), path))
            return f"/pipeline?part={'step' if path == ['protect'] else 'measure'}/{last}"
    return "here"


def ends_without_steps(old: str, new: str) -> bool:
    """Whether a change takes the last step out of a pipeline."""
    try:
        before, after = (value_at(settings_of(text), ("protect",)) for text in (old, new))
    except mw.InputError:
        return False
    return bool(before) and not after


async def discard(session: Session, form: Form) -> Answer:
    """Forget the change that was shown, and what was typed for it."""
    pipeline = session.needed_pipeline()
    if any(each[:1] == ["text"] for each in operations_of(form.get("operations"))):
        pipeline.keep_draft("")
    return Answer(go="here", say="The change is discarded; nothing was saved.", settled=True)


async def keep_mine(session: Session, _: Form) -> Answer:
    """Read the file as it is on disk, and keep the text of this page as a draft."""
    pipeline = session.needed_pipeline()
    pipeline.keep_mine()
    message = "The file was read again; your text is the draft in the editor."
    return Answer(go="/pipeline?part=text", say=message)


async def forget_draft(session: Session, _: Form) -> Answer:
    """Forget the draft."""
    session.needed_pipeline().keep_draft("")
    return Answer(go="here", say="The draft is forgotten.", settled=True)


PIPELINE = Page(
    path="/pipeline",
    title="Pipeline",
    show=show,
    acts={
        "preview": preview,
        "change": change,
        "add": add,
        "typed": typed,
        "save": save,
        "discard": discard,
        "keep_mine": keep_mine,
        "forget_draft": forget_draft,
    },
)
