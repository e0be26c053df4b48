"""Releases: a table with a certificate that anyone can check."""

from pramana.release.certificate import Certificate, DataFile
from pramana.release.signing import make_keys
from pramana.release.stored import write_release
from pramana.release.verify import Check, State, Verdict, verify_folder

__all__ = [
    "Certificate",
    "Check",
    "DataFile",
    "State",
    "Verdict",
    "make_keys",
    "verify_folder",
    "write_release",
]
