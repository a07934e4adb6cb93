// ProcessPool: worker processes. One thread of the loader starts, watches and replaces them.
//
// The kernel kills a worker when the thread that started it ends (PR_SET_PDEATHSIG), so that thread lives as long as
// the pool.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <latch>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "bale/loader/ring/ring.hpp"
#include "bale/loader/worker/process/child_process.hpp"
#include "bale/loader/worker/process/worker_program.hpp"
#include "bale/loader/worker/workers.hpp"

namespace bale::loader_detail {

/// How a worker ended.
struct WorkerEnd {
  enum class Fault : std::uint8_t {
    own,      // it crashed, failed or stalled at its current row
    outside,  // another process killed it, or the cause is unknown
    none,     // the cause has nothing to do with the row
  };
  std::uint32_t worker = 0;
  Fault fault = Fault::outside;
  std::string cause{};  // "was ended by signal 11 (Segmentation fault)"
};

struct ProcessPoolOptions {
  std::uint32_t num_workers = 1;
  double stall_timeout_s = 0;  // 0: never
  int index_fd = -1;           // of the indexes that the rows' identities refer to
};

class ProcessPool final : public Workers {
 public:
  /// Returns after it has tried to start each worker. `ring` and `program` must outlive the pool. The pool's thread
  /// calls `on_end` for each worker that ended without a request, after its process is gone, before it is replaced.
  ProcessPool(Ring& ring, const WorkerProgram& program, const ProcessPoolOptions& options,
              std::function<void(const WorkerEnd&)> on_end);
  /// Stops the ring. Kills workers that do not exit soon after.
  ~ProcessPool() override;

  std::vector<int> pids() const override;
  std::uint64_t num_replaced() const override { return num_replaced_; }
  /// Throws `io` if no worker keeps running. After that, the pool tries to start them again.
  bool attend() override;

 private:
  using Clock = std::chrono::steady_clock;
  struct Process {
    ChildProcess child{};
    std::uint64_t rows_at_start = 0;
    std::uint32_t failures = 0;  // consecutive ends and failed starts without a finished row
    Clock::time_point started_at{};
    Clock::time_point start_at{};  // when to try again
    Stall stall{};
  };

  void supervise();
  int patience_ms() const;
  void start_worker(std::uint32_t number);
  void start_due_workers();
  void reap_worker(std::uint32_t number);
  WorkerEnd end_of(std::uint32_t number, const ChildEnd& end);
  void start_later(Process& process);
  void note_failure(bool is_start, const std::string& cause);
  bool has_progress();
  bool has_healthy_worker() const;
  bool has_failed() const;
  void kill_stalled();
  void end_all();

  Ring& ring_;
  const WorkerProgram& program_;
  ProcessPoolOptions options_;
  std::function<void(const WorkerEnd&)> on_end_;
  StartupMessages messages_;
  mutable std::mutex mutex_;  // guards the children of processes_, and failure_
  std::vector<Process> processes_;
  std::string failure_;
  StallClock stall_clock_;
  std::uint64_t rows_seen_ = 0;      // finished by all workers at the last has_progress()
  std::uint32_t failed_starts_ = 0;  // consecutive, of all workers, without a finished row in between
  std::uint32_t fruitless_ = 0;      // the same for workers that started and ended by their own fault
  std::atomic<std::uint64_t> num_replaced_{0};
  int stop_event_ = -1;
  std::latch all_started_{1};
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace bale::loader_detail
