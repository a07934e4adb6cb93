// TransferLimit: how many transfers are under way at a time.
//
// Across a long way the throughput of small requests is their number in flight divided by the time of an answer, so the
// number grows, by one per answer, as long as others wait and answers take hardly longer than the fastest of late: then
// it is the way that takes the time and not the server (the idea of TCP Vegas: Brakmo and Peterson, IEEE JSAC 13,
// 1995). A server that says it is busy (429, 503), or that cannot be reached, halves the number.
//
// Threads: used by one.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace bale {

class TransferLimit {
 public:
  /// `most`: never more at a time.
  explicit TransferLimit(std::size_t most);

  /// Whether one more of so many bytes may begin.
  bool has_room(std::uint64_t bytes) const;
  /// Returns the number of the transfer, for answered() and refused().
  std::uint64_t begin(std::uint64_t bytes);
  void end(std::uint64_t bytes);

  /// After a transfer that the server answered. `others_wait`: for room.
  void answered(std::chrono::microseconds answer_time, bool others_wait);
  void refused(std::uint64_t number);

  std::size_t at_a_time() const { return at_a_time_; }

  static constexpr std::size_t k_first = 48;
  static constexpr std::size_t k_most = 256;

 private:
  const std::size_t most_;
  std::size_t at_a_time_;
  std::size_t num_active_ = 0;
  std::uint64_t active_bytes_ = 0;
  std::uint64_t num_begun_ = 0;
  std::uint64_t refused_before_ = 0;      // a transfer with a number below was begun before the last refusal
  std::chrono::microseconds fastest_{0};  // answer of late; 0: none yet
};

}  // namespace bale
