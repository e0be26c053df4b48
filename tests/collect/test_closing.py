"""From answers to a release folder that is like any other."""

from __future__ import annotations

import errno
import hashlib
import json
import math
import sqlite3
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

import pramana as pm
from pramana.base.randomness import Keystream
from pramana.cli.app import main
from pramana.collect.closing import (
    certificate_of,
    close_survey,
    live,
    repeats,
    status_of,
    suspicions,
)
from pramana.collect.definition import Definition, define, respond
from pramana.collect.simulated_survey import SURVEY
from pramana.collect.store import Outcome, Sent
from pramana.collect.survey import read_survey
from pramana.collect.survey_folder import check_survey, load_survey, new_survey, opened_store
from pramana.errors import DoesNotHold, InputError, OutputExists
from pramana.mechanisms.mechanism import AttributeSampler, Mechanism
from pramana.mechanisms.transition import UniformMixture
from pramana.verification.consistency import consistency_checks
from tests.collect.conftest import PERSON, small_survey, survey_text

OTHER = {"age": "[65, 120]", "sex": "m", "employed": "no", "travel": "does not apply"}


def answered(folder: Path, definition: Definition, people: int) -> None:
    """So many people answer, three of four alike."""
    widths = definition.channel.widths
    sent = [
        Sent(
            respond(definition, OTHER if at % 4 == 0 else PERSON).spelled(widths=widths),
            f"{at:064x}",
        )
        for at in range(people)
    ]
    with opened_store(folder, definition) as store:
        store.accept(sent)


@pytest.mark.deep(every=2)
def test_a_release_of_answers_verifies_and_tells_who_answered(
    survey_folder: Path, definition: Definition, tmp_path: Path
) -> None:
    """Every check holds, and the estimate covers what only this test knows."""
    answered(survey_folder, definition, 4000)
    with opened_store(survey_folder, definition) as store:
        release = close_survey(definition, store, tmp_path / "release")
    verdict = pm.verify(tmp_path / "release")
    assert verdict.valid, [check for check in verdict.checks if not check.ok]
    told = " ".join(release.certificate.sentences())
    assert "Nobody held the original answers" in told
    assert "For an attacker who invented or knows m of the n records, the anonymity set" in told
    assert "A person who answered m times has m times the epsilon" in told
    report = pm.report(tmp_path / "release").save(tmp_path / "report.html").read_text()
    assert "Nobody held the original answers" in " ".join(report.split())
    table = release.crosstab("employed")
    for value, truth in (("yes", 3000), ("no", 1000)):
        cell = table.cell(value)
        assert abs(cell["estimate"] - truth) <= 5 * cell["se"]


