#include "bale/formats/storage/unit_fetch.hpp"

#include <algorithm>
#include <utility>

namespace bale {
namespace {

constexpr std::size_t k_store_bytes = 256 << 10;  // stored at a time

FileRange bytes_of(UnitRun run, std::uint64_t file_bytes) {
  const std::uint64_t begin = run.first * k_unit_bytes;
  return {begin, std::min(run.end * k_unit_bytes, file_bytes) - begin};
}

}  // namespace

UnitFetch::UnitFetch(std::shared_ptr<const Location> location, const FileVersion& version,
                     std::shared_ptr<CachedFile> file, UnitRun run)
    : location_(std::move(location)),
      file_bytes_(version.size),
      if_match_(version.strong_etag()),
      file_(std::move(file)),
      rest_(run),
      range_(bytes_of(run, version.size)),
      body_(*location_, range_, version, [this](std::uint64_t offset, Bytes part) { return put(offset, part); }) {}

UnitFetch::~UnitFetch() {
  store_complete(false);  // of a body that was cut, too
  file_->release(rest_, true);
}

HttpRequest UnitFetch::request() {
  HttpRequest request = location_->get({.range = range_, .if_match = if_match_});
  request.on_body = [this](const HttpResponse& head, Bytes part) { return body_.take(head, part); };
  return request;
}

/// Of a whole file that comes instead of a range, what is not in the range is skipped.
bool UnitFetch::put(std::uint64_t offset, Bytes part) {
  const std::uint64_t begin = std::clamp(offset, range_.offset, range_.offset + range_.length);
  const std::uint64_t end = std::clamp(offset + part.size(), range_.offset, range_.offset + range_.length);
  const Bytes wanted = begin < end ? part.subspan(begin - offset, end - begin) : Bytes();
  waiting_.insert(waiting_.end(), wanted.begin(), wanted.end());
  const bool is_end = end == range_.offset + range_.length;
  if (waiting_.size() < k_store_bytes && !is_end) return true;
  return store_complete(is_end) && (!is_end || offset + part.size() == end);
}

bool UnitFetch::store_complete(bool is_end) {
  if (waiting_.empty()) return true;
  const std::size_t whole = waiting_.size() / k_unit_bytes * k_unit_bytes;
  const Bytes complete = Bytes(waiting_).first(is_end ? waiting_.size() : whole);
  if (complete.empty()) return true;
  if (!file_->write(rest_.first, complete)) return false;
  rest_.first += units_of(0, complete.size()).end;
  waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(complete.size()));
  return true;
}

std::optional<Error> UnitFetch::now(bool fresh_connection, HttpResponse& response) {
  HttpRequest asked = request();
  asked.fresh_connection = fresh_connection;
  asked.urgent = true;
  HttpResult result = HttpClient::instance().carry_out(std::move(asked));
  if (const auto* const got = std::get_if<HttpResponse>(&result)) response.headers = got->headers;
  return body_.end(result);
}

void UnitFetch::later(const std::shared_ptr<UnitFetch>& fetch) {
  HttpClient::instance().submit(fetch->request(), [fetch](const HttpResult&) {});
}

}  // namespace bale
