#include "bale/formats/recordio/record.hpp"

#include <limits>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"

namespace bale::recordio {
namespace {

std::uint64_t padded(std::uint64_t bytes) { return (bytes + k_word_bytes - 1) / k_word_bytes * k_word_bytes; }

PartKind kind_of(std::uint32_t length_word) { return static_cast<PartKind>(length_word >> k_length_bits); }

void find_magic_in_words(Bytes bytes, std::uint64_t position, std::vector<std::uint64_t>& found) {
  constexpr std::size_t k_block_words = 16;  // compared together, without a branch
  const std::size_t num_words = bytes.size() / k_word_bytes;
  const auto is_magic = [&](std::size_t word) {
    return load_at<std::uint32_t>(bytes.data() + word * k_word_bytes) == k_magic;
  };
  for (std::size_t word = 0; word < num_words;) {
    const std::size_t end = std::min(word + k_block_words, num_words);
    unsigned any = 0;
    if (end - word == k_block_words) {
      for (std::size_t i = 0; i < k_block_words; ++i) any |= static_cast<unsigned>(is_magic(word + i));
    } else {
      any = 1;
    }
    for (; any != 0 && word < end; ++word) {
      if (is_magic(word)) found.push_back(position + word * k_word_bytes);
    }
    word = end;
  }
}

}  // namespace

std::uint64_t Record::place_of(std::uint64_t position) const {
  const auto behind = std::upper_bound(splits.begin(), splits.end(), position,
                                       [](std::uint64_t at, std::uint64_t split) { return at < split + k_word_bytes; });
  const auto words = static_cast<std::uint64_t>(behind - splits.begin());
  return offset + k_part_header_bytes + position + words * k_word_bytes;
}

std::uint64_t Record::words_within(std::uint64_t position, std::uint64_t bytes) const {
  if (bytes == 0) return 0;
  return (place_of(position + bytes - 1) - place_of(position) - (bytes - 1)) / k_word_bytes;
}

void fail_record(const std::string& path, const Record& record, std::string_view what) {
  throw Error(ErrorCode::damaged, fmt::format("record {}: {}", record.number, what),
              {.path = path, .offset = record.offset, .hint = "copy or pack it again"});
}

/// Reads the header of the part at at_ and moves past the part. True if the record continues.
bool RecordWalk::next_part(Record& record) {
  const std::string& path = window_.file().path();
  const std::uint64_t left = window_.file_bytes() - std::min(at_, window_.file_bytes());
  const Bytes header = window_.from(at_, k_part_header_bytes);
  if (left < k_part_header_bytes || header.size() < k_part_header_bytes) {
    fail_record(path, record, "the file ends inside a header");
  }
  if (load_at<std::uint32_t>(header.data()) != k_magic)
    fail_record(path, record, "no magic number at the expected offset");
  const auto word = load_at<std::uint32_t>(header.data() + k_word_bytes);
  const std::uint64_t length = word & ((std::uint32_t{1} << k_length_bits) - 1);
  const PartKind kind = kind_of(word);
  const bool opens = kind == PartKind::whole || kind == PartKind::first;
  if (static_cast<std::uint32_t>(kind) > static_cast<std::uint32_t>(PartKind::last) ||
      opens != (at_ == record.offset)) {
    fail_record(path, record, "a part out of place");
  }
  if (padded(length) > left - k_part_header_bytes) {
    fail_record(path, record, fmt::format("the file ends before a part's {} bytes", length));
  }
  const bool goes_on = kind == PartKind::first || kind == PartKind::middle;
  if (goes_on && length % k_word_bytes != 0) fail_record(path, record, "a part that does not end at a possible offset");
  record.length += length;
  if (goes_on) {
    record.splits.push_back(record.length);
    record.length += k_word_bytes;
  }
  if (record.length > std::numeric_limits<std::uint32_t>::max()) {
    throw Error(ErrorCode::unsupported, fmt::format("record {} has 4 GiB or more", record.number),
                {.path = path, .offset = record.offset});
  }
  at_ += k_part_header_bytes + padded(length);
  return goes_on;
}

bool RecordWalk::next(Record& record) {
  if (at_ == window_.file_bytes()) return false;
  record.number = number_++;
  record.offset = at_;
  record.length = 0;
  record.splits.clear();
  while (next_part(record)) {
  }
  return true;
}

void read_payload(const File& file, std::uint64_t place, std::uint64_t words, MutableBytes out) {
  if (words == 0) return file.read_exact(place, out);
  // Reads from the start of the word that holds the first byte: that word may be a magic number.
  const std::uint64_t before = place % k_word_bytes;
  // Checked before memory is allocated: the index is not trusted.
  const std::uint64_t file_bytes = file.size();
  if (place > file_bytes || out.size() + words * k_word_bytes > file_bytes - place) {
    throw Error(ErrorCode::damaged, "the file ends before its parts do", {.path = file.path(), .offset = place});
  }
  std::vector<std::byte> stored(static_cast<std::size_t>(before + out.size() + words * k_word_bytes));
  file.read_exact(place - before, stored);
  std::size_t from = static_cast<std::size_t>(before);
  std::size_t to = 0;
  const auto copy_until = [&](std::size_t end) {
    std::copy_n(stored.begin() + static_cast<std::ptrdiff_t>(from), end - from,
                out.begin() + static_cast<std::ptrdiff_t>(to));
    to += end - from;
  };
  for (std::size_t at = 0; words > 0 && at + k_part_header_bytes <= stored.size();) {
    if (load_at<std::uint32_t>(stored.data() + at) != k_magic) {
      at += k_word_bytes;
      continue;
    }
    const PartKind kind = kind_of(load_at<std::uint32_t>(stored.data() + at + k_word_bytes));
    if (kind != PartKind::middle && kind != PartKind::last) break;
    copy_until(at + k_word_bytes);
    at += k_part_header_bytes;
    from = at;
    --words;
  }
  if (words != 0) {
    throw Error(ErrorCode::damaged, "its parts have moved", {.path = file.path(), .offset = place});
  }
  copy_until(stored.size());
}

std::vector<std::byte> read_bytes(FileWindow& window, const Record& record, std::uint64_t position,
                                  std::uint64_t length) {
  const std::uint64_t place = record.place_of(position);
  if (record.splits.empty() && length <= FileWindow::k_bytes) {
    const Bytes bytes = window.from(place, static_cast<std::size_t>(length));
    if (bytes.size() >= length) return {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length)};
  }
  std::vector<std::byte> bytes(static_cast<std::size_t>(length));
  read_payload(window.file(), place, record.words_within(position, length), bytes);
  return bytes;
}

void find_magic(std::span<const Bytes> parts, std::vector<std::uint64_t>& found) {
  std::uint64_t position = 0;
  std::array<std::byte, k_word_bytes> straddling;  // a word that begins in one part and ends in another
  for (Bytes part : parts) {
    while (position % k_word_bytes != 0 && !part.empty()) {
      straddling[position % k_word_bytes] = part.front();
      part = part.subspan(1);
      if (++position % k_word_bytes == 0) find_magic_in_words(straddling, position - k_word_bytes, found);
    }
    const std::size_t whole = part.size() / k_word_bytes * k_word_bytes;
    find_magic_in_words(part.first(whole), position, found);
    std::copy(part.begin() + static_cast<std::ptrdiff_t>(whole), part.end(), straddling.begin());
    position += part.size();
  }
}

}  // namespace bale::recordio
