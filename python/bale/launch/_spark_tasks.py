"""The launcher for Spark: a task per part."""
from __future__ import annotations

import os
import re
from typing import Any

from bale._docs import launcher
from bale._types import Path, Report
from bale.errors import make_error
from bale.launch._parts import DatasetParts, Parts, run_part


@launcher
def pack_on_spark(plan: Path, parts: int | None = None, *, jobs: int = 1, program: Path | None = None, session: Any = None) -> Report:
    """Packs the missing parts of a plan as tasks of one Spark job, and merges them in this process.

    Spark counts the attempts at a task (`spark.task.maxFailures`) and shows progress (its page and its console). When a part has
    failed that often the Spark job fails, and parts that run are cancelled. Speculative attempts do no harm. Each machine needs
    bale in the Python of its executors, and source, destination and plan under the same paths.

    Parameters
    ----------
    jobs : int, default 1
        Shards that a part writes at a time. Set `spark.task.cpus` to the same.
    session : pyspark.sql.SparkSession or None, default None
        None: SparkSession.builder.getOrCreate(). Spark Connect has no RDDs and cannot be used.

    Raises
    ------
    ImportError
        PySpark is not installed.
    """
    from pyspark.errors import PySparkException  # type: ignore[import-not-found, unused-ignore]
    from pyspark.sql import SparkSession  # type: ignore[import-not-found, unused-ignore]

    dataset = DatasetParts(plan, parts, jobs=jobs, program=program, engine="spark")

    def attempt(parts: Parts, missing: list[int]) -> list[Exception]:
        named = SparkSession.builder.appName(f"bale pack {os.path.basename(parts.plan)}")
        context = (session or named.getOrCreate()).sparkContext
        try:
            context.parallelize(missing, len(missing)).map(lambda part: run_part(parts, part)).collect()
            return []
        except PySparkException as error:
            return [_reason(error)]

    return dataset.pack(attempt)


def _reason(error: Exception) -> Exception:
    """Spark has the text of an exception in the text of its own."""
    raised = re.search(r"bale\.errors\.\w*Error: (.*)", str(error))
    return make_error("retryable", raised[1] if raised else str(error).splitlines()[0])
