"""A pipeline file to start from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maskwright.foundation.errors import InputError
from maskwright.foundation.whole_files import write_text

if TYPE_CHECKING:
    from pathlib import Path

STARTING_PIPELINE = """\
# A Maskwright pipeline: which data, which edits, how to protect, what to measure, what to write.
# Every path is relative to this file. See what it would do:  maskwright plan pipeline.yaml
maskwright: 1

data:
  source: microdata.csv        # .xml, .csv or .parquet
  # record: Record             # XML only: the element that holds one record
  # encoding: latin-1          # CSV only, like delimiter: ";" and decimal: ","
  # cluster: household         # the variable that names the household: k then counts households
  # variables:                 # a number of which nothing is said is confidential and masked; text has to be declared
  #   id: {role: identifier}   # never released; with `release: new`, under new random values
  #   weight: {role: weight}   # published as it is
  #   region: {role: other}    # published as it is
  #   age: {role: quasi_identifier, missing: ["-9"]}

edits:                         # what must hold in every released record
  # - schematron: rules.sch
  # - gross = net + tax
  # - 0 <= age <= 120
  # - if age < 16 then wages = 0

protect:
  - method: microaggregation
    params: {k: 5}

measure: [pil, distance_record_linkage, score]
# thresholds: {score: 40}      # nothing is released on the wrong side

# waive:                       # doubts that do not stop the release: maskwright explain doubts
#   - {doubt: published-undeclared, variable: remarks, because: free text is dropped before publication}

output:
  data: masked.csv
  report: report.html
  record: run.json             # holds the seed: confidential
  public_record: about.json    # may be published with the data
"""


def write_starting_pipeline(folder: Path) -> Path:
    """Write a commented ``pipeline.yaml``; an existing one is left alone.

    Raises
    ------
    InputError
        When the file exists or cannot be written.
    """
    path = folder / "pipeline.yaml"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path.open("x").close()  # the name is ours, or the file is somebody's
    except FileExistsError:
        raise InputError(f"{path} exists; it was left alone") from None
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}") from error
    try:
        write_text(path, STARTING_PIPELINE)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return path
