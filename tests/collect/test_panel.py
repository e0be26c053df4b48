"""Panels: what the two stages do, to the last word, and what all waves together tell."""

from __future__ import annotations

import inspect
import itertools
import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

import pramana as pm
from pramana.base.randomness import Keystream
from pramana.collect.channel import Draw, Remembered
from pramana.collect.closing import close_survey
from pramana.collect.definition import Definition, define, remember, respond
from pramana.collect.server import read_answer
from pramana.collect.store import Sent
from pramana.collect.survey import read_survey
from pramana.collect.survey_folder import answers, load, new_survey
from pramana.errors import InputError, InvalidSchema, NotCovered, PramanaError
from pramana.guarantees.composition import Disclosure, compose
from pramana.release.certificate import Certificate, disclosed
from pramana.risk.attacks.repeated_releases import compose_releases
from tests.collect.conftest import PERSON, small_survey, survey_text

TOTAL = 2**64
PANEL = "waves = 4\nall_waves_epsilon = 4.0\n"


@pytest.fixture
def panel(tmp_path: Path, method: str) -> Path:
    """The folder of a panel."""
    source = tmp_path / "panel.toml"
    source.write_text(survey_text(method, extra=PANEL))
    new_survey(source, tmp_path / "panel")
    return tmp_path / "panel"


def counted(draw: Draw, place: int, other: int) -> dict[int, int]:
    """How many words give each cell, over all intervals on which a draw is constant."""
    size = len(draw.cells)
    ends = sorted({0, *(min(TOTAL, at * other) for at in range(size + 1)), TOTAL})
    found: Counter[int] = Counter()
    for low, high in itertools.pairwise(ends):
        assert draw.drawn(place, low, other) == draw.drawn(place, high - 1, other)
        found[draw.drawn(place, low, other)] += high - low
    return found


def test_the_matrix_of_a_wave_is_the_product_of_what_is_done(panel: Path) -> None:
    """Of the 2**128 pairs of words exactly as many give a cell as the published matrix says."""
    definition = load(panel)
    for one in definition.channel.asked:
        for draw in one.draws:
            size = len(draw.cells)
            assert draw.stages is not None
            for truth in range(min(size, 4)):
                pairs = [0] * size
                for permanent, words in counted(draw, truth, draw.stages[0]).items():
                    for sent, more in counted(draw, permanent, draw.stages[1]).items():
                        pairs[sent] += words * more
                kept = TOTAL - (size - 1) * draw.other
                wanted = [kept if sent == truth else draw.other for sent in range(size)]
                assert pairs == [TOTAL * weight for weight in wanted]


def test_no_stage_promises_more_than_was_asked(panel: Path) -> None:
    """All waves tell what was asked at most, and nearly that; k of a wave is kept."""
    definition = load(panel)
    assert definition.panel is not None
    assert 3.99 < definition.panel.epsilon <= 4.0 + 1e-12
    claims = {one.name: one for one in definition.guarantees(5000)}
    assert claims["pk-anonymity"].to_json()["k"] >= 20
    said = " ".join(definition.consent())
    assert "all 4 together no more than" in said
    assert "if they change or you change the device" in said


def test_stages_that_were_exchanged_tell_more_and_are_refused(method: str) -> None:
    """One wave is the same, to the last word; all of them together tell more than was asked."""
    text = survey_text(method, extra=PANEL.replace("4.0", "3.0"))
    definition, _ = define(read_survey(text), text)
    definition.require_kept()
    assert definition.stages is not None
    swapped = tuple(tuple((wave, life) for life, wave in own) for own in definition.stages)
    altered = replace(definition, stages=swapped)
    assert altered.panel is not None
    assert altered.panel.epsilon > 3.0
    assert [str(one) for one in altered.guarantees()] == [
        str(one) for one in definition.guarantees()
    ]
    with pytest.raises(pm.AlteredRelease, match="more than its matrices guarantee"):
        altered.require_kept()


