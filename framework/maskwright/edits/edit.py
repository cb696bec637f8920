"""An edit: a rule that every record must obey, in one model for all languages, and the parts algebra finds in it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from maskwright.edits.element_names import local
from maskwright.edits.expression import variable_names

if TYPE_CHECKING:
    from maskwright.edits.element_names import Assertion, StatedNames
    from maskwright.edits.engines.engine_tests import EngineTest
    from maskwright.edits.expression import Expression
    from maskwright.foundation.errors import Place

EditKind = Literal["linear", "product", "range", "governing", "domain", "checked"]
Relation = Literal["==", "<=", "<", ">=", ">"]
Binding = Literal["exact", "xpath1"]
Severity = Literal["error", "warning"]


@dataclass(frozen=True)
class LinearPart:
    """``sum(coefficient * variable) relation constant``, over two or more variables.

    Attributes
    ----------
    coefficients : tuple of (name, Fraction)
        Non-zero, in order of first use.
    relation : {"==", "<=", "<", ">=", ">"}
    constant : Fraction
    tolerance : Fraction
        Stated by the rule itself (``abs(f) <= eps``); 0 otherwise. Only with ``==``.
    total : str or None
        For equalities: the variable that stands alone on one side (``a + b == total``), the natural dependent.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from maskwright import EditSet, LinearPart
    >>> part = LinearPart((("wages", Fraction(1)), ("pensions", Fraction(1)), ("income", Fraction(-1))), "==",
    ...                   Fraction(0), total="income")
    >>> EditSet.parse(["wages + pensions == income"])["edit-1"].parts == (part,)
    True
    """

    coefficients: tuple[tuple[str, Fraction], ...]
    relation: Relation
    constant: Fraction
    tolerance: Fraction = Fraction(0)
    total: str | None = None

    @property
    def variables(self) -> tuple[str, ...]:
        """Variables used, each once, in order of first use."""
        return tuple(name for name, _ in self.coefficients)

    def as_polynomial(self) -> PolynomialPart:
        """Return an equality as a sum of monomials, with its tolerance."""
        terms = [(value, ((name, 1),)) for name, value in self.coefficients]
        constant = [(-self.constant, ())] if self.constant else []
        return PolynomialPart((*terms, *constant), self.tolerance, self.total)


@dataclass(frozen=True)
class ProductPart:
    """``coefficient * prod(variable ** exponent) relation constant``, or a monomial against a monomial.

    ``V5 * V15 == V16`` is ``left=((V5, 1), (V15, 1)), right=((V16, 1),), coefficient=1``. Exponents are non-zero
    integers; negative ones only where the rule divides.

    Attributes
    ----------
    coefficient : Fraction
        Multiplies the left side; not zero.
    left, right : tuple of (name, int)
        Variables and exponents of the two monomials; `right` is empty when the right side is only `constant`.
    relation : {"==", "<=", "<", ">=", ">"}
    constant : Fraction
        Multiplies the right monomial, or is the right side itself.
    total : str or None
        For equalities: the variable that stands alone on one side with exponent 1.

    Examples
    --------
    >>> from maskwright import EditSet, ProductPart
    >>> (part,) = EditSet.parse(["area * price == rent"])["edit-1"].parts
    >>> isinstance(part, ProductPart), part.left, part.total
    (True, (('area', 1), ('price', 1)), 'rent')
    """

    coefficient: Fraction
    left: tuple[tuple[str, int], ...]
    relation: Relation
    right: tuple[tuple[str, int], ...]
    constant: Fraction
    total: str | None = None

    @property
    def variables(self) -> tuple[str, ...]:
        """Variables used, each once, in order of first use."""
        return tuple(dict.fromkeys(name for name, _ in (*self.left, *self.right)))


@dataclass(frozen=True)
class PolynomialPart:
    """``abs(sum(coefficient * monomial)) <= tolerance``: products with a tolerance or of sums.

    ``abs(quantity * price - value) <= 0.5``, ``net * (1 + rate) == gross``. An exact equality of two monomials is a
    `ProductPart`.

    Attributes
    ----------
    terms : tuple of (Fraction, tuple of (name, int))
        Coefficients and the variables with exponents of each monomial; ``()`` is the constant one.
    tolerance : Fraction
        Stated by the rule itself; 0 where it is an equality without one.
    total : str or None
        The variable that stands alone in one term, with exponent 1, and in no other term.

    Examples
    --------
    >>> from maskwright import EditSet, PolynomialPart
    >>> (part,) = EditSet.parse(["abs(quantity * price - value) <= 0.5"])["edit-1"].parts
    >>> isinstance(part, PolynomialPart), part.tolerance, part.total
    (True, Fraction(1, 2), 'value')
    """

    terms: tuple[tuple[Fraction, tuple[tuple[str, int], ...]], ...]
    tolerance: Fraction = Fraction(0)
    total: str | None = None

    @property
    def variables(self) -> tuple[str, ...]:
        """Variables used, each once, in order of first use."""
        return tuple(dict.fromkeys(name for _, monomial in self.terms for name, _ in monomial))


@dataclass(frozen=True)
class RangePart:
    """One variable in an interval, or in a set of numbers or texts.

    Attributes
    ----------
    variable : str
    low, high : Fraction or None
        Bounds; None is unbounded.
    low_closed, high_closed : bool
    numbers : tuple of Fraction or None
        Possible values (sorted) when the rule lists numbers.
    texts : tuple of str or None
        Possible values when the rule lists texts.
    integer : bool
        Whether only whole numbers are allowed.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from maskwright import EditSet, RangePart
    >>> EditSet.parse(["age in [0, 120]"])["edit-1"].parts == (RangePart("age", Fraction(0), Fraction(120)),)
    True
    """

    variable: str
    low: Fraction | None = None
    high: Fraction | None = None
    low_closed: bool = True
    high_closed: bool = True
    numbers: tuple[Fraction, ...] | None = None
    texts: tuple[str, ...] | None = None
    integer: bool = False

    @property
    def variables(self) -> tuple[str, ...]:
        """Variables used: one."""
        return (self.variable,)


@dataclass(frozen=True)
class GoverningPart:
    """``if condition then consequent (else otherwise)``.

    Attributes
    ----------
    condition : Expression
        Any condition.
    condition_parts : tuple of Part, or None
        The condition as a conjunction of parts that algebra works on, or None when it is not one.
    consequent, otherwise : tuple of Part
        Conjunctions; `otherwise` is empty when there is no else branch.
    refusal_parts : tuple of tuples of Part, or None
        The negated condition as a disjunction of conjunctions (``not(a and b)`` is ``(not a,) or (not b,)``);
        None when it has no such form.

    Examples
    --------
    >>> from maskwright import EditSet, GoverningPart
    >>> (part,) = EditSet.parse(["if employed == 0 then wages == 0"])["edit-1"].parts
    >>> isinstance(part, GoverningPart), part.variables
    (True, ('employed', 'wages'))
    """

    condition: Expression
    condition_parts: tuple[Part, ...] | None
    consequent: tuple[Part, ...]
    otherwise: tuple[Part, ...] = ()
    refusal_parts: tuple[tuple[Part, ...], ...] | None = None

    @property
    def variables(self) -> tuple[str, ...]:
        """Variables used, each once, in order of first use."""
        inner = (name for part in (*self.consequent, *self.otherwise) for name in part.variables)
        return tuple(dict.fromkeys((*self.condition_variables, *inner)))

    @property
    def condition_variables(self) -> tuple[str, ...]:
        """Variables that the condition reads, each once, in order of first use."""
        return variable_names(self.condition)


@dataclass(frozen=True)
class DomainPart:
    """The combination of these variables' values occurs in the original file."""

    variables: tuple[str, ...]


