"""The steward's path: open, columns, who stands out, what will be asked, choose, protect."""

from __future__ import annotations

import gzip
import inspect
import json
import re
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from html import unescape
from multiprocessing import Pipe
from pathlib import Path
from statistics import median

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pyreadstat
import pytest

from pramana import Categories, Column, Retention, Role, Schema, api, load, verify
from pramana.cli.app import main
from pramana.guarantees.base import CliOption
from pramana.studio import analyst as side
from pramana.studio import tasks
from pramana.studio.jobs import Job
from pramana.studio.pages import columns, data
from pramana.studio.pages.data import table_of
from pramana.studio.view import Studio
from pramana.studio.worker import Shelf, Workbench
from tests.guarantees.toy_surprise import Surprise
from tests.io.test_more_formats import xlsx
from tests.studio.conftest import PEOPLE, Visitor, no_room, same, words
from tests.studio.test_jobs import running, slow


@pytest.fixture
def opened(visitor: Visitor) -> Visitor:
    """Someone who has opened the table and looked at its columns."""
    visitor.post("/open", {"file": "people.csv"})
    assert "Every change is saved at once" in visitor.part("/columns/list")
    return visitor


@pytest.fixture
def crowd(visitor: Visitor, folder: Path) -> Visitor:
    """Someone who has opened a table of so many people that methods are usable on it."""
    head, *rows = PEOPLE.splitlines()
    (folder / "crowd.csv").write_text("\n".join([head, *rows * 4]))
    visitor.post("/open", {"file": "crowd.csv"})
    assert "Every change is saved at once" in visitor.part("/columns/list")
    return visitor


def schema(visitor: Visitor) -> Schema:
    return Schema.from_toml(visitor.session.now.schema)


def test_a_full_disk_is_told_on_the_page(visitor: Visitor) -> None:
    """It is no fault of the studio, and what was done before stands."""
    with no_room():
        text = words(visitor.post("/open", {"file": "people.csv"}).text)
    assert "File too large. Your last change was not saved." in text
    assert "unforeseen" not in text
    visitor.post("/open", {"file": "people.csv"})
    assert visitor.session.now.file == "people.csv"


def test_a_file_is_shown_with_what_was_found(visitor: Visitor) -> None:
    """Records, separator, encoding, the first hundred records and no more."""
    visitor.post("/open", {"file": "people.csv"})
    text = words(visitor.part("/open/found"))
    for found in ("Records 400", "Separator comma", "Encoding utf-8", "The first 100 records"):
        assert found in text


def test_no_record_is_kept_beside_the_table(opened: Visitor) -> None:
    """What the studio keeps on disk for the next time holds no cell of the preview."""
    assert "1185" in words(opened.part("/open/found"))
    opened.part("/risk/measured")
    kept = [path.read_text() for path in opened.session.home.rglob("*") if path.is_file()]
    assert kept
    assert not any("1185" in text for text in kept)


def test_columns_are_proposed_with_reasons_and_can_be_changed(opened: Visitor) -> None:
    """The roles of the form, and a count of unique people that follows them."""
    own = schema(opened)
    assert [str(column.role) for column in own.columns] == ["key", "key", "key", "sensitive"]
    text = words(opened.part("/columns/list"))
    assert "it has few values" in text
    assert "of 400 people are unique by 3 keys" in text
    told = opened.post("/columns/roles", {"role-1": "identifier"}, **{"hx-request": "true"})
    assert "people are unique with this choice" in told.text
    assert json.loads(told.headers["HX-Trigger"]) == {"saved": opened.session.number}
    assert [column.name for column in schema(opened).keys] == ["sex", "region"]
    opened.post("/undo", {"here": "/columns"})
    assert [column.name for column in schema(opened).keys] == ["sex", "age", "region"]


def test_a_column_is_decided_about_and_drawn_on_the_first_visit(
    visitor: Visitor, folder: Path
) -> None:
    """Also where the data had to tell what a column may hold: charts ask once."""
    own = "".join(f"{'FM'[at % 2]},{'' if at % 9 == 0 else at % 4}\n" for at in range(200))
    (folder / "new.csv").write_text(f"sex,class\n{own}")
    visitor.post("/open", {"file": "new.csv"})
    visitor.part("/open/found")
    visitor.part("/open/codes")
    assert visitor.get("/columns/1").status_code == 200  # led there by 'Decide'
    assert "Re-identification risk" in words(visitor.get("/columns/1").text)
    visitor.session.undo()
    visitor.session.redo()
    visitor.part("/columns/list")
    for place in (0, 1):
        assert "<svg" in visitor.get(f"/columns/{place}/drawn").text


def test_a_recoding_is_counted_before_it_is_saved(opened: Visitor) -> None:
    """The number beside the form is that of the table recoded so, found by another road."""
    form = {"role": "key", "edges": "20, 50, 80", "missing": "refuse"}
    told = words(opened.post("/columns/1/count", form, **{"hx-request": "true"}).text)
    opened.post("/columns/1", form)
    changed = schema(opened)
    assert changed["age"].labels == ("[20, 50)", "[50, 80]")
    found = api.audit(opened.session.folder / "people.csv", schema=changed)
    assert told.startswith(f"{found.uniques} of 400 people are unique with this choice")
    told = words(opened.post("/columns/1/count", form, **{"hx-request": "true"}).text)
    raw = changed.replace_columns([Column("age", Role.KEY)])
    bare = api.audit(opened.session.folder / "people.csv", schema=raw)
    assert f"Without any recoding of this column: {bare.uniques}." in told


def test_a_number_goes_under_the_guarantee_and_back(opened: Visitor) -> None:
    """On a grid in a stated range; without the range it is as it was."""
    form = {"role": "sensitive", "grid_low": "0", "grid_high": "2000", "grid_points": "5"}
    opened.post("/columns/3", form)
    own = schema(opened)["income"]
    assert own.gridded
    assert own.randomised
    assert own.labels == (0, 500, 1000, 1500, 2000, None)  # missing values are one more
    assert "Under the guarantee" in words(opened.get("/columns/3").text)
    opened.post("/columns/3", {"role": "sensitive", "grid_points": "5"})
    assert schema(opened)["income"].domain is None
    opened.post("/columns/3", form | {"grid_high": "-1"})
    assert schema(opened)["income"].domain is None


