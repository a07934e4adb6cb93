#include "bale/formats/core/shard_index.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "bale/formats/core/checked_header.hpp"
#include "bale/formats/core/error.hpp"
#include "bale/formats/core/key.hpp"

namespace bale {
namespace {

constexpr char k_magic[8] = {'B', 'A', 'L', 'E', 'I', 'D', 'X', '\0'};
constexpr std::uint32_t k_version = 1;
constexpr std::uint32_t k_flag_checksums = 1U << 0;
constexpr std::uint32_t k_flag_digest = 1U << 1;
constexpr std::size_t k_max_fields = 255;
constexpr std::size_t k_name_bytes = 48;

struct Header {
  char magic[8];
  std::uint32_t version;
  std::uint32_t flags;
  std::uint64_t num_samples;
  std::uint32_t num_fields;
  std::uint32_t reserved;
  std::uint64_t shard_bytes;
  std::uint64_t key_bytes;
  std::uint64_t file_bytes;
  std::uint8_t digest[16];
  std::uint32_t body_crc32c;
  std::uint32_t header_crc32c;  // of all bytes before it
};
static_assert(sizeof(Header) == 80);

struct FieldRow {
  char name[k_name_bytes];
  std::uint8_t codec;
  std::uint8_t located;
  std::uint8_t reserved[6];
  std::uint64_t stored_bytes;
};
static_assert(sizeof(FieldRow) == 64);
static_assert(sizeof(Extent) == 16);

struct KeyRow {
  std::uint32_t hash;
  std::uint32_t sample;
};

constexpr std::size_t k_sample_row_bytes = 16;

/// Byte offsets of the sections; nullopt where the counts overflow.
struct Sections {
  std::uint64_t fields, extents, samples, key_ends, key_order, keys, end;
};
std::optional<Sections> lay_out(std::uint64_t num_samples, std::uint64_t num_fields, std::uint64_t key_bytes) {
  constexpr std::uint64_t k_limit = std::uint64_t{1} << 48;
  if (num_samples > std::numeric_limits<std::uint32_t>::max() || num_fields > k_max_fields || key_bytes > k_limit) {
    return std::nullopt;
  }
  Sections s{};
  s.fields = sizeof(Header);
  s.extents = s.fields + num_fields * sizeof(FieldRow);
  s.samples = s.extents + num_samples * num_fields * sizeof(Extent);
  s.key_ends = s.samples + num_samples * k_sample_row_bytes;
  s.key_order = s.key_ends + num_samples * sizeof(std::uint64_t);
  s.keys = s.key_order + num_samples * sizeof(KeyRow);
  s.end = s.keys + key_bytes;
  return s;
}

[[noreturn]] void fail_damaged(const std::string& path, std::string_view why) {
  throw Error(ErrorCode::damaged, fmt::format("damaged index: {}", why),
              {.path = path, .hint = "delete it and run `bale index` again"});
}

}  // namespace

std::string index_path(const std::string& shard_path) { return shard_path + ".bidx"; }

ShardIndex ShardIndex::load(const std::string& path) {
  ShardIndex index;
  index.mapping_ = FileMapping(path);
  index.bytes_ = index.mapping_.bytes();
  index.parse(path);
  return index;
}

ShardIndex ShardIndex::from_bytes(std::vector<std::byte> bytes, const std::string& path) {
  ShardIndex index;
  index.owned_ = std::move(bytes);
  index.bytes_ = index.owned_;
  index.parse(path);
  return index;
}

void ShardIndex::parse(const std::string& path) {
  const auto header = load_checked_header<Header>(bytes_, k_magic, k_version, "index", path,
                                                  [&](std::string_view why) { fail_damaged(path, why); });
  const auto sections = lay_out(header.num_samples, header.num_fields, header.key_bytes);
  if (!sections || sections->end != bytes_.size() || header.file_bytes != bytes_.size()) {
    fail_damaged(path, "its size contradicts its header");
  }
  if (crc32c(bytes_.subspan(sizeof(Header))) != header.body_crc32c) fail_damaged(path, "checksum does not match");

  num_samples_ = header.num_samples;
  has_checksums_ = (header.flags & k_flag_checksums) != 0;
  shard_bytes_ = header.shard_bytes;
  extents_ = bytes_.data() + sections->extents;
  samples_ = bytes_.data() + sections->samples;
  key_ends_ = bytes_.data() + sections->key_ends;
  key_order_ = bytes_.data() + sections->key_order;
  keys_ = reinterpret_cast<const char*>(bytes_.data() + sections->keys);
  for (std::uint32_t f = 0; f < header.num_fields; ++f) {
    const auto row = load_at<FieldRow>(bytes_.data() + sections->fields + f * sizeof(FieldRow));
    if (row.codec > static_cast<std::uint8_t>(Codec::zstd)) fail_damaged(path, "unknown field codec");
    fields_.push_back({.name = std::string(row.name, ::strnlen(row.name, k_name_bytes)),
                       .codec = static_cast<Codec>(row.codec),
                       .located = row.located != 0,
                       .stored_bytes = row.stored_bytes});
  }
  // The checksums say the bytes are as written; these say that they can be used without further checks.
  std::uint64_t previous = 0;
  for (std::uint64_t i = 0; i < num_samples_; ++i) {
    const auto end = load_at<std::uint64_t>(key_ends_ + i * sizeof(std::uint64_t));
    if (end < previous || end > header.key_bytes) fail_damaged(path, "key table out of order");
    previous = end;
    if (load_at<KeyRow>(key_order_ + i * sizeof(KeyRow)).sample >= num_samples_) {
      fail_damaged(path, "key order out of range");
    }
  }
}

std::optional<std::uint32_t> ShardIndex::field_id(std::string_view name) const {
  for (std::uint32_t f = 0; f < fields_.size(); ++f) {
    if (fields_[f].name == name) return f;
  }
  return std::nullopt;
}

std::string_view ShardIndex::key(std::uint64_t i) const {
  const std::uint64_t begin = i == 0 ? 0 : load_at<std::uint64_t>(key_ends_ + (i - 1) * sizeof(std::uint64_t));
  const auto end = load_at<std::uint64_t>(key_ends_ + i * sizeof(std::uint64_t));
  return {keys_ + begin, static_cast<std::size_t>(end - begin)};
}

std::int64_t ShardIndex::label(std::uint64_t i) const {
  return load_at<std::int64_t>(samples_ + i * k_sample_row_bytes);
}

std::uint32_t ShardIndex::width(std::uint64_t i) const {
  return load_at<std::uint32_t>(samples_ + i * k_sample_row_bytes + 8);
}

std::uint32_t ShardIndex::height(std::uint64_t i) const {
  return load_at<std::uint32_t>(samples_ + i * k_sample_row_bytes + 12);
}

Extent ShardIndex::extent(std::uint64_t i, std::uint32_t field) const {
  return load_at<Extent>(extents_ + (i * fields_.size() + field) * sizeof(Extent));
}

std::optional<std::uint32_t> ShardIndex::image_field(std::uint64_t i) const {
  for (std::uint32_t field = 0; field < fields_.size(); ++field) {
    if (is_image_field(fields_[field].name) && extent(i, field).present()) return field;
  }
  const auto decoded = field_id(k_array_field);
  return decoded && extent(i, *decoded).present() ? decoded : std::nullopt;
}

std::optional<std::uint64_t> ShardIndex::find(std::string_view wanted) const {
  const std::uint32_t hash = static_cast<std::uint32_t>(hash_key(wanted));
  std::uint64_t low = 0;
  std::uint64_t high = num_samples_;
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (load_at<KeyRow>(key_order_ + middle * sizeof(KeyRow)).hash < hash) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  for (; low < num_samples_; ++low) {
    const auto row = load_at<KeyRow>(key_order_ + low * sizeof(KeyRow));
    if (row.hash != hash) break;
    if (key(row.sample) == wanted) return row.sample;
  }
  return std::nullopt;
}

std::optional<Digest> ShardIndex::digest() const {
  const auto header = load_at<Header>(bytes_.data());
  if ((header.flags & k_flag_digest) == 0) return std::nullopt;
  Digest digest{};
  std::copy(std::begin(header.digest), std::end(header.digest), digest.begin());
  return digest;
}

void IndexBuilder::ExtentRows::widen(std::uint64_t num_rows) {
  std::vector<Extent> wider(num_rows * (stride_ + 1));
  for (std::uint64_t i = 0; i < num_rows; ++i) {
    std::copy_n(rows_.begin() + static_cast<std::ptrdiff_t>(i * stride_), stride_,
                wider.begin() + static_cast<std::ptrdiff_t>(i * (stride_ + 1)));
  }
  rows_ = std::move(wider);
  ++stride_;
}

std::uint32_t IndexBuilder::add_field(std::string_view name, Codec codec, bool located) {
  if (fields_.size() >= k_max_fields) {
    throw Error(ErrorCode::invalid_argument, fmt::format("more than {} different fields", k_max_fields),
                {.hint = "file names such as a.001, a.002 make a field of each number: rename them"});
  }
  if (name.size() >= k_name_bytes) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("field name \"{}\" is longer than {} bytes", printable(name), k_name_bytes - 1));
  }
  fields_.push_back({.name = std::string(name), .codec = codec, .located = located});
  extents_.widen(samples_.size());
  return static_cast<std::uint32_t>(fields_.size() - 1);
}

