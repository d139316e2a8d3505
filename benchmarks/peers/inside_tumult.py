"""Runs in Tumult Analytics' environment: each table as one query of a session, the whole ε split evenly over them."""

import json
import os
import sys

from pyspark.sql import SparkSession
from tmlt.analytics import AddOneRow, KeySet, PureDPBudget, QueryBuilder, Session

with open(sys.argv[1]) as asked:
    request = json.load(asked)
os.environ["PYSPARK_PYTHON"] = sys.executable  # its workers need the same packages
spark = SparkSession.builder.config("spark.sql.shuffle.partitions", 2).getOrCreate()
columns, labels = request["columns"], request["labels"]
people = spark.createDataFrame(list(zip(*columns.values(), strict=True)), list(columns))
session = Session.from_dataframe(
    PureDPBudget(request["epsilon"]), "people", people, protected_change=AddOneRow()
)
answer = []
for table in request["tables"]:
    keys = KeySet.from_dict({name: labels[name] for name in table})
    query = QueryBuilder("people").groupby(keys).count()
    found = session.evaluate(query, PureDPBudget(request["epsilon"] / len(request["tables"]))).collect()
    answer.append([[*(row[name] for name in table), row["count"]] for row in found])
with open(sys.argv[2], "w") as answered:
    json.dump(answer, answered)
