"""Who may ask the studio, and what its answers say about themselves."""

from __future__ import annotations

import logging
import re
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from pramana.base.atomic_files import leftovers, remove_leftovers, write_whole
from pramana.errors import InputError, Notice
from pramana.studio.serving import Listening, Origin, new_token
from pramana.studio.session import StudioSession
from tests.studio.conftest import HOST, ORIGIN, PEOPLE, TOKEN, Visitor, same


def test_without_the_token_nothing_is_shown(outsider: TestClient) -> None:
    """Neither pages nor parts nor files of the page itself."""
    for path in ("/", "/open/found", "/assets/studio.js", f"/?token={'b' * 64}", "/?token="):
        answer = outsider.get(path)
        assert answer.status_code == 403
        assert "people" not in answer.text
    assert outsider.post("/open", data={"file": "people.csv"}).status_code == 403


def test_the_token_becomes_a_cookie_that_no_other_site_sends(outsider: TestClient) -> None:
    """HttpOnly, SameSite=Strict; the page that gives it leads on without it in the address."""
    answer = outsider.get(f"/?token={TOKEN}")
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert TOKEN not in answer.text
    assert outsider.get("/").status_code == 200


def test_a_wrong_cookie_is_not_the_token(outsider: TestClient) -> None:
    """One letter less, another one, none."""
    for value in ("", TOKEN[:-1], TOKEN[:-1] + "b", "é"):
        headers = {"cookie": f"pramana-studio={value}".encode()}
        assert outsider.get("/", headers=headers).status_code == 403  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "host", ["evil.example:8123", "127.0.0.1:9", "127.0.0.1", "127.0.0.1.evil.example:8123", ""]
)
def test_a_name_that_was_made_to_point_here_is_refused(visitor: Visitor, host: str) -> None:
    """DNS rebinding: the browser has the cookie for no such name, and the name is not ours."""
    assert visitor.get("/", host=host).status_code == 403


@pytest.mark.parametrize("host", ["localhost:8123", "[::1]:8123"])
def test_this_machine_has_three_names(visitor: Visitor, host: str) -> None:
    """All of them are this machine."""
    assert visitor.get("/", host=host).status_code == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "", "http://127.0.0.1:9"])
def test_a_page_elsewhere_changes_nothing(visitor: Visitor, origin: str) -> None:
    """Cross-site requests, also from another port of this machine, also without an Origin."""
    answer = visitor.post("/open", {"file": "people.csv"}, origin=origin)
    assert answer.status_code == 403
    assert visitor.session.now.file == ""
    answer = visitor.post("/open", {"file": "people.csv"}, **{"sec-fetch-site": "cross-site"})
    assert answer.status_code == 403


ELSEWHERE = [
    {"sec-fetch-site": "cross-site"},
    {"sec-fetch-site": "same-site"},
    {"sec-fetch-site": "same-site", "referer": f"{ORIGIN}/model"},
    {"sec-fetch-site": "same-origin", "origin": "http://127.0.0.1:9"},
    {"origin": "http://127.0.0.1:9"},
    {"origin": "null"},
    {"referer": "http://127.0.0.1:9/"},
    {"referer": f"http://evil.example/{ORIGIN}/"},
    {"referer": f"https://{HOST}/"},
]


@pytest.mark.parametrize("headers", [*ELSEWHERE, {}])
@pytest.mark.parametrize("path", ["/model?formula=a~b", "/model/found?formula=a~b", "/columns"])
def test_a_page_elsewhere_lets_nothing_be_computed(
    visitor: Visitor, path: str, headers: dict[str, str]
) -> None:
    """Reading computes, and a page on another port of this machine is sent the cookie along."""
    assert visitor.client.get(path, headers=headers).status_code == 403
    assert visitor.client.head(path, headers=headers).status_code == 403


@pytest.mark.parametrize("headers", ELSEWHERE)
def test_the_first_page_is_not_shown_to_a_page_elsewhere(
    visitor: Visitor, headers: dict[str, str]
) -> None:
    """A frame or a window of another port learns nothing of it."""
    assert visitor.client.get("/", headers=headers).status_code == 403


@pytest.mark.parametrize(
    "headers",
    [{"sec-fetch-site": "same-origin"}, {"sec-fetch-site": "none"}, {"referer": f"{ORIGIN}/"}],
)
def test_pages_of_the_studio_and_typed_addresses_are_answered(
    visitor: Visitor, headers: dict[str, str]
) -> None:
    """Also in a browser that sends no Sec-Fetch-Site."""
    assert visitor.client.get("/release", headers=headers).status_code == 200
    assert visitor.client.get("/").status_code == 200


