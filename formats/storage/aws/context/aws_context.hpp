// AwsContext: what the AWS code uses of the process: its environment, HTTP and the time. Tests replace them.
//
// Ownership: copies of the functions.
// Threads: the functions may be called by any number of threads at once.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "bale/formats/storage/http/http_client.hpp"

namespace bale {

// Times of the AWS interfaces: "20130524T000000Z" in signatures, "2013-05-24T00:00:00Z" in answers.
//
// Threads: plain functions.

using UtcTime = std::chrono::system_clock::time_point;

/// "20130524T000000Z".
std::string compact_utc_time(UtcTime time);

/// Reads "YYYY-MM-DDThh:mm:ss", with an optional fraction, and then "Z" or an offset such as "+02:00". nullopt for
/// anything else.
std::optional<UtcTime> parse_utc_time(std::string_view text);

using ReadVariable = std::function<std::optional<std::string>(const std::string& name)>;

struct AwsContext {
  ReadVariable variable;  // of the environment
  std::function<HttpResponse(HttpRequest)> perform;
  std::function<UtcTime()> now;
  std::function<void(std::chrono::milliseconds)> pause;  // sleeps

  /// Environment, HttpClient and clock of this process.
  static AwsContext of_process();

  /// A variable of the environment, without blanks and line ends around it, which secrets that come from files have.
  /// nullopt if it is not set or empty.
  std::optional<std::string> setting(const std::string& name) const;
  /// Whether a variable is yes, true, on or 1, in any case.
  bool is_on(const std::string& name) const;
};

}  // namespace bale