def test_categories_are_merged_by_ticks(opened: Visitor) -> None:
    """The domain and the recoding follow; what is merged again takes up all."""
    labels = schema(opened)["region"].labels
    opened.post("/columns/2", {"role": "key", "tick": ["0", "1"], "into": "north or east"})
    own = schema(opened)["region"]
    assert own.labels == ("north or east", *labels[2:])
    opened.post("/columns/2", {"role": "key", "tick": ["0", "1"], "into": "most"})
    assert dict(schema(opened)["region"].recoding.merged)["most"] == labels[:3]
    api.complete(schema(opened), api.open_source(opened.session.folder / "people.csv"))


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ({"edges": "20, x"}, "must be numbers"),
        ({"edges": "50, 20"}, "rise strictly"),
        ({"top": "many"}, "must be a number"),
        ({"tick": ["0", "77"]}, "out of date"),
        ({"role": "king"}, "out of date"),
        ({"top": "inf"}, "must be a number"),
    ],
)
def test_what_cannot_be_is_said_and_changes_nothing(
    opened: Visitor, form: dict[str, str], said: str
) -> None:
    """On the page from which it was asked."""
    before = opened.session.now
    place = 2 if "tick" in form else 1
    answer = opened.post(f"/columns/{place}", {"role": "key", **form})
    assert said in answer.text
    assert opened.session.now == before


def test_a_long_list_of_merged_values_is_folded(visitor: Visitor, folder: Path) -> None:
    """It is read where the column is looked at, and fills no page of all columns."""
    rows = "".join(f"job {at % 20:02},{'FM'[at % 2]}\n" for at in range(200))
    (folder / "jobs.csv").write_text("job,sex\n" + rows)
    visitor.post("/open", {"file": "jobs.csv"})
    visitor.part("/columns/list")
    visitor.post("/columns/0", {"role": "key", "tick": [*map(str, range(18))], "into": "other"})
    short = "job 00, job 01, job 02, job 03 and 14 more merged into other"
    assert short in words(visitor.part("/columns/list"))
    visitor.post("/choose", {"method": "retention", "chance": "5"})
    assert short in words(visitor.get("/protect").text)
    text = visitor.get("/columns/0").text
    assert "other replaces 18 values" in words(text)
    assert "job 16, job 17</p></details>" in text


def test_the_column_of_households_is_told_apart(opened: Visitor) -> None:
    """It is dropped, the schema names it, another role takes the name back, and one is enough."""
    opened.post("/columns/roles", {"role-3": "household"})
    own = schema(opened)
    assert (own.household, str(own["income"].role)) == ("income", "identifier")
    assert 'value="household" selected' in opened.get("/columns/3").text
    opened.post("/columns/0", {"role": "key"})
    assert schema(opened).household == "income"
    opened.post("/columns/3", {"role": "sensitive"})
    assert (schema(opened).household, str(schema(opened)["income"].role)) == (None, "sensitive")
    opened.post("/columns/3", {"role": "household"})
    assert schema(opened).household == "income"
    told = opened.post("/columns/roles", {"role-3": "household", "role-0": "household"}).text
    assert "One column at most" in told


def test_another_table_begins_anew_and_can_be_taken_back(opened: Visitor) -> None:
    """What was decided about the one before comes back by undo, and the page says so."""
    decided = opened.session.now.schema
    assert "Undo restores" in opened.post("/open", {"file": "other.csv"}).text
    assert not opened.session.now.schema
    opened.post("/undo", {"here": "/"})
    assert opened.session.now.schema == decided


def test_going_on_saves_what_the_page_shows(opened: Visitor) -> None:
    """Roles and wishes are not lost by who forgets to save them."""
    answer = opened.post("/columns/roles", {"role-0": "public", "next": "/risk"})
    assert answer.url.path == "/risk"
    assert str(schema(opened)["sex"].role) == "public"
    opened.post("/asked/add", {"kind": "table", "of": "1", "by": ["2", ""]})
    assert schema(opened).tables == (("age", "region"),)


def test_messages_name_files_and_no_options_of_commands(visitor: Visitor) -> None:
    """And each of them once."""
    folder = visitor.session.folder
    (folder / "west.csv").write_bytes("stadt;x\nKöln;2\nAachen;3\n".encode("cp1252") * 20)
    visitor.post("/open", {"file": "west.csv"})
    told = words(visitor.part("/open/found"))
    assert told.count("is read as cp1252") == 1
    assert "--" not in told
    assert str(folder) not in told
    visitor.post("/open", {"file": "west.csv", "encoding": "cp1252"})
    visitor.part("/columns/list")
    code = visitor.get("/code").text
    assert "encoding=&#39;cp1252&#39;" in code
    assert code.count("--encoding cp1252") == 3


def test_nothing_but_a_release_and_a_schema_is_written_where_it_belongs(opened: Visitor) -> None:
    """Not over the table, not among what is removed at the end, not under a name like an option."""
    table = opened.session.folder / "people.csv"
    before = table.read_bytes()
    opened.post("/columns/save", {"name": "people.csv", "force": "1"})
    assert table.read_bytes() == before
    opened.post("/choose", {"letter": "k", "k": "nan", "method": ""})
    assert not opened.session.now.target
    opened.post("/choose", {"letter": "k", "k": "5", "method": ""})
    state = opened.session.now
    for name in ("uploaded//out", "-rf", ".hidden", "people.csv", "a" * 300):
        told = words(opened.post("/protect", {"release": name, "acknowledged": "yes"}).text)
        assert "--force" not in told
        assert opened.session.now == state


def test_impossible_combinations_are_stated_and_taken_back(opened: Visitor) -> None:
    """By numbers of columns and values."""
    opened.post("/columns/rules/add", {"a": "0", "b": "1", "value-a": "0", "value-b": ["0", "1"]})
    assert schema(opened).impossible[0].to_dict() == {
        "sex": ["F"],
        "age": list(schema(opened)["age"].labels[:2]),
    }
    opened.post("/columns/rules/drop", {"rule": "0"})
    assert schema(opened).impossible == ()


