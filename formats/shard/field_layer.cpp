#include "bale/formats/shard/field_layer.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "bale/formats/base/storage.hpp"
#include "bale/formats/shard/layer.hpp"
#include "bale/formats/shard/layer_header.hpp"
#include "bale/formats/shard/shard_index.hpp"

namespace bale {
namespace {

constexpr std::size_t k_buffer_bytes = std::size_t{1} << 20;

/// Follows the header, and is followed by name, prefix and shards.
struct FieldLayerExtension {
  std::uint32_t name_bytes;
  std::uint32_t prefix_bytes;
};
static_assert(sizeof(FieldLayerExtension) == 8);

std::uint64_t directory_bytes(std::size_t name_bytes, std::size_t prefix_bytes, std::size_t num_shards) {
  return sizeof(FieldLayerExtension) + name_bytes + prefix_bytes + num_shards * sizeof(FieldLayer::OfShard);
}

template <typename T>
void append(std::vector<std::byte>& out, std::span<const T> values) {
  const Bytes bytes = std::as_bytes(values);
  out.insert(out.end(), bytes.begin(), bytes.end());
}

}  // namespace

FieldLayer FieldLayer::open(const std::string& path) {
  return read_twice_if_damaged(path, [&] {
    FieldLayer layer;
    layer.file_ = File::open_read(path);
    const auto fail = [&](std::string_view why) { fail_damaged_layer(path, why); };
    std::vector<std::byte> head(sizeof(LayerHeader) + sizeof(FieldLayerExtension));
    head.resize(layer.file_.read_some(0, head));
    const LayerHeader header = load_layer_header(head, path);
    if (header.kind != static_cast<std::uint32_t>(LayerKind::field)) fail("it has no values of a field");
    const std::uint64_t file_bytes = layer.file_.size();
    if (header.file_bytes != file_bytes || head.size() < sizeof(LayerHeader) + sizeof(FieldLayerExtension))
      fail("its size contradicts its header");
    const auto extension = load_at<FieldLayerExtension>(head.data() + sizeof(LayerHeader));
    if (extension.name_bytes > k_max_field_name_bytes || extension.prefix_bytes > k_max_prefix_bytes ||
        header.num_shards > file_bytes / sizeof(OfShard) || header.num_rows > file_bytes / sizeof(FieldLayerRow)) {
      fail("its size contradicts its header");
    }
    const std::uint64_t begin = head.size();
    layer.rows_at_ =
        sizeof(LayerHeader) + directory_bytes(extension.name_bytes, extension.prefix_bytes, header.num_shards);
    layer.values_at_ = layer.rows_at_ + header.num_rows * sizeof(FieldLayerRow);
    if (layer.values_at_ > file_bytes) fail("its size contradicts its header");
    head.resize(layer.rows_at_);
    layer.file_.read_exact(begin, MutableBytes(head).subspan(begin));
    const Bytes body = Bytes(head).subspan(sizeof(LayerHeader));
    if (crc32c(body) != header.body_crc32c) fail("checksum does not match");
    Bytes rest = body.subspan(sizeof(FieldLayerExtension));
    layer.field_ = as_text(rest.first(extension.name_bytes));
    rest = rest.subspan(extension.name_bytes);
    layer.prefix_.assign(rest.begin(), rest.begin() + extension.prefix_bytes);
    layer.parse_directory(rest.subspan(extension.prefix_bytes), header.num_rows);
    if (base_name(layer_name(digest_of_content(head))) != base_name(path)) fail("its name is not its digest");
    return layer;
  });
}

void FieldLayer::parse_directory(Bytes directory, std::uint64_t num_rows) {
  const auto fail = [&](std::string_view why) { fail_damaged_layer(path(), why); };
  const std::uint64_t num_value_bytes = file_.size() - values_at_;
  std::uint64_t rows = 0;
  std::uint64_t values = 0;
  shards_.reserve(directory.size() / sizeof(OfShard));
  for (; !directory.empty(); directory = directory.subspan(sizeof(OfShard))) {
    const auto of = load_at<OfShard>(directory.data());
    if (!shards_.empty() && !(shards_.back().shard < of.shard)) fail("shards out of order");
    if (of.rows_end <= rows || of.rows_end > num_rows) fail("rows of shards out of order");
    if (of.values_end < values || of.values_end > num_value_bytes) fail("values of shards out of order");
    rows = of.rows_end;
    values = of.values_end;
    shards_.push_back(of);
  }
  if (rows != num_rows || values != num_value_bytes) fail("its size contradicts its shards");
}

std::vector<FieldLayerRow> FieldLayer::rows(std::size_t shard) const {
  const auto fail = [&](std::string_view why) { fail_damaged_layer(path(), why); };
  const std::uint64_t begin = rows_begin(shard);
  std::vector<FieldLayerRow> rows(shards_[shard].rows_end - begin);
  const MutableBytes bytes = std::as_writable_bytes(std::span(rows));
  const std::uint64_t at = rows_at_ + begin * sizeof(FieldLayerRow);
  const auto read = [&] {
    file_.read_exact(at, bytes);
    DigestStream digest;
    digest.update(bytes);
    return digest.digest() == shards_[shard].rows_digest;
  };
  if (!read() && !(file_.forget(at, bytes.size()) && read())) fail("checksum of its rows does not match");
  std::uint64_t value_bytes = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i > 0 && rows[i].row <= rows[i - 1].row) fail("rows out of order");
    value_bytes += rows[i].bytes;
  }
  if (value_bytes != shards_[shard].values_end - values_begin(shard)) fail("its values contradict its rows");
  return rows;
}