def test_a_panel_of_nothing_but_chance_is_refused(method: str) -> None:
    """Before anybody is asked: its answers could not be closed into a release."""
    text = survey_text(method, target="epsilon = 1e-15", extra=PANEL)
    with pytest.raises(pm.Infeasible, match="pure noise"):
        define(read_survey(text), text)


def test_the_permanent_answer_stays_and_the_wave_moves(panel: Path) -> None:
    """Averaging over many waves comes to the permanent answer, not to the truth."""
    definition = load(panel, wave=1)
    channel = definition.channel
    kept = remember(definition)
    sent = [respond(definition, PERSON, remembered=kept) for _ in range(300)]
    assert {one.asked for one in sent} == {kept.asked}
    draws = channel.asked[kept.asked].draws
    for at, draw in enumerate(draws):
        counts = Counter(one.cells[at] for one in sent)
        truth = tuple(PERSON[name] for name in draw.columns)
        permanent = kept.cells[at][draw.places[truth]]
        assert draw.stages is not None
        chance = 1 - (len(draw.cells) - 1) * draw.stages[1] / TOTAL
        sd = math.sqrt(300 * chance * (1 - chance)) + 1
        assert abs(counts[permanent] - 300 * chance) < 6 * sd


def remembered_by(definition: Definition, seed: int) -> Remembered:
    """What a person keeps whose words come from a seed."""
    stream, begin = Keystream.from_seed(seed), 0

    def words(count: int) -> list[int]:
        nonlocal begin
        begin += count
        return list(map(int, stream.words("remember", begin - count, count)))

    return definition.channel.remember(words)


def test_no_two_calls_share_their_chance(panel: Path) -> None:
    """Neither what is kept nor a record takes a keystream that another call would draw from too."""
    definition = load(panel, wave=1)
    for call in (remember, respond):
        assert "keystream" not in inspect.signature(call).parameters
    kept = [remember(definition) for _ in range(20)]
    assert len(set(kept)) > 1
    assert len({respond(definition, PERSON, remembered=kept[0]) for _ in range(300)}) > 1


def test_what_is_kept_depends_on_chance_alone(panel: Path) -> None:
    """Drawn before anything was answered; the same seed, the same; a cell stays as P says."""
    definition = load(panel)
    seeded = [remembered_by(definition, seed) for seed in (1, 1, 2)]
    assert seeded[0] == seeded[1] != seeded[2]
    draw = definition.channel.asked[0].draws[0]
    assert draw.stages is not None
    stays = total = 0
    for seed in range(400):
        kept = remembered_by(definition, seed)
        if kept.asked == 0:
            table = kept.cells[0]
            stays += sum(place == own for place, own in enumerate(table))
            total += len(table)
    chance = 1 - (len(draw.cells) - 1) * draw.stages[0] / TOTAL
    assert abs(stays - total * chance) < 6 * math.sqrt(total * chance * (1 - chance)) + 1


def test_each_wave_is_a_survey_of_its_own(panel: Path, tmp_path: Path) -> None:
    """Answers to one are refused by another; each is closed into a release that verifies."""
    survey = load(panel)
    people = [remember(survey) for _ in range(60)]
    for wave in (1, 2):
        definition = load(panel, wave=wave)
        with answers(panel, wave=wave) as store:
            store.accept(
                [
                    Sent(
                        respond(definition, PERSON, remembered=kept).spelled(
                            widths=definition.channel.widths
                        ),
                        f"{at:064x}",
                    )
                    for at, kept in enumerate(people)
                ]
            )
            release = close_survey(definition, store, tmp_path / f"release{wave}")
        assert release.records == 60
        told = " ".join(release.certificate.sentences())
        assert f"wave {wave} of 4 of a panel" in told
        assert pm.verify(tmp_path / f"release{wave}").valid
    record = respond(definition, PERSON, remembered=people[0])
    form = (
        f'{{"survey": "{load(panel, wave=2).key}", "work": "", "token": "{"a" * 64}", '
        f'"record": "{record.spelled(widths=definition.channel.widths)}"}}'
    ).encode()
    read_answer(load(panel, wave=2), form)
    with pytest.raises(InputError, match="another survey"):
        read_answer(load(panel, wave=3), form)