@pytest.mark.parametrize("name", ["host", "origin", "sec-fetch-site"])
def test_two_addresses_in_one_request_are_none(visitor: Visitor, name: str) -> None:
    """Whichever of them is ours, and whichever comes first."""
    ours = {"host": HOST, "origin": ORIGIN, "sec-fetch-site": "same-origin"}
    once = [(own, value) for own, value in ours.items() if own != name]
    for pair in ((ours[name], "http://evil.example"), ("http://evil.example", ours[name])):
        headers = [*once, *((name, value) for value in pair)]
        assert visitor.client.post("/undo", headers=headers).status_code == 403


def test_every_answer_states_its_policy(visitor: Visitor) -> None:
    """No inline script or style, no frame, nothing kept, no address told to anyone."""
    visitor.post("/open", {"file": "people.csv"})
    for path in ("/", "/nowhere", "/open/found"):
        answer = visitor.get(path)
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["referrer-policy"] == "same-origin"
        assert answer.headers["x-frame-options"] == "DENY"
        assert not re.search(
            r"<script(?! src=)|<style|\sstyle=|\son[a-z]+=|javascript:", answer.text
        )


def test_nothing_of_the_table_in_titles_addresses_cookies_or_logs(
    visitor: Visitor, caplog: pytest.LogCaptureFixture
) -> None:
    """The name of a column or a value stands in the body of a page and nowhere else."""
    caplog.set_level(logging.DEBUG, "uvicorn")
    visitor.post("/open", {"file": "people.csv"})
    text = visitor.part("/open/found")
    assert "region" in text
    for path in ("/", "/open/found"):
        answer = visitor.get(path)
        titles = " ".join(re.findall(r"<title>(.*?)</title>", answer.text))
        addresses = " ".join(re.findall(r'(?:href|action|src|hx-[a-z]+)="([^"]*)"', answer.text))
        for told in (titles, addresses, answer.headers.get("set-cookie", ""), caplog.text):
            assert "region" not in told
            assert "people.csv" not in told


@pytest.mark.parametrize(
    "name",
    ["../secret.csv", "/etc/passwd", "link.csv", "a/../../secret.csv", ".pramana-studio/lock", "\0",
     "linked/secret.csv", ".", "", "a" * 300 + ".csv", "a/" * 2000],
)  # fmt: skip
def test_no_path_leads_out_of_the_folder(visitor: Visitor, folder: Path, name: str) -> None:
    """Neither by dots nor by links, and not into the studio's own folder."""
    outside = folder.parent / "outside"
    outside.mkdir(exist_ok=True)
    (outside / "secret.csv").write_text("a,b\n1,2\n")
    for link, to in (("link.csv", outside / "secret.csv"), ("linked", outside)):
        (folder / link).unlink(missing_ok=True)
        (folder / link).symlink_to(to)
    assert visitor.post("/open", {"file": name}).status_code < 500
    assert visitor.session.now.file == ""


def test_uploads_lie_where_only_the_owner_reads(visitor: Visitor) -> None:
    """0700 and 0600; a name with folders in it is only a name; an unknown ending is refused."""
    headers = {"x-name": "..%2F..%2Fnew%20one.csv"}
    answer = visitor.client.post(
        "/open/upload", content=b"a,b\n1,2\n", headers={"origin": ORIGIN, **headers}
    )
    assert answer.text == "/"
    place = visitor.session.uploads / "new one.csv"
    assert place.read_bytes() == b"a,b\n1,2\n"
    assert place.stat().st_mode & 0o777 == 0o600
    assert visitor.session.uploads.stat().st_mode & 0o777 == 0o700
    assert visitor.session.now.file == "uploaded//new one.csv"
    refused = visitor.client.post(
        "/open/upload",
        content=b"x",
        headers={"origin": ORIGIN, "x-name": "x.exe", "hx-request": "true"},
    )
    assert "must end in" in refused.text


