#!/usr/bin/env python3
"""Writes the operating guide as it is installed: guide.py SOURCE TARGET

It has the pages for people who run and use Penstock. A link to anything else in the source becomes its text; one in
parentheses, and a picture, is left out.
"""
import os
import pathlib
import re
import shutil
import sys

PAGES = ("README.md", "SECURITY.md", "deploy/*.md", "deploy/*/*.md", "client/python/*.md")
LINK = re.compile(r"( ?\()?(!?)\[([^\]]*)\]\(([^)\s]+)\)((?(1)\)|))")
ENDING = """
Links to the source of Penstock are words on these pages; the source has them all.
"""
FENCED = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)


def pages(source):
    return {path.relative_to(source) for pattern in PAGES for path in source.glob(pattern)}


def without_other_links(text, page, kept):
    def shorten(link):
        opening, picture, words, target, _ = link.groups()
        place = target.split("#")[0]
        leads_to = pathlib.Path(os.path.normpath(page.parent / place)) if place else page
        is_kept = leads_to in kept or leads_to / "README.md" in kept or ":" in target
        if is_kept:
            return link.group(0)
        return "" if picture or opening else words

    parts = FENCED.split(text)
    return "".join(part if number % 2 else LINK.sub(shorten, part) for number, part in enumerate(parts))


def main(source, target):
    kept = pages(source)
    shutil.rmtree(target, ignore_errors=True)
    for page in sorted(kept):
        (target / page).parent.mkdir(parents=True, exist_ok=True)
        text = without_other_links((source / page).read_text(), page, kept)
        (target / page).write_text(text + ENDING * (page == pathlib.Path("README.md")))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*map(pathlib.Path, sys.argv[1:]))
