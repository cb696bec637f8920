"""ISO Schematron as the standard has it, on small documents; lxml.isoschematron is asked for its opinion."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from lxml import etree, isoschematron

import maskwright as mw

sys.path.insert(0, str(Path(__file__).parent))
from schematron_cases import CASES, Case
from schematron_cases_of_files import CASES_OF_FILES

ISO = "http://purl.oclc.org/dsdl/schematron"
SVRL = {"svrl": "http://purl.oclc.org/dsdl/svrl"}


FAILURES = "count(//svrl:failed-assert | //svrl:successful-report)"


def written(case: Case, binding: str) -> str:
    return f'<schema xmlns="{ISO}" queryBinding="{binding}" {case.attributes}>{case.body}</schema>'


def by_isoschematron(schema: Path, document: Path, phase: str | None) -> tuple[int, int]:
    """Failures and fired rules; where they are others, it falls short of the standard, and the case says so."""
    named = None if phase in ("#ALL", "#DEFAULT") else phase
    engine = isoschematron.Schematron(etree.parse(schema), phase=named, store_report=True, validate_schema=False)
    engine.validate(etree.parse(document))
    report = engine.validation_report
    fired = report.xpath("count(//svrl:fired-rule)", namespaces=SVRL)
    return int(report.xpath(FAILURES, namespaces=SVRL)), int(fired)


@pytest.mark.parametrize("binding", ["xslt", "xslt2"])
@pytest.mark.parametrize("case", [*CASES, *CASES_OF_FILES], ids=lambda case: case.name)
def test_verdict_and_report_are_those_of_the_standard(case: Case, binding: str, tmp_path: Path) -> None:
    same = [each for each in case.bindings if each.lower().startswith(("xslt2", "xslt3", "xpath2", "xpath3"))]
    chosen = same if binding == "xslt2" else [each for each in case.bindings if each not in same]
    if not chosen:
        pytest.skip("the case is for another query binding")
    for each in chosen:
        schema, document, svrl = tmp_path / "rules.sch", tmp_path / "document.xml", tmp_path / f"{each}.svrl"
        schema.write_text(written(case, each), encoding="utf-8")
        document.write_text(case.document, encoding="utf-8")
        for name, text in case.files.items():
            (tmp_path / name).write_text(text.replace("<schema>", f'<schema xmlns="{ISO}">'), encoding="utf-8")
        folders = {"include_folder": tmp_path, "document_folder": tmp_path} if case.files else {}
        if case.verdict == "undecidable":
            (test,) = mw.validate_document(document, schema, svrl=svrl).edits
            (found,) = test.undecidable
            assert (test.violations, found.count, f"{found.first} {found.code}") == (2, 2, case.says)
            continue
        if case.verdict == "error":
            with pytest.raises(mw.InputError) as refused:
                mw.validate_document(document, schema, phase=case.phase, svrl=svrl, **folders)
            assert case.says in str(refused.value)
            assert not svrl.exists()
            continue
        outcome = mw.validate_document(document, schema, phase=case.phase, svrl=svrl, **folders)
        report = etree.parse(svrl)
        found = {path: len(report.xpath(path, namespaces=SVRL)) for path in case.finds}
        assert found == case.finds, etree.tostring(report).decode()
        assert ("valid" if outcome.ok else "invalid") == case.verdict
        failures = sum(outcome.counts.values())
        assert failures == int(report.xpath(FAILURES, namespaces=SVRL))
        if case.iso and each == "xslt":
            assert by_isoschematron(schema, document, case.phase) == (failures, outcome.fired)
