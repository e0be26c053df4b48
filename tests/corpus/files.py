"""Generated tables in the manner of public survey and register files of different makes.

Names, codes, labels, types, orders and dependencies are like those of the files; all values are
drawn. Each column has the roles that an expert would accept, the best one first. An expert drops
what follows from a key or repeats it, and a further key that few questions need.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

KEY, DROP, WEIGHT, PUBLIC = "key", "identifier", "weight", "public"
SENSITIVE = "sensitive"
KEY_OR_NOT = "key|identifier"
"""Strangers see it; beyond eight keys, or where another key tells it, it is dropped."""

HARDLY = "sensitive|identifier"
EITHER = "sensitive|key"
"""Neighbours may know it; experts differ."""


@dataclass
class LookAlike:
    """A table with the roles of its columns, and the labels of its variables."""

    name: str
    records: int
    seed: int
    columns: dict[str, object] = field(default_factory=dict)
    roles: dict[str, str] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.draw = np.random.default_rng(self.seed)

    def add(self, name: str, role: str, values: object, label: str = "") -> np.ndarray:
        """One more column."""
        array = np.asarray(values)
        self.columns[name], self.roles[name] = pa.array(array, from_pandas=True), role
        if label:
            self.labels[name] = label
        return array

    def codes(self, number: int, first: int = 1, skew: float = 1.0) -> np.ndarray:
        """Codes, the first ones more often."""
        shares = 1 / np.arange(1, number + 1) ** skew
        return first + self.draw.choice(number, self.records, p=shares / shares.sum())

    def words(self, *values: str) -> np.ndarray:
        """Texts, the first ones more often."""
        return np.array(values, object)[self.codes(len(values), 0, 0.7)]

    def ages(self, low: int = 0, high: int = 95) -> np.ndarray:
        """Whole years."""
        return np.clip(self.draw.normal(45, 20, self.records).round(), low, high).astype(int)

    def amounts(self, middle: float = 20_000, spread: float = 0.8, none: float = 0.1) -> np.ndarray:
        """Amounts of money, some of them zero."""
        drawn = self.draw.lognormal(np.log(middle), spread, self.records)
        return np.where(self.draw.random(self.records) < none, 0, drawn).round()

    def measures(self, mean: float, deviation: float, digits: int = 1) -> np.ndarray:
        """A measure of the body or the blood."""
        return self.draw.normal(mean, deviation, self.records).round(digits)

    def missing(self, values: np.ndarray, share: float) -> np.ndarray:
        """Some values are missing."""
        held = values.astype(object)
        held[self.draw.random(self.records) < share] = None
        return held

    def homes(self) -> np.ndarray:
        """Numbers of households of one to six, one after the other."""
        sizes = self.draw.integers(1, 7, self.records)
        return np.repeat(np.arange(1, self.records + 1), sizes)[: self.records]

    def numbers(self, low: int, high: int) -> np.ndarray:
        """Numbers of respondents: all different, in no order."""
        return low + self.draw.choice(high - low, self.records, replace=False)

    @property
    def table(self) -> pa.Table:
        """The table."""
        return pa.table(self.columns)


def health_examination() -> LookAlike:
    """A health survey with labels: respondent numbers, design, two weights, blood."""
    f = LookAlike("health examination", 4_000, 1)
    f.add("sampl", DROP, f.numbers(1_400, 64_000), "unique case identifier")
    f.add("strata", DROP, f.codes(31, skew=0.2), "stratum identifier")
    f.add("psu", DROP, f.codes(2), "primary sampling unit")
    region = f.add("region", KEY, f.codes(4, skew=0.2), "1=NE, 2=MW, 3=S, 4=W")
    f.add("location", DROP, region * 20 + f.codes(15, 0, 0.2), "stand number")
    sex = f.add("sex", KEY, f.codes(2, skew=0.1), "1=male, 2=female")
    race = f.add("race", KEY, f.codes(3, skew=2), "1=white, 2=black, 3=other")
    age = f.add("age", KEY, f.ages(20, 74), "age in years")
    f.add("height", HARDLY, f.measures(167, 10), "height (cm)")
    f.add("weight", HARDLY, f.measures(72, 15, 2), "weight (kg)")
    f.add("bpsystol", SENSITIVE, f.measures(130, 22, 0).astype(int), "systolic blood pressure")
    f.add("tcresult", SENSITIVE, f.measures(217, 50, 0).clip(80), "serum cholesterol (mg/dL)")
    f.add("hdresult", SENSITIVE, f.missing(f.measures(50, 14, 0), 0.15), "high density lipids")
    f.add("hgb", SENSITIVE, f.measures(14, 1.4), "hemoglobin (g/dL)")
    f.add("hlthstat", SENSITIVE, f.codes(5, skew=0.3), "1=excellent,..., 5=poor")
    f.add("heartatk", SENSITIVE, f.draw.binomial(1, 0.05, f.records), "heart attack, 1=yes, 0=no")
    f.add("diabetes", SENSITIVE, f.draw.binomial(1, 0.05, f.records), "diabetes, 1=yes, 0=no")
    f.add("finalwgt", WEIGHT, f.draw.lognormal(9.2, 0.6, f.records).round().astype(int),
          "sampling weight (except lead)")  # fmt: skip
    f.add("leadwt", DROP, f.draw.lognormal(9.8, 0.6, f.records).round(), "sampling weight for lead")
    f.add("female", DROP, sex - 1, "1=female, 0=male")
    f.add("black", DROP, (race == 2).astype(int), "1 if race=black, 0 otherwise")
    f.add("agegrp", DROP, np.minimum(age // 10, 7), "Age Group")
    f.add("bmi", HARDLY, f.measures(25, 5, 4), "Body Mass Index (BMI)")
    return f


def social_diagnosis() -> LookAlike:
    """A social survey without labels: words, codes for missing, body weight, groups of ages."""
    f = LookAlike("social diagnosis", 3_000, 2)
    f.add("sex", KEY, f.words("FEMALE", "MALE"))
    age = f.add("age", KEY, f.ages(16, 97))
    group = np.array(["16-24", "25-34", "35-44", "45-59", "60-64", "65+"], object)
    f.add("agegr", DROP, f.missing(group[np.searchsorted([25, 35, 45, 60, 65], age, "right")],
                                   0.001))  # fmt: skip
    f.add("placesize", KEY, f.words(*(f"URBAN {n}" for n in range(5)), "RURAL AREAS"))
    f.add("region", KEY, f.words(*(f"Voivodship {n}" for n in range(16))))
    f.add("edu", KEY, f.words("PRIMARY", "VOCATIONAL", "SECONDARY", "TERTIARY"))
    f.add("socprof", KEY, f.words("RETIRED", "EMPLOYED", "FARMER", "STUDENT", "UNEMPLOYED"))
    f.add("marital", KEY, f.words("MARRIED", "SINGLE", "WIDOWED", "DIVORCED", "SEPARATED"))
    f.add("unempdur", SENSITIVE, np.where(f.draw.random(f.records) < 0.9, -8, f.codes(48)))
    f.add("income", SENSITIVE, np.where(f.draw.random(f.records) < 0.2, -8, f.amounts(1_500)))
    f.add("ls", SENSITIVE, f.words("PLEASED", "MOSTLY SATISFIED", "MIXED", "UNHAPPY"))
    f.add("depress", SENSITIVE, f.codes(21, 0))
    f.add("trust", SENSITIVE, f.words("MOST PEOPLE", "CANNOT BE TOO CAREFUL", "DIFFICULT"))
    f.add("sport", SENSITIVE, f.words("NO", "YES"))
    f.add("smoke", EITHER, f.words("NO", "YES"))
    f.add("alcabuse", SENSITIVE, f.words("NO", "YES"))
    f.add("nofriend", SENSITIVE, f.codes(40, 0))
    f.add("weight", HARDLY, f.measures(75, 14, 0).clip(40))
    f.add("height", HARDLY, f.measures(170, 10, 0))
    return f


def income_and_living() -> LookAlike:
    """Income and living conditions of households: codes for names, two weights, children empty."""
    f = LookAlike("income and living conditions", 4_000, 3)
    home = f.add("db030", DROP, f.homes())
    size = np.bincount(home)[home]
    f.add("hsize", KEY, size)
    f.add("db040", KEY, f.words(*(f"Region {n}" for n in range(9)))[home % f.records])
    f.add("rb030", DROP, 100 * home + np.arange(f.records) % 90)
    age = f.add("age", KEY, f.ages())
    f.add("rb090", KEY, f.words("female", "male"))
    child = age < 16

    def grown(values: np.ndarray) -> np.ndarray:
        held = values.astype(object)
        held[child] = None
        return held

    f.add("pl030", KEY, grown(f.codes(7).astype(str)))
    f.add("pb220a", KEY, grown(f.words("AT", "Other", "EU")))
    f.add("py010n", SENSITIVE, grown(f.amounts(18_000, none=0.5)))
    f.add("py050n", SENSITIVE, grown(f.amounts(15_000, 1, none=0.9)))
    f.add("py090n", SENSITIVE, grown(f.amounts(6_000, none=0.92)))
    f.add("hy040n", SENSITIVE, f.amounts(4_000, 1, none=0.95)[home])
    f.add("eqIncome", SENSITIVE, f.amounts(20_000, 0.5, 0)[home])
    f.add("db090", DROP, (400 + 800 * f.draw.random(80))[home % 80].round(4))
    f.add("rb050", WEIGHT, (400 + 800 * f.draw.random(80))[home % 80].round(4))
    return f


def barometer() -> LookAlike:
    """A barometer of opinions: names say nothing, labels do; how answers were collected."""
    f = LookAlike("barometer", 3_000, 4)
    f.add("respno", DROP, [f"KEN{n:04d}" for n in range(f.records)], "Respondent number")
    f.add("urbrur", KEY, f.codes(2), "Urban or Rural Primary Sampling Unit")
    f.add("region", KEY, f.codes(8, 300), "Province or region")
    f.add(
        "dateintr",
        DROP + "|public",
        np.datetime64("2021-11-04") + f.codes(20, 0),
        "Date of interview",
    )
    f.add("intno", DROP, f.codes(40, 1, 0.1), "Interviewer number")
    f.add("length", DROP, f.measures(60, 15, 0).astype(int).clip(20), "Length of interview")
    f.add("q1", KEY, f.ages(18, 90), "Q1. Age")
    f.add("q101", KEY, f.codes(2), "Q101. Gender of respondent")
    f.add("q97", KEY, f.codes(9, 0), "Q97. Education of respondent")
    f.add("q95a", KEY, f.codes(5, 0), "Q95a. Employment status")
    f.add("q81", KEY, f.codes(12, 1), "Q81. Ethnic community")
    f.add("q98", EITHER, f.codes(14, 1), "Q98. Religion of respondent")
    f.add("q4a", SENSITIVE, f.codes(5), "Q4a. Country's present economic condition")
    f.add("q8", SENSITIVE, f.codes(3, 0), "Q8. How often do you discuss politics with friends")
    f.add("q41a", SENSITIVE, f.codes(4, 0), "Q41a. How much do you trust the president")
    f.add("q99", SENSITIVE, f.codes(20, 0), "Q99. Vote for which party")
    f.add("withinwt", WEIGHT, f.draw.lognormal(0, 0.5, f.records).round(6), "Within-country weight")
    return f


def recidivism() -> LookAlike:
    """Records of a court: names, dates, scores of a risk tool."""
    f = LookAlike("recidivism", 3_000, 5)
    first = f.words(*(f"name{n}" for n in range(300)))
    last = f.words(*(f"surname{n}" for n in range(900)))
    f.add("id", DROP, np.arange(f.records) + 1)
    f.add("name", DROP, [f"{a} {b}" for a, b in zip(first, last, strict=True)])
    f.add("first", DROP, first)
    f.add("last", DROP, last)
    f.add("sex", KEY, f.words("Male", "Female"))
    age = f.add("age", KEY, f.ages(18, 80))
    born = np.datetime64("2014-06-01") - age * 365 - f.codes(365, 0, 0)
    f.add("dob", KEY_OR_NOT, born)
    group = np.array(["Less than 25", "25 - 45", "Greater than 45"], object)
    f.add("age_cat", DROP, group[np.searchsorted([25, 46], age, "right")])
    f.add("race", KEY, f.words("African-American", "Caucasian", "Hispanic", "Other", "Asian"))
    f.add("juv_fel_count", EITHER, f.codes(6, 0, 3))
    f.add("priors_count", HARDLY, f.codes(35, 0, 1.2))
    score = f.add("decile_score", SENSITIVE, f.codes(10, 1, 0.4))
    text = np.array(["Low", "Medium", "High"], object)
    f.add("score_text", HARDLY, text[np.searchsorted([5, 8], score, "right")])
    f.add("c_case_number", DROP, [f"13{n:06d}CF10A" for n in f.numbers(0, 99_999)])
    f.add("c_charge_degree", EITHER, f.words("F", "M", "O"))
    f.add("is_recid", SENSITIVE, f.draw.binomial(1, 0.48, f.records))
    return f


def heart() -> LookAlike:
    """A clinical file: short names, measures, a diagnosis."""
    f = LookAlike("heart", 900, 6)
    f.add("id", DROP, np.arange(f.records) + 1)
    f.add("age", KEY, f.ages(29, 77))
    f.add("sex", KEY, f.codes(2, 0))
    f.add("cp", SENSITIVE, f.codes(4, 0))
    f.add("trestbps", SENSITIVE, f.measures(131, 17, 0).astype(int))
    f.add("chol", SENSITIVE, f.measures(246, 51, 0).astype(int))
    f.add("fbs", SENSITIVE, f.draw.binomial(1, 0.15, f.records))
    f.add("restecg", SENSITIVE, f.codes(3, 0))
    f.add("thalach", SENSITIVE, f.measures(149, 22, 0).astype(int))
    f.add("oldpeak", SENSITIVE, np.abs(f.measures(0, 1.2)))
    f.add("disease", SENSITIVE, f.draw.binomial(1, 0.46, f.records))
    return f


def labour_force() -> LookAlike:
    """A labour force survey: shuffled household numbers, replicate weights, occupation codes."""
    f = LookAlike("labour force", 4_000, 7)
    f.add("h_seq", DROP, f.draw.permutation(f.homes()))
    f.add("pppos", DROP, np.arange(f.records) + 40)
    f.add("gestfips", KEY, f.codes(51, 1, 0.3))
    f.add("a_age", KEY, f.ages(0, 85))
    f.add("a_sex", KEY, f.codes(2))
    f.add("prdtrace", KEY, f.codes(8, 1, 2))
    f.add("a_maritl", KEY, f.codes(7))
    f.add("a_hga", KEY, f.codes(16, 31), "Educational attainment")
    f.add("a_mjocc", KEY, f.codes(11, 0), "Major occupation")
    f.add("a_hrs1", HARDLY, f.codes(80, 0, 0.2), "Hours worked last week")
    f.add("wsal_val", SENSITIVE, f.amounts(40_000), "Total wage and salary earnings")
    f.add("ptotval", SENSITIVE, f.amounts(45_000), "Total persons income")
    f.add("hi_yn", SENSITIVE, f.codes(2), "Covered by health insurance")
    f.add("a_fnlwgt", WEIGHT, f.draw.lognormal(7.3, 0.5, f.records).round(2), "Final weight")
    for number in range(1, 9):
        f.add(f"repwgt{number}", DROP, f.draw.lognormal(7.3, 0.5, f.records).round(2))
    return f


def structure_of_earnings() -> LookAlike:
    """A survey of establishments: their numbers, branch, earnings, two weights."""
    f = LookAlike("structure of earnings", 4_000, 8)
    unit = f.codes(250, 1, 0.3)
    f.add("IDunit", DROP, f.draw.permutation(250)[unit - 1] + 10_001)
    f.add("Region", KEY, f.words("East", "South", "West")[unit])
    f.add("NACE1", KEY, f.words(*"CDEFGHIJKMN")[unit])
    f.add("Size", KEY, f.words("E10_49", "E50_249", "E250_499", "E1000")[unit])
    f.add("sex", KEY, f.words("male", "female"))
    f.add("age", KEY, f.words("(29,39]", "(39,49]", "(19,29]", "(49,59]", "(59,120]"))
    f.add("education", KEY, f.words(*(f"ISCED {n}" for n in range(6))))
    f.add("Occupation", KEY, f.words(*(str(n) for n in range(11, 35))))
    f.add("contract", EITHER, f.words("indefinite", "temporary", "apprentice"))
    f.add("fullPart", EITHER, f.words("FT", "PT"))
    f.add("hourlyEarnings", SENSITIVE, f.amounts(15, 0.5, 0) + f.measures(0, 0.2, 2))
    f.add("paidHours", HARDLY, f.measures(160, 20, 2))
    f.add("holiday", HARDLY, f.codes(45, 0, 0.1))
    f.add("weights", WEIGHT, f.draw.lognormal(3, 0.6, f.records).round(4))
    return f


def adult_census() -> LookAlike:
    """A census extract for learning: hyphens in names, a question mark for missing."""
    f = LookAlike("adult census", 4_000, 9)
    f.add("age", KEY, f.ages(17, 90))
    f.add("workclass", KEY, f.words("Private", "Self-emp", "?", "Local-gov", "State-gov"))
    f.add("fnlwgt", WEIGHT, f.draw.lognormal(12, 0.5, f.records).round().astype(int))
    level = f.codes(16, 1, 0.4)
    f.add("education", KEY, np.array([f"level {n}" for n in range(17)], object)[level])
    f.add("education-num", DROP, level)
    f.add("marital-status", KEY, f.words("Married-civ-spouse", "Never-married", "Divorced"))
    f.add("occupation", KEY, f.words(*(f"Occupation-{n}" for n in range(14))))
    f.add("relationship", KEY_OR_NOT, f.words("Husband", "Not-in-family", "Own-child", "Wife"))
    f.add("race", KEY, f.words("White", "Black", "Asian-Pac-Islander", "Other"))
    f.add("sex", KEY, f.words("Male", "Female"))
    f.add("capital-gain", SENSITIVE, f.amounts(7_000, 0.8, 0.92).round(-2))
    f.add("hours-per-week", HARDLY, f.codes(90, 1, 0.2))
    f.add("native-country", KEY, f.words(*(f"Country {n}" for n in range(40))))
    f.add("income", SENSITIVE, f.words("<=50K", ">50K"))
    return f


def expenditure_panel() -> LookAlike:
    """A panel of medical expenses: years in names, diagnoses, design, negative codes."""
    f = LookAlike("expenditure panel", 4_000, 10)
    f.add("DUPERSID", DROP, f.numbers(2_320_000_000, 2_329_999_999))
    f.add("AGE23X", KEY, f.ages(18, 85))
    f.add("SEX", KEY, f.codes(2))
    f.add("RACETHX", KEY, f.codes(5))
    f.add("EDUCYR", KEY, f.codes(18, 0, 0.3))
    f.add("MARRY23X", KEY, f.codes(5))
    f.add("REGION23", KEY, f.codes(4))
    f.add("TOTEXP23", SENSITIVE, f.amounts(3_000, 1.5))
    f.add("POVCAT23", EITHER, f.codes(5))
    f.add("DIABDX_M18", SENSITIVE, f.codes(2, 1, 3))
    f.add("CANCERDX", SENSITIVE, f.codes(2, 1, 3))
    f.add("INSCOV23", EITHER, f.codes(3))
    f.add("VARSTR", DROP, f.codes(100, 2_001, 0.1))
    f.add("VARPSU", DROP, f.codes(3))
    f.add("PERWT23F", WEIGHT, f.draw.lognormal(9, 0.7, f.records).round(6))
    return f


def young_women() -> LookAlike:
    """A panel of workers with labels: short names, wages, experience in years."""
    f = LookAlike("young women", 2_200, 11)
    f.add("idcode", DROP, np.arange(f.records) + 1, "NLS ID")
    f.add("age", KEY, f.codes(13, 34, 0.1), "Age in current year")
    f.add("race", KEY, f.codes(3, 1, 2), "Race")
    married = f.add("married", KEY, f.codes(2, 0), "Married")
    never = (married == 0) & (f.draw.random(f.records) < 0.3)
    f.add("never_married", KEY_OR_NOT, never.astype(int), "Never married")
    grade = f.add("grade", KEY, f.codes(13, 6, 0.1), "Current grade completed")
    f.add("collgrad", DROP, (grade >= 16).astype(int), "College graduate")
    f.add("south", KEY, f.codes(2, 0), "Lives in the south")
    f.add("c_city", KEY_OR_NOT + "|sensitive", f.codes(2, 0), "Lives in a central city")
    f.add("industry", KEY_OR_NOT, f.codes(12), "Industry")
    f.add("occupation", KEY_OR_NOT, f.codes(13), "Occupation")
    f.add("union", EITHER, f.missing(f.codes(2, 0), 0.15), "Union worker")
    f.add("wage", SENSITIVE, f.amounts(7, 0.5, 0) + f.measures(0, 0.3, 4), "Hourly wage")
    f.add("hours", HARDLY, f.codes(60, 1, 0.1), "Usual hours worked")
    f.add("ttl_exp", HARDLY, np.abs(f.measures(12, 5, 4)), "Total work experience (years)")
    return f


def raw_census() -> LookAlike:
    """A census of raw codes: capital letters, ancestry, industry, a weight."""
    f = LookAlike("raw census", 4_000, 12)
    f.add("CASEID", DROP, np.arange(f.records) + 10_000)
    f.add("SEX", KEY, f.codes(2, 0))
    f.add("AGE", KEY, f.ages(0, 90))
    f.add("ANCSTRY1", KEY_OR_NOT, f.codes(98, 1) * 9)
    f.add("MARITAL", KEY, f.codes(5, 0))
    f.add("CITIZEN", KEY, f.codes(5, 0))
    f.add("CLASS", EITHER, f.codes(10, 0))
    f.add("FERTIL", HARDLY, f.codes(14, 0))
    f.add("HOURS", HARDLY, f.codes(80, 0, 0.2))
    f.add("INCOME1", SENSITIVE, f.amounts(15_000))
    f.add("INDUSTRY", KEY_OR_NOT, f.codes(200, 10) * 4)
    f.add("MEANS", SENSITIVE, f.codes(12, 0))
    f.add("RACE", KEY, f.codes(28, 1, 2) * 11)
    f.add("TRAVTIME", HARDLY, f.codes(30, 0) * 5)
    f.add("YEARSCH", KEY, f.codes(18, 0, 0.3))
    f.add("PWGT1", WEIGHT, f.draw.lognormal(4.6, 0.5, f.records).round().astype(int))
    return f


def register() -> LookAlike:
    """An administrative register: personal numbers, places within places, dates, free text."""
    f = LookAlike("register", 4_000, 13)
    f.add("person_number", DROP, f.numbers(10**9, 10**10 - 1))
    state = f.codes(8, 1, 0.3)
    f.add("state", KEY_OR_NOT, state)
    f.add("county", KEY, state * 100 + f.codes(6, 1, 0.3))
    f.add("postcode", DROP, f.numbers(10_000, 99_999))
    f.add("gender", KEY, f.words("f", "m", "x"))
    f.add("birth_year", KEY, 2020 - f.ages())
    f.add("nationality", KEY, f.words(*(f"N{n}" for n in range(12))))
    f.add("taxable_income", SENSITIVE, f.amounts(30_000))
    f.add("benefit", SENSITIVE, f.words("none", "housing", "child", "disability"))
    f.add("diagnosis_group", SENSITIVE, f.words(*(f"F{n}" for n in range(9))))
    f.add("remark", DROP, [f"seen on day {n} by the office of the town" for n in range(f.records)])
    f.add("phone", DROP, [f"0{n}" for n in f.numbers(300_000, 999_999)])
    return f


FILES: tuple[Callable[[], LookAlike], ...] = (
    health_examination, social_diagnosis, income_and_living, barometer, recidivism, heart,
    labour_force, structure_of_earnings, adult_census, expenditure_panel, young_women, raw_census,
    register,
)  # fmt: skip


def accepted(roles: Mapping[str, str], column: str) -> tuple[str, ...]:
    """The roles that an expert accepts, the best one first."""
    return tuple(roles[column].split("|"))
