// Reads the chunks of LitData datasets. bale does not write them.
#include "bale/formats/shard/format.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/base/codec/compression.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/storage.hpp"
#include "bale/formats/container/reading/column_scan.hpp"
#include "bale/formats/container/reading/converted_payload.hpp"
#include "bale/formats/container/reading/file_payload.hpp"
#include "bale/formats/container/streams/stream.hpp"
#include "bale/formats/litdata/columns.hpp"
#include "bale/formats/shard/partial_scan.hpp"
#include "bale/formats/shard/sample/key.hpp"

namespace bale::litdata {
namespace {

// The layouts of a LitData chunk: where its samples are, and its content, decompressed if it is compressed.
//
// Source: litdata's streaming/writer.py and framed_zstd.py.

enum class Packing : std::uint8_t {
  plain,
  whole,    // the file is one zstd stream
  frames,   // a table, and zstd frames of many samples each
  samples,  // a plain table, and a zstd frame for each sample
};

struct Chunk {
  std::unique_ptr<Stream> content;
  std::vector<std::uint64_t> offsets;  // of the samples in `content`, and the end of the last one
  std::uint64_t num_samples() const { return offsets.size() - 1; }
};

constexpr std::uint64_t k_word = sizeof(std::uint32_t);
constexpr std::string_view k_frames_magic{"LDFZ01\0\0", 8};
constexpr std::uint64_t k_prefix_bytes = 24;  // magic, u16 version, u16 flags, u32 samples, samples per frame, frames
constexpr std::uint64_t k_frame_entry_bytes = 24;  // u32 first, samples, u64 offset, u32 stored bytes, bytes

[[noreturn]] void fail(const std::string& path, std::uint64_t offset, std::string_view what) {
  throw Error(ErrorCode::damaged, what, {.path = path, .offset = offset, .hint = "copy it again"});
}

/// `count` offsets that do not decrease.
std::vector<std::uint64_t> read_offsets(const Stream& from, const std::string& path, std::uint64_t at,
                                        std::uint64_t count) {
  if (at > from.size() || count > (from.size() - at) / k_word) {
    fail(path, at, "the table of samples goes beyond the end of the chunk");
  }
  std::vector<std::uint32_t> words(static_cast<std::size_t>(count));
  from.read_exact(at, std::as_writable_bytes(std::span(words)));
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i] > words[i + 1]) fail(path, at + k_word * i, fmt::format("sample {} ends before it begins", i));
  }
  return {words.begin(), words.end()};
}

/// Newer versions write dictionaries of texts, numbers and bytes as an Arrow table after the samples or instead of
/// them.
void refuse_arrow(const Stream& content, const std::string& path) {
  std::array<std::byte, 8> end{};
  content.read_exact(content.size() - end.size(), end);
  if (as_text(end) != std::string_view("LDARW01\0", 8)) return;
  throw Error(ErrorCode::unsupported, "a chunk that is an Arrow table",
              {.path = path, .hint = "write its samples out with LitData, or with image leaves"});
}

/// u32 n, u32 offsets x (n + 1), samples up to the end.
std::vector<std::uint64_t> plain_offsets(const Stream& content, const std::string& path) {
  std::array<std::byte, k_word> count{};
  if (content.size() < 2 * k_word) fail(path, 0, "shorter than the header of a chunk");
  content.read_exact(0, count);
  const std::uint64_t samples = load_at<std::uint32_t>(count.data());
  std::vector<std::uint64_t> offsets = read_offsets(content, path, k_word, samples + 1);
  if (offsets.front() != k_word * (samples + 2)) fail(path, k_word, "the first sample is not after the table");
  if (offsets.back() != content.size()) {
    refuse_arrow(content, path);
    fail(path, k_word * (samples + 1),
         fmt::format("chunk has {} bytes, its table says {}", content.size(), offsets.back()));
  }
  return offsets;
}

/// The samples' frames as one content: sample n is what frame n becomes.
Chunk open_samples(const std::string& path) {
  const std::vector<std::uint64_t> bounds = plain_offsets(*open_plain_stream(path), path);
  Chunk chunk;
  chunk.content = open_zstd_frames(path, bounds, chunk.offsets);
  return chunk;
}

