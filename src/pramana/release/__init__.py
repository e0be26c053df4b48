"""Releases: a table with a certificate that anyone can check."""

from pramana.release.certificate import Certificate, DataFile
from pramana.release.release import Release, load_release, write_release
from pramana.release.signing import make_keys
from pramana.release.verify import Check, Verdict, verify_folder

__all__ = [
    "Certificate",
    "Check",
    "DataFile",
    "Release",
    "Verdict",
    "load_release",
    "make_keys",
    "verify_folder",
    "write_release",
]