def test_all_waves_cannot_be_said_to_tell_less_than_one(panel: Path) -> None:
    """A certificate that says so does not verify; and one is read back as it was written."""
    from pramana.collect.closing import certificate_of
    from pramana.verification.consistency import consistency_checks

    certificate = certificate_of(load(panel, wave=2), 500)
    assert certificate.collected is not None
    assert certificate.collected.panel is not None
    panel_of = certificate.collected.panel
    lower = replace(panel_of, epsilon=0.01)
    # Of who changes, each wave tells its own: four waves cannot tell as little as one.
    thrice = replace(panel_of, changing_epsilon=panel_of.epsilon, waves=100)
    for panel_said, good in ((panel_of, True), (lower, False), (thrice, False)):
        said = replace(certificate, collected=replace(certificate.collected, panel=panel_said))
        checks = {check.name: check for check in consistency_checks(said)}
        assert checks["waves of the panel"].ok is good
        assert checks["all waves of the panel"].state == "asserted"
    assert Certificate.from_bytes(certificate.to_bytes()).collected == certificate.collected


def test_stages_that_do_not_give_the_matrix_are_refused(panel: Path) -> None:
    """A definition whose stages were altered contradicts itself."""
    content = (panel / "definition.json").read_bytes()
    definition = Definition.from_bytes(content)
    assert definition.stages is not None
    first = definition.stages[0][0]
    altered = content.replace(str(first[1]).encode(), str(first[1] + 2**32).encode())
    assert altered != content
    with pytest.raises(PramanaError):
        Definition.from_bytes(altered)


@pytest.mark.parametrize(
    ("extra", "said"),
    [
        ("waves = 4\n", "must state both"),
        ("all_waves_epsilon = 2.0\n", "must state both"),
        ("waves = 0\nall_waves_epsilon = 2.0\n", "at waves"),
        ("waves = 4\nall_waves_epsilon = 0\n", "at all_waves_epsilon"),
        ("waves = 4\nall_waves_epsilon = 'x'\n", "at all_waves_epsilon"),
    ],
)
def test_a_wrong_panel_is_refused_in_one_line(extra: str, said: str) -> None:
    """What must be stated."""
    with pytest.raises(InvalidSchema, match=said):
        read_survey(survey_text(extra=extra))


def test_all_waves_need_at_least_what_one_needs() -> None:
    """One wave cannot tell more than all of them."""
    text = survey_text(extra="waves = 4\nall_waves_epsilon = 0.1\n")
    with pytest.raises(PramanaError, match="at least the epsilon of one wave"):
        define(read_survey(text), text)


# -- the judge, written from docs/proofs/collected_panels.md -----------------------------------

SMALL = 60


def mixture(size: int, other: int) -> list[list[Fraction]]:
    """A uniform mixture over a small number of words."""
    kept = SMALL - (size - 1) * other
    return [
        [Fraction(kept if row == column else other, SMALL) for column in range(size)]
        for row in range(size)
    ]


def gamma(matrix: list[list[Fraction]]) -> Fraction:
    return matrix[0][0] / matrix[0][1]


def history(
    first: list[list[Fraction]], second: list[list[Fraction]], truths: tuple[int, ...],
    seen: tuple[int, ...],
) -> Fraction:  # fmt: skip
    """The chance of what all waves show of a person with these truths; each truth has one
    permanent answer, drawn independently of the others."""
    size, values = len(first), sorted(set(truths))
    found = Fraction(0)
    for own in itertools.product(range(size), repeat=len(values)):
        chance = math.prod(
            (first[v][b] for v, b in zip(values, own, strict=True)), start=Fraction(1)
        )
        for truth, shown in zip(truths, seen, strict=True):
            chance *= second[own[values.index(truth)]][shown]
        found += chance
    return found


