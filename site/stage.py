"""Copies the documents into a folder as Sphinx wants them: python stage.py FOLDER

README.md becomes the first page, and the pages of docs/ are beside it. Links among them follow; a link to any other
file of the project leads to the repository.
"""

import os
import posixpath
import re
import shutil
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
REPOSITORY = "https://github.com/leasehold-go/leasehold"
TOP_DOCUMENTS = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")

# The order of the pages beside the text. Pages that are not named here come last.
SECTIONS = {
    "Choose": ["which-lock", "promises"],
    "Use": ["command", "once", "cron", "top", "doctor", "exporter", "demo", "library", "metrics", "tracing", "fencing", "fencing-sql"],
    "Engines": ["engines/index", "engines/memory", "engines/sqlite", "engines/redis", "redlock", "redisson",
                "engines/postgres", "engines/etcd", "engines/zookeeper", "engines/versions", "performance",
                "performance-library"],
    "Project": ["changelog", "security", "contributing"],
}


def page_of(source):
    """Returns the name that a document of the project has on the site, or None if it is not there."""
    if source in TOP_DOCUMENTS:
        return "index.md" if source == "README.md" else source.lower()
    if not source.startswith("docs/") or not (TOP / source).is_file():
        return None
    page = source.removeprefix("docs/")
    return page.replace("README.md", "index.md")


def new_target(target, source):
    """Returns what a link in a document leads to on the site."""
    path, mark, anchor = target.partition("#")
    if not path or re.match(r"[a-z][a-z0-9+.-]*:", path):
        return target
    file = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
    if not (TOP / file).exists():
        sys.exit(f"stage.py: {source}: ({target}) leads nowhere")
    page = page_of(file)
    if page is None:
        what = "tree" if (TOP / file).is_dir() else "blob"
        return f"{REPOSITORY}/{what}/main/{file}{mark}{anchor}"
    return posixpath.relpath(page, posixpath.dirname(page_of(source)) or ".") + mark + anchor


CODE = re.compile(r"^( *)```.*?^\1```$|`[^`\n]+`", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(\]\()([^)\s]+)(\))|(^\[[^\]]+\]: )(\S+)()$", re.MULTILINE)


def on_the_site(text, source):
    """Returns the text of a document with its links changed, and its code as it is."""

    def change(link):
        before, target, after = (part for part in link.groups() if part is not None)
        return before + new_target(target, source) + after

    kept = {}

    def keep(code):
        key = f"\x00{len(kept)}\x00"
        kept[key] = re.sub(r"^( *```)(?:sql (postgresql)|(sql) \w+)", r"\1\2\3", code.group())
        return key

    text = LINK.sub(change, CODE.sub(keep, text))
    return re.sub("\x00\\d+\x00", lambda key: kept[key.group()], text)


def contents(pages):
    """Returns the tables of contents that the first page ends with. They are only seen beside the text."""
    rest = sorted(page for page in pages if page != "index" and page not in sum(SECTIONS.values(), []))
    sections = {name: list(of) for name, of in SECTIONS.items()}
    sections["Project"] += [page for page in rest if not page.startswith("decisions/") or page == "decisions/index"]
    blocks = [f"\n```{{toctree}}\n:hidden:\n:caption: {name}\n\n" + "\n".join(of) + "\n```\n"
              for name, of in sections.items()]
    return "".join(blocks)


def main(folder):
    shutil.rmtree(folder, ignore_errors=True)
    pages = []
    sources = list(TOP_DOCUMENTS) + sorted(str(path.relative_to(TOP)) for path in (TOP / "docs").rglob("*"))
    for source in sources:
        if page_of(source) is None:
            continue
        there = folder / page_of(source)
        os.makedirs(there.parent, exist_ok=True)
        if not source.endswith(".md"):
            shutil.copyfile(TOP / source, there)
            continue
        text = on_the_site((TOP / source).read_text(), source)
        if source == "docs/decisions/README.md":
            decisions = sorted(path.stem for path in (TOP / "docs/decisions").glob("[0-9]*.md"))
            text += "\n```{toctree}\n:hidden:\n\n" + "\n".join(decisions) + "\n```\n"
        there.write_text(text)
        pages.append(page_of(source).removesuffix(".md"))
    index = folder / "index.md"
    index.write_text(index.read_text() + contents(pages))


main(Path(sys.argv[1]))
