"""Methods on the command line: help, options that belong to one of them, methods from outside."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest

import pramana as pm
from pramana.methods.base import METHODS, option, options_of
from pramana.methods.context import DesignContext
from tests.cli.conftest import Run
from tests.cli.test_app import VERBS

FIRST_SCREEN = 12
TARGETS = ["--k", "--epsilon", "--alpha", "--xi", "--central-epsilon", "--rho1", "--rho2"]


@dataclass(frozen=True)
class Toy(pm.Method):
    """Keeps values by a share of a cake."""

    cake: float = option(0.5, "How much of the cake is kept.")

    name: ClassVar[str] = "toy"
    when: ClassVar[str] = "You want to see a method from outside."
    aims: ClassVar[tuple[str, ...]] = ("differential-privacy",)
    kind: ClassVar[str] = "published"

    def design(self, people: DesignContext, asked: tuple[pm.Guarantee, ...]) -> pm.Plan:
        """That of retention, under another name."""
        from dataclasses import replace

        made = pm.Retention(retention=self.cake).design(people, ())
        return replace(made, method=self, asked=tuple(asked))


@pytest.fixture
def toy() -> Iterator[None]:
    """A method that someone else has registered."""
    METHODS.register("toy", Toy)
    yield
    METHODS.unregister("toy")


@pytest.mark.parametrize("verb", VERBS)
def test_the_first_screen_has_a_dozen_options(run: Run, verb: str) -> None:
    """At most, with every verb; a verb with more says where they are."""
    shown = run(f"{verb} --help").out
    assert len(re.findall(r"^  -", shown, re.MULTILINE)) <= FIRST_SCREEN
    if "--help-all" in shown:
        assert len(run(f"{verb} --help-all").out) > len(shown)


@pytest.mark.parametrize("verb", ["design", "protect"])
def test_the_first_screen_has_the_main_targets_and_all_methods(run: Run, verb: str) -> None:
    """One screen with the main targets; --help-all says when to use each method."""
    shown = run(f"{verb} --help").out
    assert shown.count("\n") <= 45
    every = " ".join(run(f"{verb} --help-all").out.split())
    targets = re.findall(r"^  (--[a-z0-9-]+)", shown.split("Targets:")[1], re.MULTILINE)
    assert targets == TARGETS
    for name, method in METHODS.items():
        assert re.search(rf"\s{name}[,.]", shown)
        assert method.when in every


@pytest.mark.parametrize("name", list(METHODS))
def test_help_of_a_method_has_its_options_and_no_others(run: Run, name: str) -> None:
    """Before or behind ``--help``."""
    shown = run(f"design --method {name} --help").out
    own = {one.flag for one in options_of(METHODS[name])}
    flags = {one.flag for method in METHODS.values() for one in options_of(method)}
    assert {flag for flag in flags if f"  {flag} " in shown} == own
    assert run(f"design --help --method={name}").out == shown


def test_more_shows_every_option_of_every_method(run: Run) -> None:
    """Those of the guide too."""
    shown = run("design --help-all").out
    for method in METHODS.values():
        for one in options_of(method):
            assert f"  {one.flag} " in shown
    assert "--gamma" in shown


@pytest.mark.parametrize("name", list(METHODS))
@pytest.mark.parametrize("verb", ["design", "protect"])
def test_an_option_of_another_method_is_refused(
    steward: Path, run: Run, verb: str, name: str
) -> None:
    """In one line that names the methods that have it, before the table is read."""
    own = {one.flag for one in options_of(METHODS[name])}
    for flag, value in (("--spread", "nonsense"), ("--matrix", "sex=no.csv"), ("--distinct", "2")):
        if flag in own:
            continue
        where = "-o release" if verb == "protect" else ""
        done = run(f"{verb} people.csv --schema schema.toml --method {name} {flag} {value} {where}")
        assert done.code == 2
        assert done.err.count("\n") == 1
        assert f"{flag} is no option of method {name}: it is for --method" in done.err


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ("--k 2 --spread nonsense", "spread must be one of equal, best"),
        ("--matrix sex=no.csv", "no.csv cannot be read"),
        ("--method invariant --matrix sex=no.csv", "no.csv cannot be read"),
        ("--method resample --k 5 --clustering nonsense", "clustering must be one of"),
        ("--method permute --k 5 --distinct 0", "distinct must be"),
    ],
)
def test_a_wrong_value_is_refused_whichever_method(
    steward: Path, run: Run, options: str, word: str
) -> None:
    """By the method itself."""
    done = run(f"design people.csv --schema schema.toml {options}")
    assert done.code == 2
    assert word in done.err


def test_a_method_from_outside_goes_all_the_way(toy: None, steward: Path, run: Run) -> None:
    """Help, design, protect, certificate, verify."""
    assert "You want to see a method from outside. (--epsilon)" in " ".join(
        run("design --help-all").out.split()
    )
    assert "  --cake NUMBER" in run("protect --method toy --help").out
    ask = "people.csv --schema schema.toml --method toy --cake 0.25"
    assert run(f"design {ask} --json").json["columns"]["sex"]["retention"] == 0.25
    done = run(f"protect {ask} -o release --json")
    assert done.code == 0, done.err
    assert pm.load("release").certificate.method == "toy"
    assert run("verify release").code == 0
    refused = run("design people.csv --schema schema.toml --k 2 --cake 0.5")
    assert "it is for --method toy" in refused.err


def test_a_method_in_groups_shows_no_empty_table(steward: Path, run: Run) -> None:
    """It has no matrix a column: its groups are told instead."""
    about = "design people.csv --schema schema.toml --k 5 --method permute --allow-unchanged"
    shown = run(about).out
    assert "retention" not in shown
    assert re.search(r"\d+ groups of \d+ to \d+ records", shown)