CASES = [(2, 10, 12, 2), (2, 10, 12, 4), (2, 24, 6, 3), (3, 8, 10, 2), (3, 18, 4, 2), (3, 6, 15, 3)]


@pytest.mark.parametrize(("size", "first", "second", "waves"), CASES)
def test_all_waves_together_tell_what_is_promised(
    size: int, first: int, second: int, waves: int
) -> None:
    """By brute force over all pairs of histories: P for who stays, Q each time for who does not."""
    life, each = mixture(size, first), mixture(size, second)
    steady = changing = Fraction(1)
    for seen in itertools.product(range(size), repeat=waves):
        every = {
            truths: history(life, each, truths, seen)
            for truths in itertools.product(range(size), repeat=waves)
        }
        same = [chance for truths, chance in every.items() if len(set(truths)) == 1]
        steady = max(steady, max(same) / min(same))
        changing = max(changing, max(every.values()) / min(every.values()))
    assert steady <= min(gamma(life), gamma(each) ** waves)
    assert changing <= gamma(each) ** waves


def test_who_changes_is_not_covered_by_the_permanent_stage_nor_by_waves_of_the_product() -> None:
    """Why the third number is stated: what differs between waves tells that the truth did."""
    life, each = mixture(2, 24), mixture(2, 6)
    wave = [[sum(life[r][b] * each[b][c] for b in range(2)) for c in range(2)] for r in range(2)]
    ratio = history(life, each, (0, 1), (0, 1)) / history(life, each, (0, 0), (0, 1))
    assert ratio > gamma(life)
    assert ratio > gamma(wave) ** 2
    assert ratio <= gamma(each) ** 2


def linked(
    life: list[list[Fraction]], each: list[list[Fraction]], truths: list[tuple[int, int]]
) -> Fraction:
    """The surest link of a record of the first wave to the first person, who sees both waves."""
    people = len(truths)
    orders = list(itertools.permutations(range(people)))
    shown = list(itertools.product(range(2), repeat=2))
    laws = [{seen: history(life, each, own, seen) for seen in shown} for own in truths]
    worst = Fraction(0)
    for seen in itertools.product(itertools.product(range(2), repeat=people), repeat=2):
        mine = total = Fraction(0)
        for one, two in itertools.product(orders, repeat=2):
            chance = math.prod(
                (laws[at][seen[0][one[at]], seen[1][two[at]]] for at in range(people)),
                start=Fraction(1),
            )
            total += chance
            mine += chance if one[0] == 0 else 0
        worst = max(worst, mine / total)
    return worst


@pytest.mark.parametrize(("first", "second"), [(10, 15), (24, 6), (24, 1)])
def test_linking_over_all_waves_is_bounded_where_everybody_stays(first: int, second: int) -> None:
    """Two waves, each shuffled by itself: gamma(P) bounds where all stay, gamma(Q)^W always."""
    life, each = mixture(2, first), mixture(2, second)
    alike, any_of = 1 / (1 + 1 / gamma(life) ** 2), 1 / (1 + 1 / gamma(each) ** 4)
    for own in itertools.product(range(2), repeat=2):
        for other in itertools.product(range(2), repeat=2):
            stay = own[0] == own[1] and other[0] == other[1]
            assert linked(life, each, [own, other]) <= (alike if stay else any_of)
    three = linked(life, each, [(0, 0), (1, 1), (1, 1)])
    assert three <= 1 / (1 + 2 / gamma(life) ** 2)


def test_who_stays_is_found_among_those_who_change(panel: Path) -> None:
    """So neither the k of a wave nor that of the permanent stage holds, and none is stated."""
    life, each = mixture(2, 24), mixture(2, 1)
    wave = [[sum(life[r][b] * each[b][c] for b in range(2)) for c in range(2)] for r in range(2)]
    found = linked(life, each, [(0, 0), (1, 0)])
    assert found > 1 / (1 + 1 / gamma(life) ** 2)
    assert found > Fraction(95, 100)
    assert linked(life, each, [(0, 0), (1, 1)]) > 1 / (1 + 1 / gamma(wave) ** 2)

    definition = load(panel, wave=1)
    assert definition.panel is not None
    assert "against an attacker who sees no other wave" in definition.panel.sentence()
    assert "if all n people gave the same answers in all waves" in definition.panel.sentence()
    assert "for one time by itself" in " ".join(definition.consent())


