"""What is saved and asked: the first memories of a set, and questions whose answers are among them."""

import json
from pathlib import Path

UNSCORED = "adversarial"  # questions that the memories do not answer


def load(folder, memories, questions):
    """The first `memories` of the set in file order (the last scope may be cut), and `questions` evenly spread
    over those of known answer whose whole gold is among them. Gives both as lists of dictionaries."""
    kept = [memory for _, memory in zip(range(memories), lines(folder, "memories.jsonl"))]
    for memory in kept:
        who = " ".join(part for part in (memory.get("date"), memory.get("author")) if part)
        memory["content"] = f"{who}: {memory['text']}" if who else memory["text"]
    ids = {memory["id"] for memory in kept}
    fit = [question for question in lines(folder, "queries.jsonl")
           if question["category"] != UNSCORED and question["gold"] and ids.issuperset(question["gold"])]
    count = min(questions, len(fit))
    return kept, [fit[place * len(fit) // count] for place in range(count)]


def lines(folder, name):
    with open(Path(folder) / name, encoding="utf-8") as file:
        for line in file:
            if line.strip():
                yield json.loads(line)


def recall(found, gold, depth):
    """The share of the gold among the first `depth` found."""
    first = set(found[:depth])
    return sum(memory in first for memory in gold) / len(gold)