std::optional<std::uint32_t> IndexBuilder::field_id(std::string_view name) const {
  for (std::uint32_t f = 0; f < fields_.size(); ++f) {
    if (fields_[f].name == name) return f;
  }
  return std::nullopt;
}

std::optional<std::uint32_t> IndexBuilder::stored_field_id(std::string_view stored_name) const {
  for (std::uint32_t f = 0; f < fields_.size(); ++f) {
    if (fields_[f].stored_name() == stored_name) return f;
  }
  return std::nullopt;
}

std::uint64_t IndexBuilder::add_sample(std::string_view key, std::int64_t label, std::uint32_t width,
                                       std::uint32_t height) {
  samples_.push_back({label, width, height});
  extents_.add_row();
  keys_ += key;
  key_ends_.push_back(keys_.size());
  return samples_.size() - 1;
}

std::string_view IndexBuilder::key(std::uint64_t i) const {
  const std::uint64_t begin = i == 0 ? 0 : key_ends_[i - 1];
  return std::string_view(keys_).substr(begin, key_ends_[i] - begin);
}

void IndexBuilder::set_dimensions(std::uint64_t i, std::uint32_t width, std::uint32_t height) {
  samples_[i].width = width;
  samples_[i].height = height;
}

void IndexBuilder::set_extent(std::uint64_t i, std::uint32_t field, std::uint64_t offset, std::uint32_t length) {
  Extent& extent = extents_[i][field];
  if (extent.present()) fields_[field].stored_bytes -= extent.length;
  extent.offset = offset;
  extent.length = length;
  fields_[field].stored_bytes += length;
}

