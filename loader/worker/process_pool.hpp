// ProcessPool: worker processes, started, watched and replaced by one thread of the loader's.
//
// The kernel ends a worker when the thread that started it ends (PR_SET_PDEATHSIG), so that thread lives as long as the
// pool.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <latch>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "bale/loader/ring/ring.hpp"

namespace bale::loader_detail {

/// How a worker ended.
struct WorkerEnd {
  std::uint32_t worker = 0;
  bool by_own_fault = false;  // it crashed, gave up or stalled; false: somebody killed it
  std::string cause;          // "was ended by signal 11 (Segmentation fault)"
};

struct ProcessPoolOptions {
  std::string program;
  std::uint32_t num_workers = 1;
  double stall_timeout_s = 0;  // 0: never
};

class ProcessPool {
 public:
  /// Returns when all workers are started. `ring` outlives the pool. `on_end` is called by the pool's thread for each
  /// worker that ended unasked, when it is gone for sure and before it is replaced.
  ProcessPool(const Ring& ring, ProcessPoolOptions options, std::function<void(const WorkerEnd&)> on_end);
  /// Stops the ring; workers that do not end by themselves at once are killed.
  ~ProcessPool();
  ProcessPool(const ProcessPool&) = delete;
  ProcessPool& operator=(const ProcessPool&) = delete;

  std::vector<int> pids() const;
  std::uint64_t num_replaced() const { return num_replaced_; }
  /// Throws `io` where workers cannot be kept running; the pool has then given up.
  void check() const;

 private:
  struct Process {
    int pid = -1;
    int pidfd = -1;
    std::uint64_t rows_at_start = 0;
    bool stalled = false;
  };

  void supervise();
  void start_worker(std::uint32_t number);
  void take_leave(std::uint32_t number);
  void kill_stalled();
  void end_all();
  void give_up(const std::string& why);

  const Ring& ring_;
  ProcessPoolOptions options_;
  std::function<void(const WorkerEnd&)> on_end_;
  mutable std::mutex mutex_;  // of processes_ and failure_
  std::vector<Process> processes_;
  std::string failure_;
  std::uint64_t looked_ns_ = 0;   // when stalls were last looked for
  std::uint64_t resumed_ns_ = 0;  // when this process itself last went on after having been stopped
  std::uint32_t fruitless_ = 0;   // ends in a row, each of a worker that had not finished a single row
  std::atomic<std::uint64_t> num_replaced_{0};
  int stop_event_ = -1;
  std::latch all_started_{1};
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace bale::loader_detail
