"""Parse regression formulas to terms, and evaluate the terms on columns.

A formula may be a text of a stranger, in a plan file or in a request to the studio. It is parsed to
a tree of columns, numbers, operators and the functions of a fixed table. Nothing is evaluated as
Python. The grammar is that of R:

    y ~ a + b       terms side by side, with an intercept; - 1 or + 0 leaves it out
    a:b  a*b  a/b   interaction; a + b + a:b; a + a:b
    (a + b)**2      all interactions up to that degree, also written ^
    `a name`        a column whose name has other characters
    C(a)            a column as categories; C(a, levels=["low", "high"]) states their order
    I(a**2)         arithmetic and comparisons; likewise log(a + 1), sqrt(a), exp(a) and so on
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import numpy as np

from pramana.errors import InvalidNumber, NotCovered, PramanaError, UnknownColumn

MOST_LETTERS: Final = 10_000
MOST_TERMS: Final = 1_000

FUNCTIONS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "I": lambda values: values,
    "abs": np.abs,
    "exp": np.exp,
    "expm1": np.expm1,
    "log": np.log,
    "log10": np.log10,
    "log1p": np.log1p,
    "log2": np.log2,
    "sqrt": np.sqrt,
}
"""Functions of one value; each may be written with the prefix ``np.``."""

WHOLE_COLUMN: Final = frozenset(
    ("bs", "cc", "center", "cr", "cs", "lag", "poly", "scale", "standardize")
)
"""Functions that R and others have and that depend on all values of a column."""

OPERATORS: Final[Mapping[type[ast.AST], Callable[..., Any]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
}
COMPARISONS: Final[Mapping[type[ast.AST], Callable[..., Any]]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
ALLOWED: Final = (
    "A formula has columns (in backticks if the name has other characters than letters, digits "
    "and _), numbers, the operators + - * / : ** ^ and parentheses, C() or C(x, levels=[...]) for "
    f"categories, and {', '.join(f'{name}()' for name in FUNCTIONS)} of arithmetic and comparisons."
)

QUOTED: Final = "`[^`]+`"
TOKEN: Final = re.compile(
    rf"\s*(?:(?P<quoted>{QUOTED})|(?P<name>[^\W\d][\w.]*)|(?P<number>\d+)|(?P<sign>\*\*|[-+*/:^()]))"
)
BARE_NAME: Final = re.compile(r"[^\W\d][\w.]*")
"""A name that needs no backticks."""

STAND_IN: Final = "_quoted_"
"""Begins the word that replaces a name in backticks while Python's grammar is applied."""

INSIDE: Final = re.compile(rf"{QUOTED}|'[^']*'|\"[^\"]*\"|[()]|[^`'\"()]+")
"""A piece of the text between the parentheses of a function."""


@dataclass(frozen=True)
class Factor:
    """A column, or a function of columns, that is one part of a term.

    Attributes:
        text: The factor as it is written, with spaces as in Python; its name in results.
        tree: The expression.
        quoted: The names of columns in backticks, by the word that replaces each in the tree.
        columns: All columns that it names.
    """

    text: str
    tree: ast.expr = field(compare=False)
    quoted: tuple[str, ...] = ()
    columns: frozenset[str] = field(default=frozenset(), compare=False)

    @property
    def categories(self) -> str | None:
        """The column ``a`` of a factor ``C(a)``."""
        if isinstance(self.tree, ast.Call) and _function(self.tree) == "C":
            return _column(self.tree.args[0], self.quoted)
        return None

    @property
    def levels(self) -> list[Any] | None:
        """The values of a factor ``C(a, levels=[...])`` in the stated order."""
        if not isinstance(self.tree, ast.Call) or not self.tree.keywords:
            return None
        return list(ast.literal_eval(self.tree.keywords[0].value))

    @property
    def is_column(self) -> bool:
        """Whether it is a column and no function."""
        return _column(self.tree, self.quoted) is not None

    def evaluate(self, frame: Any) -> Any:
        """Its values on all rows of a data frame: a column, numbers, or categories."""
        import pandas as pd

        name = _column(self.tree, self.quoted)
        if name is not None:
            return frame[name]
        if isinstance(self.tree, ast.Call) and _function(self.tree) == "C":
            column = self.categories
            if column is not None:
                if self.levels is not None and not frame[column].isin(self.levels).all():
                    raise InvalidNumber(
                        "{text} must name all values of the column.", text=self.text
                    )
                values = pd.Categorical(frame[column], categories=self.levels)
                return pd.Series(values, index=frame.index)
            values = _value(self.tree.args[0], self.quoted, frame.__getitem__)
            return pd.Series(pd.Categorical(values), index=frame.index)
        values = _value(self.tree, self.quoted, frame.__getitem__)
        return pd.Series(np.broadcast_to(values, len(frame)), index=frame.index)


