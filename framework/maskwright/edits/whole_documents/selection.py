"""What a schema asks a document before it is checked: the active phase, and other documents that patterns are about.

Only files inside a declared folder are read, and as guardedly as the document itself; the engine gets their texts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from maskwright.edits.engines.checker import EngineProcess
from maskwright.edits.engines.engine_tests import ENGINE_OF
from maskwright.edits.languages.schematron.expansion import ANY
from maskwright.edits.languages.schematron.inclusion import MOST_FILES, names_file
from maskwright.edits.whole_documents.document import MEGABYTE, MOST_BYTES, read_document_text
from maskwright.edits.whole_documents.stylesheet import stylesheet_of_questions
from maskwright.foundation.errors import EditError, Place, Problem

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from maskwright.edits.whole_documents.document import DocumentOptions, DocumentText, Limits
    from maskwright.edits.whole_documents.schema_model import Expression, Pattern, Schema


@dataclass(frozen=True, eq=False)
class Documents:
    """Documents that a schema is checked on.

    `others`: what patterns are about by ``documents``, and how it calls them. `of_patterns`: places among these.
    """

    main: DocumentText
    others: tuple[tuple[str, DocumentText], ...] = ()
    of_patterns: Mapping[Pattern, tuple[int, ...]] = field(default_factory=dict)

    @property
    def bytes(self) -> int:
        """Length of all of them."""
        return self.main.bytes + sum(text.bytes for _, text in self.others)


def active_phase(schema: Schema, document: DocumentText, limits: Limits) -> str:
    """Phase that ``#ANY`` stands for: the first whose ``when`` is true of the document."""
    answers = _answers(schema, [each for _, each in schema.choices], document, limits)
    found = next((phase for (phase, _), answer in zip(schema.choices, answers, strict=True) if answer), None)
    if found is None:
        stated = "the `when` of no phase is true of this document" if schema.choices else "no phase has a `when`"
        hint = "name the phase (--phase NAME), or take every pattern (--phase '#ALL')"
        raise EditError(
            Problem(f"{stated}, and the phase {ANY} is the first of which it is", schema.element.place, hint)
        )
    return found


def documents_of(schema: Schema, document: DocumentText, options: DocumentOptions, limits: Limits) -> Documents:
    """Read the documents that patterns name, all before any is checked."""
    asking = {pattern: pattern.documents for pattern in schema.patterns if pattern.documents is not None}
    if not asking:
        return Documents(document)
    found: dict[str, DocumentText] = {}
    of_patterns = {}
    answers = _answers(schema, [*asking.values()], document, limits)
    for (pattern, question), names in zip(asking.items(), answers, strict=True):
        for name in names:
            if name not in found:
                found[name] = _read(name, question, document, options)
            size = document.bytes + sum(text.bytes for text in found.values())
            if len(found) > MOST_FILES or size > MOST_BYTES:
                most = f"{MOST_FILES} documents and {MOST_BYTES // MEGABYTE} MB"
                raise EditError(question.problem(f"at most {most} in all are checked"))
        of_patterns[pattern] = tuple([*found].index(name) for name in dict.fromkeys(names))
    return Documents(document, tuple(found.items()), of_patterns)


def _read(name: str, question: Expression, document: DocumentText, options: DocumentOptions) -> DocumentText:
    if not names_file(name):
        raise EditError(question.problem("it names no file; addresses are never fetched"))
    path = (document.path.parent / unquote(name)).resolve()
    if options.document_folder is None or not path.is_relative_to(Path(options.document_folder).resolve()):
        raise EditError(question.problem("it names a file outside the folder declared for other documents"))
    return read_document_text(path, options)


def _answers(
    schema: Schema, questions: Sequence[Expression], document: DocumentText, limits: Limits
) -> list[list[str]]:
    """Texts that each expression finds in a document; those that are asked for a truth find one where it is true."""
    if not questions:
        return []
    engine = ENGINE_OF[schema.version]
    with EngineProcess(engine, limits.memory) as process:
        reasons = process.reasons([stylesheet_of_questions(schema, [each]) for each in questions])
        problems = [
            question.problem(f"the engine refuses it: {reason}")
            for question, reason in zip(questions, reasons, strict=True)
            if reason is not None
        ]
        if problems:
            raise EditError(problems)
        answer = process.answer({"apply": document.text}, limits.seconds)
    if "error" in answer:
        place = Place(schema.element.file)
        names = ", ".join(dict.fromkeys(f"<{each.element.name}> {each.attribute}" for each in questions))
        raise EditError(Problem(f"{names} cannot be evaluated on this document ({answer['error']})", place))
    return [[line.strip() for line in text.splitlines() if line.strip()] for text in answer["texts"]]
