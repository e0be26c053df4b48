"""What statistical packages say about columns beside their values."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from pramana.table.domains import Label

__all__ = ["Labels"]


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

    def __bool__(self) -> bool:
        return bool(self.variables or self.values or self.missing)


def _whole(value: Label) -> Label:
    return int(value) if isinstance(value, float) and value.is_integer() else value
