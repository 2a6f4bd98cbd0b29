"""Checks the built site: python check.py FOLDER

Nothing is loaded from elsewhere, pages and pictures are there, and the search finds what the documents tell of.
"""

import json
import re
import sys
from html.parser import HTMLParser
from pathlib import Path

import snowballstemmer

# Searches, and a page that must be among the results.
SEARCHES = {
    "fencing token": "fencing",
    "failover guard": "engines/redis",
    "exit codes": "command",
    "eviction": "doctor",
}

# What a browser loads by itself, unlike the target of a link.
LOADS = {"img": "src", "script": "src", "iframe": "src", "source": "src", "video": "src", "link": "href", "object": "data"}


class Loads(HTMLParser):
    """Collects what a page loads."""

    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        if LOADS.get(tag) in values:
            self.found.append(values[LOADS[tag]])


def failures_of_loads(top):
    for file in sorted(top.rglob("*")):
        if file.suffix == ".html":
            found = Loads(file.read_text()).found
        elif file.suffix == ".css":
            found = [u for u in re.findall(r"""(?:url\(|@import )["']?([^"')]+)""", file.read_text())]
        else:
            continue
        for target in found:
            path = target.split("?")[0].split("#")[0]
            if re.match(r"(https?:)?//", target):
                yield f"{file.relative_to(top)} loads {target} from elsewhere"
            elif path and not target.startswith("data:") and not (file.parent / path).exists():
                yield f"{file.relative_to(top)} loads {target}, which is not there"


def failures_of_search(top):
    text = (top / "searchindex.js").read_text()
    index = json.loads(text.removeprefix("Search.setIndex(").removesuffix(")"))
    stemmer = snowballstemmer.stemmer("porter")
    for words, page in SEARCHES.items():
        results = None
        for word in words.split():
            found = set()
            for terms in (index["terms"], index["titleterms"]):
                documents = terms.get(stemmer.stemWord(word), [])
                found |= set(documents if isinstance(documents, list) else [documents])
            results = found if results is None else results & found
        if page not in {index["docnames"][n] for n in results}:
            yield f"a search for {words!r} does not find {page}"


def main(top):
    pages = len(list(top.rglob("*.html")))
    failures = list(failures_of_loads(top)) + list(failures_of_search(top))
    for failure in failures:
        print(f"check.py: {failure}", file=sys.stderr)
    print(f"{pages} pages, {len(SEARCHES)} searches")
    sys.exit(1 if failures or not pages else 0)


main(Path(sys.argv[1]))
