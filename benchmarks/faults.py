"""Kills, pairs at once, full disks and mutated inputs: nothing is lost, destroyed or shown.

- kills: every verb that writes, killed at random moments: nothing partial, nothing gone, no foreign
  file touched, no leftover unnamed, no process that lives on.
- moments: what a kill would leave at every call that changes the file system: the verb stops there
  (ptrace), and a copy of all files is looked at.
- calls: kills at such calls indeed, at some of them.
- signals: every verb, told to end (SIGINT, SIGTERM, SIGHUP) at random moments and at such calls:
  one line that says what stands, 128 and the number of the signal, and nothing left.
- pairs: the same verb twice at once to one place: exactly one wins, and the other says so.
- disks: every verb on disks with room for less and less: all, or nothing and one line.
- inputs: tables of every format, schemas, certificates and command lines, mutated: no traceback,
  nothing unforeseen, no crash, no hang, and no cell in a message.

Several processes share the work (``--workers``). What is tried depends on ``--seed`` and on the
number of the trial, not on who tries it; ``--only`` and ``--verbs`` take a slice of it.
"""

from __future__ import annotations

import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from benchmarks import _fault_inputs, _tracer
from benchmarks._fault_verbs import (
    EXPERIMENT,
    READERS,
    STALE,
    VERBS,
    adopt,
    all_leftovers,
    box_of,
    content,
    ends_with_parent,
    enter,
    faults,
    held,
    hidden,
    import_what_verbs_need,
    killed_after,
    make_template,
    outlived,
    run_in_fork,
    started,
    told,
)
from benchmarks._measure import Result
from pramana.base.processes import default_threads

OWN, CHILDREN = resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN
PARTS = ("kills", "moments", "calls", "signals", "pairs", "disks", "inputs")


def arguments(parser):
    """How many of each; a part with none is left out."""
    parser.add_argument("--kills", type=int, default=1000, help="kills at random moments")
    parser.add_argument("--moments", type=int, default=1, help="0: leave out moments")
    parser.add_argument("--calls", type=int, default=10, help="kills at calls, at most, a verb")
    parser.add_argument("--signals", type=int, default=300, help="signals that ask to end")
    parser.add_argument("--pairs", type=int, default=200)
    parser.add_argument("--disks", type=int, default=50, help="sizes of disks, over all verbs")
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=default_threads())
    parser.add_argument("--only", choices=PARTS, help="one part alone")
    parser.add_argument("--verbs", nargs="*", help="only these verbs")
    parser.add_argument("--experiment", action="store_true", help="experiments too: slow")


def run(options):
    """Try everything; the rows say how often, the notes what went wrong."""
    wrong: list[str] = []
    rows: list[tuple[str, str, str]] = []
    verbs = [v for v in (*VERBS, *([EXPERIMENT] if options.experiment else [])) if
             not options.verbs or v.name in options.verbs]  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="pramana-faults-") as held:
        place = Path(held)
        parts = [options.only] if options.only else [one for one in PARTS if getattr(options, one)]
        if set(parts) - {"inputs"}:
            make_template(place / "template")
            readers = READERS if "signals" in parts and not options.verbs else ()
            import_what_verbs_need((*verbs, *readers), place / "template", place / "box")
        if "inputs" in parts:
            _fault_inputs.make_inputs(place / "inputs")
        for part in parts:
            begin = time.monotonic()
            ends, found = _together(part, place, verbs, options)
            wrong += found
            rows += [(part, what, f"{number:,}") for what, number in sorted(ends.items())]
            rows.append((part, "seconds", f"{time.monotonic() - begin:,.0f}"))
    for one in wrong:
        print(one)
    spent = sum(sum(resource.getrusage(who)[:2]) for who in (OWN, CHILDREN))
    notes = [f"{len(wrong)} wrong.", f"{spent:,.0f} seconds of the processor."]
    return Result("Faults", ("trial", "what", "number"), rows, notes, wrong=len(wrong))


@dataclass(frozen=True)
class Share:
    """What one of several processes does: every so many-th, in a folder of its own."""

    number: int
    of: int
    folder: Path
    common: Path
    seed: int

    @property
    def template(self) -> Path:
        """What every box holds."""
        return self.common / "template"

    def some(self, things):
        """Its things of all."""
        return things[self.number :: self.of]

    def trials(self, total):
        """The numbers of its trials, each with chance of its own."""
        for number in range(self.number, total, self.of):
            yield number, random.Random(f"{self.seed}-{number}")

    def verb(self, verbs, number):
        """The verb of a trial: all of them in turn."""
        return verbs[number % len(verbs)]


