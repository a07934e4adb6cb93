"""Packs the parts of a plan on engines that exist: this machine, Slurm, Ray, Spark and Kubernetes (docs/SCALE.md).

    import bale.launch

    bale.plan("imagenet/train", "/shared/packed", "/shared/imagenet.plan")
    bale.launch.pack_on_ray("/shared/imagenet.plan")

Each function packs the parts that are missing, and says that a dataset is there after `bale merge` has found all of its shards.
`python -m bale.launch` is the same as a command. An engine is imported when its function is called.
"""
from bale.launch._kubernetes import kubernetes_manifest
from bale.launch._local import pack_locally
from bale.launch._ray_tasks import pack_on_ray
from bale.launch._slurm import SlurmJobs, pack_on_slurm, submit_to_slurm
from bale.launch._spark_tasks import pack_on_spark

__all__ = ["SlurmJobs", "kubernetes_manifest", "pack_locally", "pack_on_ray", "pack_on_slurm", "pack_on_spark", "submit_to_slurm"]


def __dir__() -> list[str]:
    return __all__
