#include "bale/formats/storage/http/transfer_limit.hpp"

#include <algorithm>

namespace bale {
namespace {

using std::chrono::microseconds;

constexpr std::size_t k_fewest = 4;
constexpr std::uint64_t k_max_bytes = std::uint64_t{64} << 20;  // of all together, if there are more than k_first
constexpr microseconds k_short{2000};  // the server is near: more at a time only take its time and ours
constexpr int k_forget = 256;          // answers until one that was fast is almost forgotten

}  // namespace

TransferLimit::TransferLimit(std::size_t most)
    : most_(std::max(most, k_fewest)), at_a_time_(std::min(k_first, most_)) {}

bool TransferLimit::has_room(std::uint64_t bytes) const {
  return num_active_ < at_a_time_ && (num_active_ < k_first || active_bytes_ + bytes <= k_max_bytes);
}

std::uint64_t TransferLimit::begin(std::uint64_t bytes) {
  ++num_active_;
  active_bytes_ += bytes;
  return num_begun_++;
}

void TransferLimit::end(std::uint64_t bytes) {
  --num_active_;
  active_bytes_ -= bytes;
}

void TransferLimit::answered(microseconds answer_time, bool others_wait) {
  const microseconds older = fastest_ + fastest_ / k_forget;
  fastest_ = fastest_.count() == 0 ? answer_time : std::min(older, answer_time);
  const bool is_the_way = answer_time > k_short && answer_time < 2 * fastest_;
  if (others_wait && is_the_way) at_a_time_ = std::min(at_a_time_ + 1, most_);
}

/// Those that were begun before the number was halved are refused for the same reason.
void TransferLimit::refused(std::uint64_t number) {
  if (number < refused_before_) return;
  refused_before_ = num_begun_;
  at_a_time_ = std::max(at_a_time_ / 2, k_fewest);
}

}  // namespace bale
