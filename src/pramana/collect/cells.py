"""Cells that need not be spelled: all combinations of the answers, the last question fastest.

A survey by reports has hundreds of sets, and almost all of them have every combination of their
questions' answers as cells. A phone loads the page, and everybody the definition: both leave such
cells out, and whoever reads them spells them from the questions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import prod
from operator import eq
from typing import Any, Final

from pramana.errors import NotARelease
from pramana.matrices.mechanism import Mechanism
from pramana.matrices.reporting import Reporting
from pramana.matrices.transition import label_to_json
from pramana.release.certificate_fields import attribute_set_of, mechanism_of
from pramana.types import Form

__all__ = ["MOST_CELLS", "Answers", "cells_over", "follow", "shortened", "spelled_out"]

MOST_CELLS: Final = 5_000_000
"""Over all sets of a survey: each is kept in memory by who serves it."""

Answers = Mapping[str, Sequence[str]]
"""The answers to each question."""


def follow(columns: Sequence[str], cells: Sequence[Any], answers: Answers) -> bool:
    """Whether these cells are all combinations, in their order."""
    if not all(name in answers for name in columns) or len(cells) != _size(columns, answers):
        return False
    return all(map(eq, cells, _every(columns, answers)))


def _size(columns: Sequence[str], answers: Answers) -> int:
    return prod(len(answers[name]) for name in columns)


def _every(columns: Sequence[str], answers: Answers) -> Iterator[tuple[str, ...]]:
    return product(*(answers[name] for name in columns))


def cells_over(mechanism: Mechanism) -> int:
    """How many cells all sets have together, or all steps."""
    return sum(len(part.cells) for part in _parts(mechanism) if part.matrix is not None)


def _parts(mechanism: Mechanism) -> Sequence[Any]:
    return mechanism.sets if isinstance(mechanism, Reporting) else mechanism.steps


def shortened(mechanism: Mechanism, answers: Answers) -> list[Form]:
    """The plain form of a mechanism without the labels that follow from the questions."""
    forms = []
    for part in _parts(mechanism):
        form, cells = part.to_json(), () if part.matrix is None else part.cells
        if follow(part.columns, cells, answers):
            del form["matrix"]["labels"]
        forms.append(form)
    return forms


def spelled_out(forms: list[Any], answers: Answers, *, reports: bool) -> Mechanism:
    """The reverse: the mechanism, with the labels where there are none."""
    known = [form["columns"] if _is_short(form, answers) else None for form in forms]
    if sum(_size(own, answers) for own in known if own is not None) > MOST_CELLS:
        raise NotARelease(f"A survey may have at most {MOST_CELLS:,} cells over all its sets.")
    labels = [None if own is None else _labels(own, answers) for own in known]
    if reports:
        return Reporting(tuple(map(attribute_set_of, forms, labels)))
    return mechanism_of([_spelled(form, own) for form, own in zip(forms, labels, strict=True)])


def _is_short(form: Any, answers: Answers) -> bool:
    """Whether it is of questions of the survey, and says nothing of their cells."""
    if not isinstance(form, dict):
        return False
    columns, matrix = form.get("columns"), form.get("matrix")
    if not isinstance(columns, list) or not isinstance(matrix, dict) or "labels" in matrix:
        return False
    return bool(columns) and all(isinstance(own, str) and own in answers for own in columns)


def _labels(columns: Sequence[str], answers: Answers) -> tuple[Any, ...]:
    """The labels of a matrix over all combinations."""
    return tuple(own[0] if len(own) == 1 else own for own in _every(columns, answers))


def _spelled(form: Any, labels: tuple[Any, ...] | None) -> Any:
    if labels is None:
        return form
    return form | {"matrix": form["matrix"] | {"labels": [label_to_json(own) for own in labels]}}
