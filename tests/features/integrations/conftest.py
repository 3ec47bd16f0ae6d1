"""Runs asynchronous tests, those of the frameworks' own suites included: each in an event loop of its own."""

import asyncio
import inspect

import pytest


def pytest_configure(config: pytest.Config) -> None:
    # Marks of the plugins that the suites of LangChain and cognee are written for; ours runs without them.
    for name in ("asyncio", "benchmark", "vcr"):
        config.addinivalue_line("markers", f"{name}: ignored")


def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = inspect.signature(pyfuncitem.obj).parameters
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True
