"""A Spark session for the command, or a sentence about what is missing; and Parquet in the order of its files."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

from coterie.engines.spark.faults import told
from coterie.errors import MissingExtra, ParameterError
from coterie.table.address import without_credentials

FILE, INDEX = "__coterie_file", "__coterie_index"  # where a row stood
LEAST_JAVA = 17
_INSTALL = "Install it (Debian: apt install openjdk-17-jre-headless) and let JAVA_HOME name its folder."


def session(master: str | None) -> Any:
    """The running session, or a new one; its workers run this very Python unless PYSPARK_PYTHON says otherwise."""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise MissingExtra.named("spark", "The Spark engine") from None
    check_java()
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if master and master.startswith("local"):
        os.environ.setdefault("SPARK_DRIVER_MEMORY", _local_memory())
    warnings.filterwarnings("ignore", category=FutureWarning, module="pyspark")  # about versions of pandas
    builder = SparkSession.builder.appName("coterie").config("spark.sql.session.timeZone", "UTC")
    try:
        return (builder.master(master) if master else builder).getOrCreate()
    except (PySparkException, Py4JError):
        raise ParameterError(
            f"Spark could not be started{f' with the master {without_credentials(master)}' if master else ''}.",
            "Write --master local[2], spark://host:7077, yarn or k8s://https://host:port, and see that the cluster "
            "answers. What Spark itself says stands above.",
        ) from None


def _local_memory() -> str:
    """What Java may take where no setting says it: a quarter of the machine. Spark's own default, 1 GB, is soon full."""
    gigabytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 30
    return f"{max(gigabytes // 4, 1)}g"


def read_parquet(spark: Any, address: str) -> Any:
    """The rows of a file or folder. Those of several files bring along where they stood.

    Spark itself takes the largest file first and cuts files by the number of cores, so the order of the release, and the
    groups of equal values, would depend on the cluster. Nothing is sorted: pieces of the table are put in order later.
    """
    with told():
        frame = spark.read.parquet(address)
        if len(frame.inputFiles()) < 2:
            return frame
        where = frame.metadataColumn("_metadata")
        return frame.select("*", where["file_path"].alias(FILE), where["row_index"].alias(INDEX))


def check_java() -> None:
    found = java_version()
    if found is None:
        home = os.environ.get("JAVA_HOME")
        where = f"in {home}, which JAVA_HOME names" if home else "on this machine"
        raise ParameterError(f"Spark needs Java {LEAST_JAVA}, and there is none {where}.", _INSTALL)
    if found < LEAST_JAVA:
        raise ParameterError(
            f"Spark 4 needs Java {LEAST_JAVA} or newer; this machine has Java {found}.", _INSTALL
        )


def java_version() -> int | None:
    """The major version of the Java that Spark would start, or None."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    try:
        # `java -version` speaks on standard error: openjdk version "17.0.15" …, or "1.8.0_402" for Java 8.
        said = subprocess.run([java or "java", "-version"], capture_output=True, text=True, check=False)
    except OSError:
        return None
    match = re.search(r'version "(?:1\.)?(\d+)', said.stderr)
    return int(match[1]) if match else None