void IndexBuilder::set_crc32c(std::uint64_t i, std::uint32_t field, std::uint32_t crc) {
  extents_[i][field].crc32c = crc;
}

std::vector<std::byte> IndexBuilder::build(std::uint64_t shard_bytes, const std::optional<Digest>& digest,
                                           bool has_checksums, const std::string& shard_path) const {
  // Columns that no sample has (a decoded layout's original image, say) are left out.
  std::vector<std::uint32_t> columns;
  for (std::uint32_t f = 0; f < fields_.size(); ++f) {
    for (std::uint64_t i = 0; i < samples_.size(); ++i) {
      if (extents_[i][f].present()) {
        columns.push_back(f);
        break;
      }
    }
  }
  const auto sections = lay_out(samples_.size(), columns.size(), keys_.size());
  if (!sections) {
    throw Error(ErrorCode::unsupported, "too many samples for one shard",
                {.path = shard_path, .hint = "use more shards"});
  }
  std::vector<KeyRow> order(samples_.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = {static_cast<std::uint32_t>(hash_key(key(i))), i};
  std::sort(order.begin(), order.end(),
            [](const KeyRow& a, const KeyRow& b) { return a.hash != b.hash ? a.hash < b.hash : a.sample < b.sample; });
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (std::size_t j = i + 1; j < order.size() && order[j].hash == order[i].hash; ++j) {
      if (key(order[i].sample) == key(order[j].sample)) {
        throw Error(ErrorCode::damaged,
                    fmt::format("samples {} and {} have the same key", order[i].sample, order[j].sample),
                    {.path = shard_path, .key = std::string(key(order[i].sample)), .hint = "keys must be unique"});
      }
    }
  }

  std::vector<std::byte> out(sections->end);
  const auto put = [&out](std::uint64_t at, const void* data, std::size_t bytes) {
    if (bytes != 0) std::memcpy(out.data() + at, data, bytes);
  };
  for (std::size_t column = 0; column < columns.size(); ++column) {
    const FieldInfo& field = fields_[columns[column]];
    FieldRow row{};
    std::memcpy(row.name, field.name.data(), field.name.size());
    row.codec = static_cast<std::uint8_t>(field.codec);
    row.located = field.located ? 1 : 0;
    row.stored_bytes = field.stored_bytes;
    put(sections->fields + column * sizeof row, &row, sizeof row);
    for (std::uint64_t i = 0; i < samples_.size(); ++i) {
      put(sections->extents + (i * columns.size() + column) * sizeof(Extent), &extents_[i][columns[column]],
          sizeof(Extent));
    }
  }
  put(sections->samples, samples_.data(), samples_.size() * k_sample_row_bytes);
  put(sections->key_ends, key_ends_.data(), key_ends_.size() * sizeof(std::uint64_t));
  put(sections->key_order, order.data(), order.size() * sizeof(KeyRow));
  put(sections->keys, keys_.data(), keys_.size());

  Header header{};
  std::memcpy(header.magic, k_magic, sizeof k_magic);
  header.version = k_version;
  header.flags = (has_checksums ? k_flag_checksums : 0) | (digest ? k_flag_digest : 0);
  header.num_samples = samples_.size();
  header.num_fields = static_cast<std::uint32_t>(columns.size());
  header.shard_bytes = shard_bytes;
  header.key_bytes = keys_.size();
  header.file_bytes = out.size();
  if (digest) std::copy(digest->begin(), digest->end(), header.digest);
  header.body_crc32c = crc32c(Bytes(out).subspan(sizeof header));
  seal_header(header);
  std::memcpy(out.data(), &header, sizeof header);
  return out;
}

}  // namespace bale
