"""A standalone Spark cluster: a master and two workers, each a process of its own.

Its Python has the libraries and no pramana, which the driver must send.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyspark

HOME = Path(pyspark.__file__).parent
PYTHON = Path(sys.base_prefix) / "bin" / f"python{sys.version_info[0]}.{sys.version_info[1]}"
LIBRARIES = str(Path(pyspark.__file__).parents[1])
"""On the import path the folder brings no editable installation with it."""

SETTINGS = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "512m",
    "spark.executor.memory": "512m",
    "spark.executor.cores": "1",
    "spark.executorEnv.PYTHONPATH": LIBRARIES,
    "spark.default.parallelism": "4",
    "spark.sql.files.maxPartitionBytes": "20000",  # so that a small file has several partitions
    "spark.sql.files.openCostInBytes": "0",
    "spark.speculation": "true",
    "spark.speculation.quantile": "0.5",
    "spark.speculation.minTaskRuntime": "1s",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}


@dataclass(frozen=True)
class Cluster:
    """The address of the master, the environment of a driver, and the workers."""

    master: str
    environment: dict[str, str]
    workers: tuple[subprocess.Popen[bytes], ...]

    def driver(self, code: str, *arguments: object) -> subprocess.Popen[str]:
        """A driver process that runs this code; the master is its first argument."""
        words = [sys.executable, "-c", code, self.master, *map(str, arguments)]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen(words, env=self.environment, text=True, **pipes)

    def executors(self) -> list[int]:
        """The numbers of the executor processes, worker by worker."""
        return [child for worker in self.workers for child in children(worker.pid)]


def children(process: int) -> list[int]:
    """The processes that a process has started."""
    found = []
    for place in Path(f"/proc/{process}/task").glob("*/children"):
        found += [int(number) for number in place.read_text().split()]
    return found


@contextmanager
def standalone(folder: Path, *, workers: int = 2, memory: str = "600m", **settings: str):
    """A cluster that ends with the block; names of settings have _ in place of dots."""
    conf = folder / "conf"
    conf.mkdir(parents=True)
    more = {name.replace("_", "."): value for name, value in settings.items()}
    lines = [f"{name} {value}\n" for name, value in {**SETTINGS, **more}.items()]
    (conf / "spark-defaults.conf").write_text("".join(lines))
    environment = os.environ | {
        "SPARK_HOME": str(HOME),
        "SPARK_CONF_DIR": str(conf),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "PYSPARK_PYTHON": str(PYTHON),
    }
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    master = f"spark://127.0.0.1:{port}"
    quiet = ("--webui-port", "0")
    with ExitStack() as stack:

        def started(role: str, *words: str) -> subprocess.Popen[bytes]:
            command = [HOME / "bin" / "spark-class", f"org.apache.spark.deploy.{role}", *words]
            log = stack.enter_context((folder / f"{len(list(folder.iterdir()))}.log").open("wb"))
            process = subprocess.Popen(
                command, env=environment, stdout=log, stderr=log, start_new_session=True
            )
            stack.callback(ended, process)
            return process

        started("master.Master", "--host", "127.0.0.1", *quiet, "--port", str(port))
        deadline = time.monotonic() + 120
        while not answers(port):
            assert time.monotonic() < deadline, "the master does not answer"
            time.sleep(0.2)
        one_core = ("--cores", "1", "--memory", memory)
        processes = tuple(  # on two hosts: Spark starts the copy of a slow task on another host
            started("worker.Worker", "--host", host, *quiet, *one_core, "--work-dir",
                    str(folder / host), master)
            for host in (f"127.0.0.{at}" for at in range(1, workers + 1))
        )  # fmt: skip
        yield Cluster(master, environment, processes)


def answers(port: int) -> bool:
    """Whether somebody listens at a port of this machine."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1):
            return True
    except OSError:
        return False


def ended(process: subprocess.Popen[bytes]) -> None:
    """End a process and those it started, which are one group."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