def _column(node: ast.AST, quoted: Sequence[str]) -> str | None:
    """The column that a node is; names of columns may have dots."""
    name = _dotted(node)
    if name is not None and name.startswith(STAND_IN):
        return quoted[int(name.removeprefix(STAND_IN))]
    return name


def _value(node: ast.AST, quoted: Sequence[str], column: Callable[[str], Any]) -> Any:
    """The value of an expression of columns, numbers, arithmetic, comparisons and known functions.

    Every other node is refused: an expression is checked by evaluating it on empty columns.
    """

    def number(inner: ast.AST) -> Any:
        """The value as a number; a comparison that holds is 1."""
        return _value(inner, quoted, column) * 1.0

    name = _column(node, quoted)
    if name is not None:
        return np.asarray(column(name), dtype=np.float64)
    match node:
        case ast.Constant(value=int() | float() as constant) if not isinstance(constant, bool):
            return np.float64(constant)
        case ast.UnaryOp() if type(node.op) in OPERATORS:
            return OPERATORS[type(node.op)](number(node.operand))
        case ast.BinOp() if type(node.op) in OPERATORS:
            return OPERATORS[type(node.op)](number(node.left), number(node.right))
        case ast.Compare(ops=[op], comparators=[right]) if type(op) in COMPARISONS:
            compare, name = COMPARISONS[type(op)], _column(node.left, quoted)
            if not (isinstance(right, ast.Constant) and isinstance(right.value, str)):
                return compare(number(node.left), number(right))
            if name is not None and isinstance(op, ast.Eq | ast.NotEq):  # a column and a text
                return np.asarray(compare(column(name).astype(object), right.value))
        case ast.Call() if _function(node) in FUNCTIONS:
            return FUNCTIONS[_function(node)](number(_argument(node)))
        case ast.Call():
            _argument(node)
    raise SyntaxError


Term: TypeAlias = tuple[Factor, ...]
"""Factors whose product it is; the intercept has none."""


INTERCEPT: Final[list[Term]] = [()]


def require_released(text: str, names: Iterable[str], released: Collection[str]) -> None:
    """Refuse columns of a formula, or of a question, that are not released."""
    for name in names:
        if name not in released:
            bare = re.sub(QUOTED, "", text)
            odd = [name for name in released if name in bare and not BARE_NAME.fullmatch(name)]
            hint = "" if not odd or "~" not in text else f" Write `{odd[0]}` in backticks."
            raise UnknownColumn(
                "'{text}' asks for '{column}', which is not released: it was dropped or never "
                "there.{hint} Columns: {released}.",
                column=name,
                text=text,
                hint=hint,
                released=", ".join(released),
            )


