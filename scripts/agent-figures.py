#!/usr/bin/env python3
"""Measures how long `waterline chat` takes to show its prompt and to echo a key, and its peak memory.

usage: scripts/agent-figures.py PROGRAM

Starts the program several times in a pseudo-terminal and waits for the prompt, in a new session and in one of 10,000
messages; in each it then presses keys and waits for their echo. Then runs one turn in each and measures the memory. All
data is temporary."""

import json, os, pty, select, statistics, subprocess, sys, tempfile, time

program = os.path.abspath(sys.argv[1])
home = tempfile.mkdtemp()
env = {"HOME": home, "PATH": os.environ["PATH"], "TERM": "xterm-256color", "LANG": "C.UTF-8"}


KEYS = b"the quick brown fox jumps over the lazy dog " * 3


def start(arguments):
    """Starts a chat. Returns its process, its terminal and the seconds until the prompt is on the screen."""
    begin = time.perf_counter()
    pid, fd = pty.fork()
    if pid == 0:
        os.execve(program, [program, "chat", "--model", "offline", *arguments], env)
    read_until(fd, "›".encode())
    return pid, fd, time.perf_counter() - begin


def read_until(fd, expected):
    """Reads the terminal until it has shown some bytes."""
    seen = b""
    while expected not in seen:
        if not select.select([fd], [], [], 10)[0]:
            sys.exit(f"{expected!r} did not appear")
        piece = os.read(fd, 65536)
        seen += piece
        if b"\x1b[6n" in piece:  # a query for the cursor position
            os.write(fd, b"\x1b[1;1R")


def end(pid, fd):
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    os.close(fd)


def to_prompt(arguments):
    """Returns the seconds until the prompt is on the screen."""
    pid, fd, took = start(arguments)
    end(pid, fd)
    return took


def to_echo(arguments):
    """Returns the seconds from each key to its echo, and the memory at the prompt in MB: all of it, and without pages of
    files, which processes share."""
    pid, fd, _ = start(arguments)
    time.sleep(1)  # what the program does after the prompt is not measured
    while select.select([fd], [], [], 0)[0]:
        os.read(fd, 65536)
    status = dict(line.split(":", 1) for line in open(f"/proc/{pid}/status"))
    memory = [int(status[name].split()[0]) / 1000 for name in ("VmRSS", "RssAnon")]
    took = []
    for key in KEYS:
        begin = time.perf_counter()
        os.write(fd, bytes([key]))
        read_until(fd, bytes([key]))
        took.append(time.perf_counter() - begin)
        time.sleep(0.01)  # the rest of the screen
        while select.select([fd], [], [], 0)[0]:
            os.read(fd, 65536)
    end(pid, fd)
    return took, memory


def peak(arguments, lines):
    """Returns the peak memory of a conversation read from a pipe, in MB."""
    child = subprocess.Popen([program, "chat", "--model", "offline", *arguments], stdin=subprocess.PIPE,
                             stdout=subprocess.DEVNULL, env=env)
    child.stdin.write("\n".join(lines + ["/quit", ""]).encode())
    child.stdin.close()
    _, _, usage = os.wait4(child.pid, 0)
    return usage.ru_maxrss / 1000


def conversation(turns):
    messages = [{"role": "system", "content": "You help with boats."}]
    for i in range(turns):
        messages.append({"role": "user", "content": f"Question {i}: what about rope {i * 7} in docs/h{i % 97}/rope_{i}.md?"})
        messages.append({"role": "assistant", "content": f"Rope {i * 7} lies in harbour {i % 97}. " + "It is old but holds. " * 15})
    return {"id": "big", "model": "gpt-4o", "messages": messages}


db = os.path.join(home, "log.db")
file = os.path.join(home, "big.json")
json.dump(conversation(5000), open(file, "w"))
subprocess.run([program, "sessions", "import", file, "--db", db], env=env, check=True, capture_output=True)
for name, arguments in [("a new session", ["--db", db]), ("10,000 messages", ["--db", db, "--session", "big"])]:
    took = [to_prompt(arguments) * 1000 for _ in range(11)]
    print(f"time to prompt, {name}: median {statistics.median(took):.0f} ms, slowest {max(took):.0f} ms")
    took, memory = to_echo(arguments)
    took = [seconds * 1000 for seconds in took]
    print(f"key to echo, {name}: median {statistics.median(took):.2f} ms, slowest {max(took):.1f} ms, {len(took)} keys")
    print(f"memory at the prompt, {name}: {memory[0]:.0f} MB, {memory[1]:.1f} MB of it its own")
print(f"memory, a new session, one turn: {peak(['--db', db], ['list files']):.0f} MB")
print(f"memory, 10,000 messages, one turn and /context: {peak(['--db', db, '--session', 'big'], ['what about rope 700?', '/context']):.0f} MB")
