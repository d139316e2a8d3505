"""How a fault on an executor travels back, and what Spark's own faults are in our words."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from coterie import errors
from coterie.errors import CoterieError, DataError, OutputError

_FAULT = "COTERIE-FAULT "
# Words of Java, Hadoop and Spark about storage, and what they mean. The first that is found is told.
_STORAGE = (
    (
        ("PATH_NOT_FOUND", "UnknownStoreException", "NoSuchBucket"),
        "There is nothing at an address that Spark should use.",
        "Check the names of the input and of the bucket; an output's bucket must be there already.",
    ),
    (
        (
            "AccessDenied",
            "NoAuthWithAWS",
            "InvalidAccessKeyId",
            "SignatureDoesNotMatch",
            "AccessControlException",
        ),
        "The storage refuses Spark the access.",
        "Check the keys or the role that Spark uses for it, and what they may do: list, read, write, delete.",
    ),
    (
        ("UnknownHost", "ConnectException", "Connect to ", "ConnectTimeout", "UnableToExecuteHttp"),
        "Spark cannot reach the storage.",
        "Check its endpoint in Spark's settings (for S3: fs.s3a.endpoint), and the network.",
    ),
)


def faults_in_words(
    work: Callable[[Iterator[Any]], Iterator[Any]],
) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """A fault on an executor, as one line that the driver can turn back into the same error."""

    def guarded(batches: Iterator[Any]) -> Iterator[Any]:
        try:
            yield from work(batches)
        except CoterieError as error:
            content = json.dumps([type(error).__name__, error.problem, error.advice, error.detail])
            raise RuntimeError(f"{_FAULT}{content}") from None

    return guarded


@contextmanager
def told() -> Iterator[None]:
    """An executor's fault as the error it was; Spark's own words may quote values, so they are not passed on."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JJavaError) as error:
        text = str(error)
        if _FAULT in text:
            kind, problem, advice, detail = json.loads(text.split(_FAULT, 1)[1].split("\n", 1)[0])
            raise getattr(errors, kind)(problem, advice, detail=detail) from None
        if "No space left on device" in text:
            raise OutputError(
                "A disk is full: Spark had no room for its parts, or for what it sorts.",
                "Free some space there, or set spark.local.dir to another place. Nothing was released or overwritten.",
            ) from None
        if "OutOfMemoryError" in text:
            raise DataError(
                "Spark's Java had too little memory.",
                "Set spark.executor.memory, or spark.driver.memory for a local master, in spark-defaults.conf: 4g or more.",
            ) from None
        for words, problem, advice in _STORAGE:
            if any(word in text for word in words):
                raise DataError(problem, advice) from None
        # The class of the fault, not its text: PATH_NOT_FOUND, COLUMN_ALREADY_EXISTS and the like.
        kind = getattr(error, "getCondition", lambda: None)() or type(error).__name__
        raise DataError(
            f"Spark could not finish the work ({kind}).",
            "Look into Spark's own log; a lost executor is replaced by itself, a full disk or memory is not.",
        ) from None
