"""Signatures: who made a certificate. Ed25519 keys in PEM files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from pramana.errors import InputError, OutputExists
from pramana.files import write_whole
from pramana.release.certificate import Certificate

__all__ = ["has_signature_of", "make_keys", "sign"]


def make_keys(path: Path) -> tuple[Path, Path]:
    """Write a pair of keys: ``path`` (private, readable by the owner only) and ``path.pub``."""
    public_path = path.with_name(path.name + ".pub")
    for taken in (path, public_path):
        if taken.exists():
            raise OutputExists(
                f"{taken} exists already. Choose another name: keys are not replaced."
            )
    key = Ed25519PrivateKey.generate()
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    write_whole(path, private, mode=0o600)
    write_whole(public_path, public)
    return path, public_path


def sign(certificate: Certificate, key_file: Path) -> Certificate:
    """The certificate with a signature of its claim and digest."""
    try:
        key = serialization.load_pem_private_key(_read(key_file), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise InputError(
            f"{key_file} must be a private Ed25519 key in PEM form. Make one with 'pramana keygen'."
        )
    return replace(certificate, signature=key.sign(certificate.signed_part()).hex())


def has_signature_of(certificate: Certificate, key_file: Path) -> bool:
    """Whether the holder of the private key to this public one signed the certificate."""
    try:
        key = serialization.load_pem_public_key(_read(key_file))
    except (ValueError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, Ed25519PublicKey):
        raise InputError(f"{key_file} must be a public Ed25519 key in PEM form (the .pub file).")
    try:
        key.verify(bytes.fromhex(certificate.signature or ""), certificate.signed_part())
    except (InvalidSignature, ValueError):
        return False
    return True


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        raise InputError(f"The key file {path} cannot be read.") from None