def _together(part, place, verbs, options):
    """Try a part in several processes; what they counted, and what they found wrong."""
    started = []
    for number in range(options.workers):
        reader, writer = os.pipe()
        folder = place / f"{part}-{number}"
        folder.mkdir()
        share = Share(number, options.workers, folder, place, options.seed)
        child = os.fork()
        if not child:
            os.close(reader)
            _alone(part, share, verbs, options, writer)
        os.close(writer)
        started.append((child, reader))
    ends, wrong = Counter(), []
    for child, reader in started:
        with os.fdopen(reader) as pipe:
            said = pipe.read()
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        counted, found = json.loads(said) if said else ({}, [f"{part}: it ended with {code}"])
        ends.update(counted)
        wrong += found
    return ends, wrong


def _alone(part, share, verbs, options, writer):
    """A share of a part in this process, which is a fork."""
    code = 1
    ends_with_parent()
    try:
        ends, wrong = TRIALS[part](share, verbs, options)
        with os.fdopen(writer, "w") as pipe:
            json.dump((ends, wrong), pipe)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


# -- kills -----------------------------------------------------------------------------------------


def _kills(share, verbs, options):
    """Kills at random moments of the time that a verb takes."""
    ends, wrong = Counter(), []
    template, before = share.template, content(share.template)
    lasts = {}
    adopt()
    for number, chance in share.trials(options.kills):
        verb = share.verb(verbs, number)
        if verb not in lasts:
            lasts[verb] = _undisturbed(share, verb, before, wrong)
        box = box_of(template, share.folder / "box")
        killed_after(box, verb.words, chance.random() * lasts[verb] * 1.1)
        wrong += [f"{verb.name}, kill {number}: {one!r} lives on" for one in outlived()]
        _judge(box, before, verb, f"kill {number}", ends, wrong)
    return ends, wrong


def _undisturbed(share, verb, before, wrong):
    """How long a verb takes; it must end well."""
    box = box_of(share.template, share.folder / "box")
    begin = time.monotonic()
    code = run_in_fork(box, verb.words)
    lasts = time.monotonic() - begin
    if code:
        wrong.append(f"{verb.name} leaves with {code} undisturbed: {told(box)[:200]}")
    wrong += [f"{verb.name} undisturbed: {one}" for one in faults(box, before, verb)]
    return lasts


def _moments(share, verbs, options):
    """Every call that changes the file system: what a kill there would leave, in a copy."""
    del options
    ends, wrong = Counter(), []
    if not _tracer.can_trace():
        return Counter({"left out: needs Linux on x86-64": 1}), wrong
    template, before = share.template, content(share.template)
    for verb in share.some(verbs):
        box, seen = box_of(template, share.folder / "box"), set()

        def look(calls, box=box, seen=seen, verb=verb):
            ends["calls"] += 1
            if (now := _state(box)) not in seen:
                seen.add(now)
                copy = _left_by_a_kill(box, share.folder / "copy")
                _judge(copy, before, verb, f"at call {len(calls)} ({calls[-1]})", ends, wrong)

        _tracer.traced(lambda box=box, verb=verb: enter(box, verb.words), look=look)
        ends["states"] += len(seen)
    return ends, wrong


def _state(box):
    """What would show that something has changed."""
    found = []
    for place in sorted(box.rglob("*")):
        with suppress(FileNotFoundError):
            own = place.lstat()
            found.append((str(place), own.st_ino, own.st_size, own.st_mtime_ns, own.st_ctime_ns))
    return hash(tuple(found))


def _left_by_a_kill(box, copy):
    """A copy of a box in which nobody holds a lock, a minute later."""
    for _ in range(100):
        try:
            box_of(box, copy)
            break
        except (shutil.Error, FileNotFoundError):
            continue  # another thread writes on
    for place in copy.rglob(".pramana-*"):
        os.utime(place, (time.time() - 60,) * 2)
    said = box.with_name(f"{box.name}.out")
    if said.exists():
        shutil.copyfile(said, copy.with_name(f"{copy.name}.out"))
    return copy


