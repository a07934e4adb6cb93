import traceback

from pyspark.errors import PySparkException

MAX_FAILURES = 4


class _Tasks:
    def __init__(self, values):
        self._values = values

    def map(self, function):
        self._function = function
        return self

    def collect(self):
        return [self._run(value) for value in self._values]

    def _run(self, value):
        for attempt in range(MAX_FAILURES):
            try:
                return self._function(value)
            except Exception:
                if attempt == MAX_FAILURES - 1:
                    raise PySparkException(f"Job aborted due to stage failure:\n{traceback.format_exc()}") from None


class SparkSession:
    class _Builder:
        def __init__(self):
            self.settings = []

        def __getattr__(self, name):
            if name not in ("appName", "master", "config"):
                raise AttributeError(name)

            def setting(*values):
                self.settings.append((name, *values))
                return self
            return setting

        def getOrCreate(self):  # noqa: N802
            print(self.settings)
            return SparkSession()

    builder = _Builder()

    @property
    def sparkContext(self):  # noqa: N802
        return self

    def parallelize(self, values, slices):
        assert slices == len(values)
        return _Tasks(values)

    def stop(self):
        print("stop")
