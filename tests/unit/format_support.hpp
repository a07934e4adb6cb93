// Packing, scanning and reading shards of a format by its name: small samples, whole files as strings.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "bale/formats/core/error.hpp"
#include "bale/formats/core/format.hpp"
#include "bale/formats/core/shard.hpp"
#include "bale/tests/support/catch.hpp"
#include "bale/tests/support/temp_dir.hpp"

namespace bale::test {

struct PlainSample {
  std::string key;
  std::int64_t label = k_no_label;
  std::vector<std::pair<std::string, std::string>> fields{};  // stored names and bytes, in the order given
  bool operator==(const PlainSample&) const = default;
};

struct PackSettings {
  std::map<std::string, std::string> format_options{};
  std::vector<std::string> class_names{};
  std::uint32_t width = 0;  // of every sample
  std::uint32_t height = 0;
};

inline std::string slurp_file(const std::string& path) {
  const std::vector<std::byte> bytes = read_file(path);
  return std::string(as_text(bytes));
}

inline void spit_file(const std::string& path, std::string_view bytes) {
  File file = File::create(path);
  file.write_at(0, as_bytes(bytes));
  file.close();
}

/// "0aff" -> two bytes; spaces are ignored.
inline std::string from_hex(std::string_view text) {
  std::string digits;
  for (const char c : text) {
    if (c != ' ' && c != '\n') digits += c;
  }
  std::string bytes;
  for (std::size_t at = 0; at < digits.size(); at += 2) {
    bytes += static_cast<char>(std::stoi(digits.substr(at, 2), nullptr, 16));
  }
  return bytes;
}

/// The index that finish() made, with checksums; empty where the format refused a sample.
inline ShardIndex pack_plain(const Format& format, const std::string& path, const std::vector<PlainSample>& samples,
                             const PackSettings& settings = {}) {
  IndexBuilder index;
  const auto writer = format.create({.path = path,
                                     .layout = format.layouts.front().name,
                                     .format_options = settings.format_options,
                                     .class_names = settings.class_names});
  for (const PlainSample& sample : samples) {
    std::vector<FieldView> views;
    for (const auto& [name, bytes] : sample.fields) views.push_back({name, as_bytes(bytes)});
    writer->add({.key = sample.key,
                 .label = sample.label,
                 .width = settings.width,
                 .height = settings.height,
                 .fields = views});
    const std::uint64_t i = index.add_sample(sample.key, sample.label);
    for (const auto& [name, bytes] : sample.fields) {
      const auto id = index.field_id(name) ? *index.field_id(name) : index.add_field(name);
      index.set_crc32c(i, id, crc32c(as_bytes(bytes)));
    }
  }
  writer->finish(index);
  return ShardIndex::from_bytes(index.build(File::open_read(path).size(), digest_file(path), true, path), path);
}

/// Every sample of a shard, fields sorted by name.
inline std::vector<PlainSample> read_plain(const Shard& shard) {
  std::vector<PlainSample> samples;
  Scratch scratch;
  for (std::uint64_t i = 0; i < shard.size(); ++i) {
    const SampleView view = shard.read(i, scratch);
    PlainSample sample{.key = std::string(view.key), .label = view.label};
    for (const FieldView& field : view.fields) sample.fields.emplace_back(field.name, as_text(field.bytes));
    std::sort(sample.fields.begin(), sample.fields.end());
    samples.push_back(std::move(sample));
  }
  return samples;
}

/// The same by a fresh scan.
inline std::vector<PlainSample> read_plain(const Format& format, const std::string& path) {
  return read_plain(Shard::open(path, format, scan_shard(path, format)));
}

/// The text that a layout's sidecar has for a shard.
inline std::string sidecar_text(const Format& format, std::string_view suffix, const std::string& path,
                                const ShardIndex& index) {
  for (const Sidecar& sidecar : format.layouts.front().sidecars) {
    if (sidecar.suffix == suffix) return sidecar.text(path, index);
  }
  return "(no such sidecar)";
}

}  // namespace bale::test
