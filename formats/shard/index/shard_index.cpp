#include "bale/formats/shard/shard_index.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "bale/formats/base/codec/checked_header.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/storage.hpp"
#include "bale/formats/shard/index/index_layout.hpp"
#include "bale/formats/shard/index/index_memory.hpp"
#include "bale/formats/shard/sample/key.hpp"

namespace bale {
namespace {

/// Up to this many fields, a walk over the columns is as fast as a search.
constexpr std::size_t k_few_fields = 16;

[[noreturn]] void fail_damaged_index(const std::string& path, std::string_view why) {
  throw Error(ErrorCode::damaged, fmt::format("damaged index: {}", why),
              {.path = path, .hint = "make it again with `bale index`"});
}

Codec codec_of_row(std::uint8_t codec, const std::string& path) {
  if (codec <= static_cast<std::uint8_t>(k_last_codec)) return static_cast<Codec>(codec);
  throw Error(ErrorCode::unsupported, fmt::format("fields of codec {}", codec),
              {.path = path, .hint = "use a newer bale"});
}

IndexHeader load_header(Bytes bytes, const std::string& path) {
  std::uint32_t version = k_index_version;
  if (bytes.size() >= sizeof(IndexHeader) &&
      load_at<std::uint32_t>(bytes.data() + offsetof(IndexHeader, version)) == k_index_version_1) {
    version = k_index_version_1;
  }
  return load_checked_header<IndexHeader>(bytes, k_index_magic, version, "index", path,
                                          [&](std::string_view why) { fail_damaged_index(path, why); });
}

std::vector<std::byte> read_whole(const std::string& path) {
  const File file = open_whole(path);
  std::vector<std::byte> content(file.size());
  file.read_exact(0, content);
  return content;
}

Digest to_digest(const std::uint8_t (&bytes)[16]) {
  Digest digest{};
  std::copy(std::begin(bytes), std::end(bytes), digest.begin());
  return digest;
}

/// Binary search in 0 .. `size`.
template <typename IsBelow>
std::uint64_t first_not_below(std::uint64_t size, const IsBelow& is_below) {
  std::uint64_t low = 0;
  while (low < size) {
    const std::uint64_t middle = low + (size - low) / 2;
    if (is_below(middle)) {
      low = middle + 1;
    } else {
      size = middle;
    }
  }
  return low;
}

}  // namespace

std::string index_path(const std::string& shard_path) { return with_suffix(shard_path, ".bidx"); }

Extent ExtentRow::find(std::uint32_t wanted) const {
  const auto extent = [&](std::uint64_t at) { return load_at<Extent>(extents_ + at * sizeof(Extent)); };
  if (ids_ == nullptr) return wanted < size_ ? extent(wanted) : Extent{};
  const auto field = [&](std::uint64_t at) { return load_at<FieldId>(ids_ + at * sizeof(FieldId)); };
  // A row that has the first fields of the shard has them at the same positions.
  if (wanted < size_ && field(wanted) == wanted) return extent(wanted);
  const std::uint64_t at = first_not_below(size_, [&](std::uint64_t other) { return field(other) < wanted; });
  return at < size_ && field(at) == wanted ? extent(at) : Extent{};
}

ShardIndex ShardIndex::load(const std::string& path) {
  try {
    return read_twice_if_damaged(path, [&] { return from_bytes(read_whole(path), path); });
  } catch (const Error& error) {
    if (error.code() != ErrorCode::not_found) throw;
    throw Error(ErrorCode::not_found, error.message(), {.path = path, .hint = "make it with `bale index`"});
  }
}

ShardIndex ShardIndex::from_bytes(std::vector<std::byte> bytes, const std::string& path) {
  const auto content = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  ShardIndex index;
  index.content_ = *content;
  index.owner_ = content;
  index.parse(path, Checks::all);
  return index;
}

std::shared_ptr<const ShardIndex> ShardIndex::from_memory(const std::shared_ptr<IndexMemory>& memory,
                                                          const IndexPlace& place, const std::string& path) {
  ShardIndex index;
  index.content_ = memory->at(place);
  if (index.content_.empty()) return nullptr;
  index.owner_ = memory;
  index.place_ = place;
  index.parse(path, Checks::none);
  return std::make_shared<const ShardIndex>(std::move(index));
}

void ShardIndex::keep_in(const std::shared_ptr<IndexMemory>& memory) {
  const IndexPlace place = memory->add(content_);
  const Bytes kept = place.bytes > 0 ? memory->at(place) : Bytes();
  if (kept.empty()) return;
  for (const std::byte** section :
       {&row_ends_, &field_ids_, &extents_, &samples_, &conditions_, &key_ends_, &key_order_, &keys_}) {
    if (*section != nullptr) *section = kept.data() + (*section - content_.data());
  }
  content_ = kept;
  owner_ = memory;
  place_ = place;
}

void ShardIndex::parse(const std::string& path, Checks checks) {
  const Bytes content = content_;
  const auto header = load_header(content, path);
  version_ = header.version;
  const bool first_version = version_ == k_index_version_1;
  IndexCounts counts{.num_samples = header.num_samples, .num_fields = header.num_fields, .key_bytes = header.key_bytes};
  IndexExtension extension{};
  if (first_version) {
    counts.num_extents = counts.num_samples <= std::numeric_limits<std::uint32_t>::max()
                             ? counts.num_samples * counts.num_fields
                             : std::numeric_limits<std::uint64_t>::max();
  } else {
    if (content.size() < sizeof(IndexHeader) + sizeof(IndexExtension))
      fail_damaged_index(path, "shorter than its header");
    extension = load_at<IndexExtension>(content.data() + sizeof(IndexHeader));
    counts.num_extents = extension.num_extents;
    counts.name_bytes = extension.name_bytes;
  }
  const auto sections = lay_out_index(version_, counts);
  if (!sections || sections->end != content.size() || header.file_bytes != content.size()) {
    fail_damaged_index(path, "its size contradicts its header");
  }
  if (checks == Checks::all && crc32c(content.subspan(sizeof(IndexHeader))) != header.body_crc32c) {
    fail_damaged_index(path, "checksum does not match");
  }

  identity_ = hash_key(as_text(content.first(sizeof(IndexHeader))));
  num_samples_ = header.num_samples;
  has_checksums_ = (header.flags & k_index_flag_checksums) != 0;
  shard_bytes_ = header.shard_bytes;
  if ((header.flags & k_index_flag_digest) != 0) digest_ = to_digest(header.digest);
  if (!first_version && (header.flags & k_index_flag_ends_digest) != 0) ends_digest_ = to_digest(extension.ends_digest);
  const std::byte* const base = content.data();
  if (!first_version && !counts.is_dense()) {
    row_ends_ = base + sections->row_ends;
    field_ids_ = base + sections->field_ids;
  }
  extents_ = base + sections->extents;
  samples_ = base + sections->samples;
  conditions_ = first_version ? nullptr : base + sections->conditions;
  key_ends_ = base + sections->key_ends;
  key_order_ = base + sections->key_order;
  keys_ = base + sections->keys;
  if (first_version) {
    parse_fields_version_1(sections->fields, header.num_fields, path);
  } else {
    parse_fields(sections->fields, sections->names, counts.name_bytes, header.num_fields, path);
  }
  prepare_lookups();
  if (checks == Checks::none) return;
  // The checksums show that the bytes are as written. These checks show that they can be used without further checks.
  if (row_ends_ != nullptr) check_rows(counts.num_extents, path);
  check_extents(counts.num_extents, path);
  check_keys(counts.key_bytes, path);
}

void ShardIndex::parse_fields_version_1(std::uint64_t at, std::uint64_t count, const std::string& path) {
  for (std::uint64_t f = 0; f < count; ++f) {
    const auto row = load_at<FieldRowVersion1>(content_.data() + at + f * sizeof(FieldRowVersion1));
    fields_.push_back({.name = std::string(row.name, ::strnlen(row.name, FieldRowVersion1::k_name_bytes)),
                       .codec = codec_of_row(row.codec, path),
                       .located = row.located != 0,
                       .stored_bytes = row.stored_bytes});
  }
}

void ShardIndex::parse_fields(std::uint64_t at, std::uint64_t names, std::uint64_t name_bytes, std::uint64_t count,
                              const std::string& path) {
  std::uint64_t begin = 0;
  for (std::uint64_t f = 0; f < count; ++f) {
    const auto row = load_at<FieldRow>(content_.data() + at + f * sizeof(FieldRow));
    if (row.name_end < begin || row.name_end > name_bytes || row.name_end - begin > k_max_field_name_bytes) {
      fail_damaged_index(path, "field names out of order");
    }
    const std::byte* const name = content_.data() + names + begin;
    fields_.push_back({.name = std::string(as_text(Bytes(name, row.name_end - begin))),
                       .codec = codec_of_row(row.codec, path),
                       .located = row.located != 0,
                       .stored_bytes = row.stored_bytes});
    begin = row.name_end;
  }
  if (begin != name_bytes) fail_damaged_index(path, "field names out of order");
}

void ShardIndex::prepare_lookups() {
  for (const FieldInfo& field : fields_) is_image_.push_back(is_image_field(field.name) ? 1 : 0);
  if (fields_.size() > k_few_fields) {
    fields_by_name_.resize(fields_.size());
    std::iota(fields_by_name_.begin(), fields_by_name_.end(), 0U);
    std::stable_sort(fields_by_name_.begin(), fields_by_name_.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return fields_[a].name < fields_[b].name; });
  }
  array_field_ = field_id(k_array_field);
}

