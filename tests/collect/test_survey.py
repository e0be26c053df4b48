"""What an office may write in a survey file, and what it is told when it may not."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest

from pramana import api
from pramana.base.rounding import TOTAL
from pramana.base.text import text_up
from pramana.cli.collect import new
from pramana.collect.closing import certificate_of
from pramana.collect.definition import define
from pramana.collect.survey import (
    NOT_SAID,
    PLACEHOLDER,
    SKIPPED,
    TRANSLATIONS,
    WORDS,
    Survey,
    consent_of,
    read_survey,
)
from pramana.collect.survey_folder import questionnaire
from pramana.errors import InvalidNumber, InvalidSchema, PramanaError, TooLarge
from pramana.guarantees.claims import guarantees_from_options
from pramana.methods.expected_error import step_domains
from pramana.release.certificate import Certificate
from tests.collect.conftest import small_survey, survey_text


def survey() -> Survey:
    return read_survey(survey_text())


def test_every_question_is_a_column_with_all_that_can_be_answered() -> None:
    """Bins, answers, those of who would rather not say, and of who is not asked."""
    found = {column.name: column.labels for column in survey().schema.columns}
    assert found == {
        "age": ("[0, 18)", "[18, 30)", "[30, 45)", "[45, 65)", "[65, 120]"),
        "sex": ("f", "m", NOT_SAID),
        "employed": ("yes", "no"),
        "travel": ("on foot", "bicycle", "bus", "car", SKIPPED),
    }


def test_a_skip_rule_leaves_exactly_the_combinations_that_people_can_give() -> None:
    """By hand: who is employed says how, who is not has the question passed over."""
    steps = {step.columns: set(step.labels) for step in step_domains(survey().schema)}
    travels = ("on foot", "bicycle", "bus", "car")
    assert steps["employed", "travel"] == {*itertools.product(["yes"], travels), ("no", SKIPPED)}


def test_two_conditions_hold_together() -> None:
    """A question that needs two answers is skipped where one of them is lacking."""
    both = 'ask_if = { a = ["y"], b = ["y"] }'
    asked = (("a", ["y", "n"], ""), ("b", ["y", "n"], ""), ("c", ["u", "v"], both))
    text = small_survey(*asked, head="expected = 100\nk = 2")
    (step,) = step_domains(read_survey(text).schema)
    expected = {("y", "y", "u"), ("y", "y", "v")}
    expected |= {(a, b, SKIPPED) for a in "yn" for b in "yn" if (a, b) != ("y", "y")}
    assert set(step.labels) == expected


def test_months_run_over_the_end_of_the_year() -> None:
    """From the first to the last, both included."""
    text = survey_text() + '[[questions]]\nname = "m"\ntext = "m"\nmonths = ["2024-11", "2025-02"]'
    assert read_survey(text)["m"].answers == ("2024-11", "2024-12", "2025-01", "2025-02")


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ('titel = "x"\n' + survey_text(), "unknown field `titel`"),
        (survey_text(target=""), "must state a target"),
        (
            survey_text().replace("expected = 5000", 'expected = "many"'),
            "at expected: Expected `int`",
        ),
        (survey_text().replace('name = "sex"', 'name = "age"'), "Two questions are named 'age'"),
        (survey_text().replace('name = "sex"', 'name = "a b"'), "name must be a word"),
        (survey_text().replace('name = "sex"', 'name = "reported"'), "name must be a word"),
        (survey_text().replace('employed = ["yes"] }', 'job = ["yes"] }'), "a question before it"),
        (survey_text().replace('employed = ["yes"] }', 'employed = ["si"] }'), "list answers of"),
        (survey_text().replace('["yes", "no"]\n\n', '["yes"]\n\n'), "at least two answers"),
        (survey_text().replace("bins = [0, 18", "bins = [18, 0"), "must rise strictly"),
        (survey_text().replace("bins = [0", 'answers = ["x", "y"]\nbins = [0'), "one of answers"),
        (survey_text(extra="words = { begin = 3 }\n"), "at words"),
        ("title = ", "valid TOML"),
        (survey_text(extra="words = { consent_each = 'oui' }\n"), "must contain {tenths}"),
        (survey_text(target="epsilon = 1e9"), "epsilon must be at most 50"),
        (survey_text(target=f"k = {'9' * 400}"), "64 bits"),
        (survey_text().replace("expected = 5000", f"expected = {10**30}"), "64 bits"),
        (survey_text().replace("expected = 5000", f"expected = {2**63}"), "expected must lie"),
        (survey_text().replace("65, 120]", "65, inf]"), "three numbers in rising order"),
        (survey_text().replace("65, 120]", f"65, 1{'0' * 400}]"), "64 bits"),
        (
            survey_text().replace("[0, 18, 30, 45, 65, 120]", "[0, 9]"),
            "at least three",
        ),
        (survey_text().replace("{ f = ", '{ "" = '), "at least two answers"),
        (survey_text().replace('f = "Female", ', ""), "at least two answers"),
        (survey_text().replace('"on foot"', '"on\\nfoot"'), "no line breaks"),
        (survey_text().replace('"on foot"', '"on\\u0000foot"'), "no control"),
        (survey_text().replace("How we live", "How\\u001b[2J we"), "title must hold no control"),
        (survey_text().replace('"Female"', '"Fe\\u0000male"'), "must hold no control"),
        (survey_text(extra='words = { begin = "\\u0007" }\n'), "words.begin must hold no control"),
    ],
)
def test_a_wrong_survey_is_refused_in_one_line(wrong: str, said: str) -> None:
    """What is wrong, where, and what to do."""
    with pytest.raises(InvalidSchema, match=said.replace("(", r"\(")) as caught:
        read_survey(wrong)
    assert "\n" not in str(caught.value)


def test_people_are_told_how_likely_it_is_that_an_answer_is_sent_as_they_gave_it() -> None:
    """By enumeration, for every truth and every question, also of those that are drawn together."""
    for text in (survey_text("retention"), survey_text("retention", target="epsilon = 1.5")):
        definition, _ = define(read_survey(text), text)
        chances = []
        for draw in definition.channel.asked[0].draws:
            size = len(draw.cells)
            for truth, at in itertools.product(draw.cells, range(len(draw.columns))):
                words = sum(
                    TOTAL - (size - 1) * draw.other if cell == truth else draw.other
                    for cell in draw.cells
                    if cell[at] == truth[at]
                )
                chances.append(words / TOTAL)
        (said,) = [
            one for one in definition.consent() if "the real answer to a question is sent" in one
        ]
        low, high = (float(own) / 100 for own in re.findall(r"([0-9.]+) %", said))
        assert min(chances) - 0.001 < low <= min(chances)
        assert max(chances) <= high < max(chances) + 0.001


TEN = [(f"q{at}", list("abcd"), "") for at in range(10)]


@pytest.mark.parametrize(
    ("head", "better"),
    [
        ("k = 20", "attribute-sampling"),
        ('k = 20\ntables = ["q0", "q1*q2"]', "attribute-sampling"),
        ("epsilon = 2", "retention"),
        ("central_epsilon = 0.5\ndelta = 1e-8", "attribute-sampling"),
    ],
)
def test_the_method_with_the_smaller_error_on_the_tables_wanted_is_taken(
    head: str, better: str
) -> None:
    """By the plans of both, made as an office would; and the target is attained."""
    asked = (
        TEN if better == "attribute-sampling" else TEN[:1]
    )  # a report of one question is all of it
    text = small_survey(*asked, head=f"expected = 20_000\n{head}")
    survey = read_survey(text)
    definition, plan = define(survey, text)
    wanted = [frozenset(own) for own in survey.tables] or None
    wide, errors = min(2, len(asked)), {}
    for method in ("retention", "attribute-sampling"):
        own = api.design(survey.schema, *guarantees_from_options(survey.target), records=20_000,
                         method=method)  # fmt: skip
        assert own.expected_error is not None
        pairs = [value for columns, value in own.expected_error.tables
                 if (frozenset(columns) in wanted if wanted else len(columns) == wide)]  # fmt: skip
        errors[method] = sum(pairs) / len(pairs)
    assert definition.method == plan.method.name == min(errors, key=lambda own: errors[own])
    assert definition.method == better
    assert definition.short_of(20_000) == []
    if "delta" in head:
        (central,) = [
            one for one in definition.guarantees(20_000) if one.name == "shuffled-privacy"
        ]
        assert central.to_json()["epsilon"] <= 0.5
        assert central.to_json()["delta"] == 1e-8


def test_nobody_is_told_that_chance_chooses_all_questions() -> None:
    """Where every report holds all of them there is nothing to choose."""
    asked = [(name, ["y", "n"], "") for name in "ab"]
    head = 'method = "attribute-sampling"\nexpected = 2000\nk = 20\ntables = ["a*b"]'
    text = small_survey(*asked, head=head)
    definition, _ = define(read_survey(text), text)
    sizes = {len(one.columns) for one in definition.channel.asked}
    assert sizes == {2}
    assert not any("which 2 of the 2" in one for one in definition.consent())


def test_an_office_hears_of_questions_that_no_table_names(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where the survey is made; not where every question is in a table."""
    asked = [(name, ["y", "n"], "") for name in "abc"]
    for tables, said in (('["a*b"]', True), ('["a*b", "c"]', False)):
        head = f'method = "attribute-sampling"\nexpected = 2000\nk = 20\ntables = {tables}'
        place = tmp_path / f"{said}.toml"
        place.write_text(small_survey(*asked, head=head))
        new(place, tmp_path / str(said))
        assert ("No table of the survey names c: " in capsys.readouterr().out) is said


