"""Rules in R, as the package validate has them: trees of R to expression trees of our language.

Source: M. van der Loo, E. de Jonge, "The Data Validation Cookbook" (package validate), chapters on variable checks,
multivariate checks and rule files; R's ``?Syntax`` for the binding of operators.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, cast

from maskwright.data.date_texts import iso_day
from maskwright.edits import expression as x
from maskwright.edits.algebra.conditions import all_of, any_of
from maskwright.edits.languages.conversion.converted import Inexpressible
from maskwright.edits.languages.r_validate.r_syntax import DEEPEST, Node, arguments_of, is_call, is_name
from maskwright.edits.languages.r_validate.text_rules import BY_GROUP, by_group, found_in, of_length, unescaped

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

LONGEST_SEQUENCE = 1_000
LARGEST_TREE = 10_000

_AGGREGATES = frozenset(
    "sum mean median min max var sd quantile cor length nrow any all all_complete all_unique is_unique unique "  # noqa: SIM905
    "duplicated do_by sum_by mean_by min_by max_by is_linear_sequence in_linear_sequence part_whole_relation "
    "contains_exactly contains_at_least contains_at_most does_not_contain exists_any exists_one hierarchy".split()
)
_REASONS = {
    "round": "R rounds halves to the even digit, the YAML language upwards",
    "is.numeric": "it asks for the type of a column, which the data's declaration settles",
    "is.character": "it asks for the type of a column, which the data's declaration settles",
    "nchar": "a number of characters is understood where it is compared with a number: nchar(x) == 4",
    "field_format": "a pattern is understood with type = 'regex', as grepl() is",
    "number_format": "rules do not look at how a number is written",
}  # fmt: skip
_CONSTANTS = {"TRUE": True, "T": True, "FALSE": False, "F": False}


class Translator:
    """Trees of R as expressions, with what ``:=`` defined before."""

    def __init__(self, defined: Mapping[str, Node]) -> None:
        self._defined = defined
        self._visited = 0
        self._level = 0

    def condition(self, node: Node) -> x.Expression:
        """Rule, or part of one."""
        return self._counted(node, self._condition)

    def value(self, node: Node) -> x.Expression:
        """Number, or text, or variable."""
        return self._counted(node, self._value)

    def _counted(self, node: Node, read: Callable[[Node], x.Expression]) -> x.Expression:
        """What := defined may make a short rule huge."""
        self._visited += 1
        self._level += 1
        if self._visited > LARGEST_TREE or self._level > DEEPEST:
            raise Inexpressible("it grows too large when what := defined is written out")
        found = read(node)
        self._level -= 1
        return found

    def _condition(self, node: Node) -> x.Expression:  # noqa: C901, PLR0911 - one case for each kind of node
        parts = node.children
        match node.data:
            case "conditional":
                given, then, other = (None if part is None else self.condition(cast("Node", part)) for part in parts)
                assert given is not None
                assert then is not None
                return x.IfThen(given, then, other)
            case "any_of":
                return x.Or((self.condition(cast("Node", parts[0])), self.condition(cast("Node", parts[2]))))
            case "all_of":
                return x.And((self.condition(cast("Node", parts[0])), self.condition(cast("Node", parts[2]))))
            case "negated":
                return x.Not(self.condition(cast("Node", parts[0])))
            case "compared":
                return self._compared(*parts)
            case "special" if str(parts[1]) in ("%in%", "%vin%"):
                return self._listed(cast("Node", parts[0]), cast("Node", parts[2]))
            case "call":
                return self._call(str(parts[0]), [cast("Node", part) for part in parts[1:] if part is not None])
            case "name" if str(parts[0]) in _CONSTANTS:
                return x.Truth(_CONSTANTS[str(parts[0])])
            case "name" if str(parts[0]) in self._defined:
                return self.condition(self._value_of(str(parts[0])))
            case "dependency":
                raise Inexpressible("a functional dependency (~) compares records with each other")
            case _:
                raise Inexpressible("it is no condition on a record")

    def _value(self, node: Node) -> x.Expression:  # noqa: PLR0911 - one case for each kind of node
        parts = node.children
        match node.data:
            case "number":
                return x.Number(Fraction(str(parts[0]).removesuffix("L")))
            case "text":
                return x.Text(unescaped(str(parts[0])[1:-1]))
            case "quoted":
                return x.VariableReference(str(parts[0])[1:-1])
            case "name":
                return self._name(str(parts[0]))
            case "signed":
                inner = self.value(cast("Node", parts[1]))
                if str(parts[0]) == "+":
                    return inner
                return x.Number(-inner.value) if isinstance(inner, x.Number) else x.Negative(inner)
            case "arithmetic":
                operator = cast("x.ArithmeticOperator", "^" if str(parts[1]) == "**" else str(parts[1]))
                return x.Arithmetic(operator, self.value(cast("Node", parts[0])), self.value(cast("Node", parts[2])))
            case "special":
                return self._special(*parts)
            case "call":
                return self._function(str(parts[0]), [cast("Node", part) for part in parts[1:] if part is not None])
            case _:
                raise Inexpressible("it calculates with a condition")

    def _name(self, name: str) -> x.Expression:
        if name in self._defined:
            return self.value(self._value_of(name))
        if name in ("NA", "NULL", "NaN", "Inf", ".") or name in _CONSTANTS:
            raise Inexpressible(f"it uses {name} as a value")
        return x.VariableReference(name)

    def _value_of(self, name: str) -> Node:
        return self._defined[name]

    def _listed(self, node: Node, codes: Node) -> x.Expression:
        """``x %in% c(1, NA)``: R finds a missing value where NA is listed, and nowhere else."""
        members, holds_missing = self._members(codes)
        found: list[x.Expression] = [x.InSet(self.value(node), members)] if members else []
        if holds_missing:
            found.append(x.IsMissing(self._variable(node, "%in% with NA")))
        if not found:
            raise Inexpressible("the code list is empty")
        return any_of(found)

    def _compared(self, left: object, operator: object, right: object) -> x.Expression:
        for chosen, is_left in ((cast("Node", left), True), (cast("Node", right), False)):
            if is_call(chosen, "ifelse") and len(chosen.children) == 4:
                condition, *branches = (cast("Node", child) for child in chosen.children[1:])
                given = self.condition(condition)
                # Where R chooses NA, nothing is said of the record.
                compared = [
                    None if is_name(each, "NA")
                    else self._compared(each, operator, right) if is_left else self._compared(left, operator, each)
                    for each in branches
                ]  # fmt: skip
                return chosen_of(given, *compared)
        length = self._of_length(cast("Node", left), str(operator), cast("Node", right))
        if length is not None:
            return length
        first, second = self.value(cast("Node", left)), self.value(cast("Node", right))
        return x.Comparison(cast("x.ComparisonOperator", str(operator)), first, second)

    def _of_length(self, left: Node, operator: str, right: Node) -> x.Expression | None:
        """``nchar(x) == 4``; None where no length is compared."""
        mirrored = x.MIRRORED[cast("x.ComparisonOperator", operator)]
        for call, other, sign in ((left, right, operator), (right, left, mirrored)):
            if is_call(call, "nchar") and len(call.children) == 2:
                length = self.value(other)
                if not isinstance(length, x.Number) or length.value.denominator != 1:
                    raise Inexpressible(_reason("nchar"))
                return of_length(self._variable(cast("Node", call.children[1]), "nchar"), sign, int(length.value))
        return None

    def _flag(self, given: Mapping[str, Node], name: str) -> bool:
        """Whether an argument that is left out, TRUE or FALSE is TRUE."""
        if name not in given:
            return False
        said = self.condition(given[name])
        if not isinstance(said, x.Truth):
            raise Inexpressible(f"{name} is neither TRUE nor FALSE")
        return said.value

    def _found(self, name: str, arguments: Sequence[Node]) -> x.Expression:
        """``grepl("^[0-9]+$", x)``, ``field_format(x, "^[0-9]+$", type = "regex")``."""
        order = ("pattern", "x") if name == "grepl" else ("x", "pattern", "type")
        given = arguments_of(name, arguments, order, ("fixed",) if name == "grepl" else ())
        pattern = self.value(given["pattern"])
        if not isinstance(pattern, x.Text):
            raise Inexpressible("its pattern is not written out")
        if name == "field_format" and ("type" not in given or self.value(given["type"]) != x.Text("regex")):
            raise Inexpressible(_reason(name))
        variable = self._variable(given["x"], name)
        return found_in(pattern.value, variable, fixed=self._flag(given, "fixed"))

    def _field_length(self, arguments: Sequence[Node]) -> x.Expression:
        given = arguments_of("field_length", arguments, ("x", "n", "min", "max"), (), needed=1)
        variable = self._variable(given["x"], "field_length")
        held: list[x.Expression] = []
        for name, operator in (("n", "=="), ("min", ">="), ("max", "<=")):
            if name in given:
                length = self.value(given[name])
                if not isinstance(length, x.Number) or length.value.denominator != 1:
                    raise Inexpressible("its length is not written out")
                held.append(of_length(variable, operator, int(length.value)))
        if not held:
            raise Inexpressible("its length is not written out")
        return all_of(held)

    def _by_group(self, name: str, arguments: Sequence[Node]) -> x.Expression:
        order = ("x", "by", "fun") if name == "do_by" else ("x", "by")
        given = arguments_of(name, arguments, order, ("na.rm",))
        keys = given["by"]
        listed = [cast("Node", each) for each in keys.children[1:]] if is_call(keys, "list") else [keys]
        said: dict[str, object] = {"x": self.value(given["x"])}
        said["by"] = tuple(self._variable(each, name).name for each in listed)
        if "fun" in given:
            said["fun"] = str(given["fun"].children[0]) if given["fun"].data == "name" else "?"
        return by_group(name, said, skips_missing=self._flag(given, "na.rm"))

    def _special(self, left: object, operator: object, right: object) -> x.Expression:
        first, second = self.value(cast("Node", left)), self.value(cast("Node", right))
        whole = x.Function("floor", (x.Arithmetic("/", first, second),))
        match str(operator):
            case "%/%":
                return whole
            case "%%":
                # R's remainder has the sign of the divisor.
                return x.Arithmetic("-", first, x.Arithmetic("*", second, whole))
            case other:
                raise Inexpressible(f"it uses {other}")

    def _members(self, node: Node) -> tuple[tuple[x.Number | x.Text, ...], bool]:
        """Literals of ``c(1, 2)``, ``1:5`` or one literal, and whether NA is among them."""
        if node.data == "name" and str(node.children[0]) in self._defined:
            return self._members(self._value_of(str(node.children[0])))
        if node.data == "call" and str(node.children[0]) == "c":
            listed = [cast("Node", child) for child in node.children[1:] if child is not None]
            found = [self._members(child) for child in listed]
            return tuple(member for members, _ in found for member in members), any(each for _, each in found)
        if is_name(node, "NA"):
            return (), True
        if node.data == "sequence":
            first, last = (self.value(cast("Node", child)) for child in node.children)
            if isinstance(first, x.Number) and isinstance(last, x.Number) and first.value.denominator == 1:
                size = int(last.value - first.value)
                if not 0 <= size < LONGEST_SEQUENCE:
                    raise Inexpressible(f"the sequence has more than {LONGEST_SEQUENCE} numbers, or runs downwards")
                return tuple(x.Number(first.value + step) for step in range(size + 1)), False
        if node.data in ("number", "text", "signed"):
            value = self.value(node)
            if isinstance(value, (x.Number, x.Text)):
                return (value,), False
        raise Inexpressible("the code list is not written out, as c('a', 'b') is")

    def _call(self, name: str, arguments: Sequence[Node]) -> x.Expression:  # noqa: PLR0911 - one for each function
        match name:
            case "is.na" if len(arguments) == 1:
                return x.IsMissing(self._variable(arguments[0], name))
            case "is_complete" | "all_complete" if arguments:
                return all_of([x.Not(x.IsMissing(self._variable(argument, name))) for argument in arguments])
            case "xor" if len(arguments) == 2:
                one, other = (self.condition(argument) for argument in arguments)
                return x.Or((x.And((one, x.Not(other))), x.And((x.Not(one), other))))
            case "ifelse" if len(arguments) == 3:
                given, *branches = arguments
                said = [None if is_name(each, "NA") else self.condition(each) for each in branches]
                return chosen_of(self.condition(given), *said)
            case "grepl" | "field_format":
                return self._found(name, arguments)
            case "field_length":
                return self._field_length(arguments)
            case "is_unique" if arguments and not any(each.data == "named" for each in arguments):
                return x.Unique(tuple(dict.fromkeys(self._variable(each, name).name for each in arguments)))
            case "in_range" | "between":
                return self._in_range(name, arguments)
            case _:
                raise Inexpressible(_reason(name))

    def _in_range(self, name: str, arguments: Sequence[Node]) -> x.Expression:
        names = ["x", "min", "max", "strict"]
        given: dict[str, Node] = {}
        for argument in arguments:
            if argument.data == "named":
                given[str(argument.children[0])] = cast("Node", argument.children[1])
            else:
                free = next((one for one in names if one not in given), None)
                given[free or "?"] = argument
        if set(given) - set(names) or not {"x", "min", "max"} <= set(given):
            raise Inexpressible(f"{name}() is understood with x, min, max and strict")
        strict = "strict" in given and self.condition(given["strict"]) == x.Truth(True)
        bounds = [self.value(given[key]) for key in ("min", "max")]
        if any(isinstance(bound, x.Text) for bound in bounds):
            raise Inexpressible("it compares dates or periods")
        return x.InInterval(self.value(given["x"]), bounds[0], bounds[1], not strict, not strict)

    def _function(self, name: str, arguments: Sequence[Node]) -> x.Expression:
        if name in BY_GROUP:
            return self._by_group(name, arguments)
        if any(argument.data == "named" for argument in arguments) and name not in _AGGREGATES:
            raise Inexpressible(f"it calls {name}() with named arguments")
        match name, len(arguments):
            case ("abs" | "floor" | "ceiling") as known, 1:
                return x.Function(known, (self.value(arguments[0]),))
            case ("pmin" | "pmax") as known, count if count > 1:
                return x.Function(known[1:], tuple(self.value(argument) for argument in arguments))
            case (("as.numeric" | "as.character" | "as.integer"), 1) if name != "as.integer":
                return self.value(arguments[0])
            case "as.Date", 1:
                return self._date(self.value(arguments[0]))
            case "sqrt", 1:
                return x.Arithmetic("^", self.value(arguments[0]), x.Number(Fraction(1, 2)))
            case _:
                raise Inexpressible(_reason(name))

    @staticmethod
    def _date(value: x.Expression) -> x.Expression:
        """A variable is a date by its declaration, and a text by what it says."""
        if isinstance(value, x.Text):
            day = iso_day(value.value)
            if day is None:
                raise Inexpressible("as.Date() of a text that is no date written as 2005-12-31")
            return x.Date(day)
        if not isinstance(value, x.VariableReference):
            raise Inexpressible("as.Date() of something computed")
        return value

    def _variable(self, node: Node, taker: str) -> x.VariableReference:
        value = self.value(node)
        if not isinstance(value, x.VariableReference):
            raise Inexpressible(f"{taker}() of something computed")
        return value


def chosen_of(given: x.Expression, consequent: x.Expression | None, otherwise: x.Expression | None) -> x.Expression:
    """``ifelse(given, consequent, otherwise)``, None where it is NA."""
    if consequent is None and otherwise is None:
        raise Inexpressible("both branches of ifelse() are NA")
    if consequent is None:
        assert otherwise is not None
        return x.IfThen(x.Not(given), otherwise)
    return x.IfThen(given, consequent, otherwise)


def _reason(name: str) -> str:
    if name in _AGGREGATES:
        return f"{name}() uses all records together; a rule here is about one record"
    return _REASONS.get(name, f"the function {name}() is not known here")
