// Times of the AWS interfaces: "20130524T000000Z" in signatures, "2013-05-24T00:00:00Z" in answers.
//
// Threads: plain functions.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace bale {

using UtcTime = std::chrono::system_clock::time_point;

/// "20130524T000000Z".
std::string compact_utc_time(UtcTime time);

/// Reads "YYYY-MM-DDThh:mm:ss", with an optional fraction, and then "Z" or an offset such as "+02:00". nullopt for
/// anything else.
std::optional<UtcTime> parse_utc_time(std::string_view text);

}  // namespace bale
