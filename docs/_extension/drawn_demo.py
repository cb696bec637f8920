"""Pictures of the demo survey: the ledger of its edits, and the risk-utility map of an experiment on it."""

from __future__ import annotations

import tempfile
from html import escape
from pathlib import Path

import yaml

import maskwright as mw
from _extension.inline_svg import CLEAR, recoloured
from maskwright.commands.demo.files import write_demo
from maskwright.foundation.progress import Quiet
from maskwright.release.record.run_record import EditRecord
from maskwright.release.wording import count, kept_as_planned

RECORDS = 400


def ledger() -> tuple[str, str]:
    """The ledger of edits of a run on the demo: who kept each, and how often it was violated before and after.

    Returns
    -------
    table, alternative : str
    """
    with tempfile.TemporaryDirectory() as folder:
        files = write_demo(Path(folder), RECORDS)
        record = mw.run(files.pipeline, reporter=Quiet()).record
    edits = [EditRecord.model_validate(each) for each in record["edits"]]
    rows = "".join(
        f"<tr><td><code>{escape(each.name)}</code></td><td>{each.kind}</td><td>{count(each.violations_on_arrival)}</td>"
        f"<td>{count(each.violations)}</td><td>{escape(kept_as_planned(each))}</td><td>{count(each.adjusted)}</td></tr>"
        for each in edits
    )
    heads = ("edit", "kind", "violations on arrival", "violations in the masked file", "kept by", "records moved")
    head = "".join(f'<th scope="col">{each}</th>' for each in heads)
    said = f"The ledger of edits of a run on the demo survey of {RECORDS} records."
    table = f'<table class="docutils"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>'
    return (
        f'<div class="table-wrapper docutils container" role="region" aria-label="{said}">{table}</div>',
        said,
    )


def risk_utility_map() -> tuple[str, str]:
    """The map that ``maskwright compare`` draws of an experiment on the demo.

    Returns
    -------
    svg, alternative : str
    """
    from matplotlib import rc_context

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pipeline = yaml.safe_load(write_demo(folder, RECORDS).pipeline.read_text(encoding="utf-8"))
        experiment = {
            "maskwright": 1, "data": pipeline["data"], "edits": pipeline["edits"],
            "grid": [
                {"family": "groups of three variables", "method": "microaggregation", "params": {"group_size": 3},
                 "vary": {"k": [3, 5, 10, 20]}},
                {"family": "all variables at once", "method": "microaggregation", "params": {"group_size": "all"},
                 "vary": {"k": [3, 5, 10, 20]}},
                {"family": "noise", "method": "additive_noise", "vary": {"p": [0.1, 0.3, 0.6]}},
            ],
            "measure": ["pil", "distance_record_linkage", "interval_disclosure", "score"],
            "seed": 1, "output": "compared",
        }  # fmt: skip
        path = folder / "experiment.yaml"
        path.write_text(yaml.safe_dump(experiment, sort_keys=False), encoding="utf-8")
        with rc_context(CLEAR):
            compared = mw.compare(path, workers=1, reporter=Quiet())
        svg = recoloured(compared.files["map.svg"].read_text(encoding="utf-8"))
    said = (
        f"Risk-utility map of {len(compared.cells)} ways to mask the demo survey of {RECORDS} records: {compared.risk} "
        f"across, {compared.loss} up, a point for each. {len(compared.front)} of them are not beaten in both; the best "
        f"by {compared.score} is {compared.best}."
    )
    return svg, said
