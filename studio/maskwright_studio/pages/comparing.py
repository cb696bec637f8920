"""Map: pipelines of an experiment by risk and loss, and the pipeline of a point that is chosen."""

from __future__ import annotations

import asyncio
import functools
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import maskwright as mw
from maskwright_studio.drawing.risk_utility_map import HEIGHT, WIDTH, risk_utility_map
from maskwright_studio.experiment_text import experiment_text
from maskwright_studio.folder import inside
from maskwright_studio.map_of_runs import map_of_runs
from maskwright_studio.page import Answer, Page
from maskwright_studio.pages.pipeline import schema
from maskwright_studio.parameter_form import measure_models, method_models
from maskwright_studio.pipeline_file import write_whole
from maskwright_studio.proposals import fingerprint, value_at
from maskwright_studio.refusal import Refusal
from maskwright_studio.showing import html

if TYPE_CHECKING:
    from pathlib import Path

    from maskwright_studio.jobs import Job
    from maskwright_studio.page import Form, Query
    from maskwright_studio.session import Session

FIRST_K = "3, 5, 10, 20"
NUMBERS = re.compile(r"\s*\d{1,6}(\s*[,; ]\s*\d{1,6})*\s*")


async def show(session: Session, query: Query) -> str:
    """Experiments of the folder, the chosen one, and a form that makes one from the open pipeline."""
    experiments = session.experiments()
    name = query.get("experiment", "") or (experiments[0] if experiments else "")
    runs = map_of_runs(session.jobs.all)
    kept = {key: query[key] for key in ("first", "second") if query.get(key)}
    return html(
        "comparing.html", experiments=experiments, name=name, part=urlencode({"experiment": name, **kept}),
        making=await _form(session) if session.pipeline is not None else None, opened=query.get("new", ""),
        runs=runs, picture_of_runs=None if runs is None else risk_utility_map(runs), width=WIDTH, height=HEIGHT,
        link=lambda name: f"/run?job={name.removeprefix('run ')}",
    )  # fmt: skip


async def _form(session: Session) -> dict[str, Any] | None:
    """Choices of the form that makes an experiment; None where the pipeline has no step with k."""
    pipeline, described = session.needed_pipeline(), await schema()
    try:
        settings = mw.read_settings(pipeline.text.removeprefix("\ufeff"))
    except mw.InputError:
        return None
    with_k = {name for name, model in method_models(described).items() if "k" in model.get("properties", {})}
    steps = value_at(settings, ("protect",)) or []
    varied = [at for at, each in enumerate(steps) if isinstance(each, dict) and each.get("method") in with_k]
    if not varied:
        return None
    return {
        "pipeline": pipeline.path.name,
        "steps": [(at, f"step {at + 1}: {steps[at]['method']}") for at in varied],
        "methods": [
            name
            for name in sorted(with_k)
            if not method_models(described)[name].get("required") and {steps[at]["method"] for at in varied} != {name}
        ],
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
    return html(
        "risk_utility_map.html", name=name, found=found, picture=risk_utility_map(found) if has_map else None,
        width=WIDTH, height=HEIGHT, first=first, second=second, is_old=_is_old(job, path),
        link=lambda cell: f"/map?{urlencode({'experiment': name, 'first': cell})}", job=job,
        columns=[each for each in dict.fromkeys((found["risk"], found["loss"], found["score"])) if each],
    )  # fmt: skip


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


async def propose(session: Session, form: Form) -> Answer:
    """Show the text of an experiment that the open pipeline makes; nothing is written."""
    name, text = _made(session, form)
    return Answer(
        html=html("new_experiment.html", name=name, text=text, fields=_fields(form)),
        say="Nothing is written yet: the experiment is shown below.",
    )


async def write(session: Session, form: Form) -> Answer:
    """Write the experiment that was shown."""
    name, text = _made(session, form)
    path = inside(session.folder, name)
    if path.exists():
        raise Refusal(f"{name} is there already", "Give the experiment another name.")
    write_whole(path, text)
    return Answer(go=f"/map?{urlencode({'experiment': name})}", say=f"{name} is written. Compare it now.")


def _fields(form: Form) -> list[tuple[str, str]]:
    return [(key, str(each)) for key, value in form.items() for each in (value if isinstance(value, list) else [value])]


def _made(session: Session, form: Form) -> tuple[str, str]:
    pipeline = session.needed_pipeline()
    name, k = str(form.get("name", "")).strip(), str(form.get("k", ""))
    if "/" in name or not name.endswith((".yaml", ".yml")):
        raise Refusal("an experiment is a file that ends with .yaml", "It is written beside the pipeline.")
    if not NUMBERS.fullmatch(k):
        raise Refusal("k is a list of whole numbers", f"Such as {FIRST_K}")
    methods = form.get("methods", [])
    text = experiment_text(
        mw.read_settings(pipeline.text.removeprefix("\ufeff")), name, step=int(str(form.get("step", "0"))),
        k=sorted({int(each) for each in re.findall(r"\d+", k)}),
        methods=[str(each) for each in (methods if isinstance(methods, list) else [methods])],
        measures=[str(form.get("loss", "")), str(form.get("risk", ""))],
    )  # fmt: skip
    folder = pipeline.path.parent.relative_to(session.folder).as_posix()
    return (name if folder == "." else f"{folder}/{name}"), text


async def choose(session: Session, form: Form) -> Answer:
    """Write the pipeline of a point, as ``maskwright compare --choose`` does, and open it."""
    path = inside(session.folder, str(form.get("experiment", "")))
    job = _job_of(session, path)
    cells = job.result["cells"] if job is not None and job.is_over and job.result else []
    cell = next((each for each in cells if each["name"] == form.get("cell")), None)
    if cell is None:
        raise Refusal("the cells of this experiment are not known any more", "Compare it again.")
    if cell["why_not"]:
        raise Refusal(cell["why_not"])
    file = inside(session.folder, cell["file"])
    said = f"{file.name} is open"
    if not file.exists():
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise Refusal(f"{file.parent.name} could not be made: {error.strerror}") from None
        write_whole(file, cell["pipeline"])
    elif file.read_bytes() != cell["pipeline"].encode():
        said += "; it was changed since the comparison, and is left as it is"
    session.open(cell["file"])
    return Answer(go="/pipeline", say=f"{said}. Run it on the page Run.")


COMPARING = Page(
    path="/map", title="Map", show=show, parts={"cells": cells},
    acts={"compare": compare, "propose": propose, "write": write, "choose": choose},
)  # fmt: skip
