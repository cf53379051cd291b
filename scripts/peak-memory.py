#!/usr/bin/env python3
"""Measures the peak memory of `waterline plan` relative to the size of the conversation.

usage: peak-memory.py [--megabytes 50,200] [--program target/release/waterline]

Writes a conversation of tool calls and outputs to a temporary directory, plans it, and prints peak memory / file size.
"""
import argparse, json, os, subprocess, tempfile


def write(path, megabytes):
    size, at = 0, 0
    with open(path, "w") as out:
        out.write('{"model":"gpt-4o","messages":[{"role":"user","content":"Read it all."}')
        while size < megabytes * 1_000_000:
            lines = "\n".join(f"    let value_{(at * 7 + n) % 40001} = parse_line(&input_{n % 53}, {at + n})?; // docs/page_{n % 211}.md" for n in range(120))
            call = {"id": f"call_{at}", "type": "function", "function": {"name": "read_file", "arguments": json.dumps({"path": f"src/file_{at % 10007}.rs"})}}
            text = "," + json.dumps({"role": "assistant", "content": None, "tool_calls": [call]})
            text += "," + json.dumps({"role": "tool", "tool_call_id": f"call_{at}", "content": lines})
            out.write(text)
            size += len(text)
            at += 1
        out.write("]}\n")


def peak(command):
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    assert status == 0, command
    return usage.ru_maxrss * 1024, usage.ru_utime + usage.ru_stime


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ap.add_argument("--megabytes", default="50,200")
    ap.add_argument("--program", default="target/release/waterline")
    a = ap.parse_args()
    with tempfile.TemporaryDirectory() as tmp:
        for megabytes in map(int, a.megabytes.split(",")):
            path = os.path.join(tmp, "large.json")
            write(path, megabytes)
            size = os.path.getsize(path)
            for args in (["--window", "100k"], ["--window", "100k", "--json"], ["--window", "1000m", "--json"]):
                memory, seconds = peak([a.program, "plan", path, *args])
                print(f"{size / 1e6:7.0f} MB  plan {' '.join(args):24} {memory / 1e6:7.0f} MB  {memory / size:.2f} x  {seconds:.1f} s")


if __name__ == "__main__":
    main()
