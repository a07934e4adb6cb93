"""A Slurm cluster of one node: Debian's munged, slurmctld and slurmd, with files of their own, as the user that runs the tests."""
import contextlib
import functools
import os
import pwd
import shutil
import socket
import subprocess
import time

from servers.network import free_port, wait_for
from servers.process import program, running

PACKAGES = "apt-get install munge slurmctld slurmd slurm-client"
NODE = "node"
CONFIGURATION = """
ClusterName=bale
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller_port}
SlurmdPort={node_port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={root}/munge.socket
CryptoType=crypto/munge
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SwitchType=switch/none
ReturnToService=2
SlurmctldPidFile={root}/slurmctld.pid
SlurmdPidFile={root}/slurmd.pid
SlurmdSpoolDir={root}/spool
StateSaveLocation={root}/state
SlurmctldLogFile={root}/slurmctld.log
SlurmdLogFile={root}/slurmd.log
SlurmdParameters=config_overrides
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
JobCompType=jobcomp/none
SchedulerParameters=sched_interval=1,batch_sched_delay=0,sched_min_interval=0
MailProg=/bin/true
MinJobAge=3600
InactiveLimit=0
KillWait=2
NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 CPUs=4 State=UNKNOWN
PartitionName=all Nodes={node} Default=YES MaxTime=INFINITE State=UP
"""
ACTIVE = ("PENDING", "RUNNING", "COMPLETING", "CONFIGURING", "REQUEUED")


class Slurm:
    """`environment` is that of programs that use the cluster."""

    def __init__(self, root):
        self.root = root
        self.environment = {**os.environ, "SLURM_CONF": str(root / "slurm.conf")}
        self._pending = {}

    @contextlib.contextmanager
    def running(self):
        for name in ("spool", "state"):
            (self.root / name).mkdir()
        key = self.root / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        controller_port, node_port = free_port(), free_port()
        (self.root / "slurm.conf").write_text(CONFIGURATION.format(
            host=socket.gethostname().partition(".")[0], node=NODE, root=self.root, user=pwd.getpwuid(os.getuid()).pw_name,
            controller_port=controller_port, node_port=node_port))
        # --force: a directory of tests may be writable by a group.
        munged = [program("munged", PACKAGES), "--foreground", "--force", f"--socket={self.root}/munge.socket", f"--key-file={key}",
                  f"--pid-file={self.root}/munged.pid", f"--seed-file={self.root}/munge.seed", f"--log-file={self.root}/munged.log"]
        run = functools.partial(running, env=self.environment)
        with run(self.root / "munged.out", command=munged):
            wait_for((self.root / "munge.socket").exists)
            with (run(self.root / "slurmctld.out", controller_port, command=[program("slurmctld", PACKAGES), "-D", "-c"]),
                  run(self.root / "slurmd.out", node_port, command=[program("slurmd", PACKAGES), "-D", "-N", NODE])):
                wait_for(lambda: "idle" in self.run("sinfo", "--noheader", "--format=%T"))
                yield self

    def run(self, *words):
        return subprocess.run(words, capture_output=True, text=True, env=self.environment, timeout=60, stdin=subprocess.DEVNULL).stdout

    def jobs(self, job):
        """What `scontrol show job` says of a job or of each task of an array, in order of the tasks."""
        shown = self.run("scontrol", "--oneliner", "show", "job", str(job))
        found = [dict(word.partition("=")[::2] for word in line.split()) for line in shown.splitlines()]
        return sorted(found, key=lambda task: task.get("ArrayTaskId", "").zfill(9))

    def start_requeued(self):
        """A requeued job waits two minutes. This starts it after three seconds: the node has cleared the first attempt away then."""
        waiting = [line.partition(" ")[0] for line in self.run("squeue", "--noheader", "--states=PENDING", "--format=%A %r").splitlines()
                   if line.endswith("BeginTime")]
        self._pending = {job: self._pending.get(job, time.monotonic()) for job in waiting}
        for job, since in self._pending.items():
            if time.monotonic() > since + 3:
                self.run("scontrol", "update", f"JobId={job}", "StartTime=now")

    def wait(self, job):
        """Waits until a job, or each task of an array, has ended, and returns jobs()."""
        def has_ended():
            self.start_requeued()
            return not any(task["JobState"] in ACTIVE for task in self.jobs(job))
        wait_for(has_ended, 120)
        return self.jobs(job)


def is_installed():
    return all(shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin") for name in ("munged", "slurmctld", "slurmd", "sbatch"))
