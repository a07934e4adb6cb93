#include "bale/formats/storage/ranges/range_body.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <sstream>

#include "bale/formats/base/text/ascii_case.hpp"
#include "bale/formats/storage/http/retry.hpp"

namespace bale {
namespace {

constexpr std::string_view k_modified = "modified ";
constexpr std::size_t k_max_error_body = 64 << 10;

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

struct ContentRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::optional<std::uint64_t> size{};  // of the file; nullopt if the server does not know it
};

/// "bytes 0-9/100", or "bytes 0-9/*" (RFC 9110, 14.4).
std::optional<ContentRange> parse_content_range(std::string_view text) {
  constexpr std::string_view k_unit = "bytes ";
  const std::size_t dash = text.find('-');
  const std::size_t slash = text.find('/');
  if (!text.starts_with(k_unit) || dash == std::string_view::npos || slash == std::string_view::npos || slash < dash) {
    return std::nullopt;
  }
  const auto first = number(text.substr(k_unit.size(), dash - k_unit.size()));
  const auto last = number(text.substr(dash + 1, slash - dash - 1));
  const auto size = number(text.substr(slash + 1));
  if (!first || !last || *first > *last || (size ? *last >= *size : text.substr(slash + 1) != "*")) return std::nullopt;
  return ContentRange{*first, *last, size};
}

}  // namespace

std::string FileVersion::strong_etag() const {
  return etag.starts_with("W/") || etag.starts_with(k_modified) ? std::string() : etag;
}

bool is_part(const HttpResponse& response) {
  return response.status == 206 || (response.status == 200 && !response.header("content-range").empty());
}

std::string validator_of(const HttpResponse& response) {
  const std::string etag = response.header("etag");
  const std::string modified = response.header("last-modified");
  return etag.empty() && !modified.empty() ? std::string(k_modified) + modified : etag;
}

std::optional<FileVersion> version_of(const HttpResponse& response) {
  FileVersion version{.etag = validator_of(response)};
  std::optional<std::uint64_t> size;
  if (is_part(response)) {
    if (const auto range = parse_content_range(response.header("content-range"))) size = range->size;
  } else {
    size = number(response.header("content-length"));
  }
  if (!size) return std::nullopt;
  version.size = *size;
  version.has_ranges = is_part(response);
  return version;
}

std::optional<Error> error_of_encoding(const HttpResponse& response, const RemoteUrl& location) {
  // S3 keeps "aws-chunked", which says how an object was sent, if it was sent by other names than its own.
  std::string encodings = lower_case(response.header("content-encoding"));
  std::replace(encodings.begin(), encodings.end(), ',', ' ');
  std::istringstream words(encodings);
  const bool is_plain = std::all_of(std::istream_iterator<std::string>(words), {}, [](const std::string& encoding) {
    return encoding == "identity" || encoding == "aws-chunked";
  });
  if (is_plain) return std::nullopt;
  return Error(ErrorCode::unsupported, "the server compresses what it sends, so ranges of the file cannot be read",
               {.path = location.shown(), .hint = "turn off compression for this file on the server"});
}

RangeBody::RangeBody(const RemoteUrl& location, FileRange wanted, FileVersion version, Put put)
    : location_(location), wanted_(wanted), version_(std::move(version)), put_(std::move(put)) {}

bool RangeBody::check(const HttpResponse& head) {
  const auto fail = [&](Error error) {
    error_ = std::move(error);
    return false;
  };
  if (head.status != 200 && head.status != 206) {
    is_error_body_ = true;
    return true;
  }
  if (auto encoded = error_of_encoding(head, location_)) return fail(*std::move(encoded));
  is_whole_ = !is_part(head);
  const auto range = is_whole_ ? std::nullopt : parse_content_range(head.header("content-range"));
  const bool has_wrong_range = !is_whole_ && (!range || range->first != wanted_.offset);
  const std::string etag = validator_of(head);
  const bool is_other_version = !version_.etag.empty() && !etag.empty() && etag != version_.etag;
  // The size in a range that nobody asked for means nothing.
  const auto found = has_wrong_range ? std::nullopt : version_of(head);
  if (is_other_version || (found && found->size != version_.size)) return fail(location_.changed());
  if (has_wrong_range) {
    return fail(Error(ErrorCode::retryable, "the server answers with another range than the one it was asked for",
                      {.path = location_.shown()}));
  }
  if (is_whole_) return true;
  at_ = range->first;
  return true;
}

bool RangeBody::take(const HttpResponse& head, Bytes part) {
  if (!is_checked_) {
    is_checked_ = true;
    if (!check(head)) return false;
  }
  if (is_error_body_) {
    if (error_body_.size() < k_max_error_body) error_body_ += as_text(part);
    return true;
  }
  const std::uint64_t offset = at_;
  at_ += part.size();
  return put_(offset, part);
}

std::optional<Error> RangeBody::end(const HttpResult& result) const {
  if (error_) return error_;
  if (is_checked_ && !is_error_body_ && at_ >= wanted_.offset + wanted_.length) return std::nullopt;
  if (const auto* const error = std::get_if<Error>(&result)) {
    return error_at(location_.shown(), *error);
  }
  HttpResponse response = std::get<HttpResponse>(result);
  if (response.status == 200 || response.status == 206) {
    return Error(ErrorCode::retryable, "the server sent less than it was asked for", {.path = location_.shown()});
  }
  const Bytes body = as_bytes(error_body_);
  response.body.assign(body.begin(), body.end());
  return location_.error_of(response);
}

}  // namespace bale
