"""The other way to protect a record: new keys from a group of at least k.

A description only; how groups are formed and keys are drawn is the business of ``kanonymity``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["Grouping"]


@dataclass(frozen=True)
class Grouping:
    """What is done to the keys of each record.

    Attributes:
        method: ``centroid``, ``resample``, ``permute`` or ``gaussian``.
        k: the least number of records in a group.
        clustering: how groups are found.
        responses: columns of numbers that similar records should share.
        response_weight: the weight of a response beside a key.
        max_size: the largest size of a group, if there is one.
        distinct: at least so many values of each sensitive column in a group.
        closeness: the largest distance of a group's sensitive values from those of all.
    """

    method: str
    k: int
    clustering: str = "default"
    responses: tuple[str, ...] = ()
    response_weight: float = 1.0
    max_size: int | None = None
    distinct: int = 1
    closeness: float = 1.0

    def to_json(self) -> dict[str, Any]:
        """What a certificate says of it."""
        return {
            "method": self.method,
            "k": self.k,
            "clustering": self.clustering,
            "responses": list(self.responses),
            "response_weight": self.response_weight,
            "max_size": self.max_size,
            "distinct": self.distinct,
            "closeness": self.closeness,
        }

    @classmethod
    def from_json(cls, form: dict[str, Any]) -> Grouping:
        """The reverse of :meth:`to_json`."""
        return cls(**form | {"responses": tuple(form["responses"])})
