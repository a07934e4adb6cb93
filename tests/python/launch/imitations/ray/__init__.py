"""An imitation of what bale.launch uses of Ray: tasks run when they are waited for, and are tried again."""
import os

from ray import exceptions

_pending = 0


def is_initialized():
    return False


def init(**options):
    print("init", options)


def shutdown():
    print("shutdown")


def cluster_resources():
    return {"CPU": 2.0}


class _Task:
    def __init__(self, function, options):
        self._function, self._options = function, options

    def remote(self, *arguments):
        global _pending
        _pending += 1
        assert _pending <= int(os.environ["RAY_IMITATION_AT_MOST"])
        return _Reference(self._function, arguments, self._options["max_retries"])


class _Reference:
    def __init__(self, function, arguments, retries):
        self.run, self.retries = lambda: function(*arguments), retries


def remote(**options):
    assert options["retry_exceptions"] is True
    return lambda function: _Task(function, options)


def wait(references, num_returns):
    return references[:num_returns], references[num_returns:]


def get(reference):
    global _pending
    _pending -= 1
    while True:
        try:
            return reference.run()
        except Exception as error:
            if reference.retries == 0:
                raise exceptions.RayTaskError(error) from error
            reference.retries -= 1


def cancel(reference, force):
    print("cancel")
