"""A Spark session for the command, or a sentence about what is missing."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from coterie.errors import MissingExtra, ParameterError

LEAST_JAVA = 17
_INSTALL = "Install it (Debian: apt install openjdk-17-jre-headless) and let JAVA_HOME name its folder."


def session(master: str | None) -> Any:
    """The running session, or a new one; its workers run this very Python unless PYSPARK_PYTHON says otherwise."""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise MissingExtra.named("spark", "The Spark engine") from None
    check_java()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("coterie").config("spark.sql.session.timeZone", "UTC")
    return (builder.master(master) if master else builder).getOrCreate()


def check_java() -> None:
    found = java_version()
    if found is None:
        raise ParameterError(f"Spark needs Java {LEAST_JAVA}, and there is none on this machine.", _INSTALL)
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
