"""The jobs of check_nodes.py under Ray Train: a Ray cluster of the hosts, and TorchTrainer with gloo.

As a program it is the driver: nodes_ray.py ADDRESS NODES RANKS-PER-NODE STORAGE. A failure ends the job, as that of a machine that is
lost does: check_nodes.py starts the next attempt on a cluster of its own.
"""
import atexit
import functools
import os
import shutil
import sys
import tempfile

PORT = 6379
ENVIRONMENT = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "disabled", "RAY_DEDUP_LOGS": "0", "RAY_TRAIN_V2_ENABLED": "1",
               # A node that does not answer is lost after 10 seconds.
               "RAY_health_check_initial_delay_ms": "1000", "RAY_health_check_period_ms": "2000",
               "RAY_health_check_timeout_ms": "2000", "RAY_health_check_failure_threshold": "3"}


def node_command(host, head, ranks):
    """Starts Ray on a host, whose first one is the head, until it is killed."""
    words = [sys.executable, "-m", "ray.scripts.scripts", "start", "--block", "--node-ip-address", host.address, "--num-cpus", ranks,
             "--num-gpus", 0, "--object-store-memory", 100 << 20, "--disable-usage-stats"]
    if host is head:
        return [*words, "--head", "--port", PORT, "--include-dashboard", "false", "--temp-dir", sessions()]
    # Every node has the head's name for its folder of sockets. On one machine it must not be the same folder.
    return ["unshare", "--mount", "sh", "-ec", 'mount -t tmpfs none "$0"; exec "$@"', sessions(), *words, "--address", f"{head.address}:{PORT}"]


@functools.cache
def sessions():
    """A folder, removed in the end. Names of sockets may have 107 bytes, so it is not in the folder of the job."""
    path = tempfile.mkdtemp(prefix="ray", dir="/tmp")
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path


def train(_):
    import ray.train
    from nodes_ledger import Rank
    from nodes_rank import train_epochs
    os.environ["RANK"] = str(ray.train.get_context().get_world_rank())
    os.environ["GROUP_RANK"] = os.environ["BALE_NODE"]
    train_epochs(Rank())


def main():
    import ray
    from ray.train import FailureConfig, RunConfig, ScalingConfig
    from ray.train.torch import TorchConfig, TorchTrainer
    address, nodes, ranks, storage = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    ray.init(address=address)
    try:
        TorchTrainer(train, train_loop_config={}, torch_config=TorchConfig(backend="gloo", timeout_s=20),
                     scaling_config=ScalingConfig(num_workers=nodes * ranks),
                     run_config=RunConfig(storage_path=storage, failure_config=FailureConfig(max_failures=0))).fit()
    finally:
        shutil.rmtree(storage, ignore_errors=True)


if __name__ == "__main__":
    main()
