"""Storage that Spark reaches through Hadoop: which program answers for an address, and the digest of what lies there."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from coterie.errors import MissingExtra, ParameterError
from coterie.io.part_files import digest_of_parts
from coterie.ledger.staging import without_credentials

# What Java says of a package of another version, or of one without the packages that it needs itself. Settings such as
# "60s" came with Hadoop 3.4; older programs expect a bare number.
_MISFITS = ("NoClassDefFoundError", "NoSuchMethodError", "AbstractMethodError", "NumberFormatException")

# Since Hadoop 3.4.2 its package for S3 no longer brings Amazon's own; this is the version that Hadoop 3.4.3 names.
_SDK = "software.amazon.awssdk:bundle:2.35.4"


def check_address(address: str) -> None:
    """No keys in an address: Hadoop writes addresses into its logs. Said without the address, which holds them."""
    scheme, _, rest = address.partition("://")
    user, _, host = rest.partition("/")[0].rpartition("@")
    # A key may hold a slash, and then what stands before it looks like a port that is no number.
    if ":" in user or (":" in host and not host.partition(":")[2].isdigit()):
        raise ParameterError(
            f"The {scheme}:// address holds a password or a secret key.",
            "Leave it out of the address. For S3, set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the "
            "environment, or let the machine's role give access.",
        )


def file_system(spark: Any, address: str) -> tuple[Any, Any]:
    """Hadoop's file system for an address, and the path in it; or which package is missing."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    java = spark.sparkContext._jvm
    scheme = address.partition("://")[0]
    try:
        path = java.org.apache.hadoop.fs.Path(address)
        return path.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration()), path
    except Py4JJavaError as error:
        said = str(error.java_exception)
    except PySparkException as error:  # some of Java's, among them wrong numbers and wrong addresses
        said = f"{type(error).__name__}: {error}"
    version = java.org.apache.hadoop.util.VersionInfo.getVersion()
    package = (
        f"for s3a, `spark.jars.packages org.apache.hadoop:hadoop-aws:{version},{_SDK}` in spark-defaults.conf. "
        f"{version} is the version of Hadoop that this Spark was built with."
    )
    if "ClassNotFoundException" in said:
        raise MissingExtra(
            f"This Spark has no program for {scheme}:// addresses.", f"Add its package: {package}"
        )
    if any(word in said for word in _MISFITS):
        raise MissingExtra(
            f"This Spark's program for {scheme}:// addresses does not fit Hadoop {version}, or is not whole.",
            f"Take the package that fits: {package}",
        )
    if "No FileSystem for scheme" in said or "UnsupportedFileSystem" in said:
        raise ParameterError(
            f"Hadoop {version} knows no addresses that begin with {scheme}://.",
            "Write for example s3a://bucket/folder, hdfs://host/folder or a path.",
        )
    raise ParameterError(
        f"The address {without_credentials(address)} cannot be used.",
        "Check its spelling, and Spark's own settings for that storage (keys, endpoint).",
    )


def written_digest(spark: Any, folder: str) -> str:
    """The digest of the part files, hashed where they are."""

    def hashed(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            names = [path.rsplit("/", 1)[1] for path in batch.column("path").to_pylist()]
            marks = [hashlib.sha256(content.as_buffer()).hexdigest() for content in batch.column("content")]
            yield pa.RecordBatch.from_pydict({"name": names, "mark": marks})

    files = spark.read.format("binaryFile").option("pathGlobFilter", "*.parquet").load(folder)
    marks = files.select("path", "content").mapInArrow(hashed, "name string, mark string").collect()
    return digest_of_parts({row[0]: row[1] for row in marks})