void ShardIndex::check_rows(std::uint64_t num_extents, const std::string& path) {
  std::uint64_t begin = 0;
  for (std::uint64_t i = 0; i < num_samples_; ++i) {
    const auto end = load_at<RowEnd>(row_ends_ + i * sizeof(RowEnd));
    if (end < begin || end > num_extents) fail_damaged_index(path, "rows of fields out of order");
    std::uint32_t next = 0;
    for (; begin < end; ++begin) {
      const std::uint32_t field = load_at<FieldId>(field_ids_ + begin * sizeof(FieldId));
      if (field < next || field >= fields_.size()) fail_damaged_index(path, "fields of a sample out of order");
      next = field + 1;
    }
  }
  if (begin != num_extents) fail_damaged_index(path, "rows of fields out of order");
}

void ShardIndex::check_extents(std::uint64_t num_extents, const std::string& path) {
  // Above any file and any place in a layer (layer.hpp), and far enough below 2^64 that the end of an extent can be
  // computed.
  constexpr std::uint64_t k_max_offset = std::uint64_t{1} << 63;
  std::uint32_t column = 0;
  for (std::uint64_t at = 0; at < num_extents; ++at) {
    const auto extent = load_at<Extent>(extents_ + at * sizeof(Extent));
    const std::uint32_t field = field_ids_ == nullptr ? column : load_at<FieldId>(field_ids_ + at * sizeof(FieldId));
    if (++column == fields_.size()) column = 0;
    if (!extent.present()) {
      if (version_ != k_index_version_1) fail_damaged_index(path, "a field without a place");
      continue;
    }
    if (fields_[field].located && extent.offset > k_max_offset)
      fail_damaged_index(path, "a field beyond any file's end");
    ++fields_[field].num_samples;
  }
}

