#!/usr/bin/env python3
"""Prepares a release in the checkout, and publishes nothing.

    release.py cut VERSION     cuts the changelog's section and sets the version; checks first that it may
    release.py notes VERSION   prints that section
"""

import datetime
import os
import re
import sys
from pathlib import Path

from pack import HERE, HOSTS
from tools import fail, run

ROOT = Path(__file__).resolve().parent.parent
CHANGELOG = "CHANGELOG.md"
UNRELEASED = "## [Unreleased]\n"
# The conventional order of kinds of changes.
KINDS = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"]
FORM = re.compile(r"(\d+)\.(\d+)\.(\d+)(?:-([0-9A-Za-z.-]+))?")


def order(version: str) -> tuple:
    """The sort key of versions: a pre-release comes before its release."""
    found = FORM.fullmatch(version)
    if not found:
        fail(f"`{version}` is no version like 1.2.3 or 1.2.3-rc.1")
    return (*map(int, found.groups()[:3]), found[4] is None, found[4] or "")


def sections(text: str) -> tuple[str, str, str]:
    """The text before the unreleased changes, these changes, and the text after."""
    before, mark, rest = text.partition(UNRELEASED)
    if not mark:
        fail(f"{CHANGELOG} has no section `{UNRELEASED.strip()}`")
    end = rest.find("\n## [")
    return (before, rest, "") if end < 0 else (before, rest[:end], rest[end + 1 :])


def tidied(body: str) -> str:
    """The changes with each kind once, in the conventional order: repeated sections are merged."""
    kinds: dict[str, list[str]] = {}
    current = None
    for line in body.splitlines():
        if line.startswith("### "):
            current = kinds.setdefault(line[4:].strip(), [])
        elif line.strip():
            if current is None:
                fail(f"{CHANGELOG}: `{line}` stands under no kind of change")
            if line.startswith("- ") and line in current:
                continue
            current.append(line)
    strange = [kind for kind in kinds if kind not in KINDS]
    if strange:
        fail(f"{CHANGELOG}: {', '.join(strange)} is no kind of change")
    return "\n".join(f"### {kind}\n\n" + "\n".join(kinds[kind]) + "\n" for kind in KINDS if kinds.get(kind))


def cut(text: str, version: str, day: str) -> str:
    """The changelog with the unreleased changes as a section of a version."""
    before, body, after = sections(text)
    body = tidied(body)
    if not body:
        fail(f"{CHANGELOG} tells of nothing new")
    return f"{before}{UNRELEASED}\n## [{version}] - {day}\n\n{body}" + (f"\n{after}" if after else "")


def notes(text: str, version: str) -> str:
    """The section of a version."""
    found = re.search(rf"^## \[{re.escape(version)}\].*?\n(.*?)(?=^## \[|\Z)", text, re.M | re.S)
    if not found:
        fail(f"{CHANGELOG} has no section for {version}")
    return found[1].strip() + "\n"


def main() -> None:
    if len(sys.argv) != 3 or sys.argv[1] not in ["cut", "notes"]:
        fail((__doc__ or "").strip())
    action, version = sys.argv[1:]
    changelog, manifest = ROOT / CHANGELOG, ROOT / "Cargo.toml"
    if action == "notes":
        print(notes(changelog.read_text(), version), end="")
        return
    text = manifest.read_text()
    place = re.compile(r'(\[workspace\.package\]\nversion = ")([^"]+)(")')
    found = place.search(text)
    if not found:
        fail("Cargo.toml has no version of the workspace")
    released = f"## [{found[2]}]" in changelog.read_text()
    if order(version) < order(found[2]) or (released and version == found[2]):
        fail(f"{version} is not newer than {found[2]}")
    if run(["git", "-C", ROOT, "status", "--porcelain"]).stdout:
        fail("the checkout has changes that are not committed")
    if run(["git", "-C", ROOT, "tag", "--list", f"v{version}"]).stdout:
        fail(f"the tag v{version} is there already")
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    now = datetime.datetime.fromtimestamp(int(epoch), datetime.UTC) if epoch else datetime.datetime.now(datetime.UTC)
    day = now.date()
    changelog.write_text(cut(changelog.read_text(), version, day.isoformat()))
    manifest.write_text(place.sub(rf"\g<1>{version}\g<3>", text, count=1))
    # The packages for hosts name it too.
    for path in (path for host, names in HOSTS.items() for path in (HERE / host / name for name in names)):
        path.write_text(path.read_text().replace(f'"version": "{found[2]}"', f'"version": "{version}"'))
    print(f"{CHANGELOG}, Cargo.toml and the packages for hosts are at {version}")


if __name__ == "__main__":
    main()