def test_a_schema_is_saved_for_the_command_line_and_used_again(opened: Visitor) -> None:
    """The file is the session's schema; one that is there is replaced only when told."""
    opened.post("/columns/save", {"name": "schema.toml", "force": "1"})
    path = opened.session.folder / "schema.toml"
    assert Schema.load(path) == schema(opened)
    opened.post("/columns/roles", {"role-0": "public"})
    refused = opened.post("/columns/save", {"name": "schema.toml"})
    assert "exists" in refused.text
    opened.post("/columns/use", {"schema": "schema.toml"})
    assert schema(opened) == Schema.load(path)
    assert "inside of the folder" in opened.post("/columns/use", {"schema": "../s.toml"}).text
    (opened.session.folder / "plan.toml").write_text('schema = "schema.toml"\n[target]\nk = 3\n')
    told = opened.get("/columns").text
    assert '<option value="schema.toml">' in told or "<option>schema.toml" in told
    assert "plan.toml</option>" not in told


def test_who_stands_out_and_what_would_lower_it(opened: Visitor) -> None:
    """The figures of the audit, and a recoding that is taken by a click."""
    found = api.audit(opened.session.folder / "people.csv", schema=schema(opened), k=5)
    text = words(opened.part("/risk/measured"))
    assert f"{found.uniques} people are unique by their keys" in text
    assert "Without 'age'" in text
    opened.post("/risk/apply", {"way": "0"})
    assert len(schema(opened).keys) == 2


def test_the_worst_combinations_and_every_recoding_are_those_of_an_audit(opened: Visitor) -> None:
    """What the chart and the table say, counted again by another road."""
    opened.post("/columns/roles", {"role-3": "key"})
    opened.part("/columns/list")
    table, own = opened.session.folder / "people.csv", schema(opened)
    found = api.audit(table, schema=own, k=5).to_json()
    text = words(opened.part("/risk/measured"))
    fewer = [one for one in found["subsets"] if len(one["keys"]) < len(own.keys)]
    assert {bool(one["uniques"]) for one in fewer} == {True, False}
    for subset in fewer:
        told = f"{', '.join(subset['keys'])} {subset['uniques']} " in text
        assert told == bool(subset["uniques"])
    studio = opened.client.app._app.state.studio  # type: ignore[attr-defined]
    ways = columns._job_risk(studio).result["lowerings"]
    assert len(ways) >= 4
    for way in ways:
        again = api.audit(table, schema=Schema.from_toml(way["schema"]), k=5)
        assert way["unique"] == again.uniques
        assert f"{way['what']} {again.uniques} " in text


def test_a_weight_is_told_apart(opened: Visitor) -> None:
    """A column of weights is none of the keys, and the page of risks counts by it."""
    opened.post("/columns/roles", {"role-3": "weight"})
    assert str(schema(opened)["income"].role) == "weight"
    assert "could be found again in the population, by the weights" in opened.part("/risk/measured")


def test_every_format_of_the_command_line_is_offered(visitor: Visitor) -> None:
    """What can be read can be opened and dropped."""
    told = words(visitor.get("/").text)
    endings = {ending for one in api.FORMATS.values() for ending in one.endings}
    assert {".csv", ".parquet", ".sav", ".dta", ".sas7bdat", ".xlsx", ".rds"} <= endings
    for ending in endings:
        assert ending in told


def test_wishes_drive_the_schema(opened: Visitor) -> None:
    """Tables as they are; a mean or a model by the keys that it depends on; each can be removed."""
    opened.post("/asked/add", {"kind": "table", "of": "0", "by": [""]})
    opened.post("/asked/add", {"kind": "table", "of": "0", "by": ["1", ""]})
    opened.post("/asked/add", {"kind": "mean", "of": "3", "by": ["2"]})
    opened.post("/asked/add", {"kind": "model", "of": "3", "by": ["0", "1", "2"]})
    tables = {frozenset(table) for table in schema(opened).tables}
    keys = ({"sex"}, {"sex", "age"}, {"region"}, {"sex", "age", "region"})
    assert tables == {frozenset(own) for own in keys}
    text = words(opened.get("/asked").text)
    assert "Mean of income by region" in text
    assert "Model of income on sex, age, region" in text
    opened.post("/asked/drop", {"wish": "0"})
    assert [kind for kind, _ in opened.session.now.wishes] == ["table", "mean", "model"]
    opened.post("/asked/drop", {"all": "1"})
    opened.post("/asked/add", {"kind": "pairs"})
    assert len(opened.session.now.wishes) == 3


def test_methods_are_tried_side_by_side_and_one_is_chosen(crowd: Visitor) -> None:
    """The chart, the promises in words, the truth beside what an analyst would get."""
    crowd.post("/choose/try", {"method": ["retention", "attribute-sampling"], "chances": "5"})
    assert 'name="k" id="k" step="any" min="0" value="5"' in crowd.get("/choose").text
    text = crowd.part("/choose/tried")
    assert "Take " in text
    for found in (
        "retention",
        "attribute-sampling",
        "error of a typical table",
        "risk: links or copies that succeed",
        "one in 5",
        "original",
        ">Time<",
        "retention: loss ",
    ):
        assert found in text
    assert "What it guarantees, and what not" in text
    assert f"To be run in <code>{crowd.session.folder}</code>." in crowd.get("/choose").text
    assert "a released record is linked to" in text
    assert "recommended" in text.partition("<tbody>")[2].partition("</tr>")[0]
    crowd.post("/choose", {"method": "retention", "chance": "5"})
    assert crowd.session.now.target == {"k": 5.0}
    assert crowd.session.now.method == "retention"


def test_a_method_that_cannot_serve_a_table_stops_no_other(visitor: Visitor, folder: Path) -> None:
    """Why it cannot stands in its row; where none can, it is told as a refusal."""
    rows = "".join(f"j{at % 520},{'FM'[at % 2]}\n" for at in range(1040))
    (folder / "jobs.csv").write_text(f"job,sex\n{rows}")
    visitor.post("/open", {"file": "jobs.csv"})
    visitor.part("/columns/list")
    visitor.post("/columns/roles", {"role-0": "key", "role-1": "key"})
    for methods, serves in ((["centroid", "retention"], True), (["centroid"], False)):
        visitor.post("/choose/try", {"method": methods, "chances": "3"})
        told = visitor.part("/choose/tried")
        assert "unordered categories" in told
        assert ("Original data and an analyst's estimates" in told) == serves
        assert ("Open the column job" in told) != serves


