"""Signatures: who made a certificate. Ed25519 keys in PEM files."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from cryptography.exceptions import InternalError, InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from pramana.base.atomic_files import read_file, require_name, write_whole
from pramana.errors import InputError, OutputExists
from pramana.release.certificate import Certificate

NO_KEY = (ValueError, TypeError, UnsupportedAlgorithm, InternalError)
"""What the library says of a file that holds no key; the last, of one that says to be another."""


class Signed(Protocol):
    """What an office may put its name to."""

    @property
    def signature(self) -> str | None:
        """Hexadecimal."""

    def signed_part(self) -> bytes:
        """The bytes that the signature covers."""


def make_keys(path: Path) -> tuple[Path, Path]:
    """Write a pair of keys: ``path`` (private, readable by the owner only) and ``path.pub``.

    A private key that lies there without its public half gets it: whoever was cut off between the
    two asks again.
    """
    require_name(path)
    public_path = path.with_name(path.name + ".pub")
    half = path.is_file() and not os.path.lexists(public_path)
    if half:
        key = _private_key(path)
    else:
        for taken in (path, public_path):
            if os.path.lexists(taken):
                raise OutputExists(
                    f"{taken} exists already. Choose another name: keys are not replaced."
                )
        key = Ed25519PrivateKey.generate()
        write_whole(path, _spelled(key), mode=0o600)
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    write_whole(public_path, public)
    return path, public_path


def _spelled(key: Ed25519PrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def sign(certificate: Certificate, key_file: Path) -> Certificate:
    """The certificate with a signature of its claim and digest."""
    return replace(certificate, signature=signature_of(certificate.signed_part(), key_file))


def signature_of(content: bytes, key_file: Path) -> str:
    """The signature of some bytes, hexadecimal."""
    return _private_key(key_file).sign(content).hex()


def _private_key(path: Path) -> Ed25519PrivateKey:
    try:
        key = serialization.load_pem_private_key(read_file(path, what="key file"), password=None)
    except NO_KEY:
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise InputError(
            f"{path} must be a private Ed25519 key in PEM form. Make one with 'pramana keygen'."
        )
    return key


def has_signature_of(certificate: Signed, key_file: Path) -> bool:
    """Whether the holder of the private key to this public one signed it."""
    try:
        key = serialization.load_pem_public_key(read_file(key_file, what="key file"))
    except NO_KEY:
        key = None
    if not isinstance(key, Ed25519PublicKey):
        raise InputError(f"{key_file} must be a public Ed25519 key in PEM form (the .pub file).")
    try:
        key.verify(bytes.fromhex(certificate.signature or ""), certificate.signed_part())
    except (InvalidSignature, ValueError):
        return False
    return True
