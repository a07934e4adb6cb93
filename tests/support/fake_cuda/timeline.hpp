// Timeline: the order that streams, events and waits give to the work on a device, and whether it orders two uses of
// the same memory. (Vector clocks: Mattern, "Virtual time and global states of distributed systems", 1989.)
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace bale::test::fake_cuda {

/// How much of each stream's work is known to be done before a point.
class Clock {
 public:
  std::uint64_t& operator[](int stream) { return done_[stream]; }
  std::uint64_t at(int stream) const {
    const auto found = done_.find(stream);
    return found == done_.end() ? 0 : found->second;
  }
  void join(const Clock& other) {
    for (const auto& [stream, count] : other.done_) done_[stream] = std::max(done_[stream], count);
  }

 private:
  std::map<int, std::uint64_t> done_;
};

/// One use of a range of memory.
struct Use {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  bool writes = false;
  int stream = 0;
  std::uint64_t number = 0;  // of the work in its stream
  std::string what{};
};

/// The uses of one allocation.
class UseLog {
 public:
  /// Adds a use by work that comes after `before`. Returns the text of a conflict with an earlier use, or nothing.
  std::string add(const Use& use, const Clock& before) {
    std::string conflict;
    for (const Use& earlier : uses_) {
      const bool overlap = earlier.begin < use.end && use.begin < earlier.end;
      if (overlap && (earlier.writes || use.writes) && !is_before(earlier, before)) {
        conflict = use.what + " and " + earlier.what + " of another stream use the same device memory in no order";
      }
    }
    // A use that this one covers and follows is dropped: whatever conflicts with it conflicts with this one, too.
    std::erase_if(uses_, [&](const Use& earlier) {
      return (use.writes || !earlier.writes) && use.begin <= earlier.begin && earlier.end <= use.end &&
             is_before(earlier, before);
    });
    uses_.push_back(use);
    return conflict;
  }
  /// Whether all uses are known to be done.
  bool all_before(const Clock& before) const {
    return std::all_of(uses_.begin(), uses_.end(), [&](const Use& use) { return is_before(use, before); });
  }

 private:
  static bool is_before(const Use& use, const Clock& clock) { return clock.at(use.stream) >= use.number; }

  std::vector<Use> uses_;
};

}  // namespace bale::test::fake_cuda
