"""Any XML document checked, as a whole, against any Schematron schema."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from maskwright.commands.requests import Arguments, from_working_folder
from maskwright.commands.validate import svrl_report
from maskwright.edits.engines.engine_tests import ENGINE_OF
from maskwright.edits.languages.schematron.expansion import ANY
from maskwright.edits.whole_documents.check import check_document
from maskwright.edits.whole_documents.document import DocumentOptions, Limits, read_document_text
from maskwright.edits.whole_documents.schema import read_schema
from maskwright.edits.whole_documents.selection import active_phase, documents_of
from maskwright.foundation.errors import InputError, Place, Problem
from maskwright.foundation.files import reads_noted, refuse_to_overwrite
from maskwright.foundation.nearest_names import unknown_name
from maskwright.foundation.progress import Logged, Reporter, notify, stage
from maskwright.foundation.yaml_document import Node
from maskwright.foundation.yaml_models import read_model

if TYPE_CHECKING:
    from maskwright.commands.options import ReadingOptions
    from maskwright.edits.whole_documents.document import DocumentOutcome


def validate_document(
    document: str | Path,
    schema: str | Path,
    *,
    svrl: str | Path | None = None,
    show_values: bool = False,
    allow_unfired: bool = False,
    **options: object,
) -> DocumentOutcome:
    """Check any XML document, as a whole, against any Schematron schema.

    A real engine does the checking, in a process without files, network and environment: libxslt where the schema's
    ``queryBinding`` is XSLT or XPath 1, Saxon (the extra ``maskwright[xpath3]``) for the later ones.

    Parameters
    ----------
    document : str or Path
        XML without a DOCTYPE, of at most 100 MB, 100 levels, and 1 MB in one text (`max_text`).
    schema : str or Path
        ISO Schematron, or 1.5.
    svrl : str or Path, optional
        Report to write. It carries values of the document, and only its owner can read it.
    show_values : bool, default False
        Whether the outcome has the first messages of each test, which carry values.
    allow_unfired : bool, default False
        Whether a document that no rule is about is ``ok``; otherwise it is an error.
    **options
        ``phase``, ``include_folder`` and ``document_folder`` (relative to the working folder), ``query_binding``,
        ``max_text``, ``max_seconds``, ``max_memory`` (MB), and the limits of `read_edits`.

    Returns
    -------
    DocumentOutcome
        ``ok``, ``counts``, and ``edits`` with the first locations.

    Raises
    ------
    InputError
        The document or the schema cannot be read or is wrong; a test cannot be evaluated; no rule fired.

    Examples
    --------
    >>> from pathlib import Path
    >>> import maskwright as mw
    >>> _ = Path("note.xml").write_text("<note><to/></note>", encoding="utf-8")
    >>> _ = Path("note.sch").write_text('''
    ... <schema xmlns="http://purl.oclc.org/dsdl/schematron"><pattern><rule context="to">
    ... <assert test="normalize-space()">A note is to someone.</assert></rule></pattern></schema>
    ... ''', encoding="utf-8")
    >>> mw.validate_document("note.xml", "note.sch")
    DocumentOutcome(ok=False, violations=1)
    """
    stated = Arguments()
    chosen = read_model(DocumentOptions, stated.section(**from_working_folder(options)), stated.problems, "option")
    stated.refuse_mistakes()
    return validate_document_file(
        Path(document), Path(schema), chosen or DocumentOptions(), svrl=None if svrl is None else Path(svrl),
        show_values=show_values, allow_unfired=allow_unfired, reporter=Logged(),
    )  # fmt: skip


@reads_noted()
def validate_document_file(
    document: Path,
    schema: Path,
    options: DocumentOptions,
    *,
    svrl: Path | None = None,
    show_values: bool = False,
    allow_unfired: bool = False,
    reporter: Reporter,
) -> DocumentOutcome:
    """Check a document; see `validate_document`."""
    refuse_to_overwrite({} if svrl is None else {"--svrl": svrl}, {"the document": document, "the schema": schema})
    rules = read_schema(schema, options)
    notify(reporter, rules.notes)
    with stage(reporter, f"Reading {document.name}") as progress:
        text = read_document_text(document, options, progress)
    limits = Limits.of(text.bytes, options)
    if rules.phase == ANY:
        rules = read_schema(schema, options.model_copy(update={"phase": active_phase(rules, text, limits)}))
        notify(reporter, rules.notes)
    documents = documents_of(rules, text, options, limits)
    if svrl is not None:
        refuse_to_overwrite({"--svrl": svrl})
    limits = Limits.of(documents.bytes, options)
    notice = limits.notice(documents.bytes, ENGINE_OF[rules.version])
    if notice is not None:
        reporter.notice(notice)
    with svrl_report(svrl, reporter) as stream:
        with stage(reporter, f"Validating {document.name}"):
            outcome = check_document(rules, documents, limits, svrl=stream, messages=show_values)
        if not outcome.fired and not allow_unfired:
            raise InputError(
                Problem(
                    f"no rule ever fired on {document.name}: none of the schema is about anything in it",
                    Place(str(schema)),
                    "are the elements in a namespace that the contexts do not name (<ns prefix=... uri=...>), or does "
                    "the phase leave their pattern out? A document that may hold nothing to check: --allow-unfired",
                )
            )
    return outcome


def is_whole(document: Path, rules: Path) -> bool:
    """Whether these are a document and a schema that can be checked as a whole."""
    try:
        read_schema(rules, DocumentOptions())
        read_document_text(document, DocumentOptions())
    except InputError:
        return False
    return True


def document_options(options: ReadingOptions) -> DocumentOptions:
    """Options of a command line."""
    stated = {
        "--pipeline": options.pipeline, "--variable": options.variables, "--cluster": options.cluster,
        "--format": options.file_format, "--codebook": options.codebook,
    }  # fmt: skip
    problems = [
        Problem(f"{flag} is about records, and --document checks a document as a whole")
        for flag, value in stated.items()
        if value is not None
    ]
    known = DocumentOptions.model_fields
    problems += [
        Problem(unknown_name("option of --document", name, known), node.place)
        for name, node in options.values.items()
        if name not in known
    ]
    entries = tuple(
        (Node("scalar", node.place, name, name), node) for name, node in options.values.items() if name in known
    )
    chosen = read_model(DocumentOptions, Node("mapping", Place(), entries=entries), problems, "option")
    if problems or chosen is None:
        raise InputError(problems)
    return chosen
