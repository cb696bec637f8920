"""The page of experiments: pipelines by risk and loss."""

from __future__ import annotations

import asyncio
import functools
import json
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import maskwright as mw
from maskwright_studio.drawing import MAP_HEIGHT, MAP_WIDTH, map_of_runs, risk_utility_map
from maskwright_studio.experiments import chosen, experiment_text, points_of, varied_of
from maskwright_studio.page import Answer, Page, html
from maskwright_studio.pages.pipeline import proposed, schema
from maskwright_studio.parameter_form import measure_models
from maskwright_studio.pipeline_file import write_whole
from maskwright_studio.pipeline_text.layout import settings_of
from maskwright_studio.proposals import changed, fingerprint, steps_in_place_of, value_at
from maskwright_studio.refusal import Refusal, changed_outside
from maskwright_studio.session import PIPELINES, inside

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from maskwright_studio.experiments import Varied
    from maskwright_studio.jobs import Job
    from maskwright_studio.page import Form, Query
    from maskwright_studio.proposals import Operation
    from maskwright_studio.session import Session


UP = "../"
"""How a file of another folder begins: a step that names one cannot be taken into a pipeline elsewhere."""


async def show(session: Session, query: Query) -> str:
    """Experiments of the folder, the chosen one, and a form that makes one from the open pipeline."""
    experiments = session.experiments()
    name = query.get("experiment", "") or (experiments[0] if experiments else "")
    runs = map_of_runs(session.jobs.all)
    kept = {key: query[key] for key in ("first", "second") if query.get(key)}
    return html(
        "comparing.html", experiments=experiments, name=name, part=urlencode({"experiment": name, **kept}),
        making=await _form(session) if session.pipeline is not None else None, opened=query.get("new", ""),
        runs=runs, picture_of_runs=None if runs is None else risk_utility_map(runs), width=MAP_WIDTH, height=MAP_HEIGHT,
        link=lambda name: f"/run?job={name.removeprefix('run ')}",
    )  # fmt: skip


async def _form(session: Session) -> dict[str, Any] | None:
    """Choices of the form that makes an experiment; None where the pipeline has no step with parameters."""
    pipeline, described = session.needed_pipeline(), await schema()
    try:
        settings = settings_of(pipeline.text)
    except mw.InputError:
        return None
    offered = varied_of(described, settings)
    if not offered:
        return None
    return {
        "pipeline": pipeline.path.name,
        "offered": offered,
        "varied": next((each for each in offered if each.field.label == "k"), offered[0]),
        "kinds": await asyncio.to_thread(_measures_by_kind, tuple(measure_models(described))),
        "has": await asyncio.to_thread(_kinds_of, value_at(settings, ("measure",)) or []),
        "name": _free_name(session),
    }


@functools.cache
def _measures_by_kind(names: tuple[str, ...]) -> dict[str, list[str]]:
    kinds: dict[str, list[str]] = {"risk": [], "loss": []}
    for name in names:
        measure = mw.find_measure(name)
        if measure.kind in kinds and not any(each.is_required() for each in measure.params.model_fields.values()):
            kinds[measure.kind].append(name)
    return kinds


def _kinds_of(measures: list[Any]) -> dict[str, str]:
    """The first measure of the pipeline of each kind."""
    found: dict[str, str] = {}
    for each in measures:
        name = each if isinstance(each, str) else next(iter(each), "")
        try:
            found.setdefault(mw.find_measure(name).kind, name)
        except mw.MaskwrightError:
            continue
    return found


def _free_name(session: Session) -> str:
    folder = session.needed_pipeline().path.parent
    names = ("experiment.yaml", *(f"experiment-{number}.yaml" for number in range(2, 1000)))
    return next(name for name in names if not (folder / name).exists())


