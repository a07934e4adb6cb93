"""Mutations of what a loader does as a citizen of its system: worker processes, threads, and the interpreter's end."""
from mutations.mutation import Mutation

DAEMONS = ("python", "tests/python/test_python_daemon_threads.py", "-k", "not torch and not device")

MUTATIONS = [
    Mutation("a daemon thread that wants the GIL at the end unwinds", "python/bindings/gil.cpp",
             "catch (abi::__forced_unwind&) {  // pthread_exit\n    park();", "catch (abi::__forced_unwind&) {\n    throw;",
             DAEMONS),
    Mutation("a daemon thread is told that its Loader is closed", "python/bindings/process_loader.hpp",
             "    if (!is_to_stop()) return;\n", "    if (is_to_stop() || !is_to_stop()) return;\n", DAEMONS),
]