@dataclass(frozen=True)
class CheckedPart:
    """Any other condition: evaluated, never analysed."""

    expression: Expression

    @property
    def variables(self) -> tuple[str, ...]:
        """Variables used, each once, in order of first use."""
        return variable_names(self.expression)


Part = LinearPart | ProductPart | PolynomialPart | RangePart | GoverningPart | DomainPart | CheckedPart
"""What algebra finds in a rule: an edit is the conjunction of its parts.

Examples
--------
>>> from maskwright import EditSet, Part, RangePart
>>> parts: tuple[Part, ...] = EditSet.parse(["0 <= age and age <= 120 and sex in {1, 2}"])["edit-1"].parts
>>> [part.variable for part in parts if isinstance(part, RangePart)]
['age', 'sex']
"""

PART_KINDS: tuple[tuple[type, EditKind], ...] = (
    (CheckedPart, "checked"),
    (GoverningPart, "governing"),
    (DomainPart, "domain"),
    (ProductPart, "product"),
    (PolynomialPart, "product"),
    (LinearPart, "linear"),
    (RangePart, "range"),
)


@dataclass(frozen=True)
class FileTest:
    """A test on all records of a file together, in exact arithmetic; the `names` of the variables that it reads."""

    names: tuple[str, ...]


@dataclass(frozen=True)
class Edit:
    """One rule, as one assert or one line of YAML states it.

    Attributes
    ----------
    name : str
        Unique in its `EditSet`.
    expression : Expression
        The rule as written: true for a record that obeys it. What is validated.
    parts : tuple of Part
        The conjunction that algebra found in it. What masking and adjustment work on.
    variables : tuple of str
        In order of first use.
    text : str
        The rule's source text, on one line.
    binding : {"exact", "xpath1"}
        How the verdict is computed: decimal arithmetic and three truth values (YAML), or XPath 1.0 (Schematron).
    message : str
        What to tell a person; never contains values (``value-of`` is shown as the variable's name).
    severity : {"error", "warning"}
        Only errors stop a release.
    label : str
        What the rule is about, in a few words.
    when : Expression or None
        Condition of the records the edit is for; `expression` is ``if when then rule``. None: all records.
    ranged : bool
        Whether ranges of variables (``sum(V3..V7)``) are still to be written out; `variables` then names their ends.
    in_days : bool
        Whether `expression` turns the seconds of datetimes into days; `text` is as it was written.
    place : Place or None
        File and line.
    context : str or None
        Schematron: element name or absolute path of the records that it fires on. None (YAML): every record.
    shadowed : bool
        Schematron: an earlier rule of the same pattern matches the same records, so this one never fires.
    checked_by : str
        Engine of the verdict: ``model``, or ``lxml`` and ``saxon`` for tests outside the subset.
    assertion : Assertion or None
        Schematron: how the file states it. None (YAML).
    engine : EngineTest or None
        What decides tests outside the subset, and rules about all records together; masking cannot work on them.
    validated_by : EngineTest or None
        What decides on a file tests of XPath 2 that are understood and kept, but that some value could make fail.
    level : str
        Level of the records that the rule is about; "" where there is only one.
    whole : bool
        Whether it is one rule though `expression` may be a conjunction, as a bound on every member of a group is.
    limit_of : int or None
        Number of the step whose limit it is; None: a rule of the pipeline.
    from_data : bool
        Whether the limit was found in the data, and is not published.
    stated : StatedNames or None
        Schematron: elements that context and test name, by their namespaces, until the data say what they call them.

    Examples
    --------
    >>> from maskwright import EditSet
    >>> edit = EditSet.parse([{"rule": "wages + pensions == income", "name": "totals"}])["totals"]
    >>> edit.kind, edit.variables, edit.severity
    ('linear', ('wages', 'pensions', 'income'), 'error')
    """

    name: str
    expression: Expression
    parts: tuple[Part, ...]
    variables: tuple[str, ...]
    text: str
    binding: Binding = "exact"
    message: str = ""
    severity: Severity = "error"
    label: str = ""
    when: Expression | None = None
    ranged: bool = False
    in_days: bool = False
    place: Place | None = None
    context: str | None = None
    shadowed: bool = False
    checked_by: str = "model"
    assertion: Assertion | None = None
    engine: EngineTest | None = None
    validated_by: EngineTest | None = None
    level: str = ""
    whole: bool = False
    limit_of: int | None = None
    from_data: bool = False
    stated: StatedNames | None = None

    @cached_property
    def named(self) -> tuple[str, ...]:
        """Variables that it names, those too that masking cannot work on; of tests of an engine, all elements."""
        elements = () if self.engine is None else self.engine.names
        return tuple(dict.fromkeys((*self.variables, *(local(name).lstrip("@") for name in elements))))

    @cached_property
    def read(self) -> tuple[str, ...]:
        """Variables that a verdict needs: the ends between which what members say lies are columns of their own."""
        return tuple(dict.fromkeys((*self.variables, *variable_names(self.expression))))

    @property
    def looks_beyond(self) -> bool:
        """Whether the verdict on a record depends on other records."""
        engine = self.for_validation.engine
        return engine is not None and (isinstance(engine, FileTest) or not engine.pattern.stays_in_record)

    @property
    def for_validation(self) -> Edit:
        """The edit as a file is checked against it: by the engine that gives its verdict, if one does."""
        engine = self.validated_by
        return self if engine is None else replace(self, engine=engine, checked_by=engine.pattern.engine)

    @property
    def kind(self) -> EditKind:
        """Kind of the edit: that of its least tractable part."""
        for part_type, kind in PART_KINDS:
            if any(isinstance(part, part_type) for part in self.parts):
                return kind
        return "checked"
