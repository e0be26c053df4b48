"""Tests that a release folder appears whole or not at all, and that any change is found."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from functools import reduce

import pytest

from pramana import api
from pramana.analysis.release import load_release
from pramana.errors import AlteredRelease, InputError, InvalidTable, NotARelease, OutputExists
from pramana.release.folder import (
    complete_folder,
    fingerprint,
    read_certificate,
    release_folder,
    write_explanations,
)
from pramana.release.signing import make_keys, sign
from pramana.verification.verify import verify_folder
from tests.release.people import people, plan


def flipped(path, position):
    """The file with one bit of one byte changed; and as it was, if done again.

    In its place: a file that is emptied and written anew waits for the disk.
    """
    with path.open("r+b") as file:
        file.seek(position)
        (byte,) = file.read(1)
        file.seek(position)
        file.write(bytes([byte ^ 0x10]))


def test_a_fresh_release_is_valid(release):
    """Data, certificate, guarantees, domains and anonymity set check out, and what explains
    them.
    """
    verdict = verify_folder(release.folder)

    assert verdict.valid, verdict.to_json()
    assert sorted(path.name for path in release.folder.iterdir()) == [
        "README.md",
        "analyse.R",
        "analyse.html",
        "certificate.json",
        "codebook.csv",
        "data.parquet",
        "load.R",
        "load.do",
        "load.py",
        "load.sps",
    ]
    assert {check.name for check in verdict.checks} >= {
        "certificate", "data", "records", "anonymity set", "pk-anonymity", "domain of sex",
        "impossible combinations",
    }  # fmt: skip


def test_any_changed_byte_of_the_data_is_found(release):
    """Thirty places all over the file."""
    path = release.folder / "data.parquet"
    whole = path.read_bytes()
    for position in range(0, len(whole), len(whole) // 30):
        flipped(path, position)
        verdict = verify_folder(release.folder)
        flipped(path, position)

        assert not verdict.valid
        assert not next(check for check in verdict.checks if check.name == "data").ok


@pytest.mark.parametrize("change", ["longer", "shorter", "same size"])
def test_whoever_loads_altered_data_is_told_that_a_promise_fails(release, change):
    """Exit code 1, as for an altered certificate, whatever the size is."""
    path = release.folder / "data.parquet"
    whole = path.read_bytes()
    made = {"longer": whole + b" ", "shorter": whole[:-1], "same size": whole[:-1] + b"?"}
    path.write_bytes(made[change])
    with pytest.raises(AlteredRelease, match="was altered") as refused:
        load_release(release.folder)
    assert refused.value.exit_code == 1


@pytest.mark.deep
def test_any_changed_byte_of_the_certificate_is_found(release):
    """Every single byte: white space, digits, words; found by a check or refused outright."""
    path = release.folder / "certificate.json"
    whole = path.read_bytes()
    data = release.folder / "data.parquet"
    data.write_bytes(b"")  # leaves the data out of it: reading them each time would take long
    for position in range(len(whole)):
        flipped(path, position)
        try:
            verdict = verify_folder(release.folder)
            assert not verdict.checks[0].ok, f"byte {position} went unnoticed"
        except NotARelease:
            pass
        flipped(path, position)

    assert path.read_bytes() == whole
    assert verify_folder(release.folder).checks[0].ok


def test_a_forged_claim_with_a_right_digest_is_found(release):
    """A better k than the matrices give does not pass, however well the digest fits."""
    path = release.folder / "certificate.json"
    path.write_bytes(_forged(path.read_bytes(), lambda form: _claim(form, "k").update(k=1e6)))
    write_explanations(release.folder, read_certificate(release.folder))  # a careful forger
    verdict = verify_folder(release.folder)

    assert [check.name for check in verdict.checks if not check.ok] == ["pk-anonymity"]


def test_a_forged_anonymity_set_is_found(release):
    """The smallest group is counted again from the released columns."""
    path = release.folder / "certificate.json"
    path.write_bytes(
        _forged(path.read_bytes(), lambda form: form["anonymity_set"].update(size=3000))
    )

    assert "anonymity set" in {
        check.name for check in verify_folder(release.folder).checks if not check.ok
    }


def _claim(form, letter):
    return next(c["attained"] for c in form["guarantees"] if letter in c["attained"])


def _forged(content, change):
    import hashlib
    import re

    from pramana.guarantees.claims import Claim
    from pramana.release.certificate import Certificate
    from pramana.release.certificate_fields import canonical

    form = json.loads(content)
    schema = Certificate.from_bytes(content).true_schema
    del form["digest"]
    change(form)
    for claim in form["guarantees"]:  # the words of a claim follow its numbers
        if "k" in claim["attained"]:
            from pramana.guarantees.pk_anonymity import PkAnonymity

            claim["sentence"] = Claim(PkAnonymity(**claim["attained"])).sentence(schema)
    if form["anonymity_set"]["size"] == 3000:
        said = form["anonymity_set"]["statement"]
        form["anonymity_set"]["statement"] = re.sub(
            "at least [0-9,]+", "at least 3,000", said, count=1
        )
    return canonical(form | {"digest": hashlib.sha256(canonical(form)).hexdigest()})


def test_certificate_holds_no_truth_and_no_seed(release):
    """No identifier, no true value of an undeclared column, no count but that of the release."""
    text = (release.folder / "certificate.json").read_text()

    words = ("a person", "one person's", "the right person", "one record per person")
    assert "person" not in reduce(lambda left, said: left.replace(said, ""), words, text)


def test_without_a_seed_nothing_is_flagged_and_no_two_releases_are_alike(tmp_path):
    """The key comes from the operating system."""
    first, second = (api.protect(people(), plan(), to=tmp_path / name) for name in ("a", "b"))

    assert not first.certificate.reproducible
    assert not first.table.equals(second.table)


def test_signature_finds_malice(release, tmp_path):
    """The right key fits, another does not, and an unsigned release has no signature to show."""
    private, public = make_keys(tmp_path / "office")
    _, other = make_keys(tmp_path / "other")
    signed = release.save(tmp_path / "signed", sign_with=private)

    assert verify_folder(signed.folder, key=public).valid
    assert not verify_folder(signed.folder, key=other).valid
    assert not verify_folder(release.folder, key=public).valid
    assert private.stat().st_mode & 0o077 == 0
    with pytest.raises(OutputExists, match="not replaced"):
        make_keys(tmp_path / "office")
    half = public.read_bytes()
    public.unlink()  # as if the process had died between the two
    assert make_keys(tmp_path / "office")[1].read_bytes() == half
    with pytest.raises(InputError, match="private Ed25519"):
        release.save(tmp_path / "bad", sign_with=public)
    assert not (tmp_path / "bad").exists()


def test_a_key_of_another_kind_is_refused(release, tmp_path):
    """Also where a flipped bit makes it say so, over which the library breaks down."""
    private, _ = make_keys(tmp_path / "office")
    assert private.read_bytes().count(b"K2Vw") == 1
    private.write_bytes(private.read_bytes().replace(b"K2Vw", b"K2Vv"))
    with pytest.raises(InputError, match="private Ed25519 key"):
        sign(release.certificate, private)


def test_nothing_is_replaced_without_force(release):
    """And force replaces a release only, never another folder."""
    with pytest.raises(OutputExists, match="--force"):
        api.protect(people(), plan(), to=release.folder)
    before = release.certificate
    again = api.protect(people(), plan(), to=release.folder, force=True, seed=2)

    assert again.certificate != before
    stranger = release.folder.parent / "photographs"
    stranger.mkdir()
    (stranger / "cat.jpg").write_bytes(b"meow")
    with pytest.raises(OutputExists, match="no unaltered release folder"):
        api.protect(people(), plan(), to=stranger, force=True)


def test_force_replaces_a_release_as_it_was_written_and_nothing_else(release):
    """A file more, a changed one, a link, the folder one stands in: all stay as they are."""
    folder = release.folder
    seen = {path.name: path.read_bytes() for path in folder.iterdir()}

    def refused(match, at=folder):
        with pytest.raises(OutputExists, match=match):
            api.protect(people(), plan(), to=at, force=True, seed=2)
        assert len(list(folder.parent.iterdir())) == 1 + (at != folder)

    (folder / "diary.txt").write_text("learn")
    refused("also holds diary.txt")
    (folder / "diary.txt").unlink()
    for name in ("README.md", "data.parquet"):
        (folder / name).write_bytes(seen[name][:-1] + b"?")
        refused(f"{name} was changed")
        (folder / name).write_bytes(seen[name])
    (folder / "certificate.json").write_bytes(seen["certificate.json"] + b" ")
    refused("no unaltered release folder")
    (folder / "certificate.json").write_bytes(seen["certificate.json"])
    link = folder.with_name("link")
    link.symlink_to(folder)
    refused("is a link", at=link)
    link.unlink()
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == seen


def test_force_does_not_saw_off_the_branch(release, monkeypatch):
    """The folder in which the command runs stays, by whatever name it is called."""
    monkeypatch.chdir(release.folder)
    for place in (".", release.folder, release.folder / ".." / release.folder.name):
        with pytest.raises(OutputExists, match="working folder"):
            api.protect(people(), plan(), to=place, force=True, seed=2)


def test_a_release_that_appears_meanwhile_is_left_alone(tmp_path, release):
    """Of two at once one wins, and the other says so and leaves nothing."""
    new = tmp_path / "new"

    def slower():
        with release_folder(new) as work:
            release.save(new)  # somebody else was quicker
            (work / "data.parquet").write_bytes(b"the records of the slower one")
            complete_folder(work, release.certificate, file_format="parquet")

    with pytest.raises(OutputExists, match="appeared while"):
        slower()
    assert verify_folder(new).valid
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new", "release"]


@pytest.mark.parametrize("failure", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_failure_half_way_leaves_nothing(tmp_path, release, failure):
    """A full disk or an interrupt: no folder, and no trace beside it."""

    def stopped():
        with release_folder(tmp_path / "new") as work:
            (work / "data.parquet").write_bytes(b"half of the records")
            raise failure

    with pytest.raises(type(failure)):
        stopped()

    assert [path.name for path in tmp_path.iterdir()] == ["release"]


def test_a_killed_process_leaves_no_release(tmp_path):
    """SIGKILL while the data are being written: the place stays free."""
    script = textwrap.dedent(
        """
        import sys, time
        from pathlib import Path
        from pramana.release.folder import release_folder
        with release_folder(Path(sys.argv[1])) as work:
            (work / "data.parquet").write_bytes(b"half")
            print("writing", flush=True)
            time.sleep(60)
        """
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path / "new")],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "writing\n"
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    time.sleep(0.05)

    assert not (tmp_path / "new").exists()
    with pytest.raises(NotARelease):
        load_release(tmp_path / "new")


def test_input_that_breaks_half_way_leaves_nothing(tmp_path):
    """A Parquet file cut short, and a value outside the domain in the last record."""
    from pyarrow import parquet

    table = people()
    whole = tmp_path / "people.parquet"
    parquet.write_table(table, whole)
    (tmp_path / "cut.parquet").write_bytes(whole.read_bytes()[:-100])
    strange = table.set_column(
        3, "marital", [[*table["marital"].to_pylist()[:-1], "UNKNOWN-MARKER"]]
    )

    for source in (tmp_path / "cut.parquet", strange):
        with pytest.raises(InputError) as caught:
            api.protect(source, plan(), to=tmp_path / "release")
        assert "UNKNOWN-MARKER" not in str(caught.value)
        assert not (tmp_path / "release").exists()


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b"not json", b'{"format": "other"}'])
def test_a_folder_that_is_not_a_release_is_refused(tmp_path, content):
    """One line each."""
    (tmp_path / "certificate.json").write_bytes(content)
    with pytest.raises(NotARelease):
        load_release(tmp_path)


def test_a_certificate_of_a_newer_format_is_refused(release):
    """And says what to do."""
    path = release.folder / "certificate.json"
    path.write_text(path.read_text().replace(' "version": 2', ' "version": 99'))
    with pytest.raises(NotARelease, match="version 99"):
        load_release(release.folder)


@pytest.mark.parametrize("kind", ["withheld", "groups", "nonsense", None])
def test_another_kind_than_the_certificate_holds_is_refused(release, kind):
    """The kind is stated, and matrices or groups must be what it says."""
    form = json.loads((release.folder / "certificate.json").read_text())
    assert form["kind"] == "published"
    path = release.folder / "certificate.json"
    path.write_text(json.dumps(form | {"kind": kind}))
    with pytest.raises(NotARelease):
        load_release(release.folder)


def test_a_release_without_its_data_is_refused(release):
    """The certificate names the file that is gone."""
    (release.folder / "data.parquet").unlink()
    with pytest.raises(NotARelease, match=r"lacks the data file data\.parquet"):
        load_release(release.folder)


def test_saved_and_loaded_it_is_the_same(release, tmp_path):
    """In memory and through a folder: the same records under the same claims, in every format."""
    for file_format in ("parquet", "csv", "feather"):
        again = release.save(tmp_path / file_format, file_format=file_format)

        assert verify_folder(again.folder).valid
        assert again.certificate.claims == release.certificate.claims
        assert again.table["income"].to_pylist() == release.table["income"].to_pylist()
        assert again.table["sex"].to_pylist() == release.table["sex"].to_pylist()


def test_a_folder_that_is_not_there_is_said_not_to_be(tmp_path):
    """Nobody looks for a certificate in a folder that does not exist."""
    with pytest.raises(NotARelease, match="gone does not exist"):
        load_release(tmp_path / "gone")


def test_a_packing_that_nobody_knows_does_not_end_the_process(tmp_path):
    """PyArrow aborts if it is asked for the codec of such a column."""
    release = api.protect(people(), plan(), to=tmp_path / "release")
    path = release.folder / "data.parquet"
    # In Thrift's compact protocol: the path of the column, then its codec (1: Snappy) as an i32.
    name = release.certificate.schema.released[0].name.encode()
    known = b"\x19\x18" + bytes([len(name)]) + name + b"\x15\x02"
    content = path.read_bytes()
    assert known in content
    path.write_bytes(content.replace(known, known[:-1] + b"\x12"))
    certificate = read_certificate(release.folder).with_data(fingerprint(path, "parquet"))
    (release.folder / "certificate.json").write_bytes(certificate.to_bytes())
    with pytest.raises((InvalidTable, NotARelease)):
        load_release(release.folder)


def test_every_check_has_a_kind(release):
    """Guarantees, assertions of the owner and integrity are told apart without their names."""
    checks = verify_folder(release.folder).checks
    kinds = {check.name: check.kind for check in checks}
    assert kinds["pk-anonymity"] == "guarantee"
    assert kinds["shuffle"] == kinds["randomisation"] == "assertion"
    assert kinds["data"] == kinds["certificate"] == "integrity"
    assert checks[0].to_json()["kind"] == "integrity"