Chunk open_frames(const std::string& path) {
  const std::unique_ptr<Stream> file = open_plain_stream(path);
  if (file->size() < k_prefix_bytes) fail(path, 0, "shorter than the header of a chunk");
  std::array<std::byte, k_prefix_bytes> prefix{};
  file->read_exact(0, prefix);
  if (load_at<std::uint16_t>(prefix.data() + 8) != 1 || load_at<std::uint16_t>(prefix.data() + 10) != 0) {
    throw Error(ErrorCode::unsupported, "a chunk of another version of LDFZ, this bale reads 1", {.path = path});
  }
  const std::uint64_t samples = load_at<std::uint32_t>(prefix.data() + 12);
  const std::uint64_t frames = load_at<std::uint32_t>(prefix.data() + 20);
  Chunk chunk;
  chunk.offsets = read_offsets(*file, path, k_prefix_bytes, samples + 1);
  const std::uint64_t table = k_prefix_bytes + k_word * (samples + 1);
  if (frames == 0 || frames > (file->size() - table) / k_frame_entry_bytes) {
    fail(path, 20, "the table of frames goes beyond the end of the chunk");
  }
  std::vector<std::byte> entries(static_cast<std::size_t>(frames * k_frame_entry_bytes));
  file->read_exact(table, entries);
  std::vector<std::uint64_t> bounds{table + entries.size()};
  for (std::size_t i = 0; i < frames; ++i) {
    const std::byte* const entry = entries.data() + i * k_frame_entry_bytes;
    if (load_at<std::uint64_t>(entry + 8) != bounds.back()) {
      fail(path, table + i * k_frame_entry_bytes, fmt::format("frame {} is not after the one before it", i));
    }
    bounds.push_back(bounds.back() + load_at<std::uint32_t>(entry + 16));
  }
  if (bounds.back() != file->size()) fail(path, bounds.back(), "the frames do not end with the chunk");
  std::vector<std::uint64_t> starts;
  chunk.content = open_zstd_frames(path, bounds, starts);
  if (chunk.offsets.front() != 0 || chunk.offsets.back() != chunk.content->size()) {
    fail(path, k_prefix_bytes, "the frames do not hold the samples of the table");
  }
  return chunk;
}

/// `compresses_samples`: what index.json says; the others are recognized by their first bytes.
Packing packing_of(const std::string& path, bool compresses_samples) {
  std::array<std::byte, 8> head{};
  const Bytes found = Bytes(head).first(File::open_read(path).read_some(0, head));
  if (begins_like_zstd(found)) return Packing::whole;
  if (as_text(found) == k_frames_magic) return Packing::frames;
  return compresses_samples ? Packing::samples : Packing::plain;
}

/// Throws `damaged` if the chunk contradicts itself; memory is bounded by the size of its content.
Chunk open_chunk(const std::string& path, Packing packing) {
  if (packing == Packing::samples) return open_samples(path);
  if (packing == Packing::frames) return open_frames(path);
  Chunk chunk;
  chunk.content = packing == Packing::whole ? open_zstd_stream(path) : open_plain_stream(path);
  chunk.offsets = plain_offsets(*chunk.content, path);
  return chunk;
}

/// The chunks that index.json lists. Sizes are compared when a chunk is scanned.
std::optional<std::vector<std::string>> list_directory(const std::string& directory) {
  const auto config = read_config(directory);
  if (!config) return std::nullopt;
  std::vector<std::string> names;
  for (const ListedChunk& chunk : config->chunks) {
    if (remote_storage_of(directory) == nullptr && !path_exists(join_name(directory, chunk.name))) {
      throw Error(ErrorCode::not_found,
                  fmt::format("the chunk \"{}\" that it lists is not there", printable(chunk.name)),
                  {.path = join_name(directory, "index.json"), .hint = "copy it again"});
    }
    names.push_back(chunk.name);
  }
  return names;
}

class Scan final : public ColumnScan<Column> {
 public:
  Scan(const Chunk& chunk, const ChunkConfig& config, const std::string& path, IndexBuilder& index)
      : ColumnScan(*chunk.content, path, index, "chunk"), chunk_(chunk), config_(config), name_(base_name(path)) {}

 private:
  /// The sizes of all values, then the values.
  void split_sample() override {
    const std::uint64_t begin = chunk_.offsets[number_];
    const std::uint64_t end = chunk_.offsets[number_ + 1];
    const std::uint64_t sizes = sizeof(std::uint32_t) * config_.columns.size();
    if (end - begin < sizes) fail(ErrorCode::damaged, begin, "ends inside its sizes");
    std::uint64_t at = begin + sizes;
    for (std::size_t i = 0; i < config_.columns.size(); ++i) {
      const auto length = load_at<std::uint32_t>(bytes_at(begin + sizeof(std::uint32_t) * i, 4).data());
      const Column& column = config_.columns[i];
      if (length > end - at) {
        fail(ErrorCode::damaged, at,
             fmt::format("column \"{}\" has {} bytes and goes beyond its end", printable(column.name), length));
      }
      values_.push_back({.column = &column, .offset = at, .length = length});
      at += length;
    }
    if (at != end) fail(ErrorCode::damaged, at, "has bytes after its last value");
  }

  /// Each chunk counts from 0, so its name is part of the key.
  std::string other_key() const override { return made_key(name_, number_); }

