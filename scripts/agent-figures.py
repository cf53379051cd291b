#!/usr/bin/env python3
"""Measures how long `waterline chat` takes to show its prompt, and its peak memory.

usage: scripts/agent-figures.py PROGRAM

Starts the program several times in a pseudo-terminal and waits for the prompt, in a new session and in one of 10,000
messages. Then runs one turn in each and measures the memory. All data is temporary."""

import json, os, pty, select, statistics, subprocess, sys, tempfile, time

program = os.path.abspath(sys.argv[1])
home = tempfile.mkdtemp()
env = {"HOME": home, "PATH": os.environ["PATH"], "TERM": "xterm-256color", "LANG": "C.UTF-8"}


def to_prompt(arguments):
    """Returns the seconds until the prompt is on the screen."""
    start = time.perf_counter()
    pid, fd = pty.fork()
    if pid == 0:
        os.execve(program, [program, "chat", "--model", "offline", *arguments], env)
    seen = b""
    while "›".encode() not in seen:
        if not select.select([fd], [], [], 10)[0]:
            sys.exit("no prompt")
        piece = os.read(fd, 65536)
        seen += piece
        if b"\x1b[6n" in piece:  # a query for the cursor position
            os.write(fd, b"\x1b[1;1R")
    took = time.perf_counter() - start
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    os.close(fd)
    return took


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
print(f"memory, a new session, one turn: {peak(['--db', db], ['list files']):.0f} MB")
print(f"memory, 10,000 messages, one turn and /context: {peak(['--db', db, '--session', 'big'], ['what about rope 700?', '/context']):.0f} MB")
