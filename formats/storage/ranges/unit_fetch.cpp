#include "bale/formats/storage/ranges/unit_fetch.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

namespace bale {
namespace {

constexpr std::size_t k_store_bytes = 64 << 10;  // stored at a time, at least

FileRange bytes_of(UnitRun run, std::uint64_t file_bytes) {
  const std::uint64_t begin = run.first * k_unit_bytes;
  return {begin, std::min(run.end * k_unit_bytes, file_bytes) - begin};
}

/// As insert() at the end, of which GCC 14 warns that it overflows.
void append(std::vector<std::byte>& to, Bytes bytes) {
  const std::size_t size = to.size();
  to.resize(size + bytes.size());
  if (!bytes.empty()) std::memcpy(to.data() + size, bytes.data(), bytes.size());
}

}  // namespace

std::shared_ptr<RangeRequest> UnitFetch::request(const std::shared_ptr<const RemoteUrl>& location,
                                                 const FileVersion& version, std::shared_ptr<CachedFile> file,
                                                 UnitRun run, std::uint64_t wanted_end) {
  const FileRange range = bytes_of(run, version.size);
  const auto fetch = std::make_shared<UnitFetch>(std::move(file), run, wanted_end, range);
  const auto request = std::make_shared<RangeRequest>(
      location, range, version, [fetch](std::uint64_t offset, Bytes part) { return fetch->put(offset, part); });
  fetch->request_ = request;
  return request;
}

UnitFetch::UnitFetch(std::shared_ptr<CachedFile> file, UnitRun run, std::uint64_t wanted_end, FileRange range)
    : file_(std::move(file)), rest_(run), wanted_end_(wanted_end), range_(range) {}

UnitFetch::~UnitFetch() {
  store_complete({}, false);  // of a body that was cut, too
  file_->release(rest_, true);
}

/// Of a whole file that comes instead of a range, what is not in the range is skipped.
bool UnitFetch::put(std::uint64_t offset, Bytes part) {
  const std::uint64_t begin = std::clamp(offset, range_.offset, range_.offset + range_.length);
  const std::uint64_t end = std::clamp(offset + part.size(), range_.offset, range_.offset + range_.length);
  const Bytes wanted = begin < end ? part.subspan(begin - offset, end - begin) : Bytes();
  const bool is_end = end == range_.offset + range_.length;
  const bool is_wanted = rest_.first < wanted_end_ && end >= wanted_end_ * k_unit_bytes;
  if (waiting_.size() + wanted.size() < k_store_bytes && !is_wanted && !is_end) {
    append(waiting_, wanted);
    return true;
  }
  return store_complete(wanted, is_end) && (!is_end || offset + part.size() == end);
}

/// Stores the whole units of what waits and `more`, which follows it; what is left waits.
bool UnitFetch::store_complete(Bytes more, bool is_end) {
  const std::size_t begun = waiting_.size() % k_unit_bytes;
  const Bytes rest_of_unit = more.first(std::min<std::size_t>(more.size(), begun > 0 ? k_unit_bytes - begun : 0));
  append(waiting_, rest_of_unit);
  more = more.subspan(rest_of_unit.size());
  const auto complete = [&](Bytes bytes) {
    return bytes.first(is_end ? bytes.size() : bytes.size() / k_unit_bytes * k_unit_bytes);
  };
  const std::array<Bytes, 2> parts{complete(waiting_), complete(more)};
  const std::size_t stored = parts[0].size() + parts[1].size();
  if (stored > 0 && !file_->write(rest_.first, parts)) return false;
  rest_.first += units_of(0, stored).end;
  waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(parts[0].size()));
  const Bytes left = more.subspan(parts[1].size());
  append(waiting_, left);
  const auto request = stored > 0 ? request_.lock() : nullptr;
  if (request) request->look();
  return true;
}

}  // namespace bale