  void add_value(const Value& value) override {
    const Column& column = *value.column;
    switch (column.kind) {
      case ValueKind::text:
        return set_stored(value, "txt");
      case ValueKind::bytes:
        return set_stored(value, image_extension(value, column.ending));
      case ValueKind::image:
        return set_stored(value, image_extension(value, column.encoding == "jpeg" ? "jpg" : "bin"));
      case ValueKind::opaque:
        return set_opaque(value);
      default:
        const auto delivery = conversion_of(column, front_of(value, k_value_front_bytes), value.length);
        const bool has_fixed_type = column.kind == ValueKind::number || column.kind == ValueKind::vector;
        return delivery || has_fixed_type ? set_made(value, delivery) : set_opaque(value);
    }
  }

  void set_opaque(const Value& value) {
    ColumnScan::set_opaque(value, value.column->encoding == "pickle" ? "pkl" : "bin", "LitData's");
  }

  const Chunk& chunk_;
  const ChunkConfig& config_;
  std::string name_;
};

void check_against_list(const Chunk& chunk, const ChunkConfig& config, const std::string& path, Packing packing) {
  const std::uint64_t bytes =
      packing == Packing::plain || packing == Packing::whole ? chunk.content->size() : File::open_read(path).size();
  if (chunk.num_samples() == config.listed.samples && bytes == config.listed.bytes) return;
  throw Error(ErrorCode::damaged,
              fmt::format("{} samples in {} bytes, index.json says {} in {}", chunk.num_samples(), bytes,
                          config.listed.samples, config.listed.bytes),
              {.path = path, .hint = "copy it again"});
}

/// Lists the samples from the chunk's table and the sizes in front of each sample.
void scan(const std::string& path, IndexBuilder& index) {
  const ChunkConfig config = read_chunk_config(path);
  const Packing packing = packing_of(path, config.compresses_samples);
  scan_or_salvage(index, [&] {
    const Chunk chunk = open_chunk(path, packing);
    check_against_list(chunk, config, path, packing);
    Scan(chunk, config, path, index).run(chunk.num_samples());
  });
}

/// Bytes of the value that the field was made of, if its numbers are all of it: an array file less its header.
std::uint64_t vector_bytes(const Column& column, std::uint64_t field_bytes) {
  const auto empty = array_delivery(column.type, {0}, 0);
  return field_bytes - std::min<std::uint64_t>(field_bytes, empty->head.size());
}

MadeFields made_fields(std::vector<Column> columns) {
  return {.front_bytes = k_value_front_bytes,
          .delivery = [columns = std::move(columns)](const Stream&,
                                                     const StoredValue& value) -> std::optional<ArrayConversion> {
            for (const Column& column : columns) {
              const std::uint64_t bytes = column.kind == ValueKind::vector ? vector_bytes(column, value.length) : 0;
              auto delivery = conversion_of(column, value.front, bytes);
              if (!delivery) continue;
              if (field_of(column, delivery->extension) == value.field.name) return delivery;
            }
            return std::nullopt;
          }};
}

std::unique_ptr<Payload> open(const std::string& path, const ShardIndex& index) {
  ChunkConfig config = read_chunk_config(path);
  const Packing packing = packing_of(path, config.compresses_samples);
  if (packing == Packing::plain && all_are_located(index)) return std::make_unique<FilePayload>(path);
  return make_made_payload(
      path, index, [path, packing] { return std::move(open_chunk(path, packing).content); }, packing == Packing::plain,
      made_fields(std::move(config.columns)));
}

/// Only the name says that a plain chunk is one: its table has no magic number, and its configuration is elsewhere.
int probe(const ProbeInput& input) {
  if (as_text(input.head).starts_with(std::string_view("LDFZ01\0\0", 8))) return 100;
  const std::string_view name = input.path.substr(input.path.rfind('/') + 1);
  if (!name.starts_with("chunk-") || !name.ends_with(".bin") || input.file_bytes == 0) return 0;
  if (name.find(".zst") != std::string_view::npos && begins_like_zstd(input.head)) return 100;
  if (input.head.size() < 8) return 20;
  const std::uint64_t table_end = 4 * (std::uint64_t{load_at<std::uint32_t>(input.head.data())} + 2);
  return load_at<std::uint32_t>(input.head.data() + 4) == table_end && table_end <= input.file_bytes ? 90 : 20;
}

}  // namespace
}  // namespace bale::litdata

namespace bale {

extern const Format k_litdata_format;
// Without suffixes: other programs call their files *.bin, too. The chunks of a directory are those of its index.json.
const Format k_litdata_format{.name = "litdata",
                              .layouts = {},
                              .probe = litdata::probe,
                              .scan = litdata::scan,
                              .open = litdata::open,
                              .create = nullptr,
                              .scan_survives_damage = true,
                              .read_summary = "LitData's chunks (index.json, chunk-*.bin), plain or zstd",
                              .list = litdata::list_directory};

}  // namespace bale
