"""Runs in diffprivlib's environment: one DP histogram per attribute, and as many rows as came in."""

import json
import sys

import numpy as np
from diffprivlib.tools import histogram

with open(sys.argv[1]) as asked:
    request = json.load(asked)
draw = np.random.default_rng(1)
bins, columns = request["bins"], request["columns"]
share = request["epsilon"] / len(columns)
answer = {}
for name, values in columns.items():
    # Replace-one neighbours change two counts; diffprivlib's histogram is for add/remove, hence half of the share.
    counts, _ = histogram(np.array(values), epsilon=share / 2, bins=bins, range=(-0.5, bins - 0.5))
    weights = np.maximum(counts, 0).astype(float)
    weights = weights / weights.sum() if weights.sum() > 0 else np.full(bins, 1 / bins)
    answer[name] = draw.choice(bins, len(values), p=weights).tolist()
with open(sys.argv[2], "w") as answered:
    json.dump({"columns": answer}, answered)
