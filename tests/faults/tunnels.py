"""A tunnel that is cut every 5 seconds under 100 connections, for a minute."""

from __future__ import annotations

from pathlib import Path

from tests.faults.servers import own_server
from tests.faults.tally import Tally
from tests.support.ssh_server import make_keys, openssh_server
from tests.support.tunnel_churn import churn

SECONDS = 60.0


def cut_tunnels(folder: Path) -> Tally:
    """Query through a tunnel that drops again and again: each answer is right or its error typed, nothing stays."""
    tally = Tally(name="tunnel")
    keys = folder / "keys"
    keys.mkdir()
    make_keys(keys)
    with own_server("postgresql") as server, openssh_server(folder / "sshd", keys=keys) as sshd:
        found = churn(folder, sshd, server.url("postgres"), seconds=SECONDS)
    tally.tries = found.answered + found.typed.total() + len(found.wrong)
    tally.answered, tally.rejected = found.answered, found.typed.total()
    tally.require(not found.wrong, f"wrong answers: {found.wrong[:3]}")
    tally.require(not found.residue, f"left over: {found.residue[:5]}")
    tally.require(found.cuts and found.answered, "no tunnel was cut, or no query was answered")
    return tally
