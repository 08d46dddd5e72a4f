"""Train the forests that the peers serve, once, and say how to read an application for them.

Run in the peers' environment as `python -m bench.serve.peers.prepare ROWS FILE`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from bench.engine import ours
from bench.engine.forests import Encoder
from bench.engine.subject import FULL, LIGHT, TRAIN_SEED, forest_file, population


def main(rows: int, told: Path) -> None:
    """Write where the forests lie, the order of their fields and the numbers of their words."""
    train = ours.read(population(rows, TRAIN_SEED), "default")
    encoder = Encoder(train)
    about = {
        "full": str(forest_file(train, encoder, FULL)),
        "light": str(forest_file(train, encoder, LIGHT)),
        "fields": encoder.names,
        "words": encoder.codes,
    }
    told.write_text(json.dumps(about), "utf-8")


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