def test_commands_name_a_dropped_file_where_it_lies(visitor: Visitor, folder: Path) -> None:
    """Never a file of the folder that has the same name; and that it will be gone is said."""
    visitor.client.post(
        "/open/upload", content=PEOPLE.encode(), headers={"origin": ORIGIN, "x-name": "people.csv"}
    )
    visitor.part("/columns/list")
    for path in ("/", "/risk", "/choose", "/protect", "/report"):
        page = visitor.get(path).text
        for own in same(page):
            (named,) = set(re.findall(r"[^\s'\"]*people\.csv", own))
            assert (folder / named).resolve() == visitor.session.table
        assert "its copy goes when the studio ends" in page
    visitor.post("/open", {"file": "people.csv"})
    assert "its copy goes when the studio ends" not in visitor.get("/").text


def test_only_files_of_the_studio_are_kept_by_a_browser(visitor: Visitor) -> None:
    """A page that says that there is none may show what is open."""
    assert "max-age" in visitor.get("/assets/studio.css").headers["cache-control"]
    for path in ("/assets/none", "/assets/", "/assets/../session.json", "/none"):
        answer = visitor.get(path)
        assert answer.status_code >= 400
        assert answer.headers["cache-control"] == "no-store"


def test_a_folder_called_uploaded_is_one_like_others(visitor: Visitor, folder: Path) -> None:
    """Its files are those of the folder, and none that was dropped on the page."""
    (folder / "uploaded").mkdir()
    (folder / "uploaded" / "own.csv").write_text("a,b\n1,2\n")
    visitor.post("/open", {"file": "uploaded/own.csv"})
    assert visitor.session.table == folder / "uploaded" / "own.csv"


def test_uploads_go_with_the_studio(tmp_path: Path) -> None:
    """At the end, and at the next beginning where there was no end."""
    first = StudioSession(tmp_path)
    first.uploaded("x.csv").write_text("a")
    assert not leftovers(tmp_path)
    first.close()
    assert not first.uploads.exists()
    left_by_a_kill(tmp_path)
    assert not list(StudioSession(tmp_path).uploads.iterdir())
    assert not list(tmp_path.rglob("x.csv"))


def left_by_a_kill(folder: Path) -> Path:
    """A table that was dropped on a page of a studio that no longer runs."""
    left = folder / ".pramana-studio" / ".pramana-999999999-0"
    left.mkdir(parents=True, mode=0o700)
    (left / "x.csv").write_text("a")
    return left


def test_a_copy_that_a_kill_has_left_is_named_by_who_writes_there(tmp_path: Path) -> None:
    """It is of the true table: whoever protects beside it learns of it, and can remove it."""
    left = left_by_a_kill(tmp_path)
    with pytest.warns(Notice, match=r"999999999-0 holds x.csv, left when the studio"):
        write_whole(tmp_path / "anything", "")
    assert [one.folder for one in remove_leftovers(tmp_path)] == [left]
    assert not left.exists()


def test_another_machine_is_let_in_only_by_who_understands(tmp_path: Path) -> None:
    """A host that is not this machine needs TLS files and the word; this machine needs nothing."""
    files = {"certificate": tmp_path / "c", "key": tmp_path / "k"}
    Listening("127.0.0.1")
    Listening("localhost")
    Listening("office.example", understood=True, **files)
    for host in ("0.0.0.0", "::", "[::]"):  # noqa: S104
        with pytest.raises(InputError, match="Give the name"):
            Listening(host, understood=True, **files)
    for given in ({}, {"understood": True}, files):
        with pytest.raises(InputError, match="--i-understand"):
            Listening("0.0.0.0", **given)  # type: ignore[arg-type]  # noqa: S104
    for host in ("127.0.0.1", "0.0.0.0"):  # noqa: S104
        with pytest.raises(InputError, match="need each other"):
            Listening(host, understood=True, key=tmp_path / "k")


def test_tokens_are_long_and_differ() -> None:
    """256 bits."""
    assert len(new_token()) == 64
    assert new_token() != new_token()


def test_an_origin_is_scheme_host_and_port() -> None:
    """Each of the three counts."""
    own = Origin.of("127.0.0.1", 8123)
    assert "http://127.0.0.1:8123" in own
    assert "https://127.0.0.1:8123" not in own
    assert "http://127.0.0.1:8124" not in own
    assert Origin.of("::1", 8123).hosts[0] == "[::1]:8123"
    assert "http://[::1]:8123" in Origin.of("[::1]", 8123)
    assert Origin.of("office.example", 8443, tls=True).hosts == ("office.example:8443",)
    usual = Origin.of("office.example", 443, tls=True)  # browsers leave out the usual port
    assert usual.hosts == ("office.example:443", "office.example")
    assert "https://office.example" in usual
