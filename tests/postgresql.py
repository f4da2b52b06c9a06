"""A PostgreSQL server of its own on a local socket; imports nothing of ours."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

PASSWORD = "Zq7.not-for-any-eye"
USER = "steward"


@dataclass(frozen=True)
class Server:
    """A running server that asks for a password."""

    folder: Path
    """Where its socket is."""

    def url(self, database: str = "postgres", user: str = USER) -> str:
        """Return the address of a database, without the password."""
        return f"postgresql://{user}@/{database}?host={self.folder}"


def binaries() -> Path | None:
    """Return the folder of the server's programs, None where it is not installed."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    named = shutil.which("initdb")
    return found[-1].parent if found else None if named is None else Path(named).parent


@contextmanager
def running(programs: Path) -> Iterator[Server]:
    """Start a server in a folder of its own, and stop and remove it in the end."""
    # A socket's path has at most 107 bytes, so the folder is not one of pytest's.
    folder = Path(tempfile.mkdtemp(prefix="pg-"))
    become: tuple[str, ...] = ()
    if os.getuid() == 0:
        # The server refuses to run as root.
        names = {each.pw_name for each in pwd.getpwall()}
        owner = pwd.getpwnam("postgres" if "postgres" in names else "nobody")
        os.chown(folder, owner.pw_uid, owner.pw_gid)
        become = ("setpriv", f"--reuid={owner.pw_uid}", f"--regid={owner.pw_gid}", "--clear-groups")

    def run(program: str, *given: str) -> None:
        # Into a file: a server that has been started would keep a pipe open.
        with (folder / "messages").open("ab") as messages:
            command = [*become, str(programs / program), "-D", str(folder / "data"), *given]
            subprocess.run(command, check=True, cwd=folder, stdout=messages, stderr=messages)

    folder.chmod(0o755)
    secret = folder / "password"
    secret.write_text(PASSWORD)
    secret.chmod(0o644)
    options = f"-k {folder} -c listen_addresses='' -c fsync=off"
    try:
        run("initdb", "-U", USER, "-A", "scram-sha-256", f"--pwfile={secret}", "--no-sync", "-E", "UTF8")
        run("pg_ctl", "-w", "-l", str(folder / "data" / "log"), "-o", options, "start")
        try:
            yield Server(folder)
        finally:
            run("pg_ctl", "-w", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
