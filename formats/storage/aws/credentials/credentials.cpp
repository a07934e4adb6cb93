#include "bale/formats/storage/aws/credentials/credentials.hpp"

#include <unistd.h>

#include <utility>

#include "bale/formats/storage/aws/credentials/credential_sources.hpp"

namespace bale {
namespace {

/// How long before the expiration new credentials are fetched.
constexpr std::chrono::minutes k_early{5};
/// The shortest time between two attempts while the old credentials are valid.
constexpr std::chrono::seconds k_between_refreshes{30};

}  // namespace

CredentialProvider::CredentialProvider(AwsContext context) : context_(std::move(context)) {}

bool CredentialProvider::is_valid(UtcTime now) const {
  return is_known_ && (!current_ || !current_->expiration || now < *current_->expiration);
}

bool CredentialProvider::is_fresh(UtcTime now) const {
  if (!is_known_) return false;
  if (!current_ || !current_->expiration) return true;
  if (now + k_early < *current_->expiration) return true;
  // A source may return credentials that expire soon, or have expired by this machine's clock. The server decides.
  return now < next_refresh_ && (!failure_ || is_valid(now));
}

bool CredentialProvider::is_refreshing() const { return refreshing_process_ == ::getpid(); }

std::optional<Credentials> CredentialProvider::get() {
  std::unique_lock lock(mutex_);
  for (;;) {
    const UtcTime now = context_.now();
    if (is_fresh(now)) return current_;
    if (!is_refreshing()) {
      refresh(lock);
    } else {
      if (is_valid(now)) return current_;
      const std::uint64_t seen = num_refreshes_;
      refreshed_.wait(lock, [&] { return num_refreshes_ != seen; });
    }
    if (!failure_) continue;
    if (is_valid(context_.now())) return current_;
    std::rethrow_exception(failure_);
  }
}

bool CredentialProvider::is_ready() {
  const std::unique_lock lock(mutex_);
  const UtcTime now = context_.now();
  return is_fresh(now) || (is_refreshing() && is_valid(now));
}

void CredentialProvider::refresh(std::unique_lock<std::mutex>& lock) {
  refreshing_process_ = ::getpid();
  lock.unlock();
  std::optional<Credentials> found;
  std::exception_ptr failure;
  try {
    found = find_credentials(context_);
  } catch (...) {
    failure = std::current_exception();
  }
  lock.lock();
  refreshing_process_ = 0;
  ++num_refreshes_;
  next_refresh_ = context_.now() + k_between_refreshes;
  failure_ = failure;
  if (!failure_) accept(std::move(found));
  refreshed_.notify_all();
}

void CredentialProvider::accept(std::optional<Credentials> found) {
  if (!found && was_signed_) {
    // Never silently anonymous: a metadata server that does not answer looks like a machine that has none.
    failure_ = std::make_exception_ptr(
        Error(ErrorCode::retryable, "the AWS credentials expire, and their source does not answer any more",
              {.hint = "check the environment, the shared files or the metadata server that had them"}));
    return;
  }
  was_signed_ = found.has_value();
  current_ = std::move(found);
  is_known_ = true;
}

void CredentialProvider::invalidate(const Credentials& refused) {
  const std::lock_guard lock(mutex_);
  if (current_ && current_->access_key_id == refused.access_key_id &&
      current_->session_token == refused.session_token) {
    is_known_ = false;
  }
}

}  // namespace bale
