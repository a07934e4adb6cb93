// Machines with or without AWS credentials: their files, variables, clocks, and the servers that they reach.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/base/bytes.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/storage/aws/credentials/credential_sources.hpp"
#include "bale/formats/storage/aws/credentials/credentials.hpp"
#include "bale/tests/support/catch.hpp"
#include "bale/tests/support/error_of.hpp"
#include "bale/tests/support/temp_dir.hpp"
#include "bale/tests/support/text_file.hpp"

namespace bale::test {

inline const UtcTime k_start = *parse_utc_time("2026-11-03T12:00:00Z");

inline HttpResponse answer(long status, const std::string& body = "") {
  const Bytes bytes = as_bytes(body);
  return {.status = status, .body = {bytes.begin(), bytes.end()}};
}

inline std::string json_keys(const std::string& id, const std::string& expiration) {
  return fmt::format(R"({{"Code": "Success", "AccessKeyId": "{}", "SecretAccessKey": "s3cr3t", "Token": "t0ken", )"
                     R"("Expiration": "{}"}})",
                     id, expiration);
}

inline std::string header_of(const HttpRequest& request, const std::string& name) {
  for (const auto& [key, value] : request.headers) {
    if (key == name) return value;
  }
  return "";
}

/// A machine: its environment, its home directory, its clock, and the servers that it reaches.
struct Machine {
  TempDir home{};
  std::map<std::string, std::string> variables{};
  std::function<HttpResponse(const HttpRequest&)> server = [](const HttpRequest&) -> HttpResponse {
    throw Error(ErrorCode::retryable, "the connection failed");
  };
  std::vector<HttpRequest> requests{};
  UtcTime now = k_start;

  AwsContext context() {
    return {.variable = [this](const std::string& name) -> std::optional<std::string> {
              if (name == "HOME") return home.path();
              const auto found = variables.find(name);
              if (found == variables.end()) return std::nullopt;
              return found->second;
            },
            .perform =
                [this](HttpRequest request) {
                  requests.push_back(request);
                  return server(request);
                },
            .now = [this] { return now; },
            .pause = [](std::chrono::milliseconds) {}};
  }
  std::string write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(home / ".aws");
    spit(home / name, text);
    return home / name;
  }
  std::optional<Credentials> find() { return find_credentials(context()); }
  std::string found_id() {
    const auto found = find();
    return found ? found->access_key_id : "none";
  }
  Error failure() {
    return error_of([&] { find(); });
  }
};

/// The instance metadata of a machine with the role "a role".
inline HttpResponse metadata_answer(const HttpRequest& request, const std::string& expiration) {
  if (request.method == "PUT") {
    CHECK(request.url == "http://169.254.169.254/latest/api/token");
    CHECK(header_of(request, "x-aws-ec2-metadata-token-ttl-seconds") == "21600");
    return answer(200, "session");
  }
  CHECK(header_of(request, "x-aws-ec2-metadata-token") == "session");
  const std::string roles = "http://169.254.169.254/latest/meta-data/iam/security-credentials/";
  if (request.url == roles) return answer(200, "a role\n");
  CHECK(request.url == roles + "a%20role");
  return answer(200, json_keys("INSTANCE", expiration));
}

/// A container whose server returns keys that are numbered and expire an hour after they were made.
struct Container : Machine {
  int num_keys = 0;
  long status = 200;

  Container() {
    variables["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"] = "/role";
    server = [this](const HttpRequest&) {
      if (status != 200) return answer(status);
      ++num_keys;
      const auto seconds = (now - k_start + std::chrono::hours{1}) / std::chrono::seconds{1};
      return answer(200, json_keys(fmt::format("KEY{}", num_keys),
                                   fmt::format("2026-11-03T{:02}:{:02}:{:02}Z", 12 + seconds / 3600, seconds / 60 % 60,
                                               seconds % 60)));
    };
  }
};

}  // namespace bale::test
