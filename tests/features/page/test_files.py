"""The files of the page: served with a strict policy, within the size budget, with known libraries."""

import hashlib
import json
import re
from collections.abc import Iterator
from importlib.resources import files

import httpx2
import pytest

from omnigraph.engine.picture.scripts import file_text
from omnigraph.server.page import check_loopback, web_files
from tests.features.page.conftest import TOKENS
from tests.features.server.live import Live, running

BYTES_MAX = 600 * 1024
LINES_MAX = 300
WEB = files("omnigraph.server").joinpath("web")


@pytest.fixture(scope="module")
def client(live: Live) -> Iterator[httpx2.Client]:
    with live.client() as client:
        yield client


def test_every_file_is_served_with_a_strict_policy_and_a_tag(client: httpx2.Client) -> None:
    for name, file in web_files().items():
        answer = client.get(f"/ui/{name}")
        assert (answer.status_code, answer.content) == (200, file.content)
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';")
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        again = client.get(f"/ui/{name}", headers={"if-none-match": answer.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")


def test_files_are_compressed_for_those_who_accept_it(client: httpx2.Client) -> None:
    plain = client.get("/ui/vendor/editor.js", headers={"accept-encoding": "identity"})
    packed = client.get("/ui/vendor/editor.js", headers={"accept-encoding": "br, gzip"})
    assert plain.content == packed.content == web_files()["vendor/editor.js"].content
    assert "content-encoding" not in plain.headers
    assert packed.headers["content-encoding"] == "gzip"
    assert int(packed.headers["content-length"]) < len(packed.content) / 2
    assert packed.headers["etag"] != plain.headers["etag"]
    assert {packed.headers["vary"], plain.headers["vary"]} == {"Accept-Encoding"}


def test_the_root_leads_to_the_page(client: httpx2.Client) -> None:
    assert client.get("/").headers["location"] == "/ui/"
    for path in ("//", "//graphs/g/schema", "//ui/"):
        # Unknown paths of the server, as every other one.
        found = client.get(client.base_url.join("").copy_with(raw_path=path.encode()))
        assert (found.status_code, found.content) == (404, b"")
    assert client.get("/ui").headers["location"] == "/ui/"
    assert client.get("/ui/").headers["content-type"].startswith("text/html")


@pytest.mark.parametrize("path", ["/ui/page.py", "/ui/../app.py", "/ui/%2e%2e/app.py", "/ui/vendor/", "/ui/x.js"])
def test_other_paths_are_not_found(client: httpx2.Client, path: str) -> None:
    assert client.get(path).status_code == 404


def test_the_page_is_only_read(client: httpx2.Client) -> None:
    assert client.post("/ui/").status_code == 405
    assert client.head("/ui/").content == b""


def test_the_session_names_the_actor_and_only_graphs_that_it_may_read(client: httpx2.Client) -> None:
    def session(actor: str) -> object:
        return client.get("/ui/session.json", headers={"authorization": f"Bearer {TOKENS[actor]}"}).json()

    assert client.get("/ui/session.json").status_code == 401
    assert session("ann") == {"actor_id": "ann", "graphs": ["kb"], "may_list": False}
    assert session("eve") == {"actor_id": "eve", "graphs": [], "may_list": False}


def test_a_local_server_refuses_other_hosts_and_origins(live: Live) -> None:
    with running(live.app.serving, guard=check_loopback) as local, local.client() as client:
        assert client.get("/healthz").status_code == 200
        assert client.get("/healthz", headers={"origin": local.address}).status_code == 200
        for headers in (
            {"host": "evil.example"},
            {"origin": "http://evil.example"},
            {"host": "127.0.0.1.evil.example"},
        ):
            assert client.get("/healthz", headers=headers).status_code == 403


def test_the_page_keeps_its_size_budget() -> None:
    # The size of what each screen loads is tested with the screens.
    sizes = {name: len(file.content) for name, file in web_files().items()}
    assert sum(sizes.values()) <= BYTES_MAX, sizes


def test_pictures_of_python_and_the_page_use_the_same_drawing() -> None:
    drawing = {name for name in web_files() if name.startswith("drawing/")}
    assert {"drawing/drawing.js", "drawing/drawing.css"} <= drawing
    for name in drawing:
        assert web_files()[name].content.decode() == file_text(name)


def test_modules_of_the_page_stay_short_and_say_what_they_are_for() -> None:
    for name, file in web_files().items():
        if name.endswith(".js") and not name.startswith("vendor/"):
            text = file.content.decode()
            assert len(text.splitlines()) <= LINES_MAX, name
            assert text.startswith("/** "), name
            # Text of a graph must never become markup.
            assert not re.search("innerHTML|dangerously", text), name


def test_nothing_in_the_page_names_another_host() -> None:
    for name, file in web_files().items():
        if not name.startswith("vendor/"):
            assert not re.findall(rb"https?://(?!www\.w3\.org/)", file.content), name


def test_libraries_have_the_checksums_of_their_manifest() -> None:
    manifest = json.loads(WEB.joinpath("vendor/manifest.json").read_text(encoding="utf-8"))
    served = {name.removeprefix("vendor/"): file for name, file in web_files().items() if name.startswith("vendor/")}
    assert manifest["files"] == {
        name: {"bytes": len(file.content), "sha256": hashlib.sha256(file.content).hexdigest()}
        for name, file in served.items()
    }
    licences = WEB.joinpath("vendor/LICENSES.txt").read_text(encoding="utf-8")
    for name, about in manifest["packages"].items():
        assert about["licence"] in ("MIT", "Apache-2.0")
        assert f"{name} {about['version']} ({about['licence']})" in licences