std::uint64_t FieldLayer::values_at(std::size_t shard) const { return values_at_ + values_begin(shard); }

void FieldLayer::read(std::uint64_t offset, MutableBytes out) const {
  std::copy(prefix_.begin(), prefix_.end(), out.begin());
  file_.read_exact(offset, out.subspan(prefix_.size()));
}

bool FieldLayer::has_values_as_written(std::size_t shard) const {
  DigestStream digest;
  std::vector<std::byte> buffer;
  const std::uint64_t end = values_at_ + shards_[shard].values_end;
  for (std::uint64_t at = values_at(shard); at < end; at += buffer.size()) {
    buffer.resize(std::min<std::uint64_t>(k_buffer_bytes, end - at));
    file_.read_exact(at, buffer);
    digest.update(buffer);
  }
  return digest.digest() == shards_[shard].values_digest;
}

FieldLayerWriter::FieldLayerWriter(const std::string& path, std::string_view field, Bytes prefix,
                                   std::vector<OfShard> shards)
    : file_(File::create(path)),
      field_(field),
      prefix_(prefix.begin(), prefix.end()),
      shards_(std::move(shards)),
      prefix_crc32c_(crc32c(prefix)) {
  for (const OfShard& of : shards_) num_rows_ += of.rows.size();
  rows_at_ = sizeof(LayerHeader) + directory_bytes(field_.size(), prefix_.size(), shards_.size());
  values_at_ = rows_at_ + num_rows_ * sizeof(FieldLayerRow);
}

void FieldLayerWriter::add(Bytes stored) {
  const std::vector<std::uint32_t>& rows = shards_[shard_].rows;
  rows_.push_back({.row = rows[rows_.size()],
                   .bytes = static_cast<std::uint32_t>(stored.size()),
                   .crc32c = crc32c(stored, prefix_crc32c_)});
  values_digest_.update(stored);
  append<std::byte>(buffer_, stored);
  values_end_ += stored.size();
  if (buffer_.size() >= k_buffer_bytes) flush();
  if (rows_.size() == rows.size()) end_shard();
}

void FieldLayerWriter::flush() {
  file_.write_at(values_at_ + values_end_ - buffer_.size(), buffer_);
  buffer_.clear();
}

void FieldLayerWriter::end_shard() {
  DigestStream rows_digest;
  const Bytes rows = std::as_bytes(std::span(rows_));
  rows_digest.update(rows);
  const std::uint64_t begin = done_.empty() ? 0 : done_.back().rows_end;
  file_.write_at(rows_at_ + begin * sizeof(FieldLayerRow), rows);
  done_.push_back({.shard = shards_[shard_].shard,
                   .rows_digest = rows_digest.digest(),
                   .values_digest = values_digest_.digest(),
                   .rows_end = begin + rows_.size(),
                   .values_end = values_end_});
  rows_.clear();
  values_digest_ = DigestStream();
  ++shard_;
}

ManifestLayer FieldLayerWriter::finish() {
  flush();
  const FieldLayerExtension extension{.name_bytes = static_cast<std::uint32_t>(field_.size()),
                                      .prefix_bytes = static_cast<std::uint32_t>(prefix_.size())};
  std::vector<std::byte> head(sizeof(LayerHeader));
  append(head, std::span(&extension, 1));
  append<std::byte>(head, as_bytes(field_));
  append<std::byte>(head, prefix_);
  append<FieldLayer::OfShard>(head, done_);
  LayerHeader header{};
  std::memcpy(header.magic, k_layer_magic, sizeof k_layer_magic);
  header.version = k_layer_version;
  header.kind = static_cast<std::uint32_t>(LayerKind::field);
  header.num_shards = done_.size();
  header.num_rows = num_rows_;
  header.file_bytes = values_at_ + values_end_;
  header.body_crc32c = crc32c(Bytes(head).subspan(sizeof header));
  seal_header(header);
  std::memcpy(head.data(), &header, sizeof header);
  file_.write_at(0, head);
  file_.sync();
  file_.close();
  return {.kind = field_layer_kind(field_),
          .digest = digest_of_content(head),
          .num_rows = num_rows_,
          .bytes = header.file_bytes};
}

}  // namespace bale
