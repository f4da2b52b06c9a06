"""Nobody but the page itself gets through: token, Host, Origin, folders, and labels that attack."""

from __future__ import annotations

import http.client
import json
from itertools import product

import polars as pl
import pytest

from sequester.cli import main
from sequester.errors import InputError
from sequester.workbench.project import Workbench
from workbench.driver import Page, Server

UPGRADE = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13"}
KEY = {"Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("project")
    (folder.parent / "secret.csv").write_text("a,b\n1,2\n")
    (folder / "linked").symlink_to(folder.parent)
    with Server(folder) as found:
        yield found


def _ask(server, path, *, method="GET", body=None, cookie=True, host=None, **headers):
    """Ask as a program does; gives the answer and its body."""
    connection = http.client.HTTPConnection(server.host)
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    if cookie:
        headers["Cookie"] = f"sequester-{server.host.split(':')[1]}={server.token}"
    connection.request(method, path, body=body, headers={"Host": host or server.host, **headers})
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer, text


def test_the_token_becomes_a_cookie_that_no_script_reads_and_no_other_site_sends(server):
    answer, _ = _ask(server, f"/?token={server.token}", cookie=False)
    assert (answer.status, answer.headers["Location"]) == (303, "/")
    cookie = answer.headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert _ask(server, "/data")[0].status == 200


@pytest.mark.parametrize(
    ("path", "asked"),
    [
        ("/data", {"cookie": False}),
        ("/data?token=guessed", {"cookie": False}),
        ("/workbench.js", {"cookie": False}),
        ("/data", {"host": "evil.example"}),
        ("/data", {"host": "localhost"}),
        ("/data", {"Origin": "http://evil.example"}),
        ("/data", {"Origin": "null"}),
        ("/act/data/choose", {"method": "POST", "body": "{}"}),
        ("/act/data/choose", {"method": "POST", "body": "{}", "Origin": "http://evil.example"}),
        ("/upload/a.csv?kind=data", {"method": "PUT", "body": "a", "Origin": "http://evil.example"}),
        ("/data", {"Origin": "http://evil.example", **UPGRADE, **KEY}),
        ("/data", {"cookie": False, **UPGRADE, **KEY}),
    ],
)
def test_what_does_not_come_from_the_page_is_refused(server, path, asked):
    answer, text = _ask(server, path, **asked)
    assert answer.status == 403
    assert server.token not in text


def test_pages_load_nothing_from_elsewhere_and_stand_in_no_frame(server):
    answer, _ = _ask(server, "/data")
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "script-src 'self';" in policy
    assert "http" not in policy
    assert "eval" not in policy
    assert answer.headers["Cache-Control"] == "no-store"


def _act(server, step, action, **values):
    answer, text = _ask(
        server,
        f"/act/{step}/{action}",
        method="POST",
        body=json.dumps(values),
        Origin=f"http://{server.host}",
    )
    return answer.status, json.loads(text)


@pytest.mark.parametrize("path", ["../secret.csv", "/etc/passwd", "linked/secret.csv", "sqlite:///../x.db"])
def test_files_outside_of_the_folder_are_refused(server, path):
    status, said = _act(server, "data", "choose", path=path)
    assert status == 400
    assert "lies outside of the folders" in said["lines"][0]


def test_the_file_dialog_and_uploads_stay_in_the_folder(server):
    for folder in ("..", "/", "linked", "linked/.."):
        answer, text = _ask(server, f"/data?folder={folder}")
        assert answer.status == 400
        assert "secret" not in text
    answer, _ = _ask(
        server, "/upload/..%2Fx.csv?kind=data", method="PUT", body="a", Origin=f"http://{server.host}"
    )
    assert answer.status == 400
    assert not (server.folder.parent / "x.csv").exists()


@pytest.mark.parametrize(
    ("step", "action", "values", "status"),
    [
        ("data", "choose", {"path": "nowhere.csv"}, 400),
        ("data", "choose", {"way": "visits.csv"}, 400),
        ("data", "vanish", {}, 404),
        ("data", "cancel", {"job": "../0001"}, 400),
        ("data", "again", {"job": "9999"}, 400),
        ("nowhere", "choose", {}, 404),
        ("roles", "role", {"key": "0", "value": "person"}, 400),
        ("promise", "method", {"value": "none"}, 400),
        ("promise", "use", {}, 400),
        ("risk", "run", {}, 400),
        ("explore", "pick", {"key": "x"}, 400),
        ("release", "run", {"out": "out"}, 400),
        ("release", "take", {"parameter": "k"}, 400),
        ("check", "verify", {"release": "nowhere"}, 400),
        ("history", "undo", {}, 400),
        ("history", "open", {"path": "../release.toml"}, 400),
    ],
)
def test_what_cannot_be_done_is_said_in_a_line(server, step, action, values, status):
    found, said = _act(server, step, action, **values)
    assert found == status
    assert said["lines"]


def test_a_second_project_is_named_after_its_data(tmp_path):
    (tmp_path / "release.toml").write_text('[data]\npath = "other.csv"\n')
    (tmp_path / "visits.csv").write_text("a,b\n")
    bench = Workbench(str(tmp_path / "visits.csv"))
    bench.project.jobs.close()
    assert bench.project.config.name == "visits.toml"
    with pytest.raises(InputError, match="no such file"):
        Workbench("nowhere.csv")


def test_a_port_that_is_taken_is_refused(server, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    port = server.host.split(":")[1]
    assert main(["workbench", "--port", port, "--no-browser"]) == 2
    assert f"cannot listen at 127.0.0.1:{port}" in capsys.readouterr().err


HOSTILE = [
    "<script>window.pwned = 1</script>",
    "\"><img src=x onerror='window.pwned = 1'>",
    "{{ 7 * 7 }}{% raw %}",
    "</textarea></select></table><h1>out",
    "javascript:window.pwned = 1",
    "مرحبا \u202eabc",
    "long" * 500,
]


def test_a_file_can_be_dropped_whatever_its_name(visits, browser):
    name = "<img src=x onerror='window.pwned = 1'>.csv"
    folder = visits / "project"
    folder.mkdir()
    (visits / "visits.csv").rename(visits / name)
    with Server(folder) as server:
        page = Page(browser, server)
        page.drop(visits / name, ".drop")
        page.see(".numbers", "40")
        assert name in page.text(".numbers")
        # A second one with the same name does not replace the first.
        page.drop(visits / name, ".drop")
        assert "exists already" in page.text("#messages")
        page.go("history").see("#changes", name)
        assert browser.execute_script("return window.pwned === undefined && !document.querySelector('img')")
    assert (folder / name).read_bytes() == (visits / name).read_bytes()


def test_labels_and_wide_tables_are_harmless(opened, visits):
    columns = {
        "PID": [f"p{row // 3}" for row in range(10_002)],
        "VID": [row % 3 for row in range(10_002)],
        "<b>page</b>": [f"{HOSTILE[row % 6]} {row}" for row in range(10_002)],
        HOSTILE[1]: [HOSTILE[row % 7] for row in range(10_002)],
        # Not numbered, so that nobody takes them for one family.
        **{
            "".join(pair): [str(row % 4) for row in range(10_002)] for pair in product("abcdefghij", repeat=2)
        },
    }
    pl.DataFrame(columns).write_csv(visits / "wide.csv")
    page = opened("wide.csv").page
    page.see(".numbers", "10,002")
    page.go("roles").see(".roles")
    assert len(page.all(".roles tbody tr")) == 104
    assert "<b>page</b>" in page.text(".roles")
    page.choose("Role of aa", "drop")
    page.choose(f"Role of {HOSTILE[1]}", "sensitive")
    page.click("Values")
    page.see("#sensitive", "{{ 7 * 7 }}")
    page.choose("Role of <b>page</b>", "quasi")
    page.go("hierarchies", "?attribute=%3Cb%3Epage%3C%2Fb%3E").see("#preview")
    for step in ("data", "roles", "history"):
        page.go(step).see("#main")
        assert page.look(dark=False)["wide"] == []
    assert page.browser.execute_script("return window.pwned === undefined && !document.querySelector('img')")
    assert page.complaints() == []
