class PySparkException(Exception):
    pass