def _calls(share, verbs, options):
    """Kills at the calls that change the file system, every one or an even choice of them."""
    ends, wrong = Counter(), []
    if not _tracer.can_trace():
        return Counter({"left out: needs Linux on x86-64": 1}), wrong
    template, before = share.template, content(share.template)
    for verb in share.some(verbs):
        chance = random.Random(f"{options.seed}-{verb.name}")
        box = box_of(template, share.folder / "box")
        calls, _ = _tracer.traced(lambda box=box, verb=verb: enter(box, verb.words))
        numbers = range(1, len(calls) + 1)
        if len(numbers) > options.calls:
            numbers = sorted(chance.sample(numbers, options.calls))
        for number in numbers:
            box = box_of(template, share.folder / "box")
            run = lambda box=box, verb=verb: enter(box, verb.words)  # noqa: E731
            seen, _ = _tracer.traced(run, kill_at=number)
            at = seen[-1] if seen else "end"
            _judge(box, before, verb, f"killed at call {number} ({at})", ends, wrong)
    return ends, wrong


def _judge(box, before, verb, when, ends, wrong):
    """What a kill left: nothing wrong, and what is left can be removed when told."""
    from pramana.base.atomic_files import remove_leftovers

    found = faults(box, before, verb)
    left = all_leftovers(box)
    ends[f"{verb.name}: {_left(content(box), before, verb, left)}"] += 1
    for parent in {one.folder.parent for one in left}:
        if parent.exists():
            remove_leftovers(parent)
    rest = [name for name in content(box) if hidden(name) and not name.startswith("stale/")]
    if rest:
        found.append(f"leftover not removed: {rest[0]}")
    if any((box / "tmp").iterdir()):
        found.append("a temporary file was left")
    wrong += (found := [f"{verb.name}, {when}: {one}" for one in found])
    _tell(ends, found)


def _left(after, before, verb, left):
    """What stands, and whether anything lies beside it: kills must have found all of these."""
    names = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    new = any(name.split("/")[0] in verb.targets for name in names)
    beside = any(one.folder.name != STALE for one in left)
    return ("new" if new else "as before") + (", leftovers named" if beside else "")


def _tell(ends, found):
    """How far it is, and what was found just now, for who waits (stderr)."""
    done = sum(number for what, number in ends.items() if ":" in what)
    if found or done % 100 == 0:
        print(f"{done:,} looked at {found or ''}", file=sys.stderr, flush=True)


# -- told to end -----------------------------------------------------------------------------------

TOLD = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def _signals(share, verbs, options):
    """Told to end: after a while, and at calls that change the file system."""
    ends, wrong = Counter(), []
    template, before = share.template, content(share.template)
    tried = verbs if options.verbs else (*verbs, *READERS)
    for number, chance in share.trials(options.signals):
        verb, one = share.verb(tried, number), chance.choice(TOLD)
        box = box_of(template, share.folder / "box")
        if verb.targets and number // len(tried) % 2 and _tracer.can_trace():
            at = 1 + int(chance.random() ** 2 * 120)
            run = lambda box=box, verb=verb: enter(box, verb.words)  # noqa: E731
            seen, status = _tracer.traced(run, kill_at=at, by=one)
            when = f"{one.name} at call {at} ({seen[min(at, len(seen)) - 1] if seen else 'none'})"
        else:
            child, wait = started(box, verb.words), chance.random() * 1.5
            time.sleep(wait)
            os.kill(child, one)
            status, when = os.waitpid(child, 0)[1], f"{one.name} after {wait:.2f} s"
        code = os.waitstatus_to_exitcode(status)
        found = faults(box, before, verb) + _after_signal(box, template, before, code, one)
        ends[f"{verb.name}: exit {code}"] += 1
        wrong += (found := [f"{verb.name}, {when}: {what}" for what in found])
        _tell(ends, found)
    return ends, wrong


def _after_signal(box, template, before, code, one):
    """What must not be after a signal, beside what must never be."""
    said, after, found = told(box), content(box), []
    if code not in (0, 1, -one, 128 + one):
        found.append(f"exit {code}: {said[-200:]!r}")
    if "Traceback" in said or "unforeseen" in said:
        found.append(said[-300:])
    if code == 128 + one and sum(line.startswith("pramana: ") for line in said.splitlines()) != 1:
        found.append(f"is not told in one line: {said[-200:]!r}")
    own = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    own = {name.split("/")[0] for name in own} - {"L", "L.key", "L.lock", "asked"}
    if held(template / "coded") == held(box / "coded"):  # a store that is opened changes bytes
        own -= {"coded"}
    own -= set() if all_leftovers(box / "stale") else {"stale"}  # all of it was removed
    if "leaves nothing behind" in said and own:
        found.append(f"says that nothing is left, beside {own}")
    if code != -one and any(hidden(name) and name not in before for name in after):
        found.append("something was left")
    return found


# -- two at once -----------------------------------------------------------------------------------


