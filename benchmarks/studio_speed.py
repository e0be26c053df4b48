"""How quickly the studio answers: ``python -m benchmarks.studio_speed [RECORDS]``.

A studio on a table of so many people who do not exist (a million where not said), asked as a page
asks: live counts, sliders of every letter, pages and sliders while a release is written, and what
server and worker hold, beside what the command line takes for the same release.
"""

from __future__ import annotations

import http.client
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import urlencode

COMMAND = [sys.executable, "-c", "from pramana.cli.app import main; main()", "studio"]
EDGES = ("0,18,40,65,100", "0,20,40,60,80,100", "0,25,50,75,100", "0,30,60,100")
PART = 1_000_000
SLIDES = {
    "k": ("10", "20", "50", "100", "200"),
    "epsilon": ("1", "3", "6", "10"),
    "central_epsilon": ("0.3", "0.5", "1", "2"),
    "alpha": ("0.5", "0.3", "0.1", "0.05", "0.01"),
    "xi": ("0.05", "0.1", "0.3"),
}
PAGES = ("/", "/columns", "/risk", "/asked", "/choose", "/protect")


class Asked:
    """A studio and its address."""

    def __init__(self, folder: Path) -> None:
        self.process = subprocess.Popen(
            [*COMMAND, str(folder), "--no-browser"], stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        found = re.search(r"http://(\S+)/\?token=(\S+)", self.process.stdout.readline())
        assert found is not None
        self.host = found[1]
        port = self.host.split(":")[1]
        self.headers = {
            "Cookie": f"pramana-studio-{port}={found[2]}",
            "Origin": f"http://{self.host}",
            "HX-Request": "true",
        }

    def ask(self, path: str, form: dict[str, str] | None = None) -> tuple[str, float]:
        """The answer, and the seconds that it took."""
        began = time.perf_counter()
        connection = http.client.HTTPConnection(self.host)
        method, body = ("GET", None) if form is None else ("POST", urlencode(form))
        connection.request(method, path, body, self.headers)
        text = connection.getresponse().read().decode()
        connection.close()
        return text, time.perf_counter() - began

    def part(self, path: str) -> float:
        """The seconds until a part is there."""
        began = time.perf_counter()
        while 'class="working' in self.ask(path)[0]:
            time.sleep(0.2)
        return time.perf_counter() - began

    def memory(self, what: str = "VmHWM") -> tuple[int, int]:
        """Peak megabytes of the server and of its worker, or those of this moment (VmRSS)."""
        own = self.process.pid
        workers = [p.parent.name for p in Path("/proc").glob("[0-9]*/stat") if _parent(p) == own]
        return _held(str(own), what), max((_held(one, what) for one in workers), default=0)


def _parent(stat: Path) -> int:
    try:
        return int(stat.read_text().rsplit(")", 1)[1].split()[1])
    except OSError:
        return 0


def _held(process: str, what: str) -> int:
    found = re.search(rf"{what}:\s+(\d+)", Path(f"/proc/{process}/status").read_text())
    return int(found[1]) // 1024 if found else 0


def _write_people(path: Path, records: int) -> None:
    """Eight columns, a million people at a time."""
    import pyarrow.parquet

    from pramana.base.randomness import Keystream
    from pramana.experiments.population import make_population

    writer = None
    for seed, first in enumerate(range(0, records, PART)):
        stream = Keystream.from_seed(20 + seed)
        people = make_population(min(PART, records - first), keystream=stream)
        people = people.drop_columns(["person"])
        writer = writer or pyarrow.parquet.ParquetWriter(path, people.schema)
        writer.write_table(people)
    if writer is not None:
        writer.close()


def main() -> None:
    """Ask, and print."""
    records = int(sys.argv[1]) if len(sys.argv) > 1 else PART
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write_people(folder / "people.parquet", records)
        studio = Asked(folder)
        try:
            _measure(studio, records)
        finally:
            studio.process.terminate()
            studio.process.wait(timeout=60)
        _measure_command(folder)


def _measure(studio: Asked, records: int) -> None:
    studio.ask("/open", {"file": "people.parquet"})
    looked = studio.part("/open/found") + studio.part("/columns/list")
    print(f"{records:,} records, load {os.getloadavg()[0]:.1f}: columns after {looked:.1f} s")
    form = {"role": "key", "missing": "refuse"}
    counts = [studio.ask("/columns/2/count", {**form, "edges": own})[1] for own in EDGES]
    print(f"live count: {_told(counts)}")
    _slide(studio, "slider {}")
    studio.ask("/choose", {"letter": "k", "k": "20", "method": "retention"})
    studio.ask("/code", {"here": "/choose"})
    studio.ask("/protect", {"release": "out", "acknowledged": "yes"})
    began, times, slides = time.perf_counter(), [], []
    k, held = 300, 0
    while 'class="working' in studio.ask("/protect/made")[0]:
        times += [studio.ask(path)[1] for path in PAGES]
        k, held = k + 1, max(held, sum(studio.memory("VmRSS")))
        slides.append(studio.ask("/choose/foresee", {"letter": "k", "k": str(k)})[1])
    took = time.perf_counter() - began
    print(f"pages while protecting: {_told(times)}; a release after {took:.1f} s")
    print(f"slider k while protecting: {_told(slides)}")
    print("peak MB of server and worker: {} and {}".format(*studio.memory()))
    print(f"MB of both together while protecting: {held}")


def _slide(studio: Asked, words: str) -> None:
    """Every letter, once the people have been looked at."""
    studio.ask("/choose/foresee", {"letter": "k", "k": "5"})
    while 'class="working' in studio.ask("/choose/foresee", {"letter": "k", "k": "5"})[0]:
        time.sleep(0.2)
    for letter, values in SLIDES.items():
        forms = ({"letter": letter, letter: own, "delta": "1e-6"} for own in values)
        times = [studio.ask("/choose/foresee", form)[1] for form in forms]
        print(f"{words.format(letter)}: {_told(times)}")


def _measure_command(folder: Path) -> None:
    """The same steps by the command line."""
    table = "people.parquet"
    for words in (
        ["describe", table],
        ["audit", table, "--schema", "schema.toml"],
        ["protect", table, "--plan", "plan.toml", "-o", "by_command"],
    ):
        quiet = subprocess.DEVNULL
        command = [*COMMAND[:-1], *words]
        process = subprocess.Popen(command, cwd=folder, stdout=quiet, stderr=quiet)
        _, status, used = os.wait4(process.pid, 0)
        took = used.ru_utime + used.ru_stime
        peak = used.ru_maxrss // 1024
        print(f"{words[0]} by command: peak MB {peak}, {took:.1f} s of processor ({status})")


def _told(seconds: list[float]) -> str:
    middle, most = statistics.median(seconds), max(seconds)
    return f"median {1000 * middle:.0f} ms, most {1000 * most:.0f} ms, of {len(seconds)}"


if __name__ == "__main__":
    main()
