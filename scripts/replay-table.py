#!/usr/bin/env python3
"""Converts `waterline replay … --json` to Markdown: one table per window, one row per policy, one column per file.

    waterline replay DIRECTORY --tokens chars/4 --window 8k,16k,32k,64k --json | scripts/replay-table.py [NAME=FILE…]

A policy named `auto-before` gets a table of its own, which compares it with `auto`. That table has a row for each further
FILE, which is the same JSON for another directory, called NAME.
"""
import json
import os
import sys

rows = json.load(sys.stdin)["rows"]
order = lambda name: list(dict.fromkeys(row[name] for row in rows))
cells = {(row["policy"], row["window"], row["dataset"]): row for row in rows}
others = []
for argument in sys.argv[1:]:
    name, path = argument.split("=", 1)
    others.append(name)
    with open(path) as file:
        for row in json.load(file)["rows"]:
            if row["dataset"] == "all":
                cells[row["policy"], row["window"], name] = row
short = lambda name: os.path.basename(name).removesuffix(".jsonl").removeprefix("coding_")

print("# Replay figures\n")
print("Each cell: values retained, calls intact (both in %), cost relative to never folding. The best of each column is bold.")
print("The method is described in [replay.md](replay.md), the data in [benchmarks.md](benchmarks.md).")
datasets = order("dataset")
BEFORE = "auto-before"
policies = [policy for policy in order("policy") if policy != BEFORE]
print("\n| file | sessions | tool calls with values | values |\n|---|--:|--:|--:|")
for dataset in datasets:
    row = next(row for row in rows if row["dataset"] == dataset)
    print(f"| {short(dataset)} | {row['conversations']:,} | {row['calls']:,} | {row['values']:,} |")
for window in order("window"):
    print(f"\n## Window {window:,}\n")
    print("| policy | " + " | ".join(map(short, datasets)) + " |")
    print("|---|" + "--:|" * len(datasets))
    best = {}
    for dataset in datasets:
        column = [cells[policy, window, dataset] for policy in policies]
        best[dataset] = (max(r["retained"] for r in column), max(r["calls_intact"] for r in column), min(r["cost"] for r in column))
    for policy in policies:
        texts = []
        for dataset in datasets:
            row = cells[policy, window, dataset]
            figures = [(row["retained"], f"{row['retained'] * 100:.1f}"), (row["calls_intact"], f"{row['calls_intact'] * 100:.1f}"), (row["cost"], f"{row['cost']:.2f}")]
            texts.append(" / ".join(f"**{text}**" if value == top else text for (value, text), top in zip(figures, best[dataset])))
        print(f"| {policy} | " + " | ".join(texts) + " |")

if BEFORE in order("policy"):
    print("\n## `auto` before and now\n")
    print("Each pair: before → now. *Before* is `auto` of [decision 10](decisions/0010-marks-that-pay.md), which kept 14% of the")
    print("window and a ledger of 29%; *now* is that of [decision 38](decisions/0038-more-recent-steps-whole.md). *Verbatim*")
    print("is the share of the window that is unchanged messages right after a fold, *tokens* the mean of a context. Files without")
    print("a fold are left out. The last rows of a window are other session files, as programs wrote them.\n")
    print("| window | file | retained | intact | cost | folds | verbatim | tokens |\n|--:|---|--:|--:|--:|--:|--:|--:|")
    for window in order("window"):
        for dataset in datasets + others:
            pair = [cells[policy, window, dataset] for policy in (BEFORE, "auto")]
            if not any(row["folds"] for row in pair):
                continue
            percent = lambda name, digits: " → ".join(f"{row[name] * 100:.{digits}f}" for row in pair)
            count = lambda name: " → ".join(f"{row[name]:,.0f}" for row in pair)
            cost = " → ".join(f"{row['cost']:.2f}" for row in pair)
            print(f"| {window:,} | {short(dataset)} | {percent('retained', 2)} | {percent('calls_intact', 2)} | {cost} | {count('folds')} | {percent('fold_verbatim_share', 0)} | {count('tokens_mean')} |")