def _pairs(share, verbs, options):
    """Two of the same at once."""
    ends, wrong = Counter(), []
    template, before = share.template, content(share.template)
    own = [verb for verb in verbs if not verb.replaces and verb.name != "demo"]
    for number, chance in share.trials(options.pairs if own else 0):
        verb = share.verb(own, number)
        box = box_of(template, share.folder / "box")
        first = started(box, verb.words)
        time.sleep(chance.random() * 0.02)
        second = started(box, verb.words)
        codes = sorted(os.waitstatus_to_exitcode(os.waitpid(one, 0)[1]) for one in (first, second))
        ends[f"{verb.name}: {codes}"] += 1
        found = faults(box, before, verb)
        if codes != [0, 2]:
            found.append(f"exit codes {codes}")
        if not any(word in told(box) for word in ("appeared while", "exists already")):
            found.append(f"the second says {told(box)[:200]!r}")
        if any(hidden(name) and name not in before for name in content(box)):
            found.append("something was left")
        wrong += (found := [f"{verb.name}, pair {number}: {one}" for one in found])
        _tell(ends, found)
    return ends, wrong


# -- full disks ------------------------------------------------------------------------------------


DATABASE = 2**17
"""Bytes that a database takes while it is open, and gives back."""


def _disks(share, verbs, options):
    """Every verb with room for some share of what it needs."""
    ends, wrong = Counter(), []
    disk = share.folder / "disk"
    disk.mkdir()
    if not _mounted(disk, 64 * 2**20):
        return Counter({"left out: needs to mount a disk (tmpfs), as root": 1}), wrong
    try:
        for verb in share.some(verbs):
            chance = random.Random(f"{options.seed}-{verb.name}")
            need = 1.3 * _on_disk(share, disk, verb, None, ends, wrong)
            need = max(need, DATABASE) if {"asked", "coded"} & {*verb.targets} else need
            for number in range(options.disks):
                room = int(need * (number + chance.random()) / options.disks)
                _on_disk(share, disk, verb, room, ends, wrong)
    finally:
        subprocess.run(["umount", str(disk)], check=False)
    return ends, wrong


def _on_disk(share, disk, verb, room, ends, wrong):
    """A verb with so much room, or plenty; how much it took."""
    _mounted(disk, 2**28, again=True)
    box, place = box_of(share.template, disk / "box"), share.folder
    before, used = content(box), _used(disk)
    if room is not None:
        _mounted(disk, used + room, again=True)
    (place / "said.err").unlink(missing_ok=True)
    number = os.fork()
    if not number:
        enter(box, verb.words, said=place / "said")
    code = os.waitstatus_to_exitcode(os.waitpid(number, 0)[1])
    said, took = told(place / "said"), _used(disk) - used
    _mounted(disk, 2**28, again=True)  # who looks needs room too: a database does
    found = faults(box, before, verb)
    ends[f"{verb.name}: exit {code}"] += 1
    if code not in (0, 1, 2) or "Traceback" in said or "unforeseen" in said:
        found.append(f"exit {code}, {said[:200]!r}")
    if code and not any(word in said for word in ("No space left", "disk is full", "memory")):
        found.append(f"does not say that the disk is full: {said[:200]!r}")
    if code and "Nothing was written" in said and content(box) != before:
        found.append(f"says that nothing was written: {set(content(box)) - set(before)}")
    if any(hidden(name) and name not in before for name in content(box)):
        found.append("something was left")
    wrong += (found := [f"{verb.name}, room for {room} bytes: {one}" for one in found])
    _tell(ends, found)
    return max(took, _used(disk) - used)


def _used(disk):
    found = os.statvfs(disk)
    return (found.f_blocks - found.f_bfree) * found.f_frsize


def _mounted(disk, size, *, again=False):
    """A small disk in memory; another size of the same one if it is there already."""
    how = f"{'remount,' if again else ''}size={max(size, 4096)}"
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", how, "tmpfs", str(disk)], capture_output=True, check=False
    )
    return done.returncode == 0


# -- inputs ----------------------------------------------------------------------------------------


def _inputs(share, verbs, options):
    """Mutated inputs, in workers: one that dies is found by the case that it had announced."""
    del verbs
    folder = box_of(share.common / "inputs", share.folder / "inputs")
    cases = range(share.number, options.inputs, share.of)
    return _fault_inputs.try_inputs(folder, cases=cases, seed=options.seed)


TRIALS = {
    "kills": _kills,
    "moments": _moments,
    "calls": _calls,
    "signals": _signals,
    "pairs": _pairs,
    "disks": _disks,
    "inputs": _inputs,
}
