"""``python -m tests.laws [--minutes 60] [LAW or FAMILY …]``: search for what breaks a law, and print counts."""

from __future__ import annotations

import argparse
import os
import sys
import warnings

from scanviz.engine.backends.registry import availability
from scanviz.engine.config import config
from scanviz.engine.rewrites.pipeline import RewriteCycleWarning
from tests.laws import all_laws
from tests.laws.frame import CHOSEN, draws_tier
from tests.laws.nightly import Search, print_slice, run_here, search, summary


def main(arguments: list[str] | None = None) -> int:
    """Search, and return 1 where something was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.laws", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="LAW", help="laws or families of laws; all by default")
    parser.add_argument("--minutes", type=float, default=60.0, help="how long to search (default: 60)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes at once")
    parser.add_argument("--seed", type=int, default=0, help="another one searches elsewhere")
    parser.add_argument("--first", action="store_true", help="stop at the first finding")
    parser.add_argument("--tier", help="one tier alone, and the laws that are tried on one of several")
    parser.add_argument("--list", action="store_true", help="print the laws and leave")
    parser.add_argument("--slice", metavar="LAW", help=argparse.SUPPRESS)
    parser.add_argument("--seconds", type=float, default=20.0, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.slice is not None:
        config.native.cache = "off"  # thousands of loops that are never needed again
        warnings.simplefilter("error", RewriteCycleWarning)
        (one,) = all_laws([given.slice])
        print_slice(run_here(one, given.seed, given.seconds))
        return 0
    try:
        laws = all_laws(given.names)
    except ValueError as error:
        parser.error(str(error))
    if given.tier is not None:
        if not (found := availability(given.tier)).works:
            parser.error(f"the tier {given.tier} does not work here: {found.why}")
        os.environ[CHOSEN] = given.tier
        laws = [each for each in laws if draws_tier(each)]
    if given.list:
        for law in laws:
            print(f"{law.family:12} {law.name}\n{'':12} {law.statement}")
        return 0
    total = Search()
    try:
        for done in search(
            [each.name for each in laws], given.minutes * 60, jobs=given.jobs, seed=given.seed
        ):
            total.add(done)
            if done.finding is not None:
                print(f"\nFOUND by {done.law}, seed {done.seed}:\n{done.finding}", flush=True)
                if given.first:
                    break
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
    print(summary(total))
    return 1 if total.findings else 0


if __name__ == "__main__":
    sys.exit(main())