@pytest.mark.deep
def test_trying_tells_how_far_it_is(opened: Visitor) -> None:
    """The quick methods first, by name and number, and what came of each at once."""
    ours, theirs = Pipe()
    methods = ["gaussian", "attribute-sampling", "retention"]
    table = table_of(opened.client.app._app.state.studio)  # type: ignore[attr-defined]
    text = opened.session.now.schema
    tasks.advise(
        Workbench(theirs, Shelf()),
        table=table,
        schema=text,
        tables=[],
        k=5,
        methods=methods,
        asked=[],
    )
    heard = []
    while ours.poll():
        heard.append(ours.recv())
    said = [own[1][0].format(**own[1][1]) for own in heard if own[0] == "said"]
    assert said == [
        "Reading the table",
        "Trying attribute-sampling, one in 5, 1 of 3 methods",
        "Trying retention, one in 5, 2 of 3 methods",
        "Trying gaussian, one in 5, 3 of 3 methods",
    ]
    assert [len(own[1]["methods"]) for own in heard if own[0] == "so far"] == [1, 2, 3]


def test_what_waits_for_large_tables_is_tried_last() -> None:
    """A matrix is undone cell by cell; a steward sees first what groups people."""
    jobs = Column("job", Role.KEY, Categories(tuple(range(500))))
    places = Column("place", Role.KEY, Categories(tuple(range(200))))
    sex = Column("sex", Role.KEY, Categories(("f", "m")))
    large = Schema((jobs, places, sex))
    few = replace(large, tables=(("job", "sex"),))
    names = ("retention", "centroid", "gaussian")
    takes = [[api.METHODS[name].trial_cost(schema) for name in names] for schema in (few, large)]
    assert min(takes[0]) == takes[0][0]
    assert max(takes[1]) == takes[1][0]


def test_what_was_tried_before_a_cancel_stays(crowd: Visitor) -> None:
    """It is shown, and the rest can be tried."""
    crowd.post("/choose/try", {"method": ["attribute-sampling", "retention"], "chances": "4"})
    crowd.part("/choose/tried")
    jobs = crowd.client.app._app.state.studio.jobs  # type: ignore[attr-defined]
    tried = [own for own in jobs._jobs.values() if own.function is tasks.advise]
    job = next(own for own in tried if own.arguments["k"] == 4)
    job.so_far, job.result, job.condition = job.result, None, "cancelled"
    poll = {"poll": "/choose/tried"}
    answer = crowd.post(f"/jobs/{job.key}/cancel", poll, **{"hx-request": "true"}).text
    assert 'hx-get="/choose/tried"' in answer
    kept = words(crowd.part("/choose/tried"))
    assert "Cancelled: what was tried before is shown." in kept
    assert "Choose retention, k = 4" in kept
    crowd.post(f"/jobs/{job.key}/again", poll, **{"hx-request": "true"})
    assert re.search("Take (retention|attribute-sampling)", crowd.part("/choose/tried"))


@pytest.mark.parametrize(
    "form",
    [
        {"letter": "k", "k": "4"},
        {"letter": "epsilon", "epsilon": "3"},
        {"letter": "central_epsilon", "central_epsilon": "2", "delta": "0.0001"},
        {"letter": "xi", "xi": "0.4"},
    ],
)
def test_sliders_foresee_what_a_target_promises(opened: Visitor, form: dict[str, str]) -> None:
    """Each letter has its promise in words, and is taken as the target."""
    opened.part("/columns/list")
    answer = opened.post("/choose/foresee", form, **{"hx-request": "true"}).text
    if 'class="working' in answer:
        poll = answer.split('hx-get="')[1].split('"')[0]
        answer = opened.part(poll)
    assert "Guarantees" in answer
    opened.post("/choose", form)
    assert opened.session.now.target[form["letter"]] == float(form[form["letter"]])


@pytest.mark.deep
def test_the_slider_of_a_search_answers_at_once_and_is_put_right(opened: Visitor) -> None:
    """A rule of thumb in the first answer, the number of the plan in a later one."""
    form = {"letter": "alpha", "alpha": "0.3"}
    opened.post("/choose/foresee", {"letter": "k", "k": "3"}, **{"hx-request": "true"})
    answer = opened.post("/choose/foresee", form, **{"hx-request": "true"}).text
    told = words(answer)
    assert "Roughly" in told
    assert "of 400 records have to change" in told
    assert "alpha = 30 %" in told
    poll = answer.split('hx-get="')[1].split('"')[0]
    for _ in range(600):
        later = opened.get(poll, **{"hx-request": "true"})
        if later.status_code != 204:  # while it is searched for the page stays as it is
            break
        time.sleep(0.05)
    table, own = opened.session.folder / "people.csv", schema(opened)
    plan = api.design(own, *api.guarantees_from_options({"alpha": 0.3}, schema=own), data=table)
    changes = f"About {plan.statistics['expected_changes']:,.0f} records of 400"
    assert changes in words(later.text)
    again = words(opened.post("/choose/foresee", form, **{"hx-request": "true"}).text)
    assert changes in again


def slowed_by_others() -> float:
    """How many times its processor time work takes now: 1 where no other program runs."""
    began, used = time.perf_counter(), time.thread_time()
    while time.thread_time() - used < 0.3:
        pass
    return (time.perf_counter() - began) / (time.thread_time() - used)


def test_sliders_answer_while_methods_are_tried(opened: Visitor) -> None:
    """Work that takes long is no reason to wait for them."""
    running = opened.client.app._app.state.studio.jobs  # type: ignore[attr-defined]

    def seconds(k: int) -> float:
        """Until a slider is answered, as the page asks."""
        began = time.perf_counter()
        form = {"letter": "k", "k": str(k)}
        answer = opened.post("/choose/foresee", form, **{"hx-request": "true"}).text
        if 'class="working' in answer:
            answer = opened.part(answer.split('hx-get="')[1].split('"')[0])
        took = time.perf_counter() - began
        assert "Guarantees" in answer
        return took

    seconds(3)  # the worker is started for it
    slowed = slowed_by_others()
    opened.post("/choose/try", {"method": ["resample", "gaussian", "optimal"], "chances": "5,7,9"})
    opened.get("/choose/tried", **{"hx-request": "true"})
    times, beside = [], []
    for k in range(5, 12):
        beside.append(running.busy is not None)
        times.append(seconds(k))
    assert any(beside)
    assert median(times) < 0.1 * slowed
    for job in reversed(running._jobs.values()):
        running.cancel(job.key)


