# SPDX-License-Identifier: GPL-2.0
"""All results as one table: a CSV line for each metric of each run, with the run's keys in canonical units."""

import csv
import json
import sys
from pathlib import Path
from typing import Any, TextIO

import units
from params import KEYS

RUN = ("scenario", "name", "kernel", "compiler", "module", "own", "commit")


def export(results: Path, names: list[str], file: TextIO = sys.stdout) -> None:
    """Writes the metrics of the runs in results, or of these scenarios only, of each of which there has to be a run.

    Rates are in bit/s, times in ns, sizes in bytes. A metric with several values has a line for each, by index.
    """
    there = {path.parent.name for path in results.glob("*/*.json")}
    if not there or set(names) - there:
        raise units.Error(f"no run of {' '.join(sorted(set(names) - there)) or 'any scenario'} is in {results}" +
                          (f", but of {' '.join(sorted(there))}" if there else ""))
    out = csv.writer(file, lineterminator="\n")
    out.writerow([*RUN, *KEYS, "metric", "index", "value"])
    paths = sorted(path for path in results.glob("*/*.json") if not names or path.parent.name in names)
    for path in paths:
        try:
            run: dict[str, Any] = json.loads(path.read_text())
            values, metrics = run | run["params"], dict(run["metrics"])
        except (LookupError, TypeError, ValueError) as error:
            print(f"lab: {path}: left out, no JSON of a run: {error}", file=sys.stderr)
            continue
        row = [values.get(key) for key in (*RUN, *KEYS)]
        for metric, value in metrics.items():
            for index, one in enumerate(value if isinstance(value, list) else [value]):
                out.writerow([*row, metric, index, one])
