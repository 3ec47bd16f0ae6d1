"""Tokens of servers that an operator has logged in to: the file ``credentials``, and the keyring of the system.

The file is that of Omnigraph 0.10: a section for each server with the key ``token``, readable by its owner alone. A
section with ``keyring = true`` says that the token is in the keyring instead, so that no other command has to load the
library and ask it.
"""

from __future__ import annotations

import configparser
import os
import re
import stat
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from omnigraph.config.operator import OperatorConfig, config_path, read_config
from omnigraph.errors import Hint, InputError, NotFoundError, UsageError

TOKEN_VARIABLE: Final = "OMNIGRAPH_TOKEN"
"""The token of every server that has none of its own."""
BEARER_VARIABLE: Final = "OMNIGRAPH_BEARER_TOKEN"
"""The same, under the name that Omnigraph 0.10 has for it."""
KEYRING_SERVICE: Final = "omnigraph"
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO


def find_token(url: str, environment: Mapping[str, str]) -> str | None:
    """The token for an address: that of its server, otherwise the one for all servers.

    A token that belongs to a server is given out for addresses below that server only.
    """
    config = read_config(config_path(environment))
    name = config.server_of(url)
    own = None if name is None else environment.get(variable_of(name)) or stored_token(config, name)
    return own or environment.get(TOKEN_VARIABLE) or environment.get(BEARER_VARIABLE) or None


def variable_of(server: str) -> str:
    """The variable that holds the token of a server; for ``prod-eu`` its name ends in ``_PROD_EU``."""
    return f"{TOKEN_VARIABLE}_{server.upper().replace('-', '_')}"


def credentials_path(config: OperatorConfig) -> Path:
    """The file of tokens, beside the settings."""
    return config.path.with_name("credentials")


def stored_token(config: OperatorConfig, server: str) -> str | None:
    """The token that ``login`` stored for a server."""
    found = _read(credentials_path(config))
    if not found.has_section(server):
        return None
    if found.getboolean(server, "keyring", fallback=False):
        return _Keyring().get(server)
    return found.get(server, "token", fallback="").strip() or None


def store_token(config: OperatorConfig, server: str, token: str, *, in_keyring: bool = False) -> None:
    """Store the token of a server, in place of an earlier one."""
    if not _NAME.fullmatch(server):
        hint = "use letters, digits, '-', '_' and '.'"
        if "://" in server:
            hint = f"give it a name in {config.path}, as `servers: {{NAME: {{url: {server!r}}}}}`, and pass the name"
        raise UsageError(f"{server!r} is no name of a server", hint=hint)
    found = _read(credentials_path(config))
    if in_keyring:
        _Keyring().set(server, token)
    found[server] = {"keyring": "true"} if in_keyring else {"token": token}
    _write(credentials_path(config), found)


def remove_token(config: OperatorConfig, server: str) -> None:
    """Forget the token of a server; raises NotFoundError if none is stored."""
    found = _read(credentials_path(config))
    if not found.has_section(server):
        raise NotFoundError(
            f"no token is stored for {server!r}", hint=f"tokens are in {credentials_path(config)}", server=server
        )
    if found.getboolean(server, "keyring", fallback=False):
        _Keyring().delete(server)
    found.remove_section(server)
    _write(credentials_path(config), found)


def _read(path: Path) -> configparser.ConfigParser:
    # Tokens may contain the signs of interpolation, and a token is never a comment.
    found = configparser.ConfigParser(interpolation=None, default_section="", inline_comment_prefixes=None)
    try:
        with path.open(encoding="utf-8") as file:
            mode = os.fstat(file.fileno()).st_mode
            if mode & _OTHERS:
                raise InputError(
                    f"{path} can be read by others: its mode is {stat.S_IMODE(mode):o}",
                    hint=f"run: chmod 600 {path}",
                    path=str(path),
                )
            found.read_file(file)
    except (FileNotFoundError, NotADirectoryError):
        pass
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}", path=str(path)) from error
    except (configparser.Error, UnicodeDecodeError) as error:
        # The message of the parser quotes the line, which may hold a token.
        hint = "correct it, or delete it and log in again"
        raise InputError(f"{path} is not a file of sections with keys", hint=hint, path=str(path)) from error
    return found


def _write(path: Path, content: configparser.ConfigParser) -> None:
    """Replace the file atomically; it is never readable by others, not even while it is written."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle, temporary = tempfile.mkstemp(prefix=".credentials-", dir=path.parent)
    try:
        with open(handle, "w", encoding="utf-8") as file:
            content.write(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


class _Keyring:
    """The keyring of the system, by the library of the extra ``keyring``."""

    def __init__(self) -> None:
        try:
            import keyring
            from keyring.errors import KeyringError
        except ModuleNotFoundError as error:
            raise UsageError(
                f"the keyring needs {error.name}, which is not installed", hint='pip install "omnigraph[keyring]"'
            ) from error
        self._keyring = keyring
        self._error = KeyringError

    def get(self, server: str) -> str | None:
        try:
            return self._keyring.get_password(KEYRING_SERVICE, server)
        except self._error as error:
            raise self._refused(error) from error

    def set(self, server: str, token: str) -> None:
        try:
            self._keyring.set_password(KEYRING_SERVICE, server, token)
        except self._error as error:
            raise self._refused(error) from error

    def delete(self, server: str) -> None:
        try:
            self._keyring.delete_password(KEYRING_SERVICE, server)
        except self._keyring.errors.PasswordDeleteError:
            pass  # It was removed from the keyring by other means; the section goes as well.
        except self._error as error:
            raise self._refused(error) from error

    def _refused(self, error: Exception) -> InputError:
        return InputError(
            f"the keyring of the system cannot be used: {error}",
            hint=Hint(
                "unlock it, or pass the token itself",
                "unlock it, or log in without --keyring, which stores the token in a file that only you can read",
            ),
        )