def test_what_is_foreseen_is_what_will_be_planned(opened: Visitor) -> None:
    """People who were looked at once give the same plan as the table itself, for every letter."""
    table, own = opened.session.folder / "people.csv", schema(opened)
    people = api.design_context(own, table)
    for target in ({"k": 4.0}, {"epsilon": 3.0}, {"xi": 0.4},
                   {"central_epsilon": 2.0, "delta": 0.0001}):  # fmt: skip
        asked = api.guarantees_from_options(target, schema=own)
        assert api.design_for(people, *asked) == api.design(own, *asked, data=table)


def test_means_and_models_may_rest_on_columns_released_as_they_are(opened: Visitor) -> None:
    """The keys among them decide how well they come out, and the page says so."""
    opened.post("/asked/add", {"kind": "model", "of": "3", "by": ["1", "0"]})
    opened.post("/asked/add", {"kind": "mean", "of": "1", "by": ["3"]})
    assert schema(opened).tables == (("age", "sex"), ("age",))
    told = words(opened.get("/asked").text)
    assert "Model of income on age, sex depends on age × sex" in told
    assert "Mean of age by income depends on age" in told
    for asked in ("income ~ age + sex", "age by income"):
        assert f"--ask '{asked}'" in told


def test_a_mean_is_of_numbers(opened: Visitor) -> None:
    """A column of text has none, and comes last where something is chosen."""
    opened.post("/columns/roles", {"role-0": "sensitive"})
    assert "sex&#39; is text" in opened.post(
        "/asked/add", {"kind": "mean", "of": "0", "by": ["1"]}
    ).text  # fmt: skip
    assert opened.session.now.wishes == ()
    text = opened.get("/asked").text.partition('aria-label="Mean of"')[2].partition("</select>")[0]
    assert ">income<" in text
    assert ">sex<" not in text


@pytest.mark.deep
def test_methods_are_asked_what_will_be_asked(opened: Visitor) -> None:
    """Means and models are put to each method that is tried, and what it loses is told."""
    opened.post("/asked/add", {"kind": "mean", "of": "3", "by": ["0"]})
    opened.post("/choose/try", {"method": ["retention", "inverse-frequency"], "chances": "3"})
    told = words(opened.part("/choose/tried"))
    assert re.search(r"income by sex median error [\d,.]+ \([\d.]+ %\), at most", told)
    assert "income by sex cannot answer Why inverse-frequency cannot answer income by sex" in told
    opened.post("/choose/try", {"method": ["resample", "permute"], "chances": "1e6"})
    assert "cannot be met" in words(opened.part("/choose/tried"))
    running = opened.client.app._app.state.studio.jobs  # type: ignore[attr-defined]
    for job in reversed(running._jobs.values()):
        running.cancel(job.key)


def test_options_of_a_method_are_offered_and_taken(opened: Visitor) -> None:
    """Those that state no target; the plan, the plan file and the code have them."""
    shown = opened.get("/choose/options?method=resample").text
    assert 'name="option-response"' in shown
    assert "Numbers whose association with the keys should be preserved." in shown
    assert 'name="option-retention"' not in opened.get("/choose/options?method=retention").text
    chosen = {"method": "resample", "letter": "k", "k": "4", "option-draw": "sequential",
              "option-response": "income", "option-distinct": "1"}  # fmt: skip
    opened.post("/choose", chosen)
    assert opened.session.now.options == {"draw": "sequential", "response": "income"}
    assert "resample, k = 4, response income, draw sequential" in words(opened.get("/choose").text)
    assert "linked" in words(opened.part("/protect/plan"))
    shell, code = same(opened.get("/protect").text)
    assert "--method resample --response income --draw sequential" in shell
    assert "api.METHODS['resample'](**{'responses': ('income',), 'draw': 'sequential'})" in code
    assert "[options]" in opened.get("/code").text.replace("&#34;", '"')
    assert "must be a number" in opened.post("/choose", chosen | {"option-max-size": "x"}).text
    assert "There is no such draw" in opened.post("/choose", chosen | {"option-draw": "x"}).text


def test_protecting_needs_an_acknowledgement_and_ends_with_checks(opened: Visitor) -> None:
    """Then the folder is a release that anyone can verify, found again when the page is loaded."""
    opened.post("/choose", {"method": "retention", "letter": "k", "k": "4"})
    shown = words(opened.get("/protect").text)
    assert "Released unchanged" in shown
    assert "income sensitive 0 nothing" in shown
    refused = opened.post("/protect", {"release": "out"})
    assert "First acknowledge" in refused.text
    assert not (opened.session.folder / "out").exists()
    opened.post("/protect", {"release": "out", "acknowledged": "yes", "copy": "csv"})
    text = words(opened.part("/protect/made"))
    assert "400 records are released into out" in text
    text = words(opened.part("/protect/checked"))
    for found in (
        "Every check holds",
        "passed",
        "asserted by the owner",
        "failed",
        "Before and after",
    ):
        assert found in text
    attacked = words(opened.part("/protect/attacked"))
    assert "No guarantee is exceeded." in attacked
    assert "records unique by their keys, before and after" in attacked
    assert verify(opened.session.folder / "out").valid
    assert load(opened.session.folder / "out").records == 400
    assert "pramana protect people.csv --schema schema.toml --k 4" in opened.get("/protect").text
    taken = opened.post("/protect", {"release": "people.csv", "acknowledged": "yes"})
    assert "people.csv" in taken.text
    assert (opened.session.folder / "people.csv").read_text().startswith("sex,age")


def test_another_list_of_what_is_released_as_it_is_must_be_acknowledged_anew(
    opened: Visitor,
) -> None:
    """A change of a column that leaves unchanged takes the acknowledgement back."""
    opened.post("/choose", {"letter": "k", "k": "4"})
    opened.post("/protect", {"release": "changed", "acknowledged": "yes"})
    opened.part("/protect/made")
    opened.post("/columns/3", {"role": "sensitive", "top": "1500"})
    assert "Nothing was started" in opened.get("/protect/made", **{"hx-request": "true"}).text


