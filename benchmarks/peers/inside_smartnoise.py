"""Runs in smartnoise-synth's environment: MST or AIM on binned columns, as many rows as came in."""

import json
import sys
import warnings

import numpy as np
import pandas as pd
from snsynth import Synthesizer

warnings.simplefilter("ignore")
np.random.seed(1)  # noqa: NPY002 - the synthesisers draw from the global state

with open(sys.argv[1]) as asked:
    request = json.load(asked)
frame = pd.DataFrame(request["columns"]).astype(int)
# Every bin is public: the synthesiser must not learn the domain from the data.
synthesiser = Synthesizer.create(request["kind"], epsilon=float(request["epsilon"]))
rows = synthesiser.fit_sample(frame, categorical_columns=list(frame.columns), preprocessor_eps=0.0)
with open(sys.argv[2], "w") as answered:
    json.dump({"columns": {name: [int(v) for v in rows[name]] for name in frame.columns}}, answered)
