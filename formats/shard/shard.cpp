#include "bale/formats/shard/shard.hpp"

#include <array>
#include <limits>
#include <mutex>

#include <fmt/format.h>

#include "bale/formats/base/codec/compression.hpp"
#include "bale/formats/base/codec/zstd_codec.hpp"
#include "bale/formats/base/errors/error_reason.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/storage.hpp"
#include "bale/formats/image/jpeg/planes/planes_field.hpp"
#include "bale/formats/shard/layer.hpp"
#include "bale/formats/shard/seek_point_file.hpp"

namespace bale {
namespace {

constexpr std::uint64_t k_max_field_bytes = std::numeric_limits<std::uint32_t>::max();

ErrorContext place(const std::string& path, std::string_view key, std::optional<std::uint64_t> offset) {
  return {.path = path,
          .key = std::string(key),
          .offset = offset,
          .hint = "run `bale verify` for the extent of the damage"};
}

/// nullopt also if the container cannot say where its fields are.
std::optional<FileRange> range_of(const Payload& payload, std::uint64_t i, std::uint32_t field, const Extent& extent) {
  if (!is_in_container(extent)) return std::nullopt;
  try {
    return payload.locate(i, field, extent);
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// "has image.jpg, label.cls".
std::string names_of_fields(const ShardIndex& index, std::uint64_t i) {
  constexpr std::size_t k_shown = 8;
  std::string text;
  std::size_t count = 0;
  for (const FieldExtent& field : index.row(i)) {
    if (++count <= k_shown)
      text += fmt::format("{}{}", count == 1 ? "" : ", ", printable(index.fields()[field.field].name));
  }
  return count == 0 ? "has no fields" : fmt::format("has {}{}", text, count > k_shown ? ", ..." : "");
}

}  // namespace

struct Shard::SeekPoints {
  std::once_flag once{};
  std::optional<SeekPointFile> file{};
};

Shard Shard::open(const std::string& path, const Format& format, ShardIndex index, const ShardOpenOptions& options) {
  return open(path, format, std::make_shared<const ShardIndex>(std::move(index)), options);
}

Shard Shard::open(const std::string& path, const Format& format, std::shared_ptr<const ShardIndex> index,
                  const ShardOpenOptions& options) {
  Shard shard;
  shard.seek_points_ = std::make_shared<SeekPoints>();
  shard.path_ = path;
  shard.format_ = &format;
  shard.index_ = std::move(index);
  shard.options_ = options;
  const auto bytes = options.check_size ? file_size(path) : std::nullopt;
  if (bytes && *bytes != shard.index_->shard_bytes()) {
    throw Error(ErrorCode::damaged,
                fmt::format("file has {} bytes, its index says {}", *bytes, shard.index_->shard_bytes()),
                {.path = path, .hint = "copy it again, or rebuild a stale index with `bale index`"});
  }
  shard.payload_ = format.open(path, *shard.index_);
  if (options.direct_io && shard.payload_->is_plain()) shard.direct_ = DirectFile::open(path);
  shard.file_ = FileStamp::of(path);
  return shard;
}

Error changed_error(const std::string& path) {
  return {ErrorCode::changed,
          "the shard or its index was changed while it was read",
          {.path = path, .hint = "open the dataset again"}};
}

namespace {

/// Without checksums only its times tell that a file was written since it was indexed. If its name is another file's by
/// now, the open one is whole.
bool is_written(const std::string& path, const FileStamp& opened) {
  const FileStamp now = FileStamp::of(path);
  return now.device == opened.device && now.inode == opened.inode && now != opened;
}

}  // namespace

Error changed_after_packing_error(const std::string& path) {
  return {ErrorCode::changed,
          "the file was changed after it was packed",
          {.path = path,
           .hint = "copy it again; if only its index is wrong, `bale index` makes it again; if the change was wanted, "
                   "remove manifest.json and run `bale index`"}};
}

void Shard::require_identity(const ShardIdentity& known) const {
  if (index_->identity() != known.index) throw Error(changed_error(path_));
  if (file_ == known.file) return;
  if (!index_->digest() || digest_file(path_) != *index_->digest()) throw Error(changed_error(path_));
}

Error Shard::judged(const Error& error) const {
  return is_data_error(error) && FileStamp::of(path_) != file_ ? changed_error(path_) : error;
}

/// Decompresses and restores the fields of one sample, each into its own memory.
struct Shard::Inflater {
  Scratch& scratch;
  FieldForm form = FieldForm::original;
  std::size_t num_inflated = 0;
  InflationBudget budget{};

  Bytes inflate(Bytes stored) {
    const std::uint64_t plain_bytes = zstd_content_size(stored, k_max_field_bytes);
    if (!budget.take(stored.size(), plain_bytes)) {
      throw Error(
          ErrorCode::damaged,
          fmt::format(
              "{} compressed bytes would expand to {}; ratios above {}:1 are rejected for outputs over {} bytes",
              stored.size(), plain_bytes, k_max_inflation, k_inflation_allowance));
    }
    const MutableBytes plain = scratch.inflated(num_inflated++, plain_bytes);
    zstd_decompress(stored, plain);
    return plain;
  }

  Bytes restore(Bytes stored) {
    const Bytes original = restore_planes(stored);
    const MutableBytes copy = scratch.inflated(num_inflated++, original.size());
    std::ranges::copy(original, copy.begin());
    return copy;
  }
};

Bytes Shard::load_field(std::uint64_t i, std::uint32_t field, const Extent& extent, MutableBytes stored,
                        Scratch& scratch, FieldForm form) const {
  Inflater inflater{.scratch = scratch, .form = form};
  return load_field(i, field, extent, stored, inflater);
}

Bytes Shard::load_field(std::uint64_t i, std::uint32_t field, const Extent& extent, MutableBytes stored,
                        Inflater& inflater) const {
  const Storage* const storage = remote_storage_of(path_);
  if (storage == nullptr) {
    try {
      const Bytes bytes = load_field_once(i, field, extent, stored, inflater);
      if (!index_->has_checksums() && is_written(path_, file_)) throw Error(changed_error(path_));
      return bytes;
    } catch (const Error& error) {
      throw Error(judged(error));
    }
  }
  std::optional<FileRange> range;
  try {
    return load_field_once(i, field, extent, stored, inflater);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::damaged) throw;
    if (is_in_layer(extent)) {
      options_.layers->forget(extent);
      return load_field_once(i, field, extent, stored, inflater);
    }
    range = range_of(*payload_, i, field, extent);
  }
  // Perhaps it was damaged on its way, or in the cache.
  if (range) {
    File::open_read(path_).forget(range->offset, range->length);
    return load_field_once(i, field, extent, stored, inflater);
  }
  storage->cache().forget(path_);
  return open(path_, *format_, index_, options_).load_field_once(i, field, extent, stored, inflater);
}

/// Reads the located fields around the page cache, in few requests. If that fails, nothing is fetched: each field is
/// then read alone, and its error names it.
template <typename Fields>
void Shard::fetch_directly(const Fields& fields, Scratch& scratch) const {
  if (!direct_ || scratch.is_lent()) return;
  DirectFetch& fetched = scratch.fetched();
  for (const auto& [field, extent] : fields) {
    if (index_->fields()[field].located && extent.length > 0 && is_in_container(extent))
      fetched.want({extent.offset, extent.length});
  }
  try {
    fetched.fetch(*direct_);
  } catch (const Error&) {
  }
}

/// A label that a layer corrects is not in the container.
Bytes Shard::label_text(std::uint64_t i, MutableBytes out) const {
  const fmt::format_int text(index_->label(i));
  if (text.size() != out.size()) throw Error(ErrorCode::damaged, "the index has another label", {.path = path_});
  std::ranges::copy(as_bytes(std::string_view(text.data(), text.size())), out.begin());
  return out;
}

/// The bytes as they are in the container or a layer: in `stored`, or where fetch_directly() has put them.
Bytes Shard::stored_bytes(std::uint64_t i, std::uint32_t field, const Extent& extent, MutableBytes stored,
                          Scratch& scratch) const {
  if (extent.is_label_text()) return label_text(i, stored);
  if (is_in_layer(extent)) {
    if (!options_.layers) throw Error(ErrorCode::damaged, "the index has it in a layer, and there is none");
    options_.layers->read(extent, stored);
    return stored;
  }
  if (!direct_ || !index_->fields()[field].located) {
    payload_->read(i, field, extent, stored);
    return stored;
  }
  const FileRange range{extent.offset, extent.length};
  if (const Bytes fetched = scratch.fetched().find(range); !fetched.empty()) return fetched;
  if (DirectFetch::is_tiny(range)) {
    payload_->read(i, field, extent, stored);
  } else {
    direct_->read_exact(extent.offset, stored);
  }
  return stored;
}

/// Decompresses if needed, compares the checksum, and adds the place to errors.
Bytes Shard::load_field_once(std::uint64_t i, std::uint32_t field, const Extent& extent, MutableBytes stored,
                             Inflater& inflater) const {
  const FieldInfo& info = index_->fields()[field];
  const auto where = [&] {
    if (is_in_layer(extent) && options_.layers)
      return place(options_.layers->path_of(extent), index_->key(i), Layers::offset_of(extent));
    const std::optional<FileRange> range = range_of(*payload_, i, field, extent);
    return place(path_, index_->key(i), range ? std::optional(range->offset) : std::nullopt);
  };
  try {
    const Codec codec = is_in_container(extent) ? info.codec : Codec::none;
    Bytes bytes = stored_bytes(i, field, extent, stored, inflater.scratch);
    const bool keeps_planes = codec == Codec::planes && inflater.form == FieldForm::decodable;
    if (codec == Codec::zstd) bytes = inflater.inflate(bytes);
    if (codec == Codec::planes && !keeps_planes) bytes = inflater.restore(bytes);
    if (!options_.verify_checksums) return bytes;
    const std::uint32_t found = keeps_planes ? check_planes(bytes) : index_->has_checksums() ? crc32c(bytes) : 0;
    if (index_->has_checksums() && found != extent.crc32c) {
      throw Error(ErrorCode::damaged, fmt::format("field {}: checksum does not match", info.name), where());
    }
    return bytes;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::damaged || !error.context().key.empty()) throw;
    throw Error(ErrorCode::damaged, fmt::format("field {}: {}", info.name, error.message()), where());
  }
}

SampleView Shard::read(std::uint64_t i, Scratch& scratch) const {
  const std::vector<FieldInfo>& fields = index_->fields();
  const ExtentRow row = index_->row(i);
  std::size_t total = 0;
  for (const auto& [f, extent] : row) total += extent.length;
  fetch_directly(row, scratch);
  MutableBytes free = scratch.bytes(total);
  std::vector<FieldView>& views = scratch.fields();
  views.clear();
  Inflater inflater{.scratch = scratch};
  for (const auto& [f, extent] : row) {
    const MutableBytes stored = free.first(extent.length);
    free = free.subspan(extent.length);
    views.push_back({fields[f].name, load_field(i, f, extent, stored, inflater)});
  }
  return {.key = index_->key(i),
          .label = index_->label(i),
          .width = index_->width(i),
          .height = index_->height(i),
          .fields = views};
}

Bytes Shard::read_field(std::uint64_t i, std::string_view field, Scratch& scratch, FieldForm form) const {
  const auto id = index_->field_id(field);
  const Extent extent = id ? index_->extent(i, *id) : Extent{};
  if (!extent.present()) {
    throw Error(ErrorCode::not_found, fmt::format("sample has no field \"{}\"", printable(field)),
                {.path = path_, .key = std::string(index_->key(i))});
  }
  return read_extent(i, *id, extent, scratch, form);
}

Bytes Shard::read_image(std::uint64_t i, Scratch& scratch, FieldForm form) const {
  const auto field = index_->image_field(i);
  if (!field) {
    throw Error(ErrorCode::not_found, fmt::format("sample has no image field; it {}", names_of_fields(*index_, i)),
                {.path = path_,
                 .key = std::string(index_->key(i)),
                 .hint = "name the field that is the image (field= in Python)"});
  }
  return read_extent(i, *field, index_->extent(i, *field), scratch, form);
}

Bytes Shard::read_extent(std::uint64_t i, std::uint32_t field, const Extent& extent, Scratch& scratch,
                         FieldForm form) const {
  fetch_directly(std::array{FieldExtent{.field = field, .extent = extent}}, scratch);
  return load_field(i, field, extent, scratch.bytes(extent.length), scratch, form);
}

std::vector<std::byte> Shard::seek_points(std::uint64_t i) const {
  // Who makes seek points makes an index, too: next to a scanned shard no server is asked for them.
  if (!index_->has_checksums() && remote_storage_of(path_) != nullptr) return {};
  std::optional<SeekPointFile>& file = seek_points_->file;
  std::call_once(seek_points_->once, [&] {
    try {
      file = SeekPointFile::load(find_seek_points(path_));
      if (!file->fits(*index_)) file.reset();
    } catch (const Error&) {  // the shard is usable without it
    }
  });
  return file ? file->record(i) : std::vector<std::byte>{};
}

std::vector<FileRange> Shard::locate(std::uint64_t i) const {
  std::vector<FileRange> ranges;
  for (const auto& [f, extent] : index_->row(i)) {
    if (!is_in_container(extent)) continue;
    if (const auto range = payload_->locate(i, f, extent)) ranges.push_back(*range);
  }
  merge_ranges(ranges);
  return ranges;
}

ShardIndex scan_shard(const std::string& path, const Format& format) {
  return read_twice_if_damaged(path, [&] {
    IndexBuilder builder;
    format.scan(path, builder);
    ShardIndex index =
        ShardIndex::from_bytes(builder.build(File::open_read(path).size(), std::nullopt, false, path), path);
    index.set_notices(std::move(builder.notices()));
    return index;
  });
}

}  // namespace bale
