"""The demonstration: people answer through HTTP, and the release tells the simulation's truth."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pramana.cli.app import main
from pramana.collect.simulated_survey import serving
from pramana.errors import InputError
from pramana.verification.verify import verify_folder


def test_the_demonstration_ends_in_a_release_near_the_truth(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every answer is acknowledged and there; estimates lie within five times their width."""
    command = ["collect", "demo", "--people", "400", "-o", str(tmp_path / "demo"), "--json"]
    with pytest.raises(SystemExit, match="0"):
        main(command)
    told = json.loads(capsys.readouterr().out)
    assert (told["people"], told["accepted"], told["valid"]) == (400, 400, True)
    assert told["half"]["status"]["answers"] == 200
    assert verify_folder(tmp_path / "demo" / "release").valid
    for _, truth, estimate, interval in told["travel"]:
        low, high = (float(end.replace(",", "")) for end in interval.split(" to "))
        assert abs(float(estimate) - float(truth)) <= 2.5 * (high - low)


@pytest.mark.parametrize("people", ["-5", "0", "1", "99", "1000001"])
def test_a_demonstration_of_too_few_leaves_nothing_behind(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], people: str
) -> None:
    """The number is looked at before a folder is made."""
    with pytest.raises(SystemExit, match="2"):
        main(["collect", "demo", "--people", people, "-o", str(tmp_path / "demo")])
    assert "between 100 and 1,000,000 people" in capsys.readouterr().err
    assert not (tmp_path / "demo").exists()


HOLDS = """
import sys, time
from pathlib import Path
from pramana.collect.simulated_survey import serving
with serving(Path(sys.argv[1])) as (port, _):
    print(port, flush=True)
    time.sleep(60)
"""


@pytest.mark.deep(every=2)
def test_the_collector_ends_with_who_started_it(survey_folder):
    """Also if that one is killed and can tell nobody."""
    held = [sys.executable, "-c", HOLDS, str(survey_folder)]
    with subprocess.Popen(held, stdout=subprocess.PIPE) as process:
        port = int(process.stdout.readline())
        process.kill()
    for _ in range(200):
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            return
        time.sleep(0.05)
    raise AssertionError("It serves on.")


def test_a_collector_that_cannot_begin_says_why(tmp_path):
    """Its own words in ours, where it is not the extra that is missing."""
    said = pytest.raises(InputError, match=r"could not be started\. .* is not a survey")
    with said as refused, serving(tmp_path):
        pass
    assert "pramana: " not in str(refused.value)
