"""`python -m bale.launch ENGINE PLAN`: the launchers as a command. Exit codes are those of `bale`."""
from __future__ import annotations

import argparse
import sys

from bale._types import Options, Report
from bale.errors import Error, exit_code_of
from bale.launch._kubernetes import kubernetes_manifest
from bale.launch._local import pack_locally
from bale.launch._ray_tasks import pack_on_ray
from bale.launch._slurm import pack_on_slurm, submit_to_slurm
from bale.launch._spark_tasks import pack_on_spark

_SKIPPED = 4


def main(words: list[str] | None = None) -> int:
    """Runs a launcher and returns the exit code of this process."""
    words = list(sys.argv[1:] if words is None else words)
    sbatch_options: list[str] = []
    if "--" in words:
        at = words.index("--")
        words, sbatch_options = words[:at], words[at + 1:]
    parser = _parser()
    options = parser.parse_args(words)
    if sbatch_options and options.engine != "slurm":
        parser.error("only slurm takes options after --")
    options.sbatch_options = sbatch_options
    try:
        return int(options.run(options))
    except ImportError as error:
        print(f"bale: {error}: install {error.name} in this environment", file=sys.stderr)
        return 1
    except Error as error:
        print(f"bale: {error}", file=sys.stderr)
        return exit_code_of(error.code)
    except KeyboardInterrupt:
        print("bale: interrupted; run the same command again to continue", file=sys.stderr)
        return exit_code_of("interrupted")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bale.launch", description="Packs the missing parts of a plan on an engine and "
                                     "merges them (docs/SCALE.md). Exit codes are those of bale.")
    engines = parser.add_subparsers(dest="engine", required=True, metavar="ENGINE")

    def add(name: str, help_text: str, run: object) -> argparse.ArgumentParser:
        engine = engines.add_parser(name, help=help_text, description=help_text, allow_abbrev=False)
        engine.add_argument("plan", metavar="PLAN", help="what `bale plan` wrote")
        engine.add_argument("--parts", type=int, metavar="N", required=name == "kubernetes",
                            help="number of parts" + ("" if name == "kubernetes" else " (default: one per GiB; docs/SCALE.md)"))
        engine.add_argument("--jobs", type=int, default=1, metavar="N", help="shards that a part writes at a time (default: 1)")
        if name != "spark":
            engine.add_argument("--in-flight", type=int, metavar="N", help="parts that run at a time")
            engine.add_argument("--retries", type=int, default=3, metavar="N", help="how often a part is tried again (default: 3)")
        if name != "kubernetes":
            engine.add_argument("--program", metavar="PATH", help="the program bale (default: the package's)")
            engine.add_argument("--quiet", action="store_true", help="show errors only")
        engine.set_defaults(run=run)
        return engine

    add("local", "A process per part, on this machine", _local)
    add("ray", "A task of Ray per part, on the cluster of RAY_ADDRESS or on this machine", _ray)
    spark = add("spark", "A task of Spark per part, with PySpark", _spark)
    spark.add_argument("--master", metavar="URL", help="spark.master")
    spark.add_argument("--conf", action="append", default=[], metavar="KEY=VALUE", help="a Spark setting; may be repeated")
    slurm = add("slurm", "An array job of the missing parts, and a job that merges. Options of sbatch follow after --", _slurm)
    slurm.add_argument("--wait", action="store_true", help="wait for the array, and merge here")
    kubernetes = add("kubernetes", "Prints the manifest of an indexed Job", _kubernetes)
    kubernetes.add_argument("--image", required=True, help="a container image with bale and sh")
    kubernetes.add_argument("--claim", required=True, help="the persistentVolumeClaim with source, plan and destination")
    kubernetes.add_argument("--mount", default="/shared", metavar="PATH", help="where pods mount it (default: /shared)")
    kubernetes.add_argument("--missing", metavar="LIST", help="the parts to pack, as `bale merge` prints them: 3,17-19 (default: all)")
    kubernetes.add_argument("--name", help="name of the Job (default: of the plan file)")
    return parser


def _common(options: argparse.Namespace) -> Options:
    return {"jobs": options.jobs, "in_flight": options.in_flight, "retries": options.retries, "program": options.program}


def _show(report: Report, options: argparse.Namespace) -> int:
    if not options.quiet:
        shards = sum(output["shards"] for output in report["outputs"])
        print(f"merged: {report['samples']} samples in {shards} shards")
    return _SKIPPED if report.get("skipped") else 0


def _local(options: argparse.Namespace) -> int:
    return _show(pack_locally(options.plan, options.parts, **_common(options), progress=not options.quiet), options)


def _ray(options: argparse.Namespace) -> int:
    return _show(pack_on_ray(options.plan, options.parts, **_common(options), progress=not options.quiet), options)


def _spark(options: argparse.Namespace) -> int:
    from pyspark.sql import SparkSession  # type: ignore[import-not-found, unused-ignore]

    builder = SparkSession.builder.appName("bale pack")
    if options.master:
        builder = builder.master(options.master)
    for setting in options.conf:
        key, _, value = setting.partition("=")
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    try:
        report = pack_on_spark(options.plan, options.parts, jobs=options.jobs, program=options.program, session=session)
    finally:
        session.stop()
    return _show(report, options)


def _slurm(options: argparse.Namespace) -> int:
    if options.wait:
        return _show(pack_on_slurm(options.plan, options.parts, **_common(options), options=options.sbatch_options), options)
    jobs = submit_to_slurm(options.plan, options.parts, **_common(options), options=options.sbatch_options)
    if not options.quiet:
        if jobs.array is None:
            print("all parts are packed and merged")
        else:
            print(f"array job {jobs.array}: parts {jobs.missing} of {jobs.parts}")
            print(f"merge job {jobs.merge}: when the array has ended")
    return 0


def _kubernetes(options: argparse.Namespace) -> int:
    print(kubernetes_manifest(options.plan, options.parts, image=options.image, claim=options.claim, mount=options.mount,
                              missing=options.missing, jobs=options.jobs, in_flight=options.in_flight, retries=options.retries,
                              name=options.name), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
