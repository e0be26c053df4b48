"""A release that many tests look at, or change: made once, and copied for each of them."""

from __future__ import annotations

import shutil

import pytest

from pramana import api
from tests.release.people import people, plan


@pytest.fixture(scope="session")
def sound(tmp_path_factory):
    """The folder of a sound release of seeded people, which nobody changes."""
    folder = tmp_path_factory.mktemp("sound") / "release"
    api.protect(people(), plan(), to=folder, seed=1)
    return folder


@pytest.fixture
def release(sound, tmp_path):
    """The same release in a folder of one's own."""
    return api.load(shutil.copytree(sound, tmp_path / "release"))
