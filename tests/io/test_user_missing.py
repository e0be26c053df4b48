"""Tests of values by which SPSS and Stata files say why there is none."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pyreadstat
import pytest

from pramana import api
from pramana.cli.app import main
from pramana.errors import InvalidSchema, Notice, OutsideDomain
from pramana.guarantees.k_anonymity import KAnonymity
from pramana.guarantees.pk_anonymity import PkAnonymity
from pramana.io.opening import open_table
from pramana.io.output import write_table
from pramana.release.folder import read_certificate
from pramana.schema.codec import decode, encode
from pramana.schema.domains import Bins, Categories, Labels
from pramana.schema.roles import Role
from pramana.schema.schema import Column, Schema

VOTE = {1.0: "yes", 2.0: "no", 8.0: "refused", 9.0: "does not know"}
REFUSED, UNKNOWN = 2147483622, 2147483623
"""How Stata keeps .a and .b."""


def survey(rows: int = 900) -> pd.DataFrame:
    """A vote, an age with codes above 997, an income with a code, a text with one."""
    draw = np.random.default_rng(3)
    age = draw.integers(18, 90, rows).astype(float)
    age[draw.random(rows) < 0.05] = 998
    age[draw.random(rows) < 0.05] = 999
    income = np.round(draw.lognormal(10, 1, rows))
    income[:7] = 9_999_999
    income[7:12] = np.nan
    vote = draw.choice([1.0, 2.0, 8.0, 9.0, np.nan], rows, p=[0.5, 0.3, 0.1, 0.05, 0.05])
    party = draw.choice(["left", "right", "none"], rows)
    return pd.DataFrame({"vote": vote, "age": age, "income": income, "party": party})


@pytest.fixture
def spss(tmp_path):
    """An SPSS file with values, a range and a text that stand for missing."""
    path = tmp_path / "survey.sav"
    pyreadstat.write_sav(
        survey(),
        str(path),
        variable_value_labels={"vote": VOTE},
        missing_ranges={
            "vote": [8, 9],
            "age": [{"lo": 997, "hi": 999}],
            "income": [9_999_999],
            "party": ["none"],
        },
    )
    return path


@pytest.fixture
def stata(tmp_path):
    """A Stata file with .a and .b."""
    path = tmp_path / "survey.dta"
    own = survey()
    vote = own["vote"].astype(object).replace({8.0: "a", 9.0: "b"}).where(own["vote"].notna(), None)
    pyreadstat.write_dta(
        own.assign(vote=vote)[["vote", "age", "income", "party"]],
        str(path),
        variable_value_labels={"vote": {1: "yes", 2: "no", "a": "refused", "b": "unknown"}},
        missing_user_values={"vote": ["a", "b"]},
    )
    return path


def test_each_reason_for_missing_is_one_value(spss):
    """Listed once, as a value of the missing kind; only empty cells are counted as missing."""
    found = api.describe(spss, keys=["vote", "age", "party"])

    assert found.column("vote").domain == Categories((1, 2), missing_values=(8, 9))
    assert found.column("party").domain == Categories(("left", "right"), missing_values=("none",))
    age = found.column("age").domain
    assert isinstance(age, Bins)
    assert age.missing_values == (998, 999)
    assert max(age.edges) <= 100
    empty = int(survey()["vote"].isna().sum())
    profiles = {profile.name: profile for profile in found.profiles}
    assert profiles["vote"].missing == empty
    assert "calls 2 of its values missing: each is a separate value" in profiles["vote"].why
    assert found.column("vote").labels == (1, 2, 8, 9, None)


@pytest.mark.filterwarnings("ignore::pramana.errors.Notice")
@pytest.mark.parametrize("method", [None, "resample", "centroid"])
def test_a_release_tells_the_reasons_apart(spss, tmp_path, method):
    """Every method releases them as values of their own, and the folder verifies."""
    schema = api.describe(spss, keys=["vote", "age", "party"], sensitive=["income"]).schema
    target = PkAnonymity(k=2) if method is None else KAnonymity(k=3)
    plan = api.design(schema, target, data=spss, method=method)
    release = api.protect(spss, plan, to=tmp_path / "release", seed=1)

    verdict = api.verify(tmp_path / "release", original=spss)
    assert verdict.valid, [check for check in verdict.checks if not check.ok]
    released = release.opened.to_arrow()
    assert {8, 9} <= set(released["vote"].to_pylist())
    assert {"998", "999"} & set(released["age"].to_pylist())
    assert released["income"].null_count == 12  # seven by the code, five empty
    certified = read_certificate(tmp_path / "release").schema.column("vote")
    assert certified.domain == schema.column("vote").domain
    if method is None:
        table = release.crosstab("vote")
        assert table.labels[0] == (1, 2, 8, 9, None)
        assert "8 refused" in repr(table)
        assert "<td>8 refused</td>" in table._repr_html_()
        assert "8 refused" in table.plot().to_json()


@pytest.mark.filterwarnings("ignore::pramana.errors.Notice")
def test_spss_reads_the_release_as_the_original(spss, tmp_path):
    """The released file calls the same values missing, and labels them."""
    schema = api.describe(spss, keys=["vote", "party"], sensitive=["income", "age"]).schema
    api.protect(
        spss,
        api.design(schema, PkAnonymity(k=2), data=spss, method="retention"),
        to=tmp_path / "r",
        seed=1,
    )

    _, about = pyreadstat.read_sav(str(tmp_path / "r" / "data.sav"), user_missing=True)
    assert about.variable_value_labels["vote"] == VOTE
    assert [own["lo"] for own in about.missing_ranges["vote"]] == [8, 9]
    assert [own["lo"] for own in about.missing_ranges["party"]] == ["none"]


@pytest.mark.filterwarnings("ignore::pramana.errors.Notice")
def test_stata_keeps_its_letters(stata, tmp_path):
    """.a and .b are values of their own, and letters again in a Stata file."""
    schema = api.describe(
        stata, keys=["vote"], sensitive=["income", "age"], public=["party"]
    ).schema
    assert schema.column("vote").domain == Categories((1, 2), missing_values=(REFUSED, UNKNOWN))
    api.protect(
        stata,
        api.design(schema, PkAnonymity(k=2), data=stata, method="retention"),
        to=tmp_path / "r",
        seed=1,
    )

    released, about = pyreadstat.read_dta(str(tmp_path / "r" / "data.dta"), user_missing=True)
    assert {"a", "b"} <= set(released["vote"].dropna())
    assert about.variable_value_labels["vote"]["a"] == "refused"
    assert api.verify(tmp_path / "r", original=stata).valid


@pytest.mark.filterwarnings("ignore::pramana.errors.Notice")
def test_letters_that_no_record_has_are_no_ordinary_values(tmp_path):
    """Stata labels .a to .c, and records have .a at most: all three stand for missing, whether a
    column has them or not, and the release is a Stata file again."""
    own = survey()
    labels = {"a": "refused", "b": "unknown", "c": "does not apply"}
    vote = own["vote"].astype(object).replace({8.0: "a", 9.0: 1.0}).where(own["vote"].notna(), None)
    kept = own["vote"].where(own["vote"] < 3, 1.0)
    path = str(tmp_path / "survey.dta")
    pyreadstat.write_dta(
        pd.DataFrame({"vote": vote, "old": kept}),
        path,
        variable_value_labels={"vote": {1: "yes", 2: "no", **labels}, "old": {1: "yes", **labels}},
        missing_user_values={"vote": ["a", "b", "c"], "old": ["a", "b", "c"]},
    )
    schema = api.describe(path, keys=["vote", "old"]).schema
    for name in ("vote", "old"):
        domain = schema.column(name).domain
        assert domain == Categories((1, 2), missing_values=(REFUSED, UNKNOWN, UNKNOWN + 1))
    plan = api.design(schema, PkAnonymity(k=2), data=path, method="retention")
    api.protect(path, plan, to=tmp_path / "r", seed=1)

    released, about = pyreadstat.read_dta(str(tmp_path / "r" / "data.dta"), user_missing=True)
    assert {"a", "b", "c"} <= set(released["vote"].dropna())
    assert about.variable_value_labels["vote"]["c"] == "does not apply"
    assert api.verify(tmp_path / "r", original=path).valid


def test_what_the_file_calls_missing_is_not_guessed_at(tmp_path):
    """No proposal to take as missing what stands in the file as such; of another column, one."""
    own = survey()
    frame = pd.DataFrame({name: own["vote"].replace({8.0: -8.0, 9.0: -9.0}) for name in "ab"})
    path = str(tmp_path / "survey.sav")
    pyreadstat.write_sav(frame, path, missing_ranges={"a": [-8, -9]})
    told, guessed = api.describe(path, keys=["a", "b"]).profiles

    assert told.suspects == () == told.proposals
    assert {one.value for one in guessed.suspects} == {-8, -9}


def test_columns_that_are_not_randomised_say_that_reasons_are_lost(spss):
    """Not silently: a notice names the columns."""
    schema = Schema((
        Column("vote", Role.KEY, Categories((1, 2), missing_values=(8, 9)), missing="category"),
        Column("age", Role.SENSITIVE),
        Column("income", Role.SENSITIVE),
        Column("party", Role.PUBLIC),
    ))  # fmt: skip
    with pytest.warns(Notice, match="all alike, in columns that are not randomised: age, income"):
        opened = open_table(spss, schema=schema)
    assert max(opened.to_arrow()["age"].drop_null().to_pylist()) < 100


def test_policy_says_what_happens_to_them():
    """``keep`` leaves each as it is, ``category`` randomises each; ``refuse`` refuses what is
    empty alone, so that no category is there that nobody has."""
    domain = Categories((1, 2), missing_values=(8, 9))
    assert Column("v", Role.KEY, domain, missing="keep").fixed == (8, 9, None)
    assert Column("v", Role.KEY, domain, missing="category").fixed == ()
    refusing = Column("v", Role.KEY, domain, missing="refuse")
    assert refusing.labels == (1, 2, 8, 9)
    assert encode(refusing, pa.array([9, 1])).tolist() == [3, 0]
    with pytest.raises(OutsideDomain, match="missing"):
        encode(refusing, pa.array([9, None]))


def test_codes_alone_bring_no_empty_category(tmp_path):
    """A file whose records all have a value or a reason for none needs nothing beside them."""
    own = survey()[["vote"]].dropna()
    path = str(tmp_path / "survey.sav")
    pyreadstat.write_sav(own, path, missing_ranges={"vote": [8, 9]})
    found = api.describe(path, keys=["vote"]).schema
    schema = api.design(found, PkAnonymity(k=2), data=path, method="retention").schema
    assert schema.column("vote").labels == (1, 2, 8, 9)


LISTED = Categories((1, 2), missing_values=(8, 9))


@pytest.mark.filterwarnings("ignore::pramana.errors.Notice")
@pytest.mark.parametrize("method", ["retention", "resample", "attribute-sampling"])
def test_columns_that_are_not_randomised_keep_reasons_that_they_list(spss, tmp_path, method):
    """Each stays a value with its label, in the release, its codebook and tables; no mean counts
    them; bins keep them too; and the folder verifies."""
    schema = Schema((
        Column("party", Role.KEY, Categories(("left", "right"), missing_values=("none",))),
        Column("age", Role.SENSITIVE, Bins((0, 50, 100), missing_values=(998, 999))),
        Column("income", Role.SENSITIVE),
        Column("vote", Role.SENSITIVE, LISTED),
    ))  # fmt: skip
    target = KAnonymity(k=3) if method == "resample" else PkAnonymity(k=2)
    plan = api.design(schema, target, data=spss, method=method)
    release = api.protect(spss, plan, to=tmp_path / "r", seed=1)

    truth = survey()
    verdict = api.verify(tmp_path / "r", original=spss)
    assert verdict.valid, [check for check in verdict.checks if not check.ok]
    released = release.opened.to_arrow().to_pandas()
    assert (released["vote"] == 8).sum() == (truth["vote"] == 8).sum()
    assert (released["age"].astype(str) == "998").sum() == (truth["age"] == 998).sum()
    assert '"8","refused","missing"' in (tmp_path / "r" / "codebook.csv").read_text()
    assert "8 refused" in repr(release.crosstab("vote"))
    mean = release.mean("vote", by=[])
    assert mean.estimate.item() == pytest.approx(truth["vote"][truth["vote"] < 3].mean())


def test_means_count_no_reason_for_missing_of_a_plain_file(tmp_path):
    """Codes that a schema lists are no numbers, whatever file they stand in."""
    truth = survey()[["vote", "party"]].fillna({"vote": 9.0})
    schema = Schema((
        Column("party", Role.KEY, Categories(("left", "right", "none")), missing="refuse"),
        Column("vote", Role.SENSITIVE, LISTED, missing="refuse"),
    ))  # fmt: skip
    plan = api.design(schema, PkAnonymity(k=2), data=truth, method="retention")
    release = api.protect(truth, plan, seed=1)
    assert release.mean("vote", by=[]).estimate.item() < 2
    assert sum(release.mean("vote", by=["party"]).estimate > 2) == 0

    strange = truth.assign(vote=truth["vote"].replace({9.0: 7.0}))
    with pytest.raises(OutsideDomain, match="'vote'"):
        api.protect(strange, plan, seed=1)


def test_labelled_columns_that_stay_are_described_with_their_reasons(spss):
    """Where the file labels all values, the reasons that occur are listed; elsewhere not."""
    found = api.describe(spss, keys=["age"], sensitive=["vote", "income"], public=["party"]).schema
    assert found.column("vote").domain == LISTED
    assert found.column("income").domain is None is found.column("party").domain


@pytest.mark.parametrize("release", ["label", "centre", "draw"])
def test_codes_lie_in_no_bin(release):
    """They are found before the bins, leave as themselves, and are found again."""
    from pramana.schema.codec import encode_released

    bins = Bins((0, 10, 20), release, missing_values=(98, 99))
    column = Column("age", Role.KEY, bins, missing="category")
    codes = encode(column, pa.array([5, 15, 98, 99, None]))
    assert codes.tolist() == [0, 1, 2, 3, 4]
    words = np.arange(5, dtype=np.uint64) << np.uint64(60)
    left = decode(column, codes, words)
    assert encode_released(column, left).tolist() == codes.tolist()
    assert left.to_pylist()[2:] == (["98", "99", None] if release == "label" else [98, 99, None])


def test_a_code_inside_the_bins_needs_labels():
    """A drawn 9 would mean both nine and refused."""
    assert Bins((0, 10, 20), missing_values=(9,)).labels[-1] == "9"
    with pytest.raises(InvalidSchema, match="outside the bins"):
        Bins((0, 10, 20), "draw", missing_values=(9,))


def test_a_schema_file_keeps_them():
    """Written and read back."""
    schema = Schema((
        Column("v", Role.KEY, Categories((1, 2), missing_values=(8, 9)), missing="keep"),
        Column("a", Role.KEY, Bins((0, 5, 9), missing_values=(98,)), missing="category"),
    ))  # fmt: skip
    assert Schema.from_toml(schema.to_toml()) == schema


@pytest.mark.parametrize("file_format", ["sav", "dta", "parquet", "csv"])
@pytest.mark.parametrize(
    ("asked", "method"), [(PkAnonymity(k=5), "retention"), (KAnonymity(k=5), "permute")]
)
def test_labels_of_values_that_are_not_released_stay_at_home(tmp_path, file_format, asked, method):
    """A label leaves if the domain has its value, or a column released unchanged shows it."""
    random = np.random.default_rng(1)
    frame = pd.DataFrame(
        {"who": range(300), "a": random.integers(1, 4, 300), "s": 1 + random.integers(0, 2, 300)}
    )
    pyreadstat.write_sav(
        frame,
        str(tmp_path / "truth.sav"),
        column_labels={"who": "SECRET-NAME", "a": "first", "s": "illness"},
        variable_value_labels={
            "who": {i: f"SECRET-{i}" for i in range(300)},
            "a": {1: "one", 2: "two", 77: "SECRET-VALUE"},
            "s": {1: "flu", 9: "SECRET-ILLNESS"},
        },
        file_label="SECRET-FILE",
        note="SECRET-NOTE",
    )
    schema = Schema(
        (
            Column("who", Role.IDENTIFIER),
            Column("a", Role.KEY, Categories((1, 2, 3)), missing="refuse"),
            Column("s", Role.SENSITIVE),
        )
    )
    plan = api.design(schema, asked, data=tmp_path / "truth.sav", method=method)
    folder = tmp_path / "release"
    api.protect(tmp_path / "truth.sav", plan, to=folder, file_format=file_format)

    written = b"".join(path.read_bytes() for path in folder.iterdir())
    assert b"SECRET" not in written
    assert all(text in written for text in (b"illness", b"flu", b"two"))
    assert api.verify(folder, original=tmp_path / "truth.sav").valid


def test_a_command_says_once_that_codes_are_taken_as_missing(spss, tmp_path, capsys):
    """The file is opened more than once on the way; a steward reads the notice once."""
    schema = api.describe(spss, keys=["vote"], sensitive=["income"], public=["party"]).schema
    schema.save(tmp_path / "schema.toml")
    with pytest.raises(SystemExit):
        main(["design", str(spss), "--schema", str(tmp_path / "schema.toml"), "--k", "2"])

    assert capsys.readouterr().err.count("all alike, in columns that are not randomised") == 1


@pytest.mark.filterwarnings("ignore::pramana.errors.Notice")
@pytest.mark.parametrize("way", ["copy", "saved", "of a plain file"])
def test_every_road_to_a_file_calls_the_same_values_missing(spss, stata, tmp_path, way):
    """As a copy beside the data, saved from an object, and where only the schema knows: else .a is
    the number 2147483622 in SPSS, and one that Stata cannot have."""
    schema = Schema((
        Column("vote", Role.KEY, Categories((1, 2), missing_values=(8, 9)), missing="category"),
        Column("age", Role.KEY, Bins((0, 50, 100), missing_values=(998, 999))),
        Column("income", Role.IDENTIFIER),
        Column("party", Role.IDENTIFIER),
    ))  # fmt: skip
    source = spss
    if way == "of a plain file":
        source = tmp_path / "plain.csv"
        survey().to_csv(source, index=False)
    plan = api.design(schema, PkAnonymity(k=2), data=source, method="retention")
    if way == "copy":
        api.protect(source, plan, to=tmp_path / "r", seed=1, file_format="csv", copies=["sav"])
    elif way == "saved":
        api.protect(source, plan, seed=1).save(tmp_path / "r", file_format="sav")
    else:
        api.protect(source, plan, to=tmp_path / "r", seed=1, file_format="sav")

    _, about = pyreadstat.read_sav(str(tmp_path / "r" / "data.sav"), user_missing=True)
    assert [own["lo"] for own in about.missing_ranges["vote"]] == [8, 9]
    assert [own["lo"] for own in about.missing_ranges["age"]] == ["998", "999"]
    if way == "saved":
        own = api.describe(stata, keys=["vote"], sensitive=["age"], public=["party"]).schema
        plan = api.design(own, PkAnonymity(k=2), data=stata, method="retention")
        api.protect(stata, plan, seed=1).save(tmp_path / "s", file_format="dta", copies=["sav"])
        released, _ = pyreadstat.read_dta(str(tmp_path / "s" / "data.dta"), user_missing=True)
        assert {"a", "b"} <= set(released["vote"].dropna())
        _, about = pyreadstat.read_sav(str(tmp_path / "s" / "data.sav"), user_missing=True)
        assert [own["lo"] for own in about.missing_ranges["vote"]] == [REFUSED, UNKNOWN]


@pytest.mark.parametrize(
    ("codes", "told"),
    [
        ((-1, 7, 8, 9), [(-1, -1), (7, 9)]),
        ((6, 7, 8, 9), [(6, 9)]),
        ((-9, -8, 8, 9), None),
    ],
)
def test_a_range_of_codes_takes_in_no_value(tmp_path, codes, told):
    """Four codes are a range in SPSS, and one beside it; where a value would lie in it, they stay
    ordinary values and a notice says so."""
    values = [1, 2, 3, *codes]
    source = pa.table({"q": np.array(values * 20)})
    schema = Schema((Column("q", Role.KEY, Categories((1, 2, 3), missing_values=codes)),))
    plan = api.design(schema, PkAnonymity(k=2), data=source, method="retention")
    release = api.protect(source, plan, seed=1)
    if told is None:
        with pytest.warns(Notice, match="the codes of q keep their labels"):
            release.save(tmp_path / "r", file_format="sav")
    else:
        release.save(tmp_path / "r", file_format="sav")

    _, about = pyreadstat.read_sav(str(tmp_path / "r" / "data.sav"), user_missing=True)
    found = [(own["lo"], own["hi"]) for own in about.missing_ranges.get("q", [])]
    assert sorted(found) == (told or [])


def test_a_range_of_codes_takes_in_no_labelled_value_that_nobody_has(tmp_path):
    """Whoever reads the file would find it called missing."""
    source, codes = pa.table({"q": [1, 4, 6, 7, 9]}), (1, 4, 6, 7, 9)
    named = Labels(values={"q": {2: "no", 5: "never"}}, missing={"q": codes})
    with pytest.warns(Notice, match="the codes of q keep their labels"):
        write_table(source, tmp_path / "t.sav", file_format="sav", labels=named)
    assert "q" not in open_table(tmp_path / "t.sav").labels.missing
    named = Labels(values={"q": {2: "no"}}, missing={"q": codes})
    write_table(source, tmp_path / "u.sav", file_format="sav", labels=named)
    assert open_table(tmp_path / "u.sav").labels.missing == {"q": codes}


def test_stata_leaves_labels_of_texts_to_the_codebook(tmp_path):
    """It has none; a copy is written all the same, and a notice says where they are."""
    source = tmp_path / "survey.sav"
    frame = pd.DataFrame({"party": ["l", "r"] * 50, "q": [1.0, 2.0] * 50})
    named = {"party": {"l": "left", "r": "right"}, "q": {1.0: "yes", 2.0: "no"}}
    pyreadstat.write_sav(frame, str(source), variable_value_labels=named)
    schema = api.describe(source, keys=["party", "q"]).schema
    plan = api.design(schema, PkAnonymity(k=2), data=source, method="retention")
    with pytest.warns(Notice, match="labels of party: codebook.csv has them whole"):
        api.protect(source, plan, to=tmp_path / "r", seed=1, copies=["dta"])
    _, about = pyreadstat.read_dta(str(tmp_path / "r" / "data.dta"))
    assert about.variable_value_labels == {"q": {1: "yes", 2: "no"}}
    assert '"l","left","value"' in (tmp_path / "r" / "codebook.csv").read_text()
