"""coterie protect --engine spark: a Parquet folder or file in, a folder of part files and a certificate out."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from coterie.certificate import Certificate, Digest
from coterie.errors import OutputError, ParameterError
from coterie.io.publication import stage_bytes, temporary_for
from coterie.publishing import Destination
from coterie.schema import Schema
from coterie.signing import sign
from coterie.spark_release import protect_frame
from coterie.spark_session import session, written_digest
from coterie.spark_worker import told


def protect_on_spark(
    data: str,
    schema: Schema,
    destination: Destination,
    *,
    master: str | None,
    method: str,
    epsilon: str | None,
    k: int | None,
    seed: int | None,
) -> Certificate:
    """Written beside the target and renamed; in an object store, which has no rename, written in place."""
    remote = "://" in destination.data
    if remote and destination.certificate is None:
        raise ParameterError(
            "A release in an object store needs a place for its certificate.", "Give --certificate FILE."
        )
    if not remote:
        _refuse_early(destination)
        if Path(destination.data).resolve() == Path(data).resolve():
            raise OutputError("The output would overwrite the input.", "Choose another name for it.")
    spark = session(master)
    with told():
        frame = spark.read.parquet(data)
    release = protect_frame(frame, schema, method=method, epsilon=epsilon, k=k, seed=seed)
    target = destination.data if remote else str(temporary_for(destination.data))
    mode = "overwrite" if remote and destination.force else "error"
    try:
        with told():
            release.data.write.mode(mode).parquet(target if remote else f"file://{target}")
            value = written_digest(spark, target if remote else f"file://{target}")
        certificate = release.certify(Digest(over="part files", value=value))
        if destination.key is not None:
            certificate = sign(certificate, destination.key)
        staged = stage_bytes(
            certificate.to_json().encode(), destination.certificate_path, force=destination.force
        )
    except BaseException:
        if not remote:
            shutil.rmtree(target, ignore_errors=True)
        raise
    staged.publish()
    if not remote:
        _rename(Path(target), Path(destination.data))
    return certificate


def _refuse_early(destination: Destination) -> None:
    """The output is a folder of any name; otherwise as `Destination.refuse_early`."""
    for path in (Path(destination.data), destination.certificate_path):
        if path.exists() and not destination.force:
            raise OutputError(f"{path} exists already.", "Choose another name, or replace it with --force.")
        if not path.parent.is_dir():
            raise OutputError(f"There is no folder {path.parent}.", "Make it, or choose another place.")


def _rename(folder: Path, target: Path) -> None:
    """The finished folder takes the name; what had it before goes only then."""
    if not target.exists():
        os.rename(folder, target)
        return
    earlier = temporary_for(target)
    os.rename(target, earlier)
    os.rename(folder, target)
    if earlier.is_dir():
        shutil.rmtree(earlier)
    else:
        earlier.unlink()