void ShardIndex::check_keys(std::uint64_t key_bytes, const std::string& path) const {
  std::uint64_t previous = 0;
  for (std::uint64_t i = 0; i < num_samples_; ++i) {
    const auto end = load_at<KeyEnd>(key_ends_ + i * sizeof(KeyEnd));
    if (end < previous || end > key_bytes) fail_damaged_index(path, "key table out of order");
    previous = end;
    if (load_at<IndexKeyRow>(key_order_ + i * sizeof(IndexKeyRow)).sample >= num_samples_) {
      fail_damaged_index(path, "key order out of range");
    }
  }
}

std::optional<std::uint32_t> ShardIndex::field_id(std::string_view name) const {
  if (fields_by_name_.empty()) {
    for (std::uint32_t f = 0; f < fields_.size(); ++f) {
      if (fields_[f].name == name) return f;
    }
    return std::nullopt;
  }
  const auto found =
      std::lower_bound(fields_by_name_.begin(), fields_by_name_.end(), name,
                       [&](std::uint32_t field, std::string_view wanted) { return fields_[field].name < wanted; });
  if (found == fields_by_name_.end() || fields_[*found].name != name) return std::nullopt;
  return *found;
}

std::string_view ShardIndex::key(std::uint64_t i) const {
  const std::uint64_t begin = i == 0 ? 0 : load_at<KeyEnd>(key_ends_ + (i - 1) * sizeof(KeyEnd));
  const std::uint64_t end = load_at<KeyEnd>(key_ends_ + i * sizeof(KeyEnd));
  return as_text({keys_ + begin, end - begin});
}

