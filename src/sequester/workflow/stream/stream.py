"""Publish snapshots of a stream as their files arrive."""

from __future__ import annotations

import hashlib
import io
import json
import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from sequester._repr import Document
from sequester.data.schema import ROW
from sequester.errors import InputError, WarningCollector
from sequester.hierarchies.labels import counted
from sequester.methods.reposition.algorithm import in_several, unplanned, window_seed
from sequester.methods.reposition.method import SnapshotMethod
from sequester.methods.reposition.window import label_codes
from sequester.release.fields import plain_table
from sequester.release.randomness import Randomness, seed_warnings
from sequester.release.staging import sync_file, sync_folder
from sequester.verification.streams import PAGE as PUBLIC_PAGE
from sequester.verification.streams import read_certificates, stream_page
from sequester.workflow.config import Config
from sequester.workflow.run import SILENT, RunContext
from sequester.workflow.stream.publish import (
    PersonNumbers,
    Rejected,
    count_repeated,
    fold,
    reject,
    run_of,
    snapshot_files,
    write_page,
)
from sequester.workflow.stream.state import PERSON, REJECTED, Inbox, State, as_json, open_state, ordered

if TYPE_CHECKING:
    from collections.abc import Callable

    from sequester.engine import Progress
    from sequester.errors import Warn
    from sequester.methods.reposition.window import Published
    from sequester.workflow.stream.state import ReadSnapshot, TakenFile

_WAIT = 1.0
"""Seconds between two looks into the input folder."""
PARTIAL = ".partial"
"""Ending of a file that is being written; its name also begins with a dot."""


@dataclass(kw_only=True)
class StreamResult(Document):
    """What a run of a stream did, as ``stream --json`` prints it."""

    out: Path
    """Where the published snapshots are."""
    taken: list[str] = field(default_factory=list)
    """Files that became snapshots."""
    published: list[str] = field(default_factory=list)
    """Snapshots that were published, by their stem."""
    rejected: list[Rejected] = field(default_factory=list)
    """Files that were not taken."""
    in_window: int = 0
    """Snapshots that wait for others to come."""
    left_out: dict[str, int] = field(default_factory=dict)
    """Rows of the taken files that were left out on reading, by file."""
    unpublished: dict[str, int] = field(default_factory=dict)
    """Records of the whole stream that are never published, per sensitive value; most first."""
    repeated_persons: int = 0
    """Persons of the whole stream with records in several published snapshots."""
    warnings: tuple[str, ...] = ()
    """What the steward must know."""


def stream(
    config: str | Path | Config,
    *,
    inputs: str | Path,
    out: str | Path,
    state: str | Path,
    follow: bool = False,
    finish: bool = False,
    run: RunContext = SILENT,
    stop: Callable[[], bool] = lambda: False,
) -> StreamResult:
    """Take what is in the input folder, publish what leaves the window, and go on where an earlier run ended.

    Parameters
    ----------
    config
        The configuration; its ``data.path`` is not needed.
    inputs
        The folder of input files, each one snapshot, in name order.
    out
        The folder of published snapshots.
    state
        The folder of what is kept between runs; as sensitive as the input.
    follow
        Wait for more files, until interrupted or `stop` says so.
    finish
        Publish what is still in the window: nothing more will come.
    run
        Whom it tells how many files are done, and what the steward must know.
    stop
        Asked between files.

    Raises
    ------
    InputError
        Where the configuration or a folder is at fault, the parameters are others than before, another
        process uses the state, or the disk is full; what was taken before is safe.
    """
    config = Config.load(config, without_data=True)
    inputs, out, folder = Path(inputs), Path(out), Path(state)
    method = _snapshot_method(config)
    _refuse_folders(inputs, out, folder)
    collect = WarningCollector(run.warn)
    with open_state(folder) as kept:
        try:
            out.mkdir(parents=True, exist_ok=True)
            work = StreamRun(config, method, kept, Inbox(inputs, config, method, collect), out, collect)
            work.recover()
            work.publish(run.progress, follow=follow, stop=stop)
            if finish:
                work.finish()
            work.clean_up()
        except OSError as error:
            place = error.filename or out
            msg = f"cannot go on at {place}: {error.strerror}; what was taken before is safe"
            raise InputError(msg) from error
        work.done.warnings = collect.lines
        return work.done


