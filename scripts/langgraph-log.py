#!/usr/bin/env python3
"""Measures LangGraph's SqliteSaver as the log of an agent's messages: durable appends, opening, size, forks.

    python3 -m venv /tmp/langgraph-venv
    /tmp/langgraph-venv/bin/pip install langgraph langgraph-checkpoint-sqlite
    /tmp/langgraph-venv/bin/python scripts/langgraph-log.py DIRECTORY [--json]

DIRECTORY is on the disk to measure. The databases are created in a temporary directory inside it and removed afterwards (by
default at most about 10 GB, used by the eight writers through the graph).

Every connection sets `PRAGMA synchronous=FULL`: a commit is on disk before `put` returns. SqliteSaver itself sets only
`PRAGMA journal_mode=WAL` and leaves `synchronous` at SQLite's compiled-in default, which is usually FULL.

A message is 600 bytes of {"role": …, "content": …} in JSON. There are three ways to append one durably:

    saver       `SqliteSaver.put` of a checkpoint with all messages so far: one commit
    graph       `invoke` of a graph with one node, MessagesState and LangGraph's default durability ("async": a checkpoint
                for every step and the writes of every task; all are committed when `invoke` returns)
    graph-exit  the same with durability="exit": one checkpoint per `invoke` (only measured if --ways includes it)

A checkpoint has all messages, so an append costs more the longer the session is: the figures apply to the measured length.
"""
from __future__ import annotations

import argparse
import json
import os
import random
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing, contextmanager
from functools import partial
from importlib.metadata import version
from multiprocessing import get_context
from threading import Barrier
from typing import NamedTuple
from uuid import UUID

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple, empty_checkpoint
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Durability

PACKAGES = ("langgraph", "langgraph-checkpoint", "langgraph-checkpoint-sqlite", "langchain-core")
WORDS = """the file a test of and it reads is not path in error to with line return value was for build that call name
function change this we run where type list should output module first config when more than one because request server""".split()
MESSAGE_BYTES = 600
LOCK_SECONDS = 600.0
START_SECONDS = 120.0
SPAWN = get_context("spawn")

Append = Callable[[SqliteSaver, str, list[BaseMessage]], None]


class Figure(NamedTuple):
    name: str
    value: float
    unit: str


class Written(NamedTuple):
    """The result of one writer: start and end, on a clock shared by all processes, and the bytes of its messages."""

    started: float
    ended: float
    message_bytes: int


def in_json(message: BaseMessage) -> str:
    role = "user" if message.type == "human" else "assistant"
    return json.dumps({"role": role, "content": message.content})


def make_message(rng: random.Random, kind: type[BaseMessage]) -> BaseMessage:
    message = kind(content="", id=str(UUID(int=rng.getrandbits(128), version=4)))
    room = MESSAGE_BYTES - len(in_json(message))
    message.content = " ".join(rng.choices(WORDS, k=room))[:room]
    return message


def make_messages(count: int, seed: str) -> list[BaseMessage]:
    rng = random.Random(seed)
    return [make_message(rng, AIMessage if n % 2 else HumanMessage) for n in range(count)]


@contextmanager
def opened(path: str) -> Iterator[SqliteSaver]:
    with closing(sqlite3.connect(path, timeout=LOCK_SECONDS, check_same_thread=False)) as connection:
        connection.execute("PRAGMA synchronous=FULL")
        saver = SqliteSaver(connection)
        saver.setup()
        yield saver


def session(thread: str) -> RunnableConfig:
    return {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}


def put_messages(saver: SqliteSaver, config: RunnableConfig, messages: list[BaseMessage]) -> RunnableConfig:
    versions: dict[str, str | int | float] = {"messages": len(messages)}
    checkpoint = empty_checkpoint()
    checkpoint["channel_values"] = {"messages": messages}
    checkpoint["channel_versions"] = versions
    return saver.put(config, checkpoint, {"source": "loop", "step": len(messages)}, versions)


def append_by_saver(saver: SqliteSaver, thread: str, messages: list[BaseMessage]) -> None:
    config = session(thread)
    for count in range(1, len(messages) + 1):
        config = put_messages(saver, config, messages[:count])


def append_by_graph(saver: SqliteSaver, thread: str, messages: list[BaseMessage], durability: Durability) -> None:
    coming = iter(messages)
    builder = StateGraph(MessagesState)
    builder.add_node("append", lambda state: {"messages": [next(coming)]})
    builder.add_edge(START, "append")
    builder.add_edge("append", END)
    graph = builder.compile(checkpointer=saver)
    for _ in messages:
        graph.invoke({"messages": []}, session(thread), durability=durability)


WAYS: dict[str, Append] = {
    "saver": append_by_saver,
    "graph": partial(append_by_graph, durability="async"),
    "graph-exit": partial(append_by_graph, durability="exit"),
}


def load(saver: SqliteSaver, thread: str) -> CheckpointTuple:
    found = saver.get_tuple(session(thread))
    assert found is not None, f"no session {thread}"
    return found


def load_messages(saver: SqliteSaver, thread: str) -> list[BaseMessage]:
    messages: list[BaseMessage] = load(saver, thread).checkpoint["channel_values"]["messages"]
    return messages


