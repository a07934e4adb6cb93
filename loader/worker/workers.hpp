// Workers: what fills the rows of a ring, from its construction to its destruction: programs, threads, or the caller.
#pragma once

#include <cstdint>
#include <vector>

namespace bale::loader_detail {

class Workers {
 public:
  Workers() = default;
  virtual ~Workers() = default;
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  /// To be called again and again by the thread that waits for rows. Returns whether it worked on a row itself, and so
  /// should not sleep. Throws `io` if no worker can run.
  virtual bool attend() { return false; }
  /// Of programs.
  virtual std::vector<int> pids() const { return {}; }
  virtual std::uint64_t num_replaced() const { return 0; }
};

}  // namespace bale::loader_detail
