"""Runs in dpmm's environment: AIM or MST, with equal-width bins or PrivTree's, as many rows as came in."""

import json
import sys
import time
import warnings
from importlib.metadata import version

import numpy as np
import pandas as pd
from dpmm.models import mst
from dpmm.pipelines import AIMPipeline, MSTPipeline

warnings.simplefilter("ignore")
with open(sys.argv[1]) as asked:
    request = json.load(asked)
reduced = request.get("iterations")
if reduced:  # MST fits one-way margins in 2,500 steps before it chooses a tree
    fitted = mst.FactoredInference
    mst.FactoredInference = lambda domain, iters: fitted(domain, iters=min(iters, 3 * reduced))
seed = request["seed"]
np.random.seed(seed)  # noqa: NPY002 - dpmm draws from the global state
domain, frame = {}, {}
for name, entry in request["columns"].items():
    values = entry["values"]
    if "categories" in entry:
        domain[name] = {"categories": entry["categories"]}
        frame[name] = pd.Categorical(values, categories=entry["categories"])
    else:
        domain[name] = {"lower": entry["lower"], "upper": entry["upper"]}
        frame[name] = np.array(values, dtype=float)
frame = pd.DataFrame(frame)
epsilon = request["epsilon"]
private_bins = request["bins"] == "priv-tree"
share = 0.1 * epsilon if private_bins else 0.0
options = {
    "epsilon": epsilon - share,
    "delta": request["delta"],
    "binner_type": request["bins"],
    "proc_epsilon": share if private_bins else None,
    "n_bins": 32,
    "n_jobs": 1,
}
if request["kind"] == "aim":
    if reduced:
        options |= {"max_model_size": request["model_size"], "gen_kwargs": {"n_iters": reduced}}
    pipeline = AIMPipeline(**options)
else:
    pipeline = MSTPipeline(**options, gen_kwargs={"n_iters": 4 * reduced} if reduced else {})
start = time.process_time()
pipeline.fit(frame, domain, random_state=seed)
rows = pipeline.generate(n_records=len(frame), random_state=seed)
taken = time.process_time() - start
answer = {name: [None if pd.isna(v) else v for v in rows[name].tolist()] for name in frame.columns}
with open(sys.argv[2], "w") as answered:
    json.dump({"columns": answer, "seconds": taken, "version": version("dpmm")}, answered)
