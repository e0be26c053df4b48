"""How results and progress look in a terminal."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console, JustifyMethod
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from pramana.base.text import text_down, text_up
from pramana.errors import harmless, in_one_line

if TYPE_CHECKING:
    from pramana.methods.plan import Plan
    from pramana.release.certificate import Certificate
    from pramana.types import Form
    from pramana.verification.checks import Check, Verdict
    from pramana.verification.whole_file import Publishable

NOISY = 0.1
"""Above this error, the default estimate is not the unbiased one."""


MARKS = {
    "passed": "[green]passed  [/]",
    "asserted": "[yellow]asserted[/]",
    "failed": "[bold red]FAILED  [/]",
}
"""How the three states of a check are shown."""


def out() -> Console:
    """The console for results."""
    return _console(sys.stdout)


class HarmlessConsole(Console):
    """All that is printed goes through here, whoever wrote it."""

    def render(self, *what: Any, **how: Any) -> Iterator[Segment]:
        """Parts of what is printed, without characters that command a terminal."""
        for part in super().render(*what, **how):
            yield part if part.control else Segment(harmless(part.text), part.style)


def _console(stream: Any) -> Console:
    # Columns of the output where it goes to a file: wide enough that no table is cut
    width = None if stream.isatty() else 100
    return HarmlessConsole(file=stream, highlight=False, emoji=False, width=width)


def show_json(form: Form) -> None:
    """One JSON object on stdout."""
    sys.stdout.write(json.dumps(form, indent=1, allow_nan=False) + "\n")


def note(message: str) -> None:
    """One line on stderr, apart from the result."""
    with suppress(OSError):  # what was done is done, even if nothing can be printed
        _console(sys.stderr).print(escape(in_one_line(message)), style="dim", soft_wrap=True)


LONG_NAME = 32


def table_of(
    heads: Sequence[str], rows: Iterable[Sequence[str]], *, right: Sequence[str] = ()
) -> Table:
    """A table; the columns named in ``right`` hold numbers.

    Where it is wider than the screen, texts go on in the next line: nothing is cut.
    """
    table = Table(box=box.SIMPLE, pad_edge=False, header_style="bold", show_edge=False)
    rows = list(rows)
    short = max((len(row[0]) for row in [*rows, heads]), default=0) <= LONG_NAME
    for place, head in enumerate(heads):
        side: JustifyMethod = "right" if head in right else "left"
        whole = not place and short  # long names go on in the next line, to leave room for numbers
        table.add_column(escape(head), justify=side, overflow="fold", no_wrap=whole)
    for row in rows:
        table.add_row(*(escape(in_one_line(cell)) for cell in row))
    return table


MOST_SETS = 30
"""The largest number of attribute sets listed; all are in the JSON."""


def show_plan(plan: Plan) -> None:
    """The treatment of each column, the guarantees, and the expected error."""
    console = out()
    form = plan.to_json()
    console.print(f"Method [bold]{escape(plan.method.name)}[/], {plan.records:,} records.")
    if plan.anonymity_set != plan.records:
        console.print(
            f"At least {plan.anonymity_set:,} of them share the columns that an attacker may know."
        )
    console.print()
    if "sets" in form or form["columns"]:  # methods in groups have no matrix to tell of
        console.print(_sets(form["sets"]) if "sets" in form else _columns(plan, form))
        if "sets" not in form:
            console.print("least unchanged: the least probability that a value stays unchanged.")
        console.print()
    if plan.trade_off is not None:
        console.print(plan.trade_off, markup=False, soft_wrap=True)
    show_promises(console, plan)
    gain = form.get("gain_over_equal")
    if gain is not None and gain >= 0.0005:
        console.print(
            f"The average error is {100 * gain:.1f} % lower than with the same retention for all "
            "columns, at the same k and epsilon."
        )
    for line in _changes(form):
        console.print(line)


def _columns(plan: Plan, form: Form) -> Any:
    """A row a column; columns that move together have one matrix, shown at the first of them."""
    heads = ("column", "values", "retention", "least unchanged", "epsilon")
    rows = []
    for name, parameters in form["columns"].items():
        if plan.mechanism.step_of(name).columns[0] != name:
            rows.append((name, f"with {parameters['together_with'][0]}", "", "", ""))
            continue
        numbers = (parameters.get(word) for word in ("retention", "smallest_diagonal", "epsilon"))
        shown = ("" if number is None else text_up(number, 3) for number in numbers)
        rows.append((name, f"{parameters['values']:,}", *shown))
    return table_of(heads, rows, right=heads[1:])


def _sets(sets: list[Form]) -> Any:
    """The attribute sets, the most frequent first."""
    heads = ("attribute set", "cells", "records", "retention")
    rows = [
        (
            " x ".join(one["columns"]),
            f"{one['cells']:,}",
            f"{100 * one['share']:.1f} %",
            text_up(one["retention"], 3),
        )
        for one in sets[:MOST_SETS]
    ]
    if len(sets) > MOST_SETS:
        rows.append((f"and {len(sets) - MOST_SETS:,} more sets", "", "", ""))
    return table_of(heads, rows, right=heads[1:])


def _changes(form: Form) -> Iterable[str]:
    """What a design that looked at the data does to them."""
    if form.get("unchanged"):
        yield "The original data meet the target: nothing is changed."
        return
    if "expected_changes" in form:
        yield (
            f"About {form['expected_changes']:,.1f} values change in {form['records']:,} records; "
            f"each is unchanged with probability at least {text_down(form['smallest_diagonal'])}."
        )
        gap = form.get("gap")
        if gap is not None:
            yield f"At most {100 * gap:.2g} % above the least that could be found (the gap)."
    if "from_three_cells" in form:
        yield (
            f"{form['from_three_cells']:.0%} of the changed records come from the three most "
            f"frequent cells, at {form['donors_cost']:.2%} more loss than without this preference."
        )
    if form.get("loss") is not None:
        yield f"Expected squared error of the estimated shares: {form['loss']:.3g}."
    if "divergence" in form:
        yield f"Their Kullback-Leibler divergence, to second order: {form['divergence']:.3g}."


def matrices_of_plan(plan: Plan) -> Form:
    """Every matrix with its labels; ``matrix`` too where there is only one."""
    matrices = [
        {
            "columns": list(step.columns),
            "labels": list(matrix.labels),
            "values": matrix.values.tolist(),
        }
        for step in plan.mechanism.steps
        for matrix in step.matrices
    ]
    return {"matrices": matrices} | ({"matrix": matrices[0]} if len(matrices) == 1 else {})


def show_matrices(plan: Plan) -> None:
    """Rows are truths, columns released values; a large one is for ``--json``."""
    console = out()
    for form in matrices_of_plan(plan)["matrices"]:
        name = " x ".join(form["columns"])
        size = len(form["labels"])
        if size > 10:  # matrices with more values than this do not fit on a screen
            console.print(f"\n{name}: {size:,} values; --json has the whole matrix.", markup=False)
            continue
        labels = [_label(label) for label in form["labels"]]
        values = zip(labels, form["values"], strict=True)
        rows = [(label, *(f"{p:.4f}" for p in row)) for label, row in values]
        console.print(f"\n{name}: rows are original values, columns released values", markup=False)
        console.print(table_of(("", *labels), rows, right=labels))


def _label(label: Any) -> str:
    if isinstance(label, tuple):
        return ", ".join(map(_label, label))
    return "(missing)" if label is None else str(label)


def plan_made(plan: Plan, made: Certificate) -> Form:
    """The plan of a release as JSON; with a seed, only what its certificate guarantees."""
    form = plan.to_json()
    if not made.reproducible:
        return form
    kept = {claim.name for claim in made.claims}
    guarantees = [guarantee for guarantee in form["guarantees"] if guarantee["name"] in kept]
    whole = len(guarantees) == len(form["guarantees"])
    return form | {"guarantees": guarantees, "trade_off": form["trade_off"] if whole else None}


def show_promises(console: Console, plan: Plan, made: Certificate | None = None) -> None:
    """Print each guarantee with its target, and the expected error.

    If a release was ``made`` with a seed, guarantees that its certificate omits are marked.
    """
    seeded = made is not None and made.reproducible
    kept = {claim.name for claim in made.claims} if made is not None and seeded else set()
    for claim in plan.claims:
        if seeded and claim.name not in kept:
            words = f"Not guaranteed with a seed, and not in the certificate: {claim.attained}."
            bullet(console, words)
            continue
        met = claim.asked is None or str(claim.asked) == str(claim.attained)
        target = "" if met else f"Target: {claim.asked}. "
        bullet(console, target + plan.promise(claim), style="green")
    if plan.expected_error is not None:
        error = plan.expected_error.sentence()
        noisy = NOISY <= plan.expected_error.mean < math.inf
        bullet(console, f"By unbiased estimates {error[0].lower()}{error[1:]}" if noisy else error)
    for sentence in (*plan.means, *plan.choice):
        bullet(console, sentence)
    schema = plan.schema
    unchanged = [column for column in schema.released_as_is if not (column.binned or column.noisy)]
    for treatment, columns in (
        ("Binned, not randomised", schema.binned),
        ("With noise, not randomised", schema.noisy),
        ("Released unchanged", unchanged),
    ):
        names = [column.name for column in columns]
        if names:
            together = ", ".join(names[:-1]) + (" and " if names[1:] else "") + names[-1]
            bullet(console, f"{treatment}, without a guarantee: {together}.")
    for notice in plan.notices:
        bullet(console, notice, style="red")


def bullet(console: Console, text: str, *, style: str = "yellow") -> None:
    """A sentence with a mark before it; further lines stand under the first."""
    line = Table.grid(padding=(0, 1))
    line.add_row(Text("*", style=style), Text(in_one_line(text)))
    console.print(line)


def paste(console: Console, command: str) -> None:
    """A command on one line, however long: a folded one cannot be pasted."""
    if command:
        console.print(Text(f"  {command}", style="bold"), soft_wrap=True)


def side_by_side(
    heads: Sequence[str], rows: Sequence[Sequence[str]], *, fixed: int, width: int
) -> Iterator[tuple[tuple[str, ...], list[tuple[str, ...]]]]:
    """A table in parts that fit the width; each begins with the same columns.

    >>> rows = [("north", "12", "11", "13")]
    >>> [part[0] for part in side_by_side(("area", "truth", "one", "two"), rows, fixed=2, width=20)]
    [('area', 'truth', 'one'), ('area', 'truth', 'two')]
    """
    # Between two columns of a table
    wide = [max(map(len, column)) + 3 for column in zip(heads, *rows, strict=True)]
    left = width - sum(wide[:fixed])
    parts: list[list[int]] = [[]]
    for at in range(fixed, len(heads)):
        if parts[-1] and sum(wide[other] for other in [*parts[-1], at]) > left:
            parts.append([])
        parts[-1].append(at)
    for part in parts:
        chosen = [*range(fixed), *part]
        yield tuple(heads[i] for i in chosen), [tuple(row[i] for i in chosen) for row in rows]


MOST_ALIKE, SHOWN_ALIKE = 6, 3
"""More checks of a kind than these are not shown one by one, unless one failed."""


def _folded(checks: Iterable[Check]) -> Iterator[str]:
    """A line a check; of many with the same detail, or of one kind, the first and how many more."""
    by_detail: dict[str, list[str]] = {}
    for check in checks:
        by_detail.setdefault(check.detail, []).append(check.name)
    by_kind: dict[str, list[str]] = {}
    for detail, names in by_detail.items():
        if len(names) > MOST_ALIKE:
            more = f"{len(names) - SHOWN_ALIKE} more (--json shows all)"
            yield f"{', '.join(names[:SHOWN_ALIKE])} and {more}: {detail}"
        else:
            kind = names[0].partition(" ")[0]
            by_kind.setdefault(kind, []).extend(f"{name}: {detail}" for name in names)
    for kind, lines in by_kind.items():
        if len(lines) > MOST_ALIKE:
            rest = len(lines) - SHOWN_ALIKE
            lines[SHOWN_ALIKE:] = [f"{kind} ...: {rest} more like these (--json shows all)"]
        yield from lines


COLOURS = {"green": "bold green", "amber": "bold yellow", "red": "bold red"}


def show_publishable(console: Console, publishable: Publishable) -> None:
    """The colour of a release and the reason for it."""
    style, words = COLOURS[publishable.colour], escape(in_one_line(publishable.sentence))
    console.print(f"[{style}]{publishable.colour.upper()}[/] {words}", soft_wrap=True)


def show_verdict(verdict: Verdict, *, what: str = "release") -> None:
    """Each check with a mark, then what must be known, then the verdict."""
    console = out()
    for state, mark in MARKS.items():
        checks = verdict.of_state(state)
        lines = (f"{check.name}: {check.detail}" for check in checks)
        for line in lines if state == "failed" else _folded(checks):
            console.print(f"{mark} {escape(in_one_line(line))}", soft_wrap=True)
    for remark in verdict.notes:
        console.print(f"[yellow]note[/] {escape(in_one_line(remark))}", soft_wrap=True)
    failed = len(verdict.of_state("failed"))
    if failed:
        many = "1 check" if failed == 1 else f"{failed} checks"
        console.print(f"[bold red]This {what} is not valid: {many} failed.[/]")
        return
    console.print("All verifiable checks passed.")
    console.print(escape(verdict.counted()), soft_wrap=True)
    if verdict.publishable is not None:
        show_publishable(console, verdict.publishable)


Advance = Callable[[int], None]


@contextmanager
def progress_bar(label: str, *, total: int | None) -> Iterator[Advance | None]:
    """A function that advances the bar by a number of records; ``None`` without a terminal."""
    if not sys.stderr.isatty():
        yield None
        return

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
    )
    # It is drawn on updates only: a thread that draws would keep work from copies of
    # this process, which are made only where there is no other thread.
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, auto_refresh=False) as bar:
        task = bar.add_task(label, total=total)

        def advance(records: int) -> None:
            bar.advance(task, records)
            bar.refresh()

        yield advance


@contextmanager
def stage_status(label: str) -> Iterator[Callable[[str], None] | None]:
    """A function that shows the current stage; ``None`` without a terminal."""
    if not sys.stderr.isatty():
        yield None
        return

    with Console(stderr=True).status(escape(label)) as status:
        yield lambda text: status.update(escape(text))