def parse_formula(text: str) -> tuple[list[Term], list[Term]]:
    """The terms left and right of ``~``, lower degrees first."""
    if not isinstance(text, str):
        raise InvalidNumber(
            "A formula is a text, such as income ~ age + sex, got {text!r}.", text=text
        )
    if len(text) > MOST_LETTERS:
        raise InvalidNumber(
            "A formula has at most {most_letters:,} characters, got {count:,}.",
            most_letters=MOST_LETTERS,
            count=len(text),
        )
    bare = re.sub(QUOTED, "", text)
    if bare.count("~") != 1 or not text.partition("~")[0].strip():
        raise InvalidNumber("A formula must have a response left of ~, got {text!r}.", text=text)
    if "|" in bare:
        raise InvalidNumber(
            "A formula has one part on each side of ~ and no |, got {text!r}.", text=text
        )
    middle = re.match(rf"(?:{QUOTED}|[^`~])*", text)
    assert middle is not None  # noqa: S101 - the pattern matches the empty text
    left, right = text[: middle.end()], text[middle.end() + 1 :]
    try:
        sides = _Parser(left).parse([]), _Parser(right).parse(INTERCEPT)
    except PramanaError:
        raise
    except (SyntaxError, RecursionError, MemoryError, OverflowError, ValueError):
        raise InvalidNumber(
            "A formula must read like income ~ age + sex + C(region), got {text!r}. {allowed}",
            text=text,
            allowed=ALLOWED,
        ) from None
    response, covariates = (sorted(terms, key=len) for terms in sides)
    return response, covariates


class _Parser:
    """Reads one side of a formula by recursive descent."""

    def __init__(self, text: str) -> None:
        self._tokens = _tokens(text)
        self._at = 0

    def parse(self, terms: list[Term]) -> list[Term]:
        """All terms of the text, after those that are implied."""
        terms = self._sum(terms)
        if self._next() is not None:
            raise SyntaxError
        return terms

    def _next(self) -> str | Factor | None:
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def _take(self, *signs: str) -> str | None:
        """The next token if it is one of these signs."""
        token = self._next()
        if not isinstance(token, str) or token not in signs:
            return None
        self._at += 1
        return token

    def _sum(self, terms: list[Term]) -> list[Term]:
        sign = self._take("+", "-") or "+"
        while sign:
            if self._take("0"):  # + 0 is - 1
                sign, operand = "-" if sign == "+" else "+", INTERCEPT
            else:
                operand = self._product()
            if sign == "+":
                terms = _union(terms, operand)
            else:
                left_out = {frozenset(term) for term in operand}
                terms = [term for term in terms if frozenset(term) not in left_out]
            sign = self._take("+", "-") or ""
        return terms

    def _product(self) -> list[Term]:
        terms = self._interaction()
        while sign := self._take("*", "/"):
            operand = self._interaction()
            if sign == "*":
                terms = _union(terms, operand, _crossed(terms, operand))
            else:
                parent = tuple(dict.fromkeys(factor for term in terms for factor in term))
                terms = _union(terms, _crossed([parent], operand))
        return terms

    def _interaction(self) -> list[Term]:
        terms = self._power()
        while self._take(":"):
            terms = _crossed(terms, self._power())
        return terms

    def _power(self) -> list[Term]:
        terms = base = self._atom()
        if self._take("**", "^"):
            degree = self._next()
            if not isinstance(degree, str) or not re.fullmatch("[1-9]", degree):
                raise SyntaxError
            self._at += 1
            for _ in range(int(degree) - 1):
                terms = _crossed(terms, base)
        return terms

    def _atom(self) -> list[Term]:
        if self._take("1"):
            return INTERCEPT
        if self._take("("):
            terms = self._sum([])
            if self._take(")"):
                return terms
        factor = self._next()
        if not isinstance(factor, Factor):
            raise SyntaxError
        self._at += 1
        return [(factor,)]


def _union(*sides: Sequence[Term]) -> list[Term]:
    """All terms once, in the order in which they are first named."""
    terms: dict[frozenset[Factor], Term] = {}
    for side in sides:
        for term in side:
            terms.setdefault(frozenset(term), term)
    return list(terms.values())