def _snapshot_method(config: Config) -> SnapshotMethod:
    """Return the method of a stream; refuse one, or a table, that does not publish file by file."""
    method, name = config.method(), config.path.name
    if not isinstance(method, SnapshotMethod):
        msg = f"{name}: method.name must be a method that publishes snapshots, got {method.name!r}"
        raise InputError(msg)
    if method.merged != 1:
        msg = f"{name}: method.name must not be {method.name!r} in a stream: it would merge files"
        raise InputError(msg)
    if config.settings.data.persons is not None:
        msg = (
            f"{name}: data.persons: stream takes no table of persons: name their attributes in data.quasi, "
            "as columns of each record"
        )
        raise InputError(msg)
    method.accept_schema(ordered(config.schema))
    return method


class StreamRun:
    """One run of a stream."""

    def __init__(
        self, config: Config, method: SnapshotMethod, state: State, inbox: Inbox, out: Path, warn: Warn
    ) -> None:
        self.config = config
        self.method = method
        self.state = state
        self.inbox = inbox
        self.out = out
        self.warn = warn
        self.done = StreamResult(out=out)
        about = state.settle(self._about())
        self.randomness = Randomness(about["seed"])
        self.numbers = PersonNumbers.of(self.randomness)
        self.window = method.new_window(window_seed(self.randomness))
        self.taken: list[TakenFile] = state.taken()
        self.held: dict[int, pl.DataFrame] = {}
        self._load()

    def _about(self) -> dict[str, str]:
        """Describe what must not change while a stream goes on; a seed only where one is given."""
        settings = self.config.settings
        data = settings.data.model_dump(exclude_unset=True, exclude={"path"})
        about = {
            "method": as_json({"name": self.method.name, **plain_table(self.method.parameters())}),
            "data": as_json(data),
            **{
                what.replace(" ", "_"): _content(path)
                for what, path in self.config.inputs.items()
                if what.startswith("the hierarchy")
            },
        }
        seed = settings.release.seed
        if seed is not None or not self.state.about():
            about["seed"] = Randomness.of(seed).seed
        for line in () if seed is None else seed_warnings(seed):
            self.warn(line)
        return about

    def _load(self) -> None:
        content = self.state.window()
        if not content:
            return
        self.held = {number: pl.read_ipc(io.BytesIO(blob)) for number, blob in self.state.held().items()}
        self.window.labels = json.loads(content["labels"])
        persons = {number: self.numbers(frame[PERSON]) for number, frame in self.held.items()}
        self.window.load(content, persons)

    def recover(self) -> None:
        """Finish what a run that was killed had begun to put in place."""
        for path in self.out.glob(f".*{PARTIAL}"):
            path.unlink()
        self._deliver()

    def publish(self, progress: Progress, *, follow: bool, stop: Callable[[], bool]) -> None:
        """Take what has come, and go on as long as somebody follows and does not stop."""
        while True:
            n_before = len(self.done.published)
            self.take_all(progress, still=follow, stop=stop)
            self.warn_repeated()
            if len(self.done.published) > n_before:
                self.write_public_page()
            if not follow or stop():
                return
            # There is nothing to say while nothing comes.
            progress(0.0, "")
            time.sleep(_WAIT)

    def take_all(self, progress: Progress, *, still: bool, stop: Callable[[], bool]) -> None:
        """Take every file that waits, by name."""
        waiting = self.inbox.waiting(self.taken, still=still)
        for place, path in enumerate(waiting):
            if stop():
                return
            progress(place / len(waiting), f"reading {path.name}")
            try:
                arrived = self.inbox.read(path, self.taken, waiting, self.window.labels)
            except InputError as error:
                self.done.rejected.append(reject(path, tuple(error.lines), self.state.folder / REJECTED))
                continue
            self._take(arrived)

    def _take(self, arrived: ReadSnapshot) -> None:
        noted, records = arrived.taken, arrived.records
        attribute = next(iter(self.config.schema.sensitive))
        distinct = records[attribute].unique().sort().to_list()
        codes = dict(zip(distinct, label_codes(distinct, self.window.labels), strict=True))
        values = records[attribute].replace_strict(codes, return_dtype=pl.Int32).to_numpy()
        published = self.window.feed(values, self.numbers(records[PERSON]))
        self.held[noted.number] = records
        packed = io.BytesIO()
        records.write_ipc(packed, compression="lz4")
        with self.state.transaction():
            self.state.delivered()
            self.state.take(noted, packed.getvalue())
            self.taken.append(noted)
            self._commit(published)
        self.done.taken.append(noted.name)
        self._warn_left_out(arrived)
        self._deliver()

    def _warn_left_out(self, arrived: ReadSnapshot) -> None:
        if arrived.reading is not None and arrived.reading.left_out:
            name = arrived.taken.name
            self.done.left_out[name] = arrived.reading.left_out
            self.warn(f"{name}: {next(arrived.reading.lines())}")

    def finish(self) -> None:
        """Publish everything that is still in the window."""
        published = self.window.flush()
        with self.state.transaction():
            self.state.delivered()
            self._commit(published)
        self._deliver()

    def clean_up(self) -> None:
        """Leave nothing behind that is in its place already; say who is not protected, and what is left."""
        with self.state.transaction():
            self.state.delivered()
        self.warn_repeated()
        if self.state.n_published():
            self.write_public_page()
            write_page(self.out, self.state.folder, lost=self.state.expired())
        if self.window.n_unplanned:
            self.warn(unplanned(self.window.n_unplanned))
        self.done.in_window = self.window.n_fed - self.window.n_published
        self.done.unpublished = self.state.expired()

    def write_public_page(self) -> None:
        """Write the recipients' page again, whole, from the certificates that are published."""
        page = stream_page(read_certificates(self.out))
        self._write_aside(PUBLIC_PAGE, page).replace(self.out / PUBLIC_PAGE)

    def warn_repeated(self) -> None:
        """Count who is in several snapshots of the whole stream, where more were published, and say so."""
        n_counted, repeated = self.state.repeated()
        n_published = self.state.n_published()
        if n_published > n_counted:
            repeated = count_repeated(self.state)
            with self.state.transaction():
                self.state.note_repeated(n_published, repeated)
            if repeated:
                self.warn(in_several(repeated))
        self.done.repeated_persons = repeated

    def _commit(self, published: list[Published]) -> None:
        """Note the new window and what left it, in the transaction that is open."""
        for each in published:
            noted = self.taken[each.number]
            if not each.rows.size and noted.records:
                self._warn_nothing_published(noted)
            expired = each.expired.nonzero()[0].tolist()
            counts = {self.window.labels[value]: int(each.expired[value]) for value in expired}
            self.state.expire(each.number, counts)
            if self.config.schema.person != ROW:
                self.state.add_run(each.number, run_of(self.window.persons_of(each)))
            files = snapshot_files(
                each,
                method=self.method,
                schema=self.config.schema,
                about=self.config.about,
                stem=noted.stem,
                label=noted.label,
                held=self.held,
                values=self.window.labels,
                randomness=self.randomness,
            )
            *_, certificate = files.values()
            self.state.publish(each.number, noted.stem, certificate.decode(), files)
            self.done.published.append(noted.stem)
        oldest = self.window.n_published - (self.window.size - 1)
        for number in [each for each in self.held if each < oldest]:
            del self.held[number]
        self.state.forget_before(oldest)
        self.state.save_window({**self.window.dump(), "labels": as_json(self.window.labels).encode()})

    def _warn_nothing_published(self, noted: TakenFile) -> None:
        known = counted(len(self.window.labels), "sensitive value", "sensitive values")
        self.warn(
            f"nothing could be published in {noted.label}: l = {self.method.l} needs as many different "
            f"values in a window, and {known} came so far in the whole stream"
        )

    def _deliver(self) -> None:
        """Put the files of the outbox in their places, whole; again where a killed run may have done so."""
        contents = {name: content for _, name, content in self.state.outbox()}
        asides = {name: self._write_aside(name, content) for name, content in contents.items()}
        for name, aside in asides.items():
            aside.replace(self.out / name)
        if asides:
            sync_folder(self.out)
        fold(self.state)

    def _write_aside(self, name: str, content: bytes) -> Path:
        aside = self.out / f".{name}{PARTIAL}"
        with aside.open("wb") as file:
            file.write(content)
        sync_file(aside)
        return aside


def _content(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        msg = f"cannot read {path}: {error.strerror}"
        raise InputError(msg) from None


def _refuse_folders(inputs: Path, out: Path, state: Path) -> None:
    if not inputs.is_dir():
        msg = f"--in must be a folder, got {inputs}"
        raise InputError(msg)
    places = {"--in": inputs, "--out": out, "--state": state}
    real = {name: Path(os.path.realpath(path)) for name, path in places.items()}
    lines = [
        f"{one} {places[one]} must not be inside or around {other} {places[other]}"
        for one, other in (("--out", "--in"), ("--state", "--in"), ("--state", "--out"))
        if real[one].is_relative_to(real[other]) or real[other].is_relative_to(real[one])
    ]
    if lines:
        raise InputError(*lines)
