#!/usr/bin/env python3
"""Writes the operating guide as it is installed: guide.py SOURCE TARGET

It has the pages for people who run and use Penstock. A link to anything else in the source becomes its text.
"""
import os
import pathlib
import re
import shutil
import sys

PAGES = ("README.md", "SECURITY.md", "deploy/*.md", "deploy/*/*.md", "client/python/*.md")
LINK = re.compile(r"!?\[([^\]]*)\]\(([^)\s]+)\)")
FENCED = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)


def pages(source):
    return {path.relative_to(source) for pattern in PAGES for path in source.glob(pattern)}


def without_other_links(text, page, kept):
    def shorten(link):
        words, target = link.groups()
        place = target.split("#")[0]
        leads_to = pathlib.Path(os.path.normpath(page.parent / place)) if place else page
        is_kept = leads_to in kept or leads_to / "README.md" in kept or ":" in target
        return link.group(0) if is_kept else words

    parts = FENCED.split(text)
    return "".join(part if number % 2 else LINK.sub(shorten, part) for number, part in enumerate(parts))


def main(source, target):
    kept = pages(source)
    shutil.rmtree(target, ignore_errors=True)
    for page in sorted(kept):
        (target / page).parent.mkdir(parents=True, exist_ok=True)
        (target / page).write_text(without_other_links((source / page).read_text(), page, kept))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*map(pathlib.Path, sys.argv[1:]))
