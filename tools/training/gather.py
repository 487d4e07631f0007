"""Gather parallel text, English and its translations, from folders of unpacked packages.

    python gather.py --packages DIR --descriptions DIR --cldr DIR --out pairs.tsv

`--packages` holds one folder for each package named in `packages.txt` (Debian's; unpacked with `dpkg -x`);
`--descriptions` Debian's unpacked `Translation-*` files, as the package manager fetches them when it is told the
languages; `--cldr` the unpacked npm packages cldr-annotations-full, cldr-localenames-full, cldr-dates-full and
cldr-units-full. The result has four columns: language, English, translation, source. Five minutes on two cores.
"""

from __future__ import annotations

import argparse
import random
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from catalogues import Found, from_gettext, from_mozilla
from cleaning import clean, is_pair
from published import from_cldr, from_descriptions
from wordlists import from_dict, from_ding, from_edict

MOST_OF_ONE = 6_000
"""Pairs of one language from one package: so that no program teaches the language by itself."""
MOST_OF_DICTIONARY = 60_000
MOST_TRANSLATIONS = 3
"""Different translations of one text into one language."""

Row = tuple[str, str, str, str]


def main() -> None:
    """Read all sources in parallel, drop what was seen before, write."""
    arguments = _arguments()
    jobs = [("package", folder) for folder in sorted(arguments.packages.iterdir())]
    jobs += [
        ("mozilla", arguments.packages),
        ("descriptions", arguments.descriptions),
        ("cldr", arguments.cldr),
    ]
    with ProcessPoolExecutor(arguments.threads) as pool:
        rows = [
            row for part in pool.map(read, *zip(*jobs, strict=True), chunksize=4) for row in part
        ]
    kept = list(distinct(rows))
    with arguments.out.open("w", encoding="utf-8") as out:
        out.writelines("\t".join(row) + "\n" for row in kept)
    print(f"{len(kept):,} pairs:", dict(Counter(row[0] for row in kept).most_common()))


def read(kind: str, folder: Path) -> list[Row]:
    """The clean pairs of one source, at most so many of a language."""
    source = folder.name.partition("_")[0] if kind == "package" else kind
    most = (
        MOST_OF_DICTIONARY
        if kind != "package" or source.startswith(("dict", "trans", "edict"))
        else MOST_OF_ONE
    )
    by_language: dict[str, dict[tuple[str, str], None]] = {}
    for language, english, translation in _found(kind, folder):
        pair = clean(english), clean(translation)
        if is_pair(language, *pair):
            by_language.setdefault(language, {})[pair] = None
    rng = random.Random(zlib.crc32(source.encode()))
    return [
        (language, *pair, source)
        for language, pairs in by_language.items()
        for pair in (rng.sample(list(pairs), most) if len(pairs) > most else pairs)
    ]


def distinct(rows: Iterable[Row]) -> Iterator[Row]:
    """Each pair once whatever its case, and a text's first translations into a language."""
    seen: set[tuple[str, str, str]] = set()
    counts: Counter[tuple[str, str]] = Counter()
    for row in rows:
        language, english, translation = row[0], row[1].casefold(), row[2].casefold()
        if (language, english, translation) not in seen and counts[
            language, english
        ] < MOST_TRANSLATIONS:
            seen.add((language, english, translation))
            counts[language, english] += 1
            yield row


def _found(kind: str, folder: Path) -> Iterator[Found]:
    if kind == "package":
        yield from from_gettext(folder)
        for reader, pattern in (
            (from_dict, "*.index"),
            (from_ding, "trans/de-en"),
            (from_edict, "edict/edict"),
        ):
            for file in folder.rglob(pattern):
                yield from reader(file)
    elif kind == "mozilla":
        for program in ("firefox", "thunderbird"):
            yield from from_mozilla(sorted(folder.glob(f"{program}*/**/langpack-*.xpi")))
    else:
        yield from {"descriptions": from_descriptions, "cldr": from_cldr}[kind](folder)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--packages", type=Path, required=True, help="a folder for each unpacked package"
    )
    parser.add_argument(
        "--descriptions", type=Path, required=True, help="Debian's unpacked Translation-* files"
    )
    parser.add_argument("--cldr", type=Path, required=True, help="unpacked CLDR packages")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=2)
    return parser.parse_args()


if __name__ == "__main__":
    main()
