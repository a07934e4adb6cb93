// CredentialProvider: the AWS credentials of this process, found where the AWS SDKs look, and kept fresh.
//
// The sources, in this order (credential_sources.hpp): environment, web identity, shared files, container, instance
// metadata. The first that is configured is used; one that is configured and fails is an error, not a reason to try the
// next. If none is configured, requests are not signed, and that stays so. Temporary credentials are replaced 5 minutes
// before they expire. While that fails, the old ones are used until they expire.
//
// Threads: any number may call. One at a time looks for credentials; the others get the old ones, or wait for its
// result if there are none. Processes: the child of a fork() that came in between looks for itself. Errors:
// `invalid_argument` if the configuration is wrong or the identity is refused, `retryable` if a server did not answer.
// The message names the source, never a secret.
#pragma once

#include <sys/types.h>

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <string>

#include "bale/formats/storage/aws/context/aws_context.hpp"

namespace bale {

struct Credentials {
  std::string access_key_id{};
  std::string secret_access_key{};
  std::string session_token{};          // empty: none
  std::optional<UtcTime> expiration{};  // nullopt: does not expire

  friend bool operator==(const Credentials&, const Credentials&) = default;
};

class CredentialProvider {
 public:
  explicit CredentialProvider(AwsContext context = AwsContext::of_process());

  /// Credentials to sign with now; nullopt if requests are anonymous.
  std::optional<Credentials> get();
  /// Whether get() would return at once.
  bool is_ready();
  /// Makes get() look again, after a server refused these as expired. Does nothing if get() has others by now.
  void invalidate(const Credentials& refused);

 private:
  bool is_fresh(UtcTime now) const;
  bool is_valid(UtcTime now) const;
  bool is_refreshing() const;
  void refresh(std::unique_lock<std::mutex>& lock);
  void accept(std::optional<Credentials> found);

  const AwsContext context_;
  std::mutex mutex_;
  std::condition_variable refreshed_;
  bool is_known_ = false;                 // current_ is a result
  bool was_signed_ = false;               // there were credentials once
  std::optional<Credentials> current_{};  // nullopt, if known: anonymous
  UtcTime next_refresh_{};                // not before; for credentials that expire
  pid_t refreshing_process_ = 0;          // whose thread looks for credentials now; 0: none
  std::uint64_t num_refreshes_ = 0;
  std::exception_ptr failure_{};  // of the last refresh
};

}  // namespace bale