HOSTILE = '<img src=x onerror="alert(1)">'


def test_hostile_names_and_values_are_shown_and_do_nothing(visitor: Visitor, folder: Path) -> None:
    """Tags, quotes, templates and control characters, in every page that shows them."""
    names = [HOSTILE, "{{ 7*7 }}", "a\x1b[31mb", "x'\">y"]
    head = ",".join('"' + name.replace('"', '""') + '"' for name in names)
    rows = "\n".join(f'"<b>{at % 3}</b>",{at % 4},"{{{{{at % 2}}}}}",{at % 5}' for at in range(200))
    (folder / "bad.csv").write_text(f"{head}\n{rows}\n")
    visitor.post("/open", {"file": "bad.csv"})
    pages = [visitor.part("/open/found"), visitor.part("/columns/list")]
    pages += [visitor.get(f"/columns/{place}").text for place in range(4)]
    pages += [visitor.part(f"/columns/{place}/shape") for place in range(4)]
    visitor.post("/choose", {"letter": "k", "k": "2"})
    for path in (
        "/",
        "/columns",
        "/risk",
        "/asked",
        "/choose",
        "/protect",
        "/columns/rules?a=0&b=1",
    ):
        pages.append(visitor.get(path).text)
    pages += [visitor.part("/risk/measured"), visitor.part("/protect/plan")]
    for text in pages:
        assert "<img" not in text
        assert "<b>" not in text
        assert "\x1b" not in text
        assert ">49<" not in text
    assert any("&lt;img" in text for text in pages)