@pytest.mark.parametrize("method", ["attribute-sampling", "retention"])
def test_people_and_certificate_say_that_the_questions_of_a_person_are_secret(method: str) -> None:
    """k is counted for who does not know them; epsilon is not."""
    text = survey_text(method).replace("minimum = 2\n", "")
    definition, _ = define(read_survey(text), text)
    certificate = certificate_of(definition, 400)
    told, said = " ".join(definition.consent()), certificate.sentences()
    picked = method == "attribute-sampling"
    assert ("Tell nobody which they were: a person who knows it searches" in told) == picked
    for text in (told, *said[:1], str(certificate.to_json()["guarantees"])):
        assert ("knows which columns a person reported" in text) == picked
    for text in (" ".join(said), certificate.to_json()["collected"]["statement"]):
        assert ("People saw which questions were drawn" in text) == picked
    again = Certificate.from_bytes(certificate.to_bytes())
    assert again.sentences() == said


@pytest.mark.parametrize("method", ["attribute-sampling", "retention"])
def test_an_office_tells_of_the_chances_in_its_own_language(method: str) -> None:
    """The consent is in its words, with the same numbers."""
    own = {
        "consent_voluntary": "Libre.",
        "consent_sets": "{number} questions sur {questions}.",
        "consent_each": "Chacune {tenths}, {chance}.",
        "consent_use": "Pour compter.",
        "consent_once": "Une fois.",
        "to": "a",
    }
    words = ", ".join(f"{word} = '{text}'" for word, text in own.items())
    plain, _ = define(read_survey(survey_text(method)), survey_text(method))
    text = survey_text(method, extra=f"words = {{ {words} }}\n")
    told, _ = define(read_survey(text), text)
    said, before = told.consent(), plain.consent()
    assert said[0] == "Libre."
    assert said[-1] == "Une fois."
    (line,) = [one for one in said if one.startswith("Chacune ")]
    (same,) = [one for one in before if one.startswith("In about ")]
    tenths, chance = (
        line.removeprefix("Chacune ").removesuffix(".").replace(" a ", " to ").split(", ")
    )
    assert f"In about {tenths} of 10 cases" in same
    assert f"({chance})" in same


