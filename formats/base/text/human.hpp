// Human-readable numbers and lists. Sizes are binary (1 KiB = 1024 bytes), rates decimal (1 MB/s = 10^6 bytes/s).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace bale {

/// "512 B", "1.5 KiB", "256 MiB".
std::string human_bytes(std::uint64_t bytes);
/// "1,281,167".
std::string human_count(std::uint64_t count);
/// "0.42 s", "12.3 s", "3 min 07 s", "2 h 05 min".
std::string human_seconds(double seconds);
/// Time left as a clock: "0:07", "12:30", "2:05:00".
std::string human_clock(double seconds);
/// "1 shard", "3 shards", "2 classes", "2 entries".
std::string plural(std::uint64_t count, const std::string& noun);

/// The texts or whole numbers of a list, with `between` between them: "jpg, cls". (fmt::join() costs every unit that
/// has it a second of compiling.)
template <typename List>
std::string joined(const List& list, std::string_view between = ", ") {
  std::string all;
  bool is_first = true;
  for (const auto& each : list) {
    if (!is_first) all += between;
    is_first = false;
    if constexpr (std::is_convertible_v<decltype(each), std::string_view>) {
      all += each;
    } else {
      all += std::to_string(each);
    }
  }
  return all;
}

}  // namespace bale