async def cells(session: Session, query: Query) -> str:
    """The map of an experiment, its table, and the chosen points; or how far the comparing is."""
    name = query.get("experiment", "")
    path = inside(session.folder, name)
    job = _job_of(session, path)
    found = None if job is None or job.code is None or not job.is_over else job.result
    if job is None or not job.is_over or found is None:
        return html("comparing_job.html", name=name, job=job)
    by_name = {each["name"]: each for each in found["cells"]}
    first, second = by_name.get(query.get("first", "")), by_name.get(query.get("second", ""))
    has_map = found["risk"] is not None and found["loss"] is not None
    picture = risk_utility_map(found) if has_map else None
    return html(
        "risk_utility_map.html", name=name, found=found, picture=picture,
        width=MAP_WIDTH, height=MAP_HEIGHT, first=first, second=second, is_old=_is_old(job, path),
        takes=_takes(session, path, first),
        link=lambda cell: f"/map?{urlencode({'experiment': name, 'first': cell})}", job=job,
        columns=[each for each in dict.fromkeys((found["risk"], found["loss"], found["score"])) if each],
    )  # fmt: skip


def _takes(session: Session, path: Path, cell: dict[str, Any] | None) -> dict[str, Any] | None:
    """How the open pipeline can take the steps of a point; None where it cannot."""
    if cell is None or _steps_for(session, path, cell) is None:
        return None
    pipeline = session.needed_pipeline()
    slug = re.sub(r"[^A-Za-z0-9]+", "-", cell["name"]).strip("-")
    name = f"{pipeline.path.stem}-{slug}.yaml"
    return {"pipeline": pipeline.path.name, "name": name}


def _job_of(session: Session, path: Path) -> Job | None:
    return next(
        (each for each in reversed(session.jobs.all) if each.request.get("experiment") == str(path)), None
    )  # fmt: skip


def _is_old(job: Job, path: Path) -> bool:
    try:
        return bool(job.request["seen"] != fingerprint(path.read_text("utf-8")))
    except (OSError, UnicodeDecodeError):
        return True


async def compare(session: Session, form: Form) -> Answer:
    """Compare the cells of an experiment; what is known of them already is not computed again."""
    name = str(form.get("experiment", ""))
    path = inside(session.folder, name)
    try:
        seen = fingerprint(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError):
        raise Refusal(f"{name} cannot be read", "Choose another experiment.") from None
    request = {"work": "compare", "experiment": str(path), "folder": str(session.folder), "seen": seen}
    await session.jobs.start(f"the comparison of {name}", request)
    return Answer(go=f"/map?{urlencode({'experiment': name})}", say="The comparison has begun.")


async def choices(session: Session, form: Form) -> Answer:
    """What the chosen parameter can be, and the methods that can be compared over it."""
    return Answer(html=html("experiment_choices.html", varied=await _varied(session, form)))


async def _varied(session: Session, form: Form) -> Varied:
    settings = settings_of(session.needed_pipeline().text)
    return chosen(varied_of(await schema(), settings), str(form.get("varied", "")))


async def propose(session: Session, form: Form) -> Answer:
    """Show the text of an experiment that the open pipeline makes; nothing is written."""
    name, text = await _made(session, form)
    return Answer(
        html=html(
            "new_experiment.html",
            name=name,
            text=text,
            fields=_fields(form),
            query=urlencode({**form, "methods": ",".join(_methods(form))}),
        ),
        say="Nothing is written yet: this is the experiment.",
    )


async def predicted_failures(session: Session, query: Query) -> str:
    """Points of an experiment that is not written yet which the plan already says will fail."""
    _, text = await _made(session, query)
    found = await session.data.query(session.needed_pipeline(), "foreseen", points=points_of(text))
    return html("foreseen_points.html", **found)


async def write(session: Session, form: Form) -> Answer:
    """Write the experiment that was shown."""
    name, text = await _made(session, form)
    path = inside(session.folder, name)
    if path.exists():
        raise Refusal(f"{name} is there already", "Give the experiment another name.")
    write_whole(path, text)
    return Answer(go=f"/map?{urlencode({'experiment': name})}", say=f"{name} is written. Compare it now.", settled=True)


def _fields(form: Form) -> list[tuple[str, str]]:
    return [(key, str(each)) for key, value in form.items() for each in (value if isinstance(value, list) else [value])]


async def _made(session: Session, form: Form) -> tuple[str, str]:
    pipeline, name, varied = session.needed_pipeline(), str(form.get("name", "")).strip(), await _varied(session, form)
    if "/" in name or not name.endswith((".yaml", ".yml")):
        raise Refusal("an experiment is a file that ends with .yaml", "It is written beside the pipeline.")
    text = experiment_text(
        settings_of(pipeline.text), name, varied=varied,
        values=varied.values(str(form.get("values", ""))),
        methods=_methods(form),
        measures=[str(form.get("loss", "")), str(form.get("risk", ""))],
    )  # fmt: skip
    folder = pipeline.path.parent.relative_to(session.folder).as_posix()
    return (name if folder == "." else f"{folder}/{name}"), text


