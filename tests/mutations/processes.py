"""Mutations of what a loader does as a citizen of its system: worker processes, threads, and the interpreter's end."""
from mutations.mutation import Mutation

DAEMONS = ("python", "tests/python/loader/test_python_daemon_threads.py", "-k", "not torch and not device")

WORKERS = "tests/python/loader/test_python_workers.py"


def workers(name):
    return ("python", WORKERS, "-k", name)


MUTATIONS = [
    Mutation("a daemon thread that wants the GIL at the end unwinds", "python/bindings/gil.cpp",
             "    park();\n  }\n}", "    __builtin_abort();\n  }\n}", DAEMONS),
    Mutation("a daemon thread is told that its Loader is closed", "python/bindings/loader/process_loader.hpp",
             "    if (!is_to_stop()) return;\n", "    if (is_to_stop() || !is_to_stop()) return;\n", DAEMONS),
    Mutation("a signal of others is the sample's fault", "loader/worker/process/process_pool.cpp",
             "SIGABRT, SIGTRAP, SIGSYS}", "SIGABRT, SIGTRAP, SIGUSR1}", ("loader", "A signal that only others send*")),
    Mutation("workers that do not start are tried for ever", "loader/worker/process/process_pool.cpp",
             "constexpr std::uint32_t k_max_failed_starts = 5;", "constexpr std::uint32_t k_max_failed_starts = 5000;",
             workers("do_not_start and kill")),
    Mutation("one failed start is the end although others work", "loader/worker/process/process_pool.cpp",
             "failed_starts_ >= k_max_failed_starts && !has_healthy_worker()", "failed_starts_ >= 1",
             workers("stops_nobody")),
    Mutation("workers that start slowly are not waited for", "loader/worker/process/process_pool.cpp",
             "constexpr milliseconds k_start_patience{60'000};", "constexpr milliseconds k_start_patience{0};",
             workers("start_slowly")),
    Mutation("an end without a status is not seen", "loader/worker/process/child_process.cpp",
             "return failed != 0 ? errno == ECHILD : info.si_pid == pid_;", "return failed == 0 && info.si_pid == pid_;",
             workers("ignores_sigchld")),
    Mutation("the ring may have a number that a worker uses", "loader/ring/shared_memory.cpp",
             "if (fd < 0 || fd >= k_first) return fd;", "if (fd < k_first || fd >= k_first) return fd;", workers("closed")),
    Mutation("without a pidfd ends are not looked for", "loader/worker/process/process_pool.cpp",
             "const bool is_to_be_asked = child.exists() && child.pidfd() < 0;",
             "const bool is_to_be_asked = child.exists() && child.pidfd() < -1;", workers("refused and pidfd")),
    Mutation("a worker that starts while its process becomes another program stays", "loader/worker/process/worker_process.cpp",
             "if (::getppid() != parent || !is_there) std::_Exit(0);", "if (::getppid() != parent && !is_there) std::_Exit(0);",
             workers("becomes_another")),
    Mutation("workers inherit what OpenMP bound", "loader/session/session.cpp",
             "  const UnboundThread unbound;  // inherited", "  // inherited", workers("openmp_bound")),
    Mutation("lack of memory for batches does not say what to change", "loader/ring/shared_memory.cpp",
             '{.hint = "use a smaller batch_size', '{.path = "use a smaller batch_size', workers("too_little_memory")),
    Mutation("without memfds there is no ring", "loader/ring/shared_memory.cpp",
             "with == With::programs) fd =", "with == With::children) fd =", workers("refused and memfd")),
    Mutation("workers keep the descriptors of the program", "loader/worker/process/worker_process.cpp",
             "  close_other_descriptors();", "",
             workers("keep_no_descriptor")),
    Mutation("workers are started by the program's path", "loader/worker/process/child_process.cpp",
             "  int failed = ENOENT;\n  if (program.fd() >= 0)", "  int failed = ENOENT;\n  if (program.fd() < -1)",
             workers("replaced")),
    Mutation("a wait for bytes is a stall of the sample", "loader/worker/process/child_process.cpp",
             "entry.reading.load() != 0 && !works", "entry.reading.load() > 1 && !works", workers("condemns")),
    Mutation("storage that does not answer is waited for in silence", "loader/session/session.cpp",
             "waited_s > options_.storage_timeout_s)", "waited_s > 1000 * options_.storage_timeout_s)", workers("answer")),
    Mutation("the quota of a group above does not count", "formats/base/system/cores.cpp",
             "if (path.empty() || path.rfind('/') == std::string::npos) break;", "break;",
             ("cores", "*least*")),
    Mutation("each rank takes all cores", "loader/options/loader_options.cpp", "is_shared ? cores.own / cores.num_ranks",
             "is_shared ? cores.own", ("cores", "Ranks*")),
    Mutation("a child of fork() finds mutexes as its parent's threads held them", "formats/base/system/fork_mutex.cpp",
             "::pthread_atfork(&lock_all, &unlock_all, &unlock_all)", "::pthread_atfork(nullptr, nullptr, nullptr)",
             ("storage", "a child of fork() finds*")),
]
