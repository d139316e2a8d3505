"""One Spark session for all tests; they are skipped, visibly, where there is no Spark or no Java."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

from coterie.engines.spark.session import java_version

# Tables here are small: Java's second compiler and its collector's threads take half of all time, and give nothing.
os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)


def why_not() -> str | None:
    try:
        import pyspark  # noqa: F401
    except ImportError:
        return "PySpark is not installed: pip install 'coterie[spark]'"
    if (java_version() or 0) < 17:
        return "Spark needs Java 17 or newer"
    return None


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    reason = why_not()
    if reason:
        pytest.skip(reason)
    from pyspark.sql import SparkSession

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PySpark's own, about versions of pandas
        builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
        builder = builder.config("spark.sql.shuffle.partitions", "3").config(
            "spark.sql.session.timeZone", "UTC"
        )
        session = builder.config(
            "spark.executorEnv.PYTHONPATH", os.environ.get("PYTHONPATH", "")
        ).getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
