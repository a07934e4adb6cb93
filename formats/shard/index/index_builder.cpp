#include "bale/formats/shard/index_builder.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "bale/formats/base/codec/checked_header.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/shard/index/index_layout.hpp"

namespace bale {
namespace {

/// The index file that is being built.
class IndexWriter {
 public:
  explicit IndexWriter(std::uint64_t bytes) : out_(bytes) {}

  template <typename T>
  void put(std::uint64_t at, const T* values, std::size_t count) {
    if (count != 0) std::memcpy(out_.data() + at, values, count * sizeof(T));
  }
  template <typename T>
  void put(std::uint64_t at, const T& value) {
    put(at, &value, 1);
  }

  std::vector<std::byte> sealed(IndexHeader header) {
    header.file_bytes = out_.size();
    header.body_crc32c = crc32c(Bytes(out_).subspan(sizeof header));
    seal_header(header);
    put(0, header);
    return std::move(out_);
  }

 private:
  std::vector<std::byte> out_;
};

/// Sorted by hash, then by key. Keys made to collide therefore gain nothing, and duplicate keys are neighbors.
std::vector<IndexKeyRow> key_order(const IndexBuilder& builder, const std::string& shard_path) {
  std::vector<IndexKeyRow> order(builder.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) {
    order[i] = {static_cast<std::uint32_t>(hash_key(builder.key(i))), i};
  }
  std::sort(order.begin(), order.end(), [&](const IndexKeyRow& a, const IndexKeyRow& b) {
    if (a.hash != b.hash) return a.hash < b.hash;
    const int compared = builder.key(a.sample).compare(builder.key(b.sample));
    return compared != 0 ? compared < 0 : a.sample < b.sample;
  });
  const auto twins = std::adjacent_find(order.begin(), order.end(), [&](const IndexKeyRow& a, const IndexKeyRow& b) {
    return a.hash == b.hash && builder.key(a.sample) == builder.key(b.sample);
  });
  if (twins != order.end()) {
    const std::string key(builder.key(twins->sample));
    throw Error(ErrorCode::damaged,
                fmt::format("samples {} and {} have the same key", twins->sample, (twins + 1)->sample),
                {.path = shard_path, .key = key, .hint = "keys must be unique"});
  }
  return order;
}

void put_digest(std::uint8_t (&to)[16], const std::optional<Digest>& digest) {
  if (digest) std::copy(digest->begin(), digest->end(), std::begin(to));
}

/// Without what only the caller knows of the shard.
IndexHeader header_of(const IndexCounts& counts, const std::optional<Digest>& digest,
                      const std::optional<Digest>& ends_digest) {
  IndexHeader header{};
  std::memcpy(header.magic, k_index_magic, sizeof k_index_magic);
  header.version = k_index_version;
  header.flags = (digest ? k_index_flag_digest : 0) | (ends_digest ? k_index_flag_ends_digest : 0);
  header.num_samples = counts.num_samples;
  header.num_fields = static_cast<std::uint32_t>(counts.num_fields);
  header.key_bytes = counts.key_bytes;
  put_digest(header.digest, digest);
  return header;
}

}  // namespace

const Extent* IndexBuilder::SparseExtents::find(std::uint64_t row, std::uint32_t field) const {
  unsigned length = 0;
  for (std::uint32_t node = first_[row]; node != k_none; node = nodes_[node].next, ++length) {
    if (nodes_[node].field == field) return &nodes_[node].extent;
  }
  if (length < k_chain_length) return nullptr;
  const auto long_row = long_rows_.find(row);
  if (long_row == long_rows_.end()) return nullptr;
  const auto found = long_row->second.find(field);
  return found == long_row->second.end() ? nullptr : &found->second;
}

Extent IndexBuilder::SparseExtents::get(std::uint64_t row, std::uint32_t field) const {
  const Extent* const found = find(row, field);
  return found != nullptr ? *found : Extent{};
}

Extent& IndexBuilder::SparseExtents::at(std::uint64_t row, std::uint32_t field) {
  std::uint32_t* link = &first_[row];
  unsigned length = 0;
  for (; *link != k_none; link = &nodes_[*link].next, ++length) {
    if (nodes_[*link].field == field) return nodes_[*link].extent;
  }
  if (length >= k_chain_length) return long_rows_[row][field];
  if (nodes_.size() >= k_none) throw Error(ErrorCode::unsupported, "too many fields for one shard");
  *link = static_cast<std::uint32_t>(nodes_.size());
  nodes_.push_back({.extent = {}, .next = k_none, .field = field});
  return nodes_.back().extent;
}

void IndexBuilder::SparseExtents::append_row(std::uint64_t row, std::vector<FieldExtent>& out) const {
  const auto begin = static_cast<std::ptrdiff_t>(out.size());
  for (std::uint32_t node = first_[row]; node != k_none; node = nodes_[node].next) {
    if (nodes_[node].extent.present()) out.push_back({nodes_[node].field, nodes_[node].extent});
  }
  if (const auto long_row = long_rows_.find(row); long_row != long_rows_.end()) {
    for (const auto& [field, extent] : long_row->second) {
      if (extent.present()) out.push_back({field, extent});
    }
  }
  std::sort(out.begin() + begin, out.end(),
            [](const FieldExtent& a, const FieldExtent& b) { return a.field < b.field; });
}

std::uint32_t IndexBuilder::add_field(std::string_view name, Codec codec, bool located) {
  if (fields_.size() >= k_max_index_fields) {
    throw Error(ErrorCode::invalid_argument, fmt::format("more than {} different fields", k_max_index_fields),
                {.hint = "file names such as a.001, a.002 make a field of each number: rename them"});
  }
  if (name.size() > k_max_field_name_bytes) {
    constexpr std::size_t k_shown_bytes = 64;
    throw Error(ErrorCode::invalid_argument,
                fmt::format("field name \"{}...\" has {} bytes, more than {}", printable(name.substr(0, k_shown_bytes)),
                            name.size(), k_max_field_name_bytes));
  }
  const auto id = static_cast<std::uint32_t>(fields_.size());
  fields_.push_back({.name = std::string(name), .codec = codec, .located = located});
  ids_by_name_.emplace(fields_.back().name, id);
  ids_by_stored_name_.emplace(fields_.back().stored_name(), id);
  return id;
}

std::optional<std::uint32_t> IndexBuilder::field_id(std::string_view name) const {
  const auto found = ids_by_name_.find(name);
  return found == ids_by_name_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<std::uint32_t> IndexBuilder::stored_field_id(std::string_view stored_name) const {
  const auto found = ids_by_stored_name_.find(stored_name);
  return found == ids_by_stored_name_.end() ? std::nullopt : std::optional(found->second);
}

std::uint64_t IndexBuilder::add_sample(std::string_view key, std::int64_t label, std::uint32_t width,
                                       std::uint32_t height) {
  samples_.push_back({label, width, height});
  conditions_.push_back(ImageCondition::unknown);
  extents_.add_row();
  keys_ += key;
  key_ends_.push_back(keys_.size());
  return samples_.size() - 1;
}

void IndexBuilder::take_keys(const ShardIndex& known) {
  keys_.clear();
  for (std::uint64_t i = 0; i < size(); ++i) {
    keys_ += known.key(i);
    key_ends_[i] = keys_.size();
    if (samples_[i].label == k_no_label) samples_[i].label = known.label(i);
  }
}

std::string_view IndexBuilder::key(std::uint64_t i) const {
  const std::uint64_t begin = i == 0 ? 0 : key_ends_[i - 1];
  return std::string_view(keys_).substr(begin, key_ends_[i] - begin);
}

void IndexBuilder::set_label_of(std::uint64_t i, Bytes cls, bool is_whole) {
  constexpr std::size_t k_shown_bytes = 40;
  const std::int64_t label = is_whole ? parse_label(cls) : k_no_label;
  set_label(i, label);
  const std::string_view text = as_text(cls);
  if (label != k_no_label || text.find_first_not_of(" \t\r\n") == std::string_view::npos) return;
  notices_.add(fmt::format("{}: \"{}\"", key(i), text.substr(0, k_shown_bytes)), k_text_label);
}

void IndexBuilder::set_dimensions(std::uint64_t i, std::uint32_t width, std::uint32_t height) {
  samples_[i].width = width;
  samples_[i].height = height;
}

void IndexBuilder::clear_extent(std::uint64_t i, std::uint32_t field) {
  Extent& extent = extents_.at(i, field);
  if (!extent.present()) return;
  fields_[field].stored_bytes -= extent.length;
  --fields_[field].num_samples;
  extent = {};
}

void IndexBuilder::set_extent(std::uint64_t i, std::uint32_t field, std::uint64_t offset, std::uint32_t length) {
  Extent& extent = extents_.at(i, field);
  FieldInfo& info = fields_[field];
  if (extent.present()) {
    info.stored_bytes -= extent.length;
    --info.num_samples;
  }
  extent.offset = offset;
  extent.length = length;
  info.stored_bytes += length;
  ++info.num_samples;
}

void IndexBuilder::set_crc32c(std::uint64_t i, std::uint32_t field, std::uint32_t crc) {
  extents_.at(i, field).crc32c = crc;
}

/// Leaves out columns that no sample has, such as a decoded layout's original image.
std::vector<std::uint32_t> IndexBuilder::used_columns() const {
  std::vector<std::uint32_t> columns;
  for (std::uint32_t f = 0; f < fields_.size(); ++f) {
    if (fields_[f].num_samples > 0) columns.push_back(f);
  }
  if (field_order_.empty()) return columns;
  std::vector<std::size_t> places(fields_.size(), field_order_.size());  // others come last
  for (std::size_t i = field_order_.size(); i-- > 0;) {
    if (const auto field = field_id(field_order_[i])) places[*field] = i;
  }
  std::stable_sort(columns.begin(), columns.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return places[a] < places[b]; });
  return columns;
}

std::vector<std::byte> IndexBuilder::build(std::uint64_t shard_bytes, const std::optional<Digest>& digest,
                                           bool has_checksums, const std::string& shard_path,
                                           const std::optional<Digest>& ends_digest) const {
  const std::vector<std::uint32_t> columns = used_columns();
  IndexCounts counts{.num_samples = samples_.size(), .num_fields = columns.size(), .key_bytes = keys_.size()};
  std::vector<FieldId> column_of(fields_.size());
  std::string names;
  std::vector<FieldRow> rows;
  for (const std::uint32_t f : columns) {
    column_of[f] = static_cast<FieldId>(rows.size());
    names += fields_[f].name;
    rows.push_back({.stored_bytes = fields_[f].stored_bytes,
                    .num_samples = fields_[f].num_samples,
                    .name_end = static_cast<std::uint32_t>(names.size()),
                    .codec = static_cast<std::uint8_t>(fields_[f].codec),
                    .located = static_cast<std::uint8_t>(fields_[f].located ? 1 : 0),
                    .reserved = {}});
    counts.num_extents += fields_[f].num_samples;
  }
  counts.name_bytes = names.size();
  const auto sections = lay_out_index(k_index_version, counts);
  if (!sections) {
    throw Error(ErrorCode::unsupported, "too many samples for one shard",
                {.path = shard_path, .hint = "use more shards"});
  }
  const std::vector<IndexKeyRow> order = key_order(*this, shard_path);

  IndexWriter out(sections->end);
  IndexExtension extension{.num_extents = counts.num_extents, .name_bytes = counts.name_bytes, .ends_digest = {}};
  put_digest(extension.ends_digest, ends_digest);
  out.put(sizeof(IndexHeader), extension);
  out.put(sections->fields, rows.data(), rows.size());
  out.put(sections->names, names.data(), names.size());
  std::vector<FieldExtent> row;
  std::uint64_t end = 0;
  for (std::uint64_t i = 0; i < samples_.size(); ++i) {
    row.clear();
    extents_.append_row(i, row);
    if (!field_order_.empty()) {
      std::sort(row.begin(), row.end(),
                [&](const FieldExtent& a, const FieldExtent& b) { return column_of[a.field] < column_of[b.field]; });
    }
    for (const auto& [field, extent] : row) {
      if (!counts.is_dense()) out.put(sections->field_ids + end * sizeof(FieldId), column_of[field]);
      out.put(sections->extents + end++ * sizeof(Extent), extent);
    }
    if (!counts.is_dense()) out.put(sections->row_ends + i * sizeof(RowEnd), end);
  }
  out.put(sections->samples, samples_.data(), samples_.size());
  out.put(sections->conditions, conditions_.data(), conditions_.size());
  out.put(sections->key_ends, key_ends_.data(), key_ends_.size());
  out.put(sections->key_order, order.data(), order.size());
  out.put(sections->keys, keys_.data(), keys_.size());

  IndexHeader header = header_of(counts, digest, ends_digest);
  header.flags |= has_checksums ? k_index_flag_checksums : 0;
  header.shard_bytes = shard_bytes;
  return out.sealed(header);
}

}  // namespace bale
