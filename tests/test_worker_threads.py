"""Threads that work ahead: results in order, errors in place, a bound on what waits."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from pramana.base.processes import default_threads, in_order, side_by_side


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_results_come_in_the_order_of_the_work(threads):
    """Also where early work takes longest."""

    def slow_at_first(number):
        time.sleep(0.02 if number < 3 else 0)
        return number * number

    assert list(in_order(slow_at_first, range(20), threads=threads)) == [i * i for i in range(20)]


def test_several_threads_work_at_once():
    """Two calls that wait for each other both come back."""
    barrier = threading.Barrier(2, timeout=10)

    assert sorted(in_order(lambda _: barrier.wait(), range(2), threads=2)) == [0, 1]


@pytest.mark.parametrize("items", [[], ["one"]])
def test_a_single_piece_of_work_starts_no_thread(items):
    """A small table is one piece: starting threads would take longer than the work."""
    found = list(in_order(lambda item: (item, threading.current_thread()), items, threads=4))
    assert found == [(item, threading.main_thread()) for item in items]


@pytest.mark.parametrize("threads", [1, 3])
def test_an_error_comes_out_in_its_place(threads):
    """What was before it is delivered, and work that had not begun is dropped."""
    begun = []

    def work(number):
        begun.append(number)
        if number == 4:
            raise ValueError("four")
        return number

    results = in_order(work, range(1000), threads=threads)
    assert [next(results) for _ in range(4)] == [0, 1, 2, 3]
    with pytest.raises(ValueError, match="four"):
        next(results)
    assert len(begun) < 30


def test_work_runs_only_a_little_ahead():
    """Memory is bounded: items are taken as results are."""
    taken = []

    def items():
        for number in range(100):
            taken.append(number)
            yield number

    results = in_order(lambda x: x, items(), threads=2)
    next(results)

    assert len(taken) <= 6
    results.close()


def test_there_is_at_least_one_thread():
    """On any machine."""
    assert default_threads() >= 1


def test_work_that_is_left_off_is_not_waited_for():
    """What runs goes on unseen, and what has not begun never does."""
    free, begun, running = threading.Event(), [], []

    def work(number):
        begun.append(number)
        free.wait(30)

    def told_to_stop():
        with side_by_side(1) as pool:
            running.extend(pool.submit(work, number) for number in range(3))
            raise KeyboardInterrupt

    start = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            told_to_stop()
        assert time.monotonic() - start < 10
    finally:
        free.set()
    assert all(one.cancelled() for one in running[1:])
    assert begun in ([], [0])


def test_work_side_by_side_is_done_where_nothing_stops_it():
    """Leaving waits for all of it."""
    done = []
    with side_by_side(2) as pool:
        [pool.submit(done.append, number) for number in range(9)]
    assert sorted(done) == list(range(9))


LOADING = """
import sys, time
from importlib import import_module
from importlib.abc import MetaPathFinder

class Slow(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name.startswith("scipy"):
            time.sleep(0.02)

sys.meta_path.insert(0, Slow())
from pramana.base.processes import side_by_side

with side_by_side(2) as pool:
    parts = [pool.submit(import_module, name) for name in ("scipy.special", "scipy.fft")]
print(*(part.result().__name__ for part in parts))
"""


def test_two_threads_may_ask_for_parts_of_scipy_that_nobody_has_loaded():
    """SciPy itself fails at that, where its first modules come slowly: all, or a few by chance."""
    done = subprocess.run(
        [sys.executable, "-c", LOADING], capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == ["scipy.special", "scipy.fft"], done.stderr


def test_matrix_libraries_keep_to_the_threads_that_tests_allow():
    """They read the limit when NumPy is first imported: it must have been set before."""
    threadpoolctl = pytest.importorskip("threadpoolctl")
    np.linalg.inv(np.eye(2))

    pools = [pool for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"]
    assert {pool["num_threads"] for pool in pools} == {int(os.environ["OPENBLAS_NUM_THREADS"])}