def test_pages_answer_while_the_worker_works(opened: Visitor) -> None:
    """A long piece of work is no reason to wait for a page: the median is below 100 ms."""
    opened.post("/choose/try", {"method": ["resample", "gaussian", "optimal"], "chances": "5,7,9"})
    opened.get("/choose/tried", **{"hx-request": "true"})
    times = []
    for path in ("/", "/columns", "/risk", "/asked", "/choose", "/protect") * 2:
        began = time.perf_counter()
        assert opened.get(path).status_code == 200
        times.append(time.perf_counter() - began)
    assert sorted(times)[len(times) // 2] < 0.1
    running = opened.client.app._app.state.studio.jobs  # type: ignore[attr-defined]
    for job in reversed(running._jobs.values()):  # those that wait first, or one takes its place
        running.cancel(job.key)
    assert running.busy is None


def test_who_waits_is_told_for_what(opened: Visitor) -> None:
    """What is asked for behind other work names that work, and not just that there is some."""
    known = opened.client.app._app.state.studio.jobs  # type: ignore[attr-defined]
    opened.part("/risk/measured")
    opened.post("/columns/1", {"role": "key", "bins": "20,47,80"})  # nobody has measured these yet
    first = known.ask(slow, folder=str(opened.session.folder / "elsewhere"), keep=False)
    running(first)
    told = words(opened.get("/risk/measured", **{"hx-request": "true"}).text)
    assert "Waits until this is done: Writing" in told
    known.cancel(first.key)
    opened.part("/risk/measured")


@pytest.mark.parametrize(
    "task",
    [
        task
        for name, task in inspect.getmembers(tasks, inspect.isfunction)
        if task.__module__ == tasks.__name__ and name != "load_ahead" and name[0] != "_"
    ]
    + [side.check, side.describe, side.tabulate, side.model],
)
def test_every_task_says_what_it_does(task: Callable[..., object]) -> None:
    """Before the table or the release is opened: no page waits without saying for what."""
    text = inspect.getsource(task)
    opens = [text.find(sign) for sign in ("bench.table(", "_people(", "release_at(", "api.parts(")]
    assert "bench.say(" in text
    assert text.find("bench.say(") < min(at for at in (*opens, len(text)) if at >= 0)


def test_reports_and_files_for_a_colleague(opened: Visitor) -> None:
    """The report is read without running anything; the program makes the same release."""
    folder = opened.session.folder
    opened.post("/choose", {"method": "retention", "letter": "k", "k": "3"})
    opened.post("/protect", {"release": "told", "acknowledged": "yes"})
    opened.part("/protect/made")
    assert "not written yet" in opened.get("/report").text
    opened.post("/report", {"name": "People", "office": "Office <b>", "edition": "public"})
    assert "told-report-public.pdf" in opened.part("/report/written/public")
    answer = opened.get("/report/read/public")
    assert "Office &lt;b&gt;" in answer.text
    policy = answer.headers["content-security-policy"]
    assert "sandbox" in policy
    assert "script" not in policy
    opened.post("/code", {"force": "1"})
    program = (folder / "protect.py").read_text()
    assert "--k 3 --method retention -o told" in opened.get("/protect").text
    assert "people.csv --plan plan.toml -o told" in (folder / "protect.sh").read_text()
    assert api.PlanFile.load(folder / "plan.toml").target == {"k": 3.0}
    made = program.replace("'told'", "'by_program'")
    done = subprocess.run([sys.executable, "-c", made], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    both = [load(folder / name).certificate.schema for name in ("by_program", "told")]
    assert both[0] == both[1]
    states = opened.session.history()
    opened.post("/code/back", {"at": "0"})
    assert opened.session.now.file == ""
    opened.post("/code/back", {"at": str(len(states) - 1)})
    assert opened.session.now.target == {"k": 3.0}


def test_every_page_saves_schema_and_plan_for_the_command_line(
    opened: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is there is replaced only when told, and a command makes the release by them."""
    folder = opened.session.folder
    opened.post("/asked/add", {"kind": "table", "of": "0", "by": ["1"]})
    opened.post("/asked/add", {"kind": "mean", "of": "3", "by": ["2"]})
    opened.post("/choose", {"method": "retention", "letter": "k", "k": "4"})
    for path in (
        "/",
        "/columns",
        "/columns/1",
        "/risk",
        "/asked",
        "/choose",
        "/protect",
        "/report",
    ):
        text = opened.get(path).text
        assert "Save schema.toml and plan.toml" in text, path
        assert "pramana " in words(text)
        assert "import pramana" in words(text) or "from pramana" in words(text), path
    answer = opened.post("/code", {"here": "/choose", "force": "1"})
    assert answer.url.path == "/choose"
    assert "schema.toml and plan.toml are written" in answer.text
    told = words(opened.post("/code", {"here": "/choose"}).text)
    assert "schema.toml and plan.toml already exist" in told
    plan = api.PlanFile.load(folder / "plan.toml")
    assert plan.asked == ("sex*age", "income by region")
    assert (plan.method, plan.target) == ("retention", {"k": 4.0})
    assert Schema.load(folder / "schema.toml").tables == (("sex", "age"), ("region",))
    monkeypatch.chdir(folder)
    with pytest.raises(SystemExit) as left:
        main(["protect", "people.csv", "--plan", "plan.toml", "-o", "by_plan"])
    assert left.value.code == 0
    assert verify(folder / "by_plan").valid


def test_the_commands_of_columns_write_the_schema_as_it_stands(
    opened: Visitor, tmp_path: Path
) -> None:
    """What was changed is in them, and in Python; neither replaces a file."""
    opened.post("/columns/roles", {"role-3": "identifier"})
    for number, path in enumerate(("/columns", "/columns/3", "/columns/rules")):
        shell, code = same(opened.get(path).text)
        assert "describe" not in shell + code
        for command, place in (
            (["sh", "-c", shell.partition("\npramana ")[0]], tmp_path / f"shell-{number}"),
            ([sys.executable, "-c", code], tmp_path / f"python-{number}"),
        ):
            place.mkdir()
            subprocess.run(command, cwd=place, check=True)
            assert Schema.load(place / "schema.toml") == schema(opened)
            (place / "schema.toml").write_text("learn")
            assert subprocess.run(command, cwd=place, check=False, capture_output=True).returncode
            assert (place / "schema.toml").read_text() == "learn"
    assert schema(opened).columns[3].role is Role.IDENTIFIER


def test_commands_and_python_write_the_same_editions_of_a_report(opened: Visitor) -> None:
    """Each under the name that the page gives it; the one for everybody never sees the truth."""
    shell, code = same(opened.get("/report").text)
    for edition, flag, given in (
        ("public", "--external", "external=True"),
        ("owner", "--original people.csv", "original='people.csv'"),
    ):
        for ending in ("html", "pdf"):
            name = f"release-report-{edition}.{ending}"
            assert f"pramana report release {flag} -o {name}" in shell.splitlines()
            assert f"report.save({name!r})" in code.splitlines()
        (made,) = [part for part in code.split("report = ") if f"report-{edition}.pdf" in part]
        assert made.startswith(f"pm.report('release', {given}, name=")
    assert shell.count("-o ") == code.count(".save(") == 4


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet"])
def test_names_that_are_there_twice_are_numbered_by_a_click(
    visitor: Visitor, folder: Path, ending: str
) -> None:
    """Whatever the format; the file itself stays, and commands read it in the same way."""
    place = folder / f"twice.{ending}"
    if ending == "parquet":
        pairs = [[20, 30] * 40, ["x", "y"] * 40]
        pq.write_table(pa.table(pairs, names=["sex", "sex"]), place)
    else:
        text = "sex;age;sex\n" + "F;20;x\nM;30;y\n" * 40
        place.write_bytes(gzip.compress(text.encode()) if ending == "csv.gz" else text.encode())
    before = place.read_bytes()
    visitor.post("/open", {"file": place.name})
    assert "Number the names" in visitor.part("/open/found")
    visitor.post("/open/mend")
    assert "sex_2" in visitor.part("/open/found")
    assert place.read_bytes() == before
    assert "missing" in words(visitor.part("/open/codes"))
    shown = words(visitor.get("/").text)
    assert f"pramana describe {place.name} --rename" in shown
    assert f"pm.api.read('{place.name}', rename=True)" in shown


def test_what_can_be_done_about_a_file_is_told_whenever_it_is_refused(
    visitor: Visitor, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where it is refused in the moment in which the page is answered."""
    (folder / "late.csv").write_text("a,a\n1,2\n")
    look = data.look_job

    class Late(threading.Event):
        first = True

        def wait(self, timeout: float | None = None) -> bool:
            del timeout
            early, self.first = self.first, False
            return super().wait(0 if early else 30)

    def refuse(job: Job) -> None:
        job.condition = "refused"
        job.ended.set()

    def looked(studio: Studio) -> Job:
        job = look(studio)
        if not isinstance(job.ended, Late):
            job.ended.wait(30)
            job.condition, job.ended = "running", Late()
            threading.Timer(0.2, refuse, [job]).start()
        return job

    monkeypatch.setattr(data, "look_job", looked)
    visitor.post("/open", {"file": "late.csv"})
    assert "Number the names" in visitor.part("/open/found")


def test_pages_say_what_columns_are_where_the_file_does(visitor: Visitor, folder: Path) -> None:
    """Codes such as q1 alone tell a reader nothing."""
    own = pd.DataFrame({"q1": [1, 2] * 60, "q2": [1, 2, 3] * 40, "pay": range(120)})
    labels = ["Sex of the person", "Satisfaction with life", "Income in euro"]
    pyreadstat.write_sav(own, str(folder / "coded.sav"), column_labels=labels)
    visitor.post("/open", {"file": "coded.sav"})
    visitor.part("/columns/list")
    visitor.post("/columns/roles", {"role-0": "key", "role-1": "key", "role-2": "sensitive"})
    told = words(visitor.part("/risk/measured"))
    assert "Keys q1 Sex of the person q2 Satisfaction with life" in told
    assert "Nobody is unique by few keys alone." in told
    assert "q1 · Sex of the person" in words(visitor.get("/asked").text)
    assert "q2 Satisfaction with life is one of" in words(
        visitor.get("/columns/rules?a=0&b=1").text
    )
    assert "pay Income in euro" in words(visitor.get("/protect").text)


def test_one_of_several_tables_of_a_file_is_chosen(visitor: Visitor, folder: Path) -> None:
    """A database, or a file of R: which of its tables is asked for, and another can be taken."""
    with duckdb.connect(str(folder / "all.duckdb")) as base:
        base.execute("create table people as select i % 2 as sex from range(60) t(i)")
        base.execute("create table towns as select i % 3 as town from range(60) t(i)")
    visitor.post("/open", {"file": "all.duckdb"})
    said = words(visitor.part("/open/found"))
    assert said.startswith("all.duckdb holds 2 tables. Choose one people towns")
    visitor.post("/open", {"part": "towns"})
    said = words(visitor.part("/open/found"))
    assert "Table towns Another one people towns" in said
    assert "pramana describe 'all.duckdb#towns'" in words(visitor.get("/").text)


def test_another_sheet_and_another_encoding_are_read(visitor: Visitor, folder: Path) -> None:
    """What was found is shown and can be put right; a sheet that is none is refused."""
    xlsx(
        folder / "book.xlsx", people=[("sex", "age"), ("F", 3)], **{"towns ": [("town",), ("Ur",)]}
    )
    visitor.post("/open", {"file": "book.xlsx"})
    assert "Sheet people" in words(visitor.part("/open/found"))
    visitor.post("/open", {"part": "towns "})
    assert "Ur" in words(visitor.part("/open/found"))
    assert "pramana describe 'book.xlsx#towns '" in words(visitor.get("/").text)
    visitor.post("/open", {"part": "../x"})
    assert "no such sheet" in visitor.get("/open/found", **{"hx-request": "true"}).text
    (folder / "old.csv").write_bytes("town,n\nŁódź,1\nBrno,2\n".encode("cp1250"))
    visitor.post("/open", {"file": "old.csv"})
    assert "Read it as" in visitor.part("/open/found")
    visitor.post("/open", {"file": "old.csv", "encoding": "cp1250"})
    assert "Łódź" in visitor.part("/open/found")


def test_a_code_may_begin_with_a_space(visitor: Visitor, folder: Path) -> None:
    """It is shown in quotes, and stays as it is when the form is saved again."""
    rows = "".join(f"{('a', 'b', ' N', 'N')[at % 4]},{at % 3}\n" for at in range(200))
    (folder / "spaces.csv").write_text(f"answer,b\n{rows}")
    visitor.post("/open", {"file": "spaces.csv"})
    visitor.part("/columns/list")
    form = {"role": "key", "missing": "category", "codes": '" N"'}
    for _ in range(2):
        visitor.post("/columns/0", form)
        assert schema(visitor).columns[0].recoding.missing_codes == (" N",)
        shown = re.search(r'name="codes"[^>]*>(.*?)</textarea>', visitor.get("/columns/0").text)
        assert shown is not None
        form["codes"] = unescape(shown[1])
    visitor.post("/columns/0", form | {"codes": "a\r\n N\r\n", "code": " N"})
    assert schema(visitor).columns[0].recoding.missing_codes == ("a", "N", " N")


def test_a_date_becomes_its_year_and_a_code_missing(visitor: Visitor, folder: Path) -> None:
    """By the form of a column; counts follow."""
    rows = "\n".join(f"20{at % 20 + 10}-0{at % 9 + 1}-11,{99 if at % 7 == 0 else at % 5}" for at in
                     range(300))  # fmt: skip
    (folder / "dates.csv").write_text(f"born,size\n{rows}\n")
    visitor.post("/open", {"file": "dates.csv"})
    asked = "99 looks as if it meant missing"
    assert asked in visitor.part("/columns/list")
    visitor.post("/columns/0", {"role": "key", "date": "year"})
    visitor.post("/columns/1", {"role": "key", "codes": "99", "missing": "category"})
    assert asked not in visitor.part("/columns/list")  # it was decided
    own = schema(visitor)
    assert own["born"].recoding.date == "year"
    assert own["size"].recoding.missing_codes == (99,)
    form = {"role": "key", "date": "year", "edges": "2010, 2020, 2030"}
    visitor.post("/columns/0", form)
    told = words(visitor.post("/columns/0/count", form, **{"hx-request": "true"}).text)
    whole = Counter((at % 20, at % 9, at % 5 if at % 7 else -1) for at in range(300))
    raw = list(whole.values()).count(1)
    assert f"as many as before Without any recoding of this column: {raw}." in told
    shape = words(visitor.part("/columns/1/shape"))
    assert "43 records have none" in shape
    visitor.post("/choose", {"method": "retention", "letter": "k", "k": "3"})
    plan = words(visitor.part("/protect/plan"))
    assert "cannot" not in plan
    assert "Cost." in plan
    jobs = visitor.client.app._app.state.studio.jobs  # type: ignore[attr-defined]
    assert not any(own.function is tasks.beforehand for own in jobs._jobs.values())  # when opened
    while "..." in (told := words(visitor.get("/protect/foretold").text)):
        time.sleep(0.05)
    assert "On these data (not for publication)" in told


def test_a_promise_from_outside_has_its_slider(
    opened: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One whose letter is not called like its number: seen, chosen, and chosen as one in k."""
    slider = ("Surprise nobody", 1.0, 50.0, 5.0)
    letter = CliOption("--surprise-odds", "Beyond these.", number="odds", slider=slider)
    monkeypatch.setattr(Surprise, "cli_options", (letter,))
    monkeypatch.setattr(Surprise, "one_in", classmethod(lambda cls, k, **_: cls(odds=k)))
    api.GUARANTEES.register("toy-surprise", Surprise)
    try:
        assert "Surprise nobody" in opened.get("/choose").text
        opened.post("/choose", {"letter": "surprise_odds", "surprise_odds": "7", "method": ""})
        assert opened.session.now.target == {"surprise_odds": 7.0}
        monkeypatch.setattr(Retention, "aims", ("toy-surprise",))
        opened.post("/choose", {"method": "retention", "chance": "9"})
        assert opened.session.now.target == {"surprise_odds": 9.0}
    finally:
        api.GUARANTEES.unregister("toy-surprise")


def test_an_example_is_opened_and_recent_tables_are_named(visitor: Visitor) -> None:
    """On the first page, which shows what the studio does until a table is open."""
    first = visitor.get("/").text
    assert "What the studio does" in first
    opened = words(visitor.post("/open/example").text)
    assert "example-people.parquet" in opened
    assert "5,000" in words(visitor.part("/open/found"))
    visitor.post("/open", {"file": "people.csv"})
    shown = visitor.get("/").text
    assert "What the studio does" not in shown
    assert "Recent example-people.parquet" in words(shown)
