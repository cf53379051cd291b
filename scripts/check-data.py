#!/usr/bin/env python3
"""Plans every conversation of a data directory with every preset and checks the contexts with an independent program.

usage: check-data.py DIRECTORY CHECKER [--cuts N] [--presets A,B] [--windows 2k,8k]

DIRECTORY has JSON lines files with one conversation per line ({"messages": [...]}). CHECKER is a Python program that reads
the output of `waterline plan --json`: its argument is the file of plans, `--source` the file of conversations. Each
conversation is planned completely and truncated at N points. Not part of CI: the data is not part of the project.
"""
import argparse, glob, json, os, subprocess, sys, tempfile, time

PRESETS = "auto,window,init,execute,chat,budget,dual-track"
WINDOWS = "2k,8k,32k,200k"
WIRES = ("openai-chat", "anthropic")


def cuts(messages, count):
    """Returns the full length, and `count` lengths spread evenly over the conversation."""
    n = len(messages)
    return sorted({n, *(max(1, n * k // (count + 1)) for k in range(1, count + 1))})


def write_cuts(path, out, count):
    lines = 0
    with open(path, encoding="utf-8") as source, open(out, "w", encoding="utf-8") as target:
        for line in source:
            conversation = json.loads(line)
            for n in cuts(conversation["messages"], count):
                truncated = dict(conversation, messages=conversation["messages"][:n], id=f"{conversation.get('id')}@{n}")
                target.write(json.dumps(truncated, ensure_ascii=False) + "\n")
                lines += 1
    return lines


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ap.add_argument("directory")
    ap.add_argument("checker")
    ap.add_argument("--cuts", type=int, default=5)
    ap.add_argument("--presets", default=PRESETS)
    ap.add_argument("--windows", default=WINDOWS)
    ap.add_argument("--program", default="target/release/waterline")
    a = ap.parse_args()
    contexts = bad = internal = 0
    start = time.time()
    with tempfile.TemporaryDirectory() as tmp:
        source, plans = os.path.join(tmp, "source.jsonl"), os.path.join(tmp, "plans.jsonl")
        for path in sorted(glob.glob(os.path.join(a.directory, "*.jsonl"))):
            lines = write_cuts(path, source, a.cuts)
            for preset in a.presets.split(","):
                for window in a.windows.split(","):
                    for wire in WIRES:
                        with open(plans, "w") as out:
                            command = [a.program, "plan", source, "--json", "--policy", preset, "--window", window, "--to", wire]
                            subprocess.run(command, stdout=out, check=True)
                        with open(plans, encoding="utf-8") as planned:
                            internal += sum("breaks a rule" in line for line in planned)
                        check = subprocess.run([sys.executable, a.checker, plans, "--source", source, "--most", "3"], capture_output=True, text=True)
                        contexts += lines
                        if check.returncode:
                            bad += 1
                            print(f"{os.path.basename(path)} {preset} {window} {wire}:\n{check.stdout}{check.stderr}", flush=True)
            print(f"{os.path.basename(path)}: {contexts} contexts so far, {bad} runs with a violation, {internal} reported by waterline, {time.time() - start:.0f} s", flush=True)
    print(f"{contexts} contexts, {bad} runs with a violation, {internal} contexts that waterline itself reports as invalid")
    return 1 if bad or internal else 0


if __name__ == "__main__":
    sys.exit(main())
