#!/usr/bin/env python3
"""Counts the messages in session files of other programs, and compares the counts with those of `waterline convert`.

    scripts/count-sessions.py DIRECTORY [BINARY]

Supports Claude Code, Codex, Copilot CLI and pi (lines), Gemini CLI and OpenCode (documents), and lines of Anthropic
messages. It shares no code with the readers: it counts user messages, answers, calls and results in the raw files.
"""
import glob
import json
import subprocess
import sys


def claude(events):
    messages = [e for e in events if e.get("type") in ("user", "assistant")]
    blocks = [(e, b) for e in messages for b in (e["message"]["content"] if isinstance(e["message"]["content"], list) else [])]
    results = [b for _, b in blocks if b["type"] == "tool_result"]
    with_results = {id(e) for e, b in blocks if b["type"] == "tool_result"}
    users = [e for e in messages if e["type"] == "user" and id(e) not in with_results]
    answers = {e["message"]["id"] for e in messages if e["type"] == "assistant"}
    return len(users), len(answers), sum(b["type"] == "tool_use" for _, b in blocks), len(results)


def codex(events):
    items = [e["payload"] for e in events if e["type"] == "response_item"]
    kinds = [i["type"] for i in items]
    users = sum(i["type"] == "message" and i["role"] == "user" for i in items)
    answers, inside = 0, False
    for item in items:
        is_answer = item["type"] in ("reasoning", "function_call", "custom_tool_call", "web_search_call") or item.get("role") == "assistant"
        answers += is_answer and not inside
        inside = is_answer
    return users, answers, sum(k in ("function_call", "custom_tool_call") for k in kinds), sum(k.endswith("_output") for k in kinds)


def copilot(events):
    of = lambda kind: [e["data"] for e in events if e["type"] == kind]
    answers = of("assistant.message")
    return len(of("user.message")), len(answers), sum(len(a["toolRequests"]) for a in answers), len(of("tool.execution_complete"))


def pi(events):
    messages = [e["message"] for e in events if e["type"] == "message"]
    of = lambda role: [m for m in messages if m["role"] == role]
    calls = sum(b["type"] == "toolCall" for m in of("assistant") for b in m["content"])
    return len(of("user")), len(of("assistant")), calls, len(of("toolResult"))


def anthropic(lines):
    total = [0, 0, 0, 0]
    for message in (m for line in lines for m in line["messages"]):
        kinds = [b["type"] for b in message["content"]]
        total[0] += message["role"] == "user" and any(k != "tool_result" for k in kinds)
        total[1] += message["role"] == "assistant"
        total[2] += kinds.count("tool_use")
        total[3] += kinds.count("tool_result")
    return tuple(total)


def gemini(document):
    messages = document["messages"]
    calls = [c for m in messages for c in m.get("toolCalls", [])]
    of = lambda kind: sum(m["type"] == kind for m in messages)
    return of("user"), of("gemini"), len(calls), sum(bool(c.get("result")) for c in calls)


def opencode(document):
    of = lambda role: sum(m["info"]["role"] == role for m in document["messages"])
    tools = [p for m in document["messages"] for p in m["parts"] if p["type"] == "tool"]
    return of("user"), of("assistant"), len(tools), sum(t["state"]["status"] in ("completed", "error") for t in tools)


def count(path):
    text = open(path, encoding="utf-8").read()
    try:
        document = json.loads(text)
        return gemini(document) if "projectHash" in document else opencode(document)
    except json.JSONDecodeError:
        events = [json.loads(line) for line in text.splitlines() if line.strip()]
    keys = set().union(*(event.keys() for event in events[:20]))
    kinds = {event.get("type") for event in events}
    if "payload" in keys:
        return codex(events)
    if "session.start" in kinds:
        return copilot(events)
    if "parentUuid" in keys:
        return claude(events)
    return pi(events) if "session" in kinds else anthropic(events)


def read(path, binary):
    out = subprocess.run([binary, "convert", path, "-"], capture_output=True, text=True, check=True).stdout
    total = [0, 0, 0, 0]
    for message in (m for line in out.splitlines() for m in json.loads(line)["messages"]):
        total[0] += message["role"] == "user"
        total[1] += message["role"] == "assistant"
        total[2] += len(message.get("tool_calls") or [])
        total[3] += message["role"] == "tool"
    return tuple(total)


def main():
    binary = sys.argv[2] if len(sys.argv) > 2 else "target/release/waterline"
    differ = 0
    print("file, user messages, answers, calls, results")
    for path in sorted(glob.glob(f"{sys.argv[1]}/*.json*")):
        counted, found = count(path), read(path, binary)
        # Empty answers are not written.
        same = counted[0] == found[0] and counted[2:] == found[2:] and counted[1] >= found[1]
        differ += not same
        print(f"{path.rsplit('/', 1)[-1]}: {counted}" + ("" if same else f", but waterline reads {found}"))
    sys.exit(1 if differ else 0)


main()
