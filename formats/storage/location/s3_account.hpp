// S3Account: settings and credentials of this process for S3.
//
// They are those of the environment when the process first asks for any. Threads: any number may call.
#pragma once

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <string>

#include "bale/formats/storage/aws/context/aws_context.hpp"
#include "bale/formats/storage/aws/credentials/credential_sources.hpp"
#include "bale/formats/storage/aws/credentials/credentials.hpp"
#include "bale/formats/storage/aws/s3_location.hpp"

namespace bale {

class S3Account {
 public:
  static S3Account& of_process() {
    static S3Account account;
    return account;
  }

  S3Settings settings(const std::string& bucket) const {
    S3Settings settings = settings_;
    const std::lock_guard lock(mutex_);
    if (const auto found = regions_.find(bucket); found != regions_.end()) settings.region = found->second;
    return settings;
  }
  CredentialProvider& credentials() { return credentials_; }
  UtcTime now() const { return context_.now(); }

  /// Makes the next request look for new credentials, after a server refused those in use. Requests that were under way
  /// then are refused, too, and change nothing. Returns false if the credentials are not temporary, and their source
  /// has no others by now: a program of the user's may write new ones into the shared files.
  bool renew_credentials() {
    constexpr std::chrono::seconds k_under_way{60};
    const auto used = credentials_.get();
    if (!used) return false;
    if (!used->expiration) {
      if (find_credentials(context_) == used) return false;
      credentials_.invalidate(*used);
      return true;
    }
    const std::lock_guard lock(mutex_);
    const UtcTime now = context_.now();
    if (now - last_renewal_ > k_under_way) credentials_.invalidate(*used);
    last_renewal_ = std::max(last_renewal_, now);
    return true;
  }

  /// A bucket that lies in another region: requests to it are signed for that one from now on.
  void set_region(const std::string& bucket, const std::string& region) {
    const std::lock_guard lock(mutex_);
    regions_[bucket] = checked_region(region);
  }

 private:
  const AwsContext context_ = AwsContext::of_process();
  mutable std::mutex mutex_;
  const S3Settings settings_ = read_s3_settings(context_);
  std::map<std::string, std::string> regions_;  // of buckets that lie elsewhere
  CredentialProvider credentials_{context_};
  UtcTime last_renewal_{};
};

}  // namespace bale