def stored_bytes(path: str) -> int:
    """Returns the size of the database, after its write-ahead log has been merged into it."""
    with opened(path) as saver:
        busy, _, _ = saver.conn.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        assert not busy, f"{path} is in use"
        return sum(os.path.getsize(part) for part in (path, path + "-wal") if os.path.exists(part))


def write_session(path: str, way: str, thread: str, count: int, start: Barrier) -> Written:
    messages = make_messages(count, thread)
    with opened(path) as saver:
        start.wait(START_SECONDS)
        started = time.monotonic()
        WAYS[way](saver, thread, messages)
        ended = time.monotonic()
        assert load_messages(saver, thread) == messages, f"{thread} lost messages"
    return Written(started, ended, sum(len(in_json(message)) for message in messages))


def write_sessions(path: str, way: str, writers: int, count: int) -> list[Written]:
    """Writes one session in each of `writers` processes, all at the same time."""
    with opened(path):
        pass  # creates the tables before the writers start, which would race to create them
    with SPAWN.Manager() as manager, ProcessPoolExecutor(writers, SPAWN) as pool:
        start = manager.Barrier(writers)
        tasks = [pool.submit(write_session, path, way, f"session-{n}", count, start) for n in range(writers)]
        return [task.result() for task in tasks]


def measure_appends(directory: str, way: str, writers: int, count: int) -> list[Figure]:
    with tempfile.TemporaryDirectory(dir=directory) as own:
        path = os.path.join(own, "log.db")
        written = write_sessions(path, way, writers, count)
        seconds = max(w.ended for w in written) - min(w.started for w in written)
        ratio = stored_bytes(path) / sum(w.message_bytes for w in written)
    what = f"{way}, writers {writers}, {count} each"
    return [
        Figure(f"appends ({what})", writers * count / seconds, "appends/s"),
        Figure(f"bytes per message byte ({what})", ratio, "bytes/byte"),
    ]


def time_open(path: str, thread: str, count: int) -> float:
    started = time.monotonic()
    with opened(path) as saver:
        messages = load_messages(saver, thread)
        seconds = time.monotonic() - started
    assert len(messages) == count and isinstance(messages[-1], BaseMessage)
    return seconds


def time_open_afresh(path: str, thread: str, count: int) -> float:
    with ProcessPoolExecutor(1, SPAWN) as pool:
        return pool.submit(time_open, path, thread, count).result()


def measure_open(directory: str, count: int, times: int) -> Figure:
    with tempfile.TemporaryDirectory(dir=directory) as own:
        path = os.path.join(own, "log.db")
        with opened(path) as saver:
            put_messages(saver, session("long"), make_messages(count, "long"))
        seconds = [time_open_afresh(path, "long", count) for _ in range(times)]
    return Figure(f"open ({count} messages, median of {times})", statistics.median(seconds) * 1000, "ms")


def fork(saver: SqliteSaver, origin: str, thread: str) -> None:
    found = load(saver, origin)
    saver.put(session(thread), found.checkpoint, found.metadata, found.checkpoint["channel_versions"])


def measure_forks(directory: str, count: int, forks: int) -> Figure:
    with tempfile.TemporaryDirectory(dir=directory) as own:
        path = os.path.join(own, "log.db")
        with opened(path) as saver:
            put_messages(saver, session("origin"), make_messages(count, "origin"))
        before = stored_bytes(path)
        with opened(path) as saver:
            for n in range(forks):
                fork(saver, "origin", f"fork-{n}")
        growth = (stored_bytes(path) - before) / forks
    return Figure(f"forks ({count} messages, {forks} forks)", growth, "bytes/fork")


def measure(directory: str, a: argparse.Namespace) -> Iterator[Figure]:
    for _ in range(a.runs):
        for writers in a.writers:
            for way in a.ways:
                yield from measure_appends(directory, way, writers, a.appends)
    yield measure_open(directory, a.messages, 5)
    yield measure_forks(directory, a.appends, a.forks)


def arguments() -> argparse.Namespace:
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ap.add_argument("directory", help="where the databases are created and removed")
    ap.add_argument("--appends", type=int, default=1000, help="number of messages in a session that is appended to or forked")
    ap.add_argument("--writers", type=int, nargs="+", default=[1, 8], help="number of processes that append at the same time")
    ap.add_argument("--ways", nargs="+", choices=WAYS, default=["saver", "graph"], help="ways to append")
    ap.add_argument("--runs", type=int, default=2, help="how often the appends are measured")
    ap.add_argument("--messages", type=int, default=100_000, help="number of messages in the session that is opened")
    ap.add_argument("--forks", type=int, default=100)
    ap.add_argument("--json", action="store_true", help="print one JSON object")
    return ap.parse_args()


def main() -> None:
    a = arguments()
    versions = {name: version(name) for name in PACKAGES} | {"sqlite": sqlite3.sqlite_version}
    figures = []
    with tempfile.TemporaryDirectory(dir=a.directory) as directory:
        for figure in measure(directory, a):
            figures.append(figure._asdict())
            if not a.json:
                print(f"{figure.name}: {figure.value:,.2f} {figure.unit}", flush=True)
    if a.json:
        print(json.dumps({"versions": versions, "figures": figures}, indent=2))


if __name__ == "__main__":
    main()