std::int64_t ShardIndex::label(std::uint64_t i) const {
  return load_at<std::int64_t>(samples_ + i * sizeof(IndexSampleRow) + offsetof(IndexSampleRow, label));
}

std::uint32_t ShardIndex::width(std::uint64_t i) const {
  return load_at<std::uint32_t>(samples_ + i * sizeof(IndexSampleRow) + offsetof(IndexSampleRow, width));
}

std::uint32_t ShardIndex::height(std::uint64_t i) const {
  return load_at<std::uint32_t>(samples_ + i * sizeof(IndexSampleRow) + offsetof(IndexSampleRow, height));
}

ImageCondition ShardIndex::condition(std::uint64_t i) const {
  const std::uint8_t value = conditions_ == nullptr ? 0 : static_cast<std::uint8_t>(conditions_[i]);
  constexpr auto k_last = static_cast<std::uint8_t>(ImageCondition::undecodable);
  return value <= k_last ? static_cast<ImageCondition>(value) : ImageCondition::unknown;
}

ExtentRow ShardIndex::row(std::uint64_t i) const {
  if (row_ends_ == nullptr) return {extents_ + i * fields_.size() * sizeof(Extent), nullptr, fields_.size()};
  const std::uint64_t begin = i == 0 ? 0 : load_at<RowEnd>(row_ends_ + (i - 1) * sizeof(RowEnd));
  const std::uint64_t end = load_at<RowEnd>(row_ends_ + i * sizeof(RowEnd));
  return {extents_ + begin * sizeof(Extent), field_ids_ + begin * sizeof(FieldId), end - begin};
}

Extent ShardIndex::extent(std::uint64_t i, std::uint32_t field) const { return row(i).find(field); }

std::optional<std::uint32_t> ShardIndex::image_field(std::uint64_t i) const {
  bool has_array = false;
  for (const auto& [field, extent] : row(i)) {
    if (is_image_[field] != 0) return field;
    has_array = has_array || field == array_field_;
  }
  return has_array ? array_field_ : std::nullopt;
}

int ShardIndex::compare_key(std::uint64_t at, std::uint32_t hash, std::string_view wanted) const {
  const auto row = load_at<IndexKeyRow>(key_order_ + at * sizeof(IndexKeyRow));
  if (row.hash != hash) return row.hash < hash ? -1 : 1;
  // In version 1, equal hashes are in sample order.
  return version_ == k_index_version_1 ? 0 : key(row.sample).compare(wanted);
}

std::optional<std::uint64_t> ShardIndex::find(std::string_view wanted) const {
  const auto hash = static_cast<std::uint32_t>(hash_key(wanted));
  const auto is_below = [&](std::uint64_t at) { return compare_key(at, hash, wanted) < 0; };
  for (std::uint64_t at = first_not_below(num_samples_, is_below);
       at < num_samples_ && compare_key(at, hash, wanted) == 0; ++at) {
    const auto row = load_at<IndexKeyRow>(key_order_ + at * sizeof(IndexKeyRow));
    if (key(row.sample) == wanted) return row.sample;
  }
  return std::nullopt;
}

}  // namespace bale
