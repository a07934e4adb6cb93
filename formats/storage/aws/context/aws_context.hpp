// AwsContext: what the AWS code uses of the process: its environment, HTTP and the time. Tests replace them.
//
// Ownership: copies of the functions.
// Threads: the functions may be called by any number of threads at once.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "bale/formats/storage/aws/context/utc_time.hpp"
#include "bale/formats/storage/http/http_client.hpp"

namespace bale {

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
