"""How quickly the studio answers: ``python -m benchmarks.studio_speed [RECORDS]``.

A studio on a table of so many people who do not exist (a million where not said), asked as a page
asks: live counts, sliders, pages while a release is written, and what server and worker hold.
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

    def memory(self) -> tuple[int, int]:
        """Peak megabytes of the server and of its worker."""
        own = self.process.pid
        workers = [p.parent.name for p in Path("/proc").glob("[0-9]*/stat") if _parent(p) == own]
        return _peak(str(own)), max(map(_peak, workers), default=0)


def _parent(stat: Path) -> int:
    try:
        return int(stat.read_text().rsplit(")", 1)[1].split()[1])
    except OSError:
        return 0


def _peak(process: str) -> int:
    found = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{process}/status").read_text())
    return int(found[1]) // 1024 if found else 0


def main() -> None:
    """Ask, and print."""
    import pyarrow.csv

    from pramana.experiments.population import make_population
    from pramana.randomness import Keystream

    records = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        people = make_population(records, keystream=Keystream.from_seed(20))
        pyarrow.csv.write_csv(people, folder / "people.csv")
        del people
        studio = Asked(folder)
        try:
            _measure(studio, records)
        finally:
            studio.process.terminate()
            studio.process.wait(timeout=60)


def _measure(studio: Asked, records: int) -> None:
    studio.ask("/open", {"file": "people.csv"})
    looked = studio.part("/open/found") + studio.part("/columns/list")
    print(f"{records:,} records, load {os.getloadavg()[0]:.1f}: columns after {looked:.1f} s")
    form = {"role": "key", "missing": "refuse"}
    counts = [studio.ask("/columns/3/count", {**form, "edges": own})[1] for own in EDGES]
    print(f"live count: {_told(counts)}")
    targets = ({"letter": "k", "k": str(k)} for k in (10, 20, 50, 100, 200))
    print(f"slider k: {_told([studio.ask('/choose/foresee', own)[1] for own in targets])}")
    studio.ask("/choose", {"letter": "k", "k": "20", "method": "retention"})
    studio.ask("/protect", {"release": "out", "acknowledged": "yes"})
    began, times = time.perf_counter(), []
    while 'class="working' in studio.ask("/protect/made")[0]:
        times += [studio.ask(path)[1] for path in PAGES]
    took = time.perf_counter() - began
    print(f"pages while protecting: {_told(times)}; a release after {took:.1f} s")
    print("peak MB of server and worker: {} and {}".format(*studio.memory()))


def _told(seconds: list[float]) -> str:
    middle, most = statistics.median(seconds), max(seconds)
    return f"median {1000 * middle:.0f} ms, most {1000 * most:.0f} ms, of {len(seconds)}"


if __name__ == "__main__":
    main()
