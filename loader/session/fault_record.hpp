// FaultRecord: the bad samples of a Session: those it reported, those in quarantine, and the number of substitutes that
// it tried. Not thread-safe: the Session's lock guards it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "bale/loader/loader.hpp"

namespace bale::loader_detail {

class FaultRecord {
 public:
  /// A sample at which workers died is not given to a worker again.
  void quarantine(std::uint64_t sample) { quarantined_.insert(sample); }
  bool is_quarantined(std::uint64_t sample) const { return quarantined_.contains(sample); }

  /// A sample is listed once, with the epoch in which it was met first. Returns whether it is new.
  bool report(BadSample bad) {
    if (!listed_.insert(bad.sample).second) return false;
    bad_samples_.push_back(std::move(bad));
    return true;
  }
  /// Whether this batch did not fail the last time: next() may be called again.
  bool is_first_failure(std::uint64_t batch) { return std::exchange(failed_batch_, batch) != batch; }
  const std::vector<BadSample>& bad_samples() const { return bad_samples_; }

  /// Counts one more substitute for a row of a batch. Returns 1 for the first.
  std::uint32_t next_attempt(std::uint64_t batch, std::uint32_t row) { return ++attempts_[{batch, row}]; }
  void forget_attempts(std::uint64_t batch) {
    attempts_.erase(attempts_.lower_bound({batch, 0}), attempts_.lower_bound({batch + 1, 0}));
  }
  void forget_attempts() { attempts_.clear(); }

 private:
  std::map<std::pair<std::uint64_t, std::uint32_t>, std::uint32_t> attempts_;  // by (batch, row)
  std::set<std::uint64_t> quarantined_;
  std::vector<BadSample> bad_samples_;
  std::set<std::uint64_t> listed_;  // samples of bad_samples_
  std::optional<std::uint64_t> failed_batch_;
};

}  // namespace bale::loader_detail