def test_all_waves_are_promised_to_who_answers_once_a_wave(panel: Path) -> None:
    """Two devices in each of two waves tell more than one: what is said of all waves says so."""
    life, each = mixture(2, 24), mixture(2, 1)

    def twice(truth: int) -> Fraction:
        """Both devices send 0 in both waves."""
        return sum((life[truth][b] * each[b][0] ** 2 for b in range(2)), Fraction(0)) ** 2

    assert twice(0) / twice(1) > gamma(life)
    assert twice(0) / twice(1) <= gamma(each) ** 4

    definition = load(panel, wave=1)
    assert definition.panel is not None
    said = definition.panel.sentence()
    assert "anybody who answered at most once per wave" in said
    assert "who answered m times in each wave, multiply the second epsilon by m" in said
    assert "took part in all waves, each once per wave" in said
    assert "That holds if you answer once each time" in " ".join(definition.consent())


TWO_WAVES = small_survey(
    ("q", ["yes", "no"], ""),
    head='waves = 2\nall_waves_epsilon = 1.6\nexpected = 2\nepsilon = 1.5\nmethod = "retention"',
)


def test_waves_are_not_composed_as_fresh_draws(tmp_path: Path) -> None:
    """Two people, two waves, by enumeration: less is left than fresh draws would leave."""
    (tmp_path / "panel.toml").write_text(TWO_WAVES)
    folder = tmp_path / "panel"
    new_survey(tmp_path / "panel.toml", folder)
    people = [remember(load(folder)) for _ in range(2)]
    waves = [_closed(folder, wave, people, tmp_path / f"wave{wave}") for wave in (1, 2)]
    seen = [disclosed(wave) for wave in waves]
    stages = load(folder).channel.asked[0].draws[0].stages
    assert stages is not None
    life, each = ([[1 - p, p], [p, 1 - p]] for p in (Fraction(own, TOTAL) for own in stages))
    pairs = list(itertools.product(range(2), repeat=2))
    stay = {y: history(life, each, (0, 0), y) * history(life, each, (1, 1), (1 - y[0], 1 - y[1]))
            for y in pairs}  # fmt: skip
    linked = (stay[0, 0] + stay[0, 1]) / sum(stay.values())
    told = max(history(life, each, a, y) / history(life, each, b, y)
               for a in pairs for b in pairs for y in pairs)  # fmt: skip

    fresh = compose([replace(one, panel=False) for one in seen], same_people=True)
    assert fresh.k is not None
    assert fresh.k > 1 / linked  # so it may not be stated
    assert fresh.local < math.log(told)
    other = replace(waves[0], collected=None)
    for releases in (waves, [waves[0], other], [other, waves[1]]):
        found = compose([disclosed(one) for one in releases], same_people=True)
        assert (found.rule, found.k, found.central, found.local) == ("none", None, None, math.inf)
        assert "waves of a panel" in " ".join(found.sentences())
        with pytest.raises(NotCovered, match="of 2 of a panel.*certificate states, for all waves"):
            compose_releases(releases)
    assert Disclosure.from_json(seen[0].to_json()).panel


def _closed(folder: Path, wave: int, people: list, place: Path) -> Certificate:
    """The certificate of a wave in which one says yes and the other one no."""
    definition = load(folder, wave=wave)
    with answers(folder, wave=wave) as store:
        for at, (kept, answer) in enumerate(zip(people, ("yes", "no"), strict=True)):
            sent = respond(definition, {"q": answer}, remembered=kept)
            store.accept([Sent(sent.spelled(widths=definition.channel.widths), f"{at:064x}")])
        return close_survey(definition, store, place).certificate