def _methods(form: Form) -> list[str]:
    """Methods that are compared: one, several, or several with commas between them, as an address has them."""
    given = form.get("methods", [])
    return [name for each in (given if isinstance(given, list) else [given]) for name in str(each).split(",") if name]


def _cell_of(session: Session, form: Form) -> tuple[dict[str, Any], Path]:
    """The point that a form names, and its experiment."""
    path = inside(session.folder, str(form.get("experiment", "")))
    job = _job_of(session, path)
    cells = job.result["cells"] if job is not None and job.is_over and job.result else []
    cell = next((each for each in cells if each["name"] == form.get("cell")), None)
    if cell is None:
        raise Refusal("the cells of this experiment are not known any more", "Compare it again.")
    if cell["why_not"]:
        raise Refusal(cell["why_not"])
    return cell, path


def _steps_for(session: Session, path: Path, cell: Mapping[str, Any]) -> list[Any] | None:
    """Steps of a point that the open pipeline can take; None where the experiment is one of other data or rules."""
    pipeline = session.pipeline
    if pipeline is None or cell["why_not"] or path.parent != pipeline.path.parent:
        return None
    try:
        own = settings_of(pipeline.text)
        compared = mw.read_settings(path.read_text("utf-8").removeprefix("\ufeff"))
        steps = value_at(mw.read_settings(cell["pipeline"]), ("protect",)) or []
    except (OSError, UnicodeDecodeError, mw.InputError):
        return None
    if any(value_at(own, (key,)) != value_at(compared, (key,)) for key in ("data", "edits")):
        return None
    return None if UP in json.dumps(steps) else steps


def _taken(session: Session, form: Form) -> list[Operation]:
    """Operation that gives the open pipeline the steps of a point."""
    cell, path = _cell_of(session, form)
    steps = _steps_for(session, path, cell)
    if steps is None:
        raise Refusal("the experiment is not one of the pipeline that is open", "Open the one that it was made from.")
    own = settings_of(session.needed_pipeline().text)
    return steps_in_place_of(value_at(own, ("protect",)) or [], steps)


async def take(session: Session, form: Form) -> Answer:
    """Show what the steps of a point change in the open pipeline: all else in it stays."""
    return await proposed(session, _taken(session, form))


async def copy(session: Session, form: Form) -> Answer:
    """Write the open pipeline with the steps of a point under another name, and open it."""
    pipeline, name = session.needed_pipeline(), str(form.get("name", "")).strip()
    if "/" in name or not name.endswith(PIPELINES):
        raise Refusal("a pipeline is a file that ends with .yaml", f"It is written beside {pipeline.path.name}.")
    path = inside(session.folder, str(pipeline.path.parent / name))
    if path.exists():
        raise Refusal(f"{name} is there already", "Give the pipeline another name.")
    if pipeline.changed_outside():
        raise changed_outside(pipeline.path.name)
    write_whole(path, changed(pipeline.text, _taken(session, form)))
    session.open(str(path))
    message = (
        f"{name} is open. It writes the same files as {pipeline.path.name}: change them under output to keep both."
    )
    return Answer(go="/pipeline", say=message)


async def choose(session: Session, form: Form) -> Answer:
    """Write the pipeline of a point, as ``maskwright compare --choose`` does, and open it."""
    cell, _ = _cell_of(session, form)
    file = inside(session.folder, cell["file"])
    message = f"{file.name} is open"
    if not file.exists():
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise Refusal(f"{file.parent.name} could not be made: {error.strerror}") from None
        write_whole(file, cell["pipeline"])
    elif file.read_bytes() != cell["pipeline"].encode():
        message += "; it was changed since the comparison, and is left as it is"
    session.open(cell["file"])
    return Answer(go="/pipeline", say=f"{message}. Run it on the page Run.")


COMPARING = Page(
    path="/map", title="Map", show=show, parts={"cells": cells, "foreseen": predicted_failures},
    acts={
        "compare": compare, "choices": choices, "propose": propose, "write": write, "take": take, "copy": copy,
        "choose": choose,
    },
)  # fmt: skip
