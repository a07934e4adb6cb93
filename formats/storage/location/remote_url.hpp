// RemoteUrl: one remote file, and how to ask its server for it.
//
// Threads: const methods may be called by many threads at once. They may wait for credentials.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file_range.hpp"
#include "bale/formats/storage/http/http_client.hpp"

namespace bale {

/// A variable of the environment, without blanks and line ends around it, which secrets that come from files have.
/// `otherwise` if that is empty.
std::string environment_variable(const char* name, const char* otherwise = "");
/// Whether a variable says yes: 1, true, yes, on.
bool is_on(const char* name);

/// What a GET request asks for.
struct GetCondition {
  std::optional<FileRange> range{};
  std::string if_match{};       // an ETag; empty: any version
  std::string if_none_match{};  // an ETag; empty: in any case
};

class RemoteUrl {
 public:
  virtual ~RemoteUrl() = default;
  /// The name as the user gave it.
  const std::string& name() const { return name_; }
  /// The name for messages, without what may be secret.
  const std::string& shown() const { return shown_; }
  /// The name in the cache: the same for each way to sign the URL.
  virtual std::string identity() const = 0;
  /// Throws `retryable` if is_offline().
  virtual HttpRequest get(const GetCondition& condition) const = 0;
  /// Whom it is asked of, by host and port; for files that the program opens, the name of their scheme.
  virtual std::string server() const;
  /// Whether no server is to be asked for it: BALE_OFFLINE is set, or what else says so.
  virtual bool is_offline() const;
  /// Whether get() would return at once. False as long as credentials must be asked for.
  virtual bool is_ready() const { return true; }
  /// The error that a response stands for that is not the file. Notes credentials that have expired.
  virtual Error error_of(const HttpResponse& response) const;
  /// The error that the file is not the version that was found first.
  Error changed() const;
  /// The name of a file whose path from this directory is `file`, raw bytes.
  virtual std::string join(std::string_view file) const;
  /// Where the file is if a rewriting of its dataset moved it: in versions/. Null if its server has no such datasets.
  virtual std::shared_ptr<const RemoteUrl> moved() const { return nullptr; }
  /// Names of the files directly in the directory, sorted. Throws `unsupported` if the server has no listings.
  virtual std::vector<std::string> list() const;

 protected:
  explicit RemoteUrl(std::string name);
  void require_online() const;
  /// The answer with status 200 to a request of `make`, which is made again after failures that may pass. Throws what
  /// Retry::wait_after() throws.
  HttpResponse answer_to(const std::function<HttpRequest()>& make) const;

 private:
  std::string name_;
  std::string shown_;
};

/// Whether error_of() made it of a refusal: the credentials do not suffice.
bool is_refusal(const Error& error);

/// A GET request for a URL.
HttpRequest get_request(std::string url, const GetCondition& condition);

/// Presigned URLs: what of a query is the signature's own, and what says which file is meant.
/// The URL without the parameters of a signature of S3, CloudFront, Google or Azure, which differ from one time that it
/// is signed to the next. All other parameters stay, in their order: they may name the file.
std::string without_signature(std::string_view url);

// Listings that come in parts, each of which names the next one.
struct ListedPart {
  std::string next{};   // what to ask for next; empty: this is the last part
  std::string first{};  // the first name in it; empty if it has none
};

/// Calls `ask` with "" and then with what each part names, up to the last one. `shown` is the name for messages. Some
/// servers name a part again, or forever: what was listed may then lack names or repeat them, so that is `io`.
template <typename Ask>
void list_all_parts(const std::string& shown, const Ask& ask) {
  constexpr std::size_t k_most_parts = 1'000'000;
  constexpr std::size_t k_most_empty = 1000;  // in a row
  std::set<std::string> asked{""};
  std::set<std::string> firsts;
  std::size_t num_empty = 0;
  for (std::string next;;) {
    ListedPart part = ask(next);
    num_empty = part.first.empty() ? num_empty + 1 : 0;
    const bool is_new = part.first.empty() ? num_empty <= k_most_empty : firsts.insert(std::move(part.first)).second;
    if (part.next.empty() && is_new) return;
    if (!is_new || asked.size() == k_most_parts || !asked.insert(part.next).second) {
      throw Error(ErrorCode::io, "the server repeats a part of its listing, so the listing cannot be complete",
                  {.path = shown, .hint = "name the shards, with braces if they are many: NAME-{000000..000009}"});
    }
    next = std::move(part.next);
  }
}

}  // namespace bale
