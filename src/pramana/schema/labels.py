"""Variable and value labels of statistical packages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from pramana.schema.domains import Bins, Domain, Label, label_key, label_text

if TYPE_CHECKING:
    from pramana.schema.schema import Schema

MISSING = "missing"


@dataclass(frozen=True)
class Labels:
    """What a statistical package says about its columns, kept so that it can be written back.

    Attributes:
        variables: The label of a column.
        values: The label of each value of a column.
        measures: Nominal, ordinal or scale, in the words of the package.
        missing: The values of a column that stand for missing, as the package calls them.
    """

    variables: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, Mapping[Label, str]] = field(default_factory=dict)
    measures: Mapping[str, str] = field(default_factory=dict)
    missing: Mapping[str, tuple[Label, ...]] = field(default_factory=dict)

    def of_columns(self, names: Collection[str]) -> Labels:
        """What is said about some columns and their values, whole numbers as such."""
        return Labels(
            {name: text for name, text in self.variables.items() if name in names},
            {
                name: {_whole(value): text for value, text in own.items()}
                for name, own in self.values.items()
                if name in names and own
            },
        )

    def released(
        self, schema: Schema, occurring: Callable[[str], Collection[Label | None]]
    ) -> Labels:
        """What may leave with a release: labels of values that the schema or the records tell.

        A label of any other value speaks of the truth: of a value that was dropped, or that
        nobody is shown to have. Columns with a domain keep the labels of the domain, others those
        of the values that occur in the release; a number with noise is none that has a label.
        They leave in the order of their values: the file may list them as its records came.
        """
        names = [column.name for column in schema.released]
        domains = {
            c.name: c.domain
            for c in schema.released
            if c.domain is not None and (c.coded or c.listed)
        }
        noisy = {column.name for column in schema.noisy}
        shown = {
            name: _labelled(domains[name]) if name in domains else set(occurring(name))
            for name in names
            if self.values.get(name) and name not in noisy
        }
        values = {
            name: {value: text for value, text in _in_order(self.values[name]) if value in own}
            for name, own in shown.items()
        }
        return Labels(
            {name: text for name, text in self.variables.items() if name in names},
            {name: own for name, own in values.items() if own},
            {name: word for name, word in self.measures.items() if name in names},
        )

    def beside_missing(self, schema: Schema) -> Labels:
        """The same, with the values that the schema says stand for missing, as they leave.

        The schema alone says which: a certificate keeps no other list, and a text file has none. A
        code beside bins that leave by their names leaves as a text, and so does its label.
        """
        values, missing = dict(self.values), {}
        for column in schema.released:
            domain = column.domain
            if domain is None or not domain.missing_values or not (column.coded or column.listed):
                continue
            by_name = isinstance(domain, Bins) and domain.release == "label"
            own = domain.missing_labels if by_name else domain.missing_values
            missing[column.name] = own
            if column.name in values:
                spelled = dict(zip(domain.missing_values, own, strict=True))
                named = values[column.name].items()
                values[column.name] = {spelled.get(value, value): text for value, text in named}
        return replace(self, values=values, missing=missing)

    def title(self, column: str) -> str:
        """The label of a column with its name; the name alone where there is none.

        >>> Labels({"q1": "Sex of the respondent"}).title("q1")
        'Sex of the respondent (q1)'
        """
        label = self.variables.get(column, "").strip()
        return f"{label} ({column})" if label and label != column else column

    def named(self, column: str, values: Iterable[Label]) -> tuple[str, ...]:
        """Values in words: labels where there are any; what would read alike also has its code.

        >>> Labels(values={"q1": {1: "Man", 2: "Woman", 3: "Woman"}}).named("q1", (1, 2, 3, None))
        ('Man', 'Woman (2)', 'Woman (3)', 'missing')
        """
        own = {label_key(value): text for value, text in self.values.get(column, {}).items()}
        codes = [MISSING if value is None else label_text(value) for value in values]
        words = [own.get(code, "").strip() or code for code in codes]
        often = Counter(words)
        return tuple(
            f"{word} ({code})" if often[word] > 1 and (word != code or code == MISSING) else word
            for word, code in zip(words, codes, strict=True)
        )

    def beside_codes(self, column: str, values: Iterable[Label]) -> tuple[str, ...]:
        """Codes, each with its label where there is one.

        >>> Labels(values={"q1": {1: "Man", "b": "b"}}).beside_codes("q1", (1, 2, "b", None))
        ('1 Man', '2', 'b', 'missing')
        """
        own = {label_key(value): text for value, text in self.values.get(column, {}).items()}
        codes = [MISSING if value is None else label_text(value) for value in values]
        words = [own.get(code, "").strip() for code in codes]
        return tuple(
            f"{code} {word}" if word and word != code else code
            for word, code in zip(words, codes, strict=True)
        )

    def __bool__(self) -> bool:
        return bool(self.variables or self.values or self.missing)


def _in_order(labels: Mapping[Label, str]) -> list[tuple[Label, str]]:
    """Numbers before texts, each in their own order."""
    return sorted(labels.items(), key=lambda item: (isinstance(item[0], str), item[0]))


def _whole(value: Label) -> Label:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _labelled(domain: Domain) -> set[Label]:
    """The values of a domain, and the codes that stand for missing in it."""
    return {*domain.labels, *domain.missing_values}
