// The samples that reading has shown something of, for Source::read_notices(): their number, and the first in the order
// of the source, whichever thread read it when.
//
// Threads: all functions may be called by many threads at once.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <set>
#include <string>

#include "bale/formats/base/notice_log.hpp"

namespace bale {

class RemarkedSamples {
 public:
  /// Adds the sample, unless it was added before. `place` is the container that a warning of it would name.
  void add(std::uint64_t sample, const std::string& place, const std::string& what) {
    const std::scoped_lock lock(mutex_);
    samples_.insert(sample);
    if (*samples_.begin() != sample) return;
    place_ = place;
    first_ = what;
  }

  /// Adds the warning `say(number of samples, what of the first)`, unless there are none.
  void report(NoticeLog& log, const std::function<std::string(std::uint64_t, const std::string&)>& say) const {
    const std::scoped_lock lock(mutex_);
    if (samples_.empty()) return;
    NoticeLog remark;
    remark.warn(say(samples_.size(), first_));
    log.merge(remark, place_);
  }

 private:
  mutable std::mutex mutex_;
  std::set<std::uint64_t> samples_;
  std::string place_;  // of the first
  std::string first_;
};

}  // namespace bale