def test_a_full_disk_is_told_with_what_it_leaves(
    survey_folder: Path, definition: Definition, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The survey is closed by then, which is not nothing; closed again it has its release."""
    answered(survey_folder, definition, 20)
    to = tmp_path / "release"

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with opened_store(survey_folder, definition) as store:
        with monkeypatch.context() as disk:
            disk.setattr("pramana.analysis.release.Release.save", full)
            with pytest.raises(InputError, match="No space left.*takes no more.*close it again"):
                close_survey(definition, store, to)
        assert not to.exists()
        assert close_survey(definition, store, to).records == 20


def test_k_is_that_of_the_people_who_came(definition: Definition) -> None:
    """By the theorem: 1 + (n - 1) exp(-2 epsilon), never more than holds, for fewer than expected.

    What was asked stands beside it, and whether it was missed.
    """
    for people in (2, 100, 5000, 20_000):
        claims = {claim.name: claim for claim in certificate_of(definition, people).claims}
        epsilon = claims["differential-privacy"].attained.to_json()["epsilon"]
        k = claims["pk-anonymity"].attained.to_json()["k"]
        law = 1 + (people - 1) * math.exp(-2 * epsilon)
        assert k <= law * (1 + 1e-9)
        assert k >= law * (1 - 1e-6)
        assert claims["pk-anonymity"].asked is not None
        assert claims["pk-anonymity"].holds == (people >= 5000)


def test_a_target_that_was_missed_stands_in_the_certificate(
    survey_folder: Path, definition: Definition, tmp_path: Path
) -> None:
    """In what is asked, in words, in the verdict and the README; the release is valid all the same.

    Elsewhere a certificate that attains less than the stated target is refused.
    """
    answered(survey_folder, definition, 50)
    with opened_store(survey_folder, definition) as store:
        release = close_survey(definition, store, tmp_path / "release")
    claim = next(c for c in release.certificate.claims if c.name == "pk-anonymity")
    words = f"The target {claim.asked} is not attained."

    form = json.loads((tmp_path / "release" / "certificate.json").read_bytes())
    (said,) = [one for one in form["guarantees"] if one["name"] == "pk-anonymity"]
    assert said["asked"] == claim.asked.to_json()
    assert said["holds"] is False
    assert words in said["sentence"]
    assert words in " ".join(release.certificate.sentences())
    assert words in " ".join((tmp_path / "release" / "README.md").read_text().split())
    verdict = pm.verify(tmp_path / "release")
    assert verdict.valid
    (check,) = [check for check in verdict.checks if check.name == "pk-anonymity"]
    assert words[:-1] in check.detail
    other = replace(release.certificate, collected=None)
    assert "attains less than the stated target" in str(
        [c.detail for c in consistency_checks(other) if not c.ok]
    )


def test_status_says_what_a_release_now_would_promise(
    survey_folder: Path, definition: Definition
) -> None:
    """Before anybody came nothing is promised."""
    with opened_store(survey_folder, definition) as store:
        assert status_of(definition, store).sentences == ()
    answered(survey_folder, definition, 50)
    with opened_store(survey_folder, definition) as store:
        found = status_of(definition, store)
    assert (found.answers, found.expected) == (50, 5000)
    assert found.k is not None
    assert 1 < found.k < 2
    assert any("for a person who answered 2 times" in one for one in found.sentences)


def test_repeats_are_told_of_by_the_law_and_against_us(definition: Definition) -> None:
    """m epsilon, and k by 1 + (n - m) / m exp(-2 epsilon); nothing is left where all are hers."""
    epsilon = math.log(definition.mechanism.gamma)
    for answers, times in ((5000, 2), (5000, 5), (20_000, 3), (3, 3)):
        said = repeats(definition, answers, times=times)
        stated = float(said.split("epsilon ")[1].split(" ")[0])
        k = float(said.split("k of ")[1].split(" ")[0].replace(",", ""))
        assert times * epsilon <= stated <= times * epsilon * 1.01
        law = 1 + (answers - times) / times * math.exp(-2 * epsilon)
        assert law * 0.9 <= k <= law * (1 + 1e-9)


def test_closing_is_final_and_can_be_repeated(
    survey_folder: Path, definition: Definition, tmp_path: Path
) -> None:
    """Answers that come later would stand out by comparing two releases: they are refused."""
    answered(survey_folder, definition, 10)
    with opened_store(survey_folder, definition) as store:
        with pytest.raises(pm.PramanaError, match="exists already. Choose another place for the"):
            close_survey(definition, store, survey_folder)  # taken: nothing is closed
        assert store.look_up("f" * 64) is Outcome.FREE
        close_survey(definition, store, tmp_path / "one")
    answered(survey_folder, definition, 20)
    with opened_store(survey_folder, definition) as store:
        again = close_survey(definition, store, tmp_path / "two")
    assert again.records == 10


def test_the_page_is_the_one_of_the_definition(survey_folder: Path) -> None:
    """One byte more, and the folder is refused."""
    load_survey(survey_folder)
    page = survey_folder / "survey.html"
    page.write_bytes(page.read_bytes() + b" ")
    with pytest.raises(pm.PramanaError, match="altered"):
        load_survey(survey_folder)


def test_a_definition_that_was_made_anew_to_fit_another_channel_is_refused(
    survey_folder: Path, definition: Definition
) -> None:
    """All that follows is made anew by who altered it: other cells, less noise, another target."""

    def weaker(mechanism: Mechanism) -> Mechanism:
        if isinstance(mechanism, AttributeSampler):
            first, *rest = mechanism.sets
            noise = replace(first.matrix, other=first.matrix.other // 2)
            return replace(mechanism, sets=(replace(first, matrix=noise), *rest))
        one, *others = mechanism.steps
        assert isinstance(one.matrix, UniformMixture)
        noise = replace(one.matrix, other=one.matrix.other // 2)
        return replace(mechanism, steps=(replace(one, matrix=noise), *others))

    source = definition.source
    altered = [
        replace(definition, mechanism=weaker(definition.mechanism)),
        replace(definition, source=source.replace("k = 20", "k = 500")),
        replace(definition, source=source.replace('"bus", "car"', '"bus", "tram"')),
        replace(definition, source=source.replace('name = "age"', 'name = "years"')),
    ]
    for one in altered:
        Definition.from_bytes(one.to_bytes())  # by itself it is whole
        (survey_folder / "definition.json").write_bytes(one.to_bytes())
        with pytest.raises(pm.PramanaError, match="was altered"):
            load_survey(survey_folder)
    (survey_folder / "definition.json").write_bytes(definition.to_bytes())
    load_survey(survey_folder)


def test_anybody_can_check_a_survey_before_they_answer(
    survey_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Definition, page and signature; a page of another kind is no page of ours."""
    for name in ("office", "other"):
        pm.make_keys(tmp_path / f"{name}.key")
    signed = Definition.load(survey_folder).signed(tmp_path / "office.key")
    (survey_folder / "definition.json").write_bytes(signed.to_bytes())
    for name, code in (("office", 0), ("other", 1)):
        key = str(tmp_path / f"{name}.key.pub")
        with pytest.raises(SystemExit) as left:
            main(["collect", "check", str(survey_folder), "--key", key])
        assert (left.value.code or 0) == code
    assert "the page that this version makes" in capsys.readouterr().out
    page = (
        (survey_folder / "survey.html").read_bytes().replace(b"randomWords(1)", b"randomWords(2)")
    )
    (survey_folder / "survey.html").write_bytes(page)
    forged = replace(signed, page=hashlib.sha256(page).hexdigest(), signature=None)
    (survey_folder / "definition.json").write_bytes(forged.to_bytes())
    found = {check.name: check for check in check_survey(survey_folder).checks}
    assert found["definition"].ok
    assert not found["page"].ok


def test_words_of_the_office_are_said_to_be_its_own(tmp_path: Path) -> None:
    """Every one that differs is named, and none of them is said to be checked."""
    source = tmp_path / "survey.toml"
    own = '[words]\nconsent = "Nothing is sent."\nready = "Sent"\nnext = "Next"\n'
    source.write_text(survey_text().replace("[[questions]]", f"{own}[[questions]]", 1))
    new_survey(source, tmp_path / "survey")
    found = {check.name: check for check in check_survey(tmp_path / "survey").checks}
    assert (found["words"].state, found["page"].state) == ("asserted", "passed")
    assert "by the office, which are not checked: consent, ready; all else" in found["words"].detail


def promising(minimum: int) -> Definition:
    """A survey that is closed from this many answers on."""
    source = small_survey(
        ("smokes", ["yes", "no"], ""),
        head=f"expected = 3000\nminimum = {minimum}\nk = 20\ncentral_epsilon = 2",
    )
    return define(read_survey(source), source)[0]


def test_people_read_the_guarantee_of_the_fewest_answers_that_are_published() -> None:
    """The k of 1,000 answers, which is below that of the 3,000 expected; and what it needs."""
    definition = promising(1000)
    said = " ".join(definition.consent())
    assert "If fewer than 1,000 people answer, nothing is published" in said
    for sentence in definition.sentences(definition.guarantees(1000)):
        assert sentence in said
    (k,) = [one.k for one in definition.guarantees() if one.name == "pk-anonymity"]
    gamma = float(definition.mechanism.gamma)
    assert k <= 1 + 999 / gamma**2 < k * 1.001
    assert definition.survey.minimum == 1000
    other = small_survey(("smokes", ["yes", "no"], ""), head="expected = 3001\nk = 20")
    assert read_survey(other).minimum == 1501


@pytest.mark.parametrize("minimum", [1, 3001, 0])
def test_a_minimum_that_cannot_be_is_refused(minimum: int) -> None:
    """At least two, and no more than are expected."""
    with pytest.raises(pm.PramanaError) as refused:
        promising(minimum)
    assert refused.value.fields["entry"] == "minimum"


def test_a_survey_closes_from_the_promised_minimum_on(tmp_path: Path) -> None:
    """One answer fewer, and nothing is final; the office cannot change its mind."""
    source = small_survey(
        ("smokes", ["yes", "no"], ""), head="expected = 60\nminimum = 40\nepsilon = 1"
    )
    (tmp_path / "survey.toml").write_text(source)
    definition, _ = new_survey(tmp_path / "survey.toml", tmp_path / "survey")

    def answer(numbers: range) -> None:
        store.accept(
            [
                Sent(
                    respond(definition, {"smokes": ("yes", "no")[at % 2]}).spelled(
                        widths=definition.channel.widths
                    ),
                    f"{at:064x}",
                )
                for at in numbers
            ]
        )

    with opened_store(tmp_path / "survey", definition) as store:
        answer(range(39))
        with pytest.raises(InputError) as refused:
            close_survey(definition, store, tmp_path / "release", accept_failed=True)
        assert (refused.value.code, refused.value.fields["limit"]) == ("too-few-answers", 40)
        assert not store.finished()
        answer(range(39, 40))
        assert close_survey(definition, store, tmp_path / "release").records == 40


def test_answers_that_verify_would_fail_close_nothing(tmp_path: Path) -> None:
    """Copies of one record that no count gives away: the sets are not asked for as stated."""
    (tmp_path / "survey.toml").write_text(survey_text("attribute-sampling"))
    definition, _ = new_survey(tmp_path / "survey.toml", tmp_path / "survey")
    widths, channel = definition.channel.widths, definition.channel
    words = Keystream.from_seed(5).words("w", 0, 2 * 1400).tolist()
    honest = [
        channel.send(OTHER if at % 4 == 0 else PERSON, words[2 * at : 2 * at + 2]).spelled(
            widths=widths
        )
        for at in range(1400)
    ]
    sent = [*honest, *honest[1:2] * 120]
    assert suspicions(channel, Counter(sent)) == []
    to = tmp_path / "release"
    with opened_store(tmp_path / "survey", definition) as store:
        store.accept([Sent(record, f"{at:064x}") for at, record in enumerate(sent)])
        assert any("attribute sets" in one for one in status_of(definition, store).suspicions)
        with pytest.raises(DoesNotHold) as refused:
            close_survey(definition, store, to)
        assert (refused.value.code, refused.value.fields["checks"]) == (
            "failed-checks", ["attribute sets"],
        )  # fmt: skip
        assert not store.finished()
        assert not to.exists()
        close_survey(definition, store, to, accept_failed=True)
    assert [check.name for check in pm.verify(to).checks if not check.ok] == ["attribute sets"]


@pytest.mark.parametrize("target", ["k = 20", "central_epsilon = 0.5", "epsilon = 2"])
def test_a_target_that_too_few_came_for_is_told_of(target: str) -> None:
    """When a survey is closed, and before; a local epsilon needs nobody else."""
    source = small_survey(("smokes", ["yes", "no"], ""), head=f"expected = 3000\n{target}")
    made, _ = define(read_survey(source), source)
    few, enough = made.short_of(200), made.short_of(3000)
    assert enough == []
    if target == "epsilon = 2":
        assert few == []
        return
    assert "200 people answered where 3,000 were expected" in few[0]
    claims = {claim.name: claim.attained for claim in certificate_of(made, 200).claims}
    assert str(claims[made.asked[0].name]) in few[0]


def test_closing_says_so_at_the_terminal_and_leaves_with_0(
    survey_folder: Path,
    definition: Definition,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """On the other stream; the release stands."""
    answered(survey_folder, definition, 50)
    to = tmp_path / "release"
    with pytest.raises(SystemExit) as left:
        main(["collect", "close", str(survey_folder), "-o", str(to)])
    assert not left.value.code
    assert "50 people answered where 5,000 were expected" in capsys.readouterr().err
    assert (to / "certificate.json").is_file()


def test_a_store_that_the_system_refuses_is_one_line(tmp_path):
    """No room, no right, or something else of that name: never an error that nobody foresaw."""
    (tmp_path / "survey.toml").write_text(SURVEY.format(expected=500))
    definition, _ = new_survey(tmp_path / "survey.toml", tmp_path / "survey")
    with (
        pytest.raises(InputError, match="cannot be read or written: database or disk is full"),
        opened_store(tmp_path / "survey", definition),
    ):
        raise sqlite3.OperationalError("database or disk is full")
    (tmp_path / "survey" / "answers.sqlite").unlink()
    (tmp_path / "survey" / "answers.sqlite").mkdir()
    with (
        pytest.raises(InputError, match="it is no file"),
        opened_store(tmp_path / "survey", definition),
    ):
        pass


def test_intervals_narrow_as_answers_come(survey_folder: Path, definition: Definition) -> None:
    """A fifteenfold number of answers: intervals of a quarter of the width, give or take."""
    widths = []
    for people in (200, 3000):
        answered(survey_folder, definition, people)
        (table,) = live(survey_folder, questions=["employed"]).tables
        widths.append(max(high - low for _, _, low, high in table.rows))
    assert 0.15 * widths[0] < widths[1] < 0.6 * widths[0]


def test_a_key_that_cannot_sign_closes_nothing(
    survey_folder: Path, definition: Definition, tmp_path: Path
) -> None:
    """A name with a letter too many: the survey goes on."""
    answered(survey_folder, definition, 50)
    with opened_store(survey_folder, definition) as store:
        with pytest.raises(InputError, match="nokey"):
            close_survey(definition, store, tmp_path / "release", sign_with=tmp_path / "nokey")
        after = Sent(
            respond(definition, PERSON).spelled(widths=definition.channel.widths), f"{99:064x}"
        )
        assert store.accept([after]) == [Outcome.ACCEPTED]
    assert not (tmp_path / "release").exists()


def test_what_fails_after_closing_is_said_to_have_closed(
    survey_folder: Path, definition: Definition, tmp_path: Path
) -> None:
    """A form that no release is written in."""
    answered(survey_folder, definition, 50)
    with (
        opened_store(survey_folder, definition) as store,
        pytest.raises(InputError, match="the survey takes no more answers, and"),
    ):
        close_survey(definition, store, tmp_path / "release", file_format="none")


def test_who_closes_second_at_the_same_moment_is_told_of_the_first(
    survey_folder: Path, definition: Definition, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A release that appears while another one is made stays, and is said to be there."""
    answered(survey_folder, definition, 50)
    with opened_store(survey_folder, definition) as store:
        finish = store.finish

        def and_another() -> None:
            finish()
            (tmp_path / "release").mkdir()

        monkeypatch.setattr(store, "finish", and_another)
        with pytest.raises(OutputExists, match="release"):
            close_survey(definition, store, tmp_path / "release")
