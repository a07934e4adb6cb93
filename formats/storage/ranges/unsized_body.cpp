#include "bale/formats/storage/ranges/unsized_body.hpp"

#include <fcntl.h>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/storage/http/retry.hpp"

namespace bale {
namespace {

constexpr std::uint64_t k_reserved_bytes = std::uint64_t{16} << 20;  // at a time

}  // namespace

bool UnsizedBody::append(Bytes part) {
  const std::uint64_t offset = size_;
  size_ += part.size();
  if (!is_kept_ || size_ > most_bytes_) return size_ <= most_bytes_;
  try {
    if (!file_.is_open()) file_ = File::create_unnamed(cache_->files());
    while (is_kept_ && reserved_ < size_) {
      is_kept_ = cache_->reserve(k_reserved_bytes);
      if (is_kept_) reserved_ += k_reserved_bytes;
    }
    if (is_kept_) file_.write_at(offset, part);
  } catch (const Error&) {  // it is fetched again when it is read
    is_kept_ = false;
  }
  if (!is_kept_) drop();
  return true;
}

void UnsizedBody::restart() {
  drop();
  size_ = 0;
  is_kept_ = cache_ != nullptr;
}

void UnsizedBody::require_end(const RemoteUrl& location) const {
  if (size_ <= most_bytes_) return;
  throw Error(ErrorCode::unsupported,
              fmt::format("the server does not tell the size of the file, and sends more than {} bytes", most_bytes_),
              {.path = location.shown(), .hint = "copy it to a local disk first, if it has an end"});
}

bool UnsizedBody::take(std::uint64_t offset, MutableBytes out) {
  try {
    file_.read_exact(offset, out);
  } catch (const Error&) {
    return false;
  }
  const int how = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
  if (::fallocate(file_.fd(), how, static_cast<off_t>(offset), static_cast<off_t>(out.size())) == 0) {
    const std::uint64_t given = std::min<std::uint64_t>(reserved_, out.size());
    cache_->give_back(given);
    reserved_ -= given;
  }
  return true;
}

void UnsizedBody::drop() {
  file_ = File();
  if (cache_) cache_->give_back(reserved_);
  reserved_ = 0;
}

namespace {

constexpr std::uint64_t k_least_bytes_per_s = 1024;  // a body that comes more slowly would never be complete

}  // namespace

/// RFC 9112, 7.1: the last chunk has no bytes.
bool has_marked_end(const HttpResponse& response) {
  return response.status == 200 && response.header("transfer-encoding").ends_with("chunked");
}

FileVersion measured_version(const RemoteUrl& location, UnsizedBody& body) {
  for (Retry retry;; body.restart()) {
    HttpRequest request = location.get({});
    retry.set_limits(request);
    request.total_timeout = {};
    request.least_bytes_per_s = k_least_bytes_per_s;
    request.urgent = true;
    FileVersion version{.has_ranges = false};
    request.on_body = [&version, &body](const HttpResponse& head, Bytes part) {
      if (body.size() == 0) version.etag = validator_of(head);
      return body.append(part);
    };
    HttpResult result = HttpClient::instance().carry_out(std::move(request));
    body.require_end(location);
    version.size = body.size();
    auto* const response = std::get_if<HttpResponse>(&result);
    if (response != nullptr && response->status == 200) return version;
    retry.wait_after(response != nullptr ? location.error_of(*response) : std::get<Error>(result), response);
  }
}

}  // namespace bale
