// Packing, scanning and reading shards of a format by its name: small samples.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "bale/formats/base/error.hpp"
#include "bale/formats/shard/format.hpp"
#include "bale/formats/shard/shard.hpp"
#include "bale/tests/support/catch.hpp"
#include "bale/tests/support/error_of.hpp"
#include "bale/tests/support/owned_sample.hpp"
#include "bale/tests/support/temp_dir.hpp"
#include "bale/tests/support/text_file.hpp"

namespace bale::test {

struct PackSettings {
  std::map<std::string, std::string> format_options{};
  std::vector<std::string> class_names{};
  std::uint32_t width = 0;  // of every sample
  std::uint32_t height = 0;
};

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
inline ShardIndex pack_plain(const Format& format, const std::string& path, const std::vector<OwnedSample>& samples,
                             const PackSettings& settings = {}) {
  IndexBuilder index;
  const auto writer = format.create({.path = path,
                                     .layout = format.layouts.front().name,
                                     .format_options = settings.format_options,
                                     .class_names = settings.class_names});
  std::vector<FieldView> views;
  for (const OwnedSample& sample : samples) {
    SampleView view = sample.view(views);
    view.width = settings.width;
    view.height = settings.height;
    writer->add(view);
    const std::uint64_t i = index.add_sample(sample.key, sample.label);
    for (const auto& [name, bytes] : sample.fields) {
      const auto id = index.field_id(name) ? *index.field_id(name) : index.add_field(name);
      index.set_crc32c(i, id, crc32c(as_bytes(bytes)));
    }
  }
  writer->finish(index);
  return ShardIndex::from_bytes(index.build(File::open_read(path).size(), digest_file(path), true, path), path);
}

/// Every sample of a shard by a fresh scan, fields sorted by name.
inline std::vector<OwnedSample> read_samples(const Format& format, const std::string& path) {
  return read_samples(Shard::open(path, format, scan_shard(path, format)));
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
