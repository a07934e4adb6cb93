// UrlScheme: remote names of a program's own. After add_url_scheme() all functions of bale that read take such names as
// they take https:// and s3:// names: through the cache on the local disk, with reading ahead and retries.
//
// Example: docs/CONTRIBUTING.md. The schemes that bale brings are in formats/storage/schemes.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bale/formats/base/bytes.hpp"

namespace bale {

/// One file, opened for reading.
/// Ownership: bale owns it, and destroys it when its request has ended.
/// Threads: each object is used by one thread, which may wait; many objects are used at the same time.
/// Errors: what UrlScheme::open may throw, and `not_found`.
class UrlSource {
 public:
  virtual ~UrlSource() = default;
  /// Bytes of the file.
  virtual std::uint64_t size() const = 0;
  /// A text that is another one for another content, such as an ETag or a time of change: printable ASCII without '"'.
  /// It is asked for before a read and after each part of it, so a file that changes in between is noticed. Empty: not
  /// known; the file is then fetched again by each run.
  virtual std::string version() const = 0;
  /// Fills `out` from `offset` on, less at the end of the file. Returns the number of bytes, 0 after the end.
  virtual std::size_t read_some(std::uint64_t offset, MutableBytes out) const = 0;
};

struct UrlScheme {
  std::string name{};  // of NAME://PATH: two or more of a-z, 0-9, '+', '-' and '.'
  /// Opens the file of a name, which begins with this scheme in lower case. Called for each request, of which there may
  /// be thousands, by up to 16 threads. Throws bale::Error: `not_found` if there is no such file; after `retryable` and
  /// `io` the request is made again until BALE_NETWORK_TIMEOUT is over, except a refusal (EACCES, EPERM); any other
  /// ends the run.
  std::function<std::unique_ptr<UrlSource>(const std::string& name)> open{};
  /// The names of the files directly in a directory, in any order: what globs and directories without a manifest need.
  /// The name of the directory begins with this scheme in lower case, too.
  /// Empty: there are no listings.
  std::function<std::vector<std::string>(const std::string& directory)> list{};
  /// Throws `invalid_argument` for a malformed name. Empty: all names are well-formed.
  std::function<void(const std::string& name)> check{};
  bool needs_network = true;  // else it is read with BALE_OFFLINE, too
};

/// Adds a scheme to this process, for as long as it runs. It only reads: datasets are written elsewhere.
/// Threads: before any other thread uses bale. Processes: children of fork() have it, too; workers of a loader that are
/// processes do not, since they are programs of their own: use threads (WorkerMode::threads).
/// Errors: `invalid_argument` if the name is malformed or taken, or `open` is empty.
void add_url_scheme(UrlScheme scheme);

}  // namespace bale
