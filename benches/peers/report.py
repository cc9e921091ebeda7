"""The results as a Markdown table."""

REFERENCE = "cerebro-vectors"

# What each row shows: its head, where the number is, how it is written, whether it has a ratio.
MEASURES = [
    ("save p50", lambda r: r["save_ms"]["p50"], "ms", True),
    ("save p99", lambda r: r["save_ms"]["p99"], "ms", True),
    ("search p50", lambda r: r["search_ms"]["p50"], "ms", True),
    ("search p99", lambda r: r["search_ms"]["p99"], "ms", True),
    ("last save is found after", lambda r: r["found_seconds"], "s", False),
    ("nothing waits after", lambda r: r["drained_seconds"], "s", False),
    ("start-up (on what it stored)", lambda r: r["start_seconds"], "s", True),
    ("first search", lambda r: r["first_search_seconds"], "s", True),
    ("resident memory", lambda r: r["resident_bytes"], "MB", True),
    ("disk", lambda r: r["disk_bytes"], "MB", True),
    ("R@5", lambda r: r["r5"], "%", False),
    ("R@10", lambda r: r["r10"], "%", False),
    ("asked otherwise", lambda r: r["otherwise"] and r["otherwise"]["how"], "", False),
    ("search p50 then", lambda r: r["otherwise"] and r["otherwise"]["search_ms"]["p50"], "ms", False),
    ("R@5 then", lambda r: r["otherwise"] and r["otherwise"]["r5"], "%", False),
    ("R@10 then", lambda r: r["otherwise"] and r["otherwise"]["r10"], "%", False),
]


def markdown(kept, order):
    results = [(name, kept["results"][name]) for name in order if name in kept["results"]]
    ran = {name: result for name, result in results if "failed" not in result}
    parts = [f"{kept['memories']} memories and {kept['questions']} questions of `{kept['set']}`; "
             f"{kept['machine']}. In brackets: multiples of the first column, more than 1 is slower or larger.",
             table(ran)]
    parts += [f"{result['name']} did not run: {result['failed']}" for _, result in results if "failed" in result]
    return "\n\n".join(parts)


def table(ran):
    heads = [f"{result['name']} {result['version']}" for result in ran.values()]
    rows = [["", *heads], ["---"] + ["---:"] * len(heads),
            ["vectors", *(result["meaning"] for result in ran.values())]]
    rows += [[measure[0], *(cell(measure, name, ran) for name in ran)] for measure in MEASURES]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def cell(measure, name, ran):
    _, number, _, compared = measure
    written = value(measure, ran[name])
    if not compared or name == REFERENCE or REFERENCE not in ran:
        return written
    return f"{written} ({three(number(ran[name]) / number(ran[REFERENCE]))}×)"


def value(measure, result):
    _, number, unit, _ = measure
    found = number(result)
    if found is None:
        return "–"
    if not unit:
        return found
    if unit == "%":
        return f"{found * 100:.1f}"
    if unit == "MB":
        return f"{three(found / 1e6)} MB"
    if unit == "s" and found < 1:
        return f"{three(found * 1000)} ms"
    return f"{three(found)} {unit}"


def three(number):
    """Two digits that count, whole numbers from 100 on."""
    if number >= 10:
        return f"{number:.0f}"
    return f"{number:.1f}" if number >= 1 else f"{number:.2g}"