def _crossed(left: Sequence[Term], right: Sequence[Term]) -> list[Term]:
    """Every term of one side times every term of the other."""
    if len(left) * len(right) > MOST_TERMS:
        raise InvalidNumber("A formula has at most {most_terms:,} terms.", most_terms=MOST_TERMS)
    return _union([tuple(dict.fromkeys((*a, *b))) for a in left for b in right])


def _tokens(text: str) -> list[str | Factor]:
    """Signs and numbers as texts, columns and functions as factors."""
    tokens: list[str | Factor] = []
    text = text.rstrip()
    at = 0
    while at < len(text):
        token = TOKEN.match(text, at)
        if token is None:
            raise SyntaxError
        at = token.end()
        if token["quoted"]:
            tokens.append(_factor(token["quoted"]))
        elif token["name"] and text.startswith("(", at):
            begin, at = token.start("name"), _end_of_call(text, at)
            tokens.append(_factor(text[begin:at]))
        elif token["name"]:
            tokens.append(_factor(f"`{token['name']}`"))
        else:
            tokens.append(token["number"] or token["sign"])
    return tokens


def _end_of_call(text: str, at: int) -> int:
    """The end of the call whose parenthesis opens here."""
    depth = 0
    while piece := INSIDE.match(text, at):
        at = piece.end()
        depth += {"(": 1, ")": -1}.get(piece[0], 0)
        if not depth:
            return at
    raise SyntaxError


def _factor(text: str) -> Factor:
    """A column in backticks, or a call, as a tree that holds only allowed nodes."""
    quoted: list[str] = []

    def replaced(name: re.Match[str]) -> str:
        quoted.append(name[0].strip("`"))
        return f"{STAND_IN}{len(quoted) - 1}"

    if STAND_IN in re.sub(QUOTED, "", text):
        raise SyntaxError
    tree = ast.parse(re.sub(QUOTED, replaced, text), mode="eval").body
    if isinstance(tree, ast.Name):
        return Factor(quoted[0], tree, tuple(quoted), frozenset(quoted))
    if not isinstance(tree, ast.Call):
        raise SyntaxError
    columns: set[str] = set()

    def empty(name: str) -> Any:
        columns.add(name)
        return np.zeros(0)

    with np.errstate(all="ignore"):
        _value(_argument(tree) if _dotted(tree.func) == "C" else tree, quoted, empty)
    names = {f"{STAND_IN}{number}": f"`{name}`" for number, name in enumerate(quoted)}
    written = re.sub(rf"{STAND_IN}\d+", lambda word: names[word[0]], ast.unparse(tree))
    return Factor(written, tree, tuple(quoted), frozenset(columns))


def _argument(node: ast.Call) -> ast.expr:
    """The one argument of a call."""
    name = _function(node)
    if name in WHOLE_COLUMN:
        raise NotCovered(
            "{name}() looks at a whole column at once, and models of released records are put "
            "together value by value. Use functions of one value, as I(x**2), log(x) or I((x - "
            "40) / 10).",
            name=name,
        )
    match node:
        case ast.Call(args=[argument], keywords=[]) if not isinstance(argument, ast.Starred):
            return argument
        case ast.Call(
            args=[ast.Name() | ast.Attribute() as column],
            keywords=[ast.keyword("levels", ast.List(levels) | ast.Tuple(levels))],
        ) if name == "C" and levels and all(isinstance(level, ast.Constant) for level in levels):
            return column
    raise SyntaxError


def _function(node: ast.Call) -> str:
    """The name of the function that is called, without the prefix of NumPy."""
    return (_dotted(node.func) or "").removeprefix("np.")


def _dotted(node: ast.AST) -> str | None:
    """A name, or names with dots between them."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        before = _dotted(node.value)
        return None if before is None else f"{before}.{node.attr}"
    return None
