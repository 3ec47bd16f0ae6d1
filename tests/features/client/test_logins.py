"""Servers by name: settings, profiles, aliases, and tokens that reach no other server than their own."""

import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import keyring
import pytest
from keyring.backend import KeyringBackend
from keyring.errors import KeyringLocked, PasswordDeleteError

import omnigraph
from omnigraph import Graph
from omnigraph.config.credentials import find_token, variable_of
from omnigraph.config.operator import read_config
from omnigraph.errors import InputError, NotAuthenticated, NotFoundError, UsageError
from omnigraph.server.access.states import State
from tests.features.cli.run import run
from tests.features.server.conftest import STORED
from tests.features.server.live import READ_ALL, Live, queries_of, running, serving_of

TOKEN = "ann-token"


@pytest.fixture(scope="module")
def guarded(graph: Graph) -> Iterator[Live]:
    """A server that wants a token."""
    queries = queries_of(graph, *STORED)
    with running(serving_of(graph, tokens={"ann": TOKEN}, state=State.OWNER, queries=queries)) as live:
        yield live


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in [name for name in os.environ if name.startswith("OMNIGRAPH_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("OMNIGRAPH_HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


def write_settings(home: Path, text: str) -> None:
    (home / "config.yaml").write_text(text)


def test_a_login_is_used_for_its_server_until_the_logout(home: Path, guarded: Live) -> None:
    write_settings(home, f"servers: {{dev: {{url: '{guarded.address}'}}}}\n")
    words = ["query", "-e", READ_ALL, "--server", "dev", "--graph", "kb"]
    refused = run(*words)
    assert (refused.exit_code, "omnigraph login" in refused.output) == (1, True)
    stored = json.loads(run("login", "dev", "--json", stdin=f"{TOKEN}\n").stdout)
    assert (stored["url"], stored["stored_in"]) == (guarded.address, "file")
    assert run(*words).exit_code == 0
    assert run(*words[:3], "--store", f"{guarded.address}/graphs/kb").exit_code == 0
    with omnigraph.open(f"{guarded.address}/graphs/kb", token=None) as graph:
        assert len(graph.query(READ_ALL)) == 3
    assert json.loads(run("logout", "dev", "--json").stdout) == {"server": "dev", "removed": True}
    assert run(*words).exit_code == 1
    assert "no token is stored for 'dev'" in run("logout", "dev").output


def test_the_file_of_tokens_is_readable_by_its_owner_alone(home: Path) -> None:
    write_settings(home, "servers: {dev: {url: 'https://dev.example'}}\n")
    assert run("login", "dev", "--token", "a").exit_code == 0
    path = home / "credentials"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_text() == "[dev]\ntoken = a\n\n"
    path.chmod(0o640)
    with pytest.raises(InputError, match="can be read by others: its mode is 640"):
        find_token("https://dev.example/graphs/kb", {"OMNIGRAPH_HOME": str(home)})
    assert "chmod 600" in run("login", "dev", "--token", "b").output


def test_a_broken_file_of_tokens_is_an_error_that_shows_no_token(home: Path) -> None:
    write_settings(home, "servers: {dev: {url: 'https://dev.example'}}\n")
    (home / "credentials").write_text("token = very-secret\n")
    (home / "credentials").chmod(0o600)
    broken = run("logout", "dev")
    assert broken.exit_code == 1
    assert "is not a file of sections" in broken.output
    assert "very-secret" not in broken.output


@pytest.mark.parametrize("token", ["", " ", "two words", "snow☃man"])
def test_a_text_that_no_header_can_hold_is_not_stored(home: Path, token: str) -> None:
    assert run("login", "dev", "--token", token).exit_code == 2
    assert not (home / "credentials").exists()


def test_a_login_to_a_server_without_an_address_says_what_is_missing() -> None:
    done = run("login", "prod", "--token", "a")
    assert done.exit_code == 0
    assert "prod: {url: https://...}" in done.stderr
    assert run("login", "../x", "--token", "a").exit_code == 2


def test_a_login_to_an_address_says_how_to_name_it(home: Path) -> None:
    refused = run("login", "https://kb.example.com", "--token", "t")
    assert refused.exit_code != 0
    assert "'https://kb.example.com' is no name of a server" in refused.output
    assert "servers: {NAME: {url: 'https://kb.example.com'}}" in " ".join(refused.output.split())
    assert not (home / "credentials").exists()


def test_the_token_of_a_server_comes_before_the_one_for_all(home: Path) -> None:
    write_settings(
        home, "servers:\n  prod-eu: {url: 'https://a.example/api'}\n  inner: {url: 'https://a.example/api/x'}\n"
    )
    (home / "credentials").write_text("[prod-eu]\ntoken = stored\n")
    (home / "credentials").chmod(0o600)
    here = {"OMNIGRAPH_HOME": str(home)}
    uri = "https://a.example/api/graphs/kb"
    assert variable_of("prod-eu") == "OMNIGRAPH_TOKEN_PROD_EU"
    assert find_token(uri, here) == "stored"
    assert find_token(uri, {**here, "OMNIGRAPH_TOKEN_PROD_EU": "keyed"}) == "keyed"
    assert find_token(uri, {**here, "OMNIGRAPH_TOKEN": "all", "OMNIGRAPH_BEARER_TOKEN": "old"}) == "stored"
    assert find_token("https://b.example/graphs/kb", {**here, "OMNIGRAPH_BEARER_TOKEN": "old"}) == "old"
    assert find_token("https://b.example/graphs/kb", {**here, "OMNIGRAPH_TOKEN": "all"}) == "all"
    # The longest address decides, and an address that only begins alike is another one.
    assert find_token("https://a.example/api/x/graphs/kb", here) is None
    for other in ("https://a.example/apiary/graphs/kb", "https://a.example.evil/api/graphs/kb", "http://a.example/api"):
        assert find_token(other, here) is None


class Memory(KeyringBackend):
    """A keyring in memory."""

    priority = 1  # type: ignore[assignment] # a property in the base class

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[tuple[str, str], str] = {}
        self.is_locked = False

    def get_password(self, service: str, username: str) -> str | None:
        if self.is_locked:
            raise KeyringLocked("it is locked")
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        if self.is_locked:
            raise KeyringLocked("it is locked")
        self.kept[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        if self.kept.pop((service, username), None) is None:
            raise PasswordDeleteError("not found")


@pytest.fixture
def memory() -> Iterator[Memory]:
    before, made = keyring.get_keyring(), Memory()
    keyring.set_keyring(made)
    yield made
    keyring.set_keyring(before)


def test_a_token_can_be_kept_in_the_keyring(home: Path, memory: Memory) -> None:
    write_settings(home, "servers: {dev: {url: 'https://dev.example'}}\n")
    here = {"OMNIGRAPH_HOME": str(home)}
    stored = run("login", "dev", "--token", "a", "--keyring", "--json")
    assert json.loads(stored.stdout)["stored_in"] == "keyring"
    assert "a" not in (home / "credentials").read_text().split()
    assert find_token("https://dev.example/graphs/kb", here) == "a"
    memory.is_locked = True
    with pytest.raises(InputError, match="it is locked"):
        find_token("https://dev.example/graphs/kb", here)
    assert "without --keyring" in run("login", "dev", "--token", "b", "--keyring").output
    memory.is_locked = False
    memory.kept.clear()
    assert run("logout", "dev").exit_code == 0
    assert find_token("https://dev.example/graphs/kb", here) is None


def test_a_graph_of_a_server_is_named_by_profile_and_by_default(
    home: Path, guarded: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    servers = f"servers: {{dev: {{url: '{guarded.address}'}}}}\n"
    profiles = "profiles:\n  p: {server: dev, default_graph: kb}\n  q: {server: dev}\n  c: {cluster: none}\n"
    write_settings(home, servers + profiles)
    monkeypatch.setenv("OMNIGRAPH_TOKEN_DEV", TOKEN)
    listing = ["branch", "list", "--format", "csv"]
    expected = run(*listing, "--server", "dev", "--graph", "kb").stdout
    assert "dev" in expected
    assert run(*listing, "--profile", "p").stdout == expected
    assert run(*listing, "--profile", "q", "--graph", "kb").stdout == expected
    assert "it has: kb" in run(*listing, "--profile", "q").output
    assert run("--profile", "p", *listing).stdout == expected
    assert run("--server", "dev", "--graph", "kb", *listing).stdout == expected
    assert "whose files only maintenance commands work on" in run(*listing, "--profile", "c").output
    assert run("graphs", "list", "--profile", "p").exit_code == 0
    assert "names a cluster and no server" in run("graphs", "list", "--profile", "c").output
    monkeypatch.setenv("OMNIGRAPH_PROFILE", "p")
    assert run(*listing).stdout == expected
    monkeypatch.delenv("OMNIGRAPH_PROFILE")
    write_settings(home, servers + "defaults: {server: dev, default_graph: kb}\n")
    assert run(*listing).stdout == expected
    assert "graph 'other' not found" in run(*listing, "--graph", "other").output


def test_options_come_before_profiles_and_profiles_before_defaults(home: Path, graph: Graph, guarded: Live) -> None:
    write_settings(home, "profiles: {p: {server: 'https://nowhere.example', default_graph: kb}}\n")
    listing = ["branch", "list", "--format", "csv"]
    assert run(*listing, "--store", graph.uri, "--profile", "p").exit_code == 0
    for words in (["--store", "a", "--server", "b"], ["x", "--server", "b"]):
        twice = run(*listing, *words)
        assert (twice.exit_code, "given twice" in twice.output) == (2, True)
    assert "is a graph itself" in run(*listing, "--store", graph.uri, "--graph", "kb").output
    assert "pass --server as well" in run(*listing, "--graph", "kb").output
    assert "no such server: 'dve'" in run(*listing, "--server", "dve", "--graph", "kb").output


def test_an_alias_runs_a_stored_read_with_the_nearest_values(
    home: Path, guarded: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMNIGRAPH_TOKEN_DEV", TOKEN)
    write_settings(
        home,
        f"servers: {{dev: {{url: '{guarded.address}'}}}}\n"
        "aliases:\n"
        "  who: {server: dev, graph: kb, query: by_name, args: [name], params: {name: cy}, format: csv}\n"
        "  add: {server: dev, graph: kb, query: add, args: [name, age]}\n",
    )
    assert run("alias", "who").stdout == "p.name,p.age\ncy,null\n"
    assert run("alias", "who", "bo").stdout == "p.name,p.age\nbo,27\n"
    assert run("alias", "who", "bo", "--params", '{"name": "ann"}').stdout == "p.name,p.age\nann,31\n"
    assert json.loads(run("alias", "who", "--json").stdout)["row_count"] == 1
    assert "takes 1 arguments, not 2" in run("alias", "who", "a", "b").output
    assert "is a mutation" in run("alias", "add", "x", "3").output
    assert "is not a value for $age" in run("alias", "add", "x", "old").output
    assert "did you mean" in run("alias", "whom").output


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("servers: {a: {}}", "servers.a needs the key url"),
        ("clusters: {a: {root: 7}}", "clusters.a.root must be a text"),
        ("aliases: {a: {server: b}}", "aliases.a needs the key query"),
        ("aliases: {a: {query: q, args: b}}", "aliases.a.args must be a list"),
        ("aliases: {a: {query: q, format: xml}}", "aliases.a.format must be one of"),
        ("defaults: {store: a, default_graph: b}", "defaults.default_graph is a graph of a server"),
    ],
)
def test_settings_of_servers_that_make_no_sense_are_errors(home: Path, text: str, message: str) -> None:
    write_settings(home, text)
    with pytest.raises(InputError, match=message):
        read_config(home / "config.yaml")


def test_a_command_of_maintenance_takes_a_cluster_by_name(home: Path) -> None:
    write_settings(
        home, "clusters: {main: {root: /nowhere/at/all}}\nprofiles: {c: {cluster: main, default_graph: kb}}\n"
    )
    for words in (["--cluster", "main"], ["--profile", "c"]):
        missing = run("optimize", *words)
        assert missing.exit_code == 1
        assert "/nowhere/at/all" in missing.output


def test_an_unencrypted_address_elsewhere_is_refused_unless_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="unencrypted"):
        omnigraph.open("http://graphs.example/graphs/kb", token="a")
    monkeypatch.setenv("OMNIGRAPH_ALLOW_HTTP", "1")
    omnigraph.open("http://graphs.example/graphs/kb", token="a").close()


def test_a_wrong_token_is_reported_with_the_way_to_log_in(guarded: Live) -> None:
    with (
        omnigraph.open(f"{guarded.address}/graphs/kb", token="wrong") as graph,
        pytest.raises(NotAuthenticated) as refused,
    ):
        graph.query(READ_ALL)
    assert "omnigraph login" in (refused.value.command_hint or "")
    with pytest.raises(NotFoundError):
        read_config(Path("nowhere")).alias("x")
