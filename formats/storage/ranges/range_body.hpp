// RangeBody: the body of a response to a request for a range, with the place of each part in the file.
//
// Checks that the response is for the range, and of the version of the file that was asked for, before it passes
// anything on. A server that ignores ranges sends the whole file; its parts have their places just the same.
//
// Threads: used by one thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "bale/formats/base/bytes.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file_range.hpp"
#include "bale/formats/storage/location/remote_url.hpp"

namespace bale {

/// A version of a remote file.
struct FileVersion {
  std::string etag{};  // as the server sent it, or "modified TIME" if it sends none; empty: the server tells neither
  std::string instance{};  // if it tells neither: a name for what it sends to this run
  std::uint64_t size = 0;
  bool has_ranges = true;  // false: the server sends the whole file, whatever it is asked for

  friend bool operator==(const FileVersion&, const FileVersion&) = default;
  /// What If-Match and If-None-Match take; empty if there is nothing. Weak ETags never match (RFC 9110, 13.1.1).
  std::string strong_etag() const;
};

/// Whether the response is a part of the file. rclone's S3 server (1.75) sends status 200 with a Content-Range.
bool is_part(const HttpResponse& response);
/// FileVersion::etag of a response.
std::string validator_of(const HttpResponse& response);
/// The version that a response is of. nullopt if it does not tell the size.
std::optional<FileVersion> version_of(const HttpResponse& response);

/// The error of a response with an encoded body; nullopt if it is the file's bytes.
std::optional<Error> error_of_encoding(const HttpResponse& response, const RemoteUrl& location);

class RangeBody {
 public:
  /// Called with parts in order. Returns false to end the transfer.
  using Put = std::function<bool(std::uint64_t offset, Bytes part)>;

  RangeBody(const RemoteUrl& location, FileRange wanted, FileVersion version, Put put);

  /// For HttpRequest::on_body.
  bool take(const HttpResponse& head, Bytes part);
  /// How the transfer ended: nullopt if all of the range came.
  std::optional<Error> end(const HttpResult& result) const;
  /// Whether the server sends the whole file instead of ranges.
  bool is_whole() const { return is_whole_; }

 private:
  bool check(const HttpResponse& head);

  const RemoteUrl& location_;
  const FileRange wanted_;
  const FileVersion version_;
  const Put put_;
  bool is_checked_ = false;
  bool is_error_body_ = false;
  bool is_whole_ = false;
  std::string error_body_;
  std::optional<Error> error_;
  std::uint64_t at_ = 0;  // place of the next byte
};

}  // namespace bale
