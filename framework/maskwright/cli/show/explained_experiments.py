"""What ``maskwright explain experiment`` says: the file that compares pipelines, with chains of steps in it."""

from __future__ import annotations

import textwrap

from maskwright.cli.show.explained_parameters import WIDTH, parameters
from maskwright.experiments.file_model import ExperimentFile, Family

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
