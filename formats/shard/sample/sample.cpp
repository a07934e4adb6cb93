#include "bale/formats/shard/sample.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "bale/formats/base/error.hpp"
#include "bale/formats/shard/sample/key.hpp"

namespace bale {

Bytes SampleView::operator[](std::string_view name) const {
  if (const FieldView* const field = find(name)) return field->bytes;
  throw Error(ErrorCode::not_found, "sample has no field \"" + printable(name) + '"', {.key = std::string(key)});
}

const FieldView* SampleView::find_image() const {
  const auto found =
      std::find_if(fields.begin(), fields.end(), [](const FieldView& field) { return is_image_field(field.name); });
  return found != fields.end() ? &*found : find(k_array_field);
}

std::int64_t parse_label(Bytes cls) {
  std::string_view text = as_text(cls);
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);  // the byte order mark of editors on Windows
  constexpr std::string_view k_space = " \t\r\n";
  const std::size_t first = text.find_first_not_of(k_space);
  if (first == std::string_view::npos) return k_no_label;
  text = text.substr(first, text.find_last_not_of(k_space) - first + 1);
  std::int64_t label = 0;
  const char* const text_end = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), text_end, label);
  if (error != std::errc{}) return k_no_label;
  const std::string_view rest(end, text_end);
  if (rest.empty() || (rest[0] == '.' && rest.find_first_not_of('0', 1) == std::string_view::npos)) return label;
  // "8.000e+00", as NumPy writes it. A double has all whole numbers up to 2^53.
  double number = 0;
  const auto [number_end, number_error] = std::from_chars(text.data(), text_end, number);
  const bool is_whole = number_error == std::errc{} && number_end == text_end && std::abs(number) <= 0x1p53 &&
                        number == std::floor(number);
  return is_whole ? static_cast<std::int64_t>(number) : k_no_label;
}

namespace {

constexpr std::uint64_t k_gap_bytes = std::uint64_t{16} << 10;  // to read them costs less than one more request

}  // namespace

void DirectFetch::fetch(const DirectFile& file) {
  runs_.clear();
  merge_ranges(wanted_, k_gap_bytes);
  std::uint64_t room = 0;
  for (const FileRange& range : wanted_) {
    if (!is_tiny(range)) room += DirectFile::room_for(range);
  }
  try {
    std::byte* place = buffer_.at_least(room);
    for (const FileRange& range : wanted_) {
      if (is_tiny(range)) continue;
      runs_.push_back({range, file.read_into(range, place)});
      place += DirectFile::room_for(range);
    }
  } catch (...) {
    clear();
    throw;
  }
  wanted_.clear();
}

Bytes DirectFetch::find(const FileRange& wanted) const {
  for (const Run& run : runs_) {
    if (wanted.offset < run.range.offset) continue;
    const std::uint64_t begin = wanted.offset - run.range.offset;
    if (begin <= run.range.length && wanted.length <= run.range.length - begin) {
      return run.bytes.subspan(begin, wanted.length);
    }
  }
  return {};
}

}  // namespace bale