def test_nothing_is_said_to_be_certain_that_is_not() -> None:
    """Who is employed stays so with all but one cell in hundreds, and that is not always."""
    text = small_survey(
        ("employed", ["yes", "no"], ""),
        ("job", [f"j{at}" for at in range(300)], "ask_if = { employed = ['yes'] }"),
        head="expected = 1000\nepsilon = 8\nmethod = 'retention'",
    )
    definition, _ = define(read_survey(text), text)
    (line,) = [one for one in definition.consent() if one.startswith("In about ")]
    assert "In about more than 9 of 10 cases the real answer to a question is sent" in line
    assert " % to more than 99.9 %)" in line
    assert "100 %" not in line


@pytest.mark.parametrize("codes", ["true", "false"])
def test_a_panel_is_told_to_answer_once_each_time(codes: str) -> None:
    """And nowhere that it answers once only."""
    text = survey_text(extra=f"codes = {codes}\nwaves = 4\nall_waves_epsilon = 4.0\n")
    definition, _ = define(read_survey(text), text)
    *rest, last = definition.consent()
    assert "nswer once each time" in last
    assert not any("once only" in one for one in (*rest, last))


def test_what_cannot_be_served_is_refused_or_asked_by_whole_records(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Sets of pairs beyond the most cells are no way to ask; nor is a target without bounds."""
    monkeypatch.setattr("pramana.collect.definition.MOST_CELLS", 500)
    many = [(f"q{at}", list("abcdefgh"), "") for at in range(9)]
    for head, said in (
        ("k = 5\nmethod = 'attribute-sampling'", "at most 500 cells"),
        ("k = 5", ""),
    ):
        text = small_survey(*many, head=f"expected = 1000\n{head}")
        if said:
            with pytest.raises(TooLarge, match=said):
                define(read_survey(text), text)
        else:
            assert define(read_survey(text), text)[0].method == "retention"
    for head, said in (("k = inf", "Lower k"), ("delta = 1e-6", "delta goes with central_eps")):
        text = small_survey(("a", ["x", "y"], ""), head=f"expected = 1000\n{head}")
        with pytest.raises(PramanaError, match=said):
            define(read_survey(text), text)


def test_a_survey_without_chance_is_refused() -> None:
    """An epsilon of 50 for yes or no: whatever is sent is the truth, and people are told other."""
    text = small_survey(("smokes", ["yes", "no"], ""), head="expected = 1000\nepsilon = 50")
    with pytest.raises(InvalidNumber, match="with a probability of 100 %"):
        define(read_survey(text), text)


def test_nothing_is_said_of_a_bound_that_is_not_promised() -> None:
    """Ten people and an epsilon of 6: nobody hides, and no sentence speaks of 1 in k."""
    text = small_survey(("smokes", ["yes", "no"], ""), head="expected = 10\nepsilon = 6")
    definition, _ = define(read_survey(text), text)
    said = " ".join(definition.consent())

    assert "No anonymity is guaranteed" in said
    assert "1 in k" not in said


GERMAN = """
[translations.de]
title = "Wie wir leben"
contact = "das Rathaus"
questions = { employed = "Arbeiten Sie?" }
answers = { employed = { yes = "ja", no = "nein" } }
"""


def test_a_translation_changes_texts_and_nothing_else() -> None:
    """The answers that are sent, and the channel, are the same; the consent is in German."""
    text = survey_text("retention") + GERMAN
    definition, _ = define(read_survey(text), text)
    german = definition.survey.in_language("de")
    assert german.schema == definition.survey.schema
    assert (german.title, german["employed"].text) == ("Wie wir leben", "Arbeiten Sie?")
    assert german["employed"].labels == {"yes": "ja", "no": "nein"}
    assert german["age"].text == definition.survey["age"].text
    assert "Kontakt für Fragen und Beschwerden: das Rathaus." in consent_of(definition, "de")
    assert consent_of(definition) == definition.consent()
    page = questionnaire(definition)
    first, second = page["languages"]
    assert (first["language"], second["language"]) == ("en", "de")
    assert first["words"] == page["words"]
    assert second["consent"] == consent_of(definition, "de")
    assert "languages" not in questionnaire(define(read_survey(survey_text()), survey_text())[0])


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("[translations.en]", "must be another language than that of the survey"),
        ('[translations.de.questions]\nx = "x"', "names a question 'x', and there is none"),
        ('[translations.de.answers]\nage = { x = "x" }', "must give texts for its answers"),
        ('[translations.de.words]\nx = "x"', "unknown entry 'x'"),
        ('[translations.de]\nname = "x"', "translations"),
    ],
)
def test_a_wrong_translation_is_refused(wrong: str, said: str) -> None:
    """In one line that names what is wrong."""
    with pytest.raises(InvalidSchema, match=said):
        read_survey(f"{survey_text()}\n{wrong}")


@pytest.mark.parametrize("language", sorted(set(TRANSLATIONS) - {"en"}))
def test_a_translation_is_complete(language: str) -> None:
    """Every text, with the same numbers to be filled in, and every guarantee of a survey."""
    translated = TRANSLATIONS[language]
    assert {*translated} - {"guarantees"} == {*WORDS}
    for word, text in WORDS.items():
        assert {*PLACEHOLDER.findall(translated[word])} >= {*PLACEHOLDER.findall(text)}, word
    needs = {"pk-anonymity", "differential-privacy", "privacy-breach", "shuffled-privacy"}
    assert needs <= {*translated["guarantees"]}


@pytest.mark.parametrize("method", ["attribute-sampling", "retention"])
def test_a_survey_in_german_has_no_english_sentence(method: str) -> None:
    """Its consent is German to the last guarantee, with a comma in its numbers."""
    text = survey_text(method, extra='language = "de"\n')
    definition, _ = define(read_survey(text), text)
    said = definition.consent()
    assert said[0].startswith("Die Teilnahme ist freiwillig.")
    own = ("Kontakt", "So lange")  # the office's contact and retention, in its own words
    german = [line for line in said if not line.startswith(own)]
    assert not [line for line in german if re.search(r"\b(the|and|with|nobody)\b", line)]
    plain, _ = define(read_survey(survey_text(method)), survey_text(method))
    assert len(said) == len(plain.consent())
    epsilon = next(one for one in definition.guarantees() if one.name == "differential-privacy")
    shown = text_up(epsilon.epsilon, 3).replace(".", ",")
    assert any(f"e hoch {shown} Mal" in line for line in said)
