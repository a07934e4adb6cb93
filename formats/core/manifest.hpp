// manifest.json: what a packed dataset is, written last of all; its presence says the dataset is whole.
// Schema: formats/core/MANIFEST.md.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace bale {

inline constexpr const char* k_manifest_name = "manifest.json";
/// Directory inside the destination that holds an unfinished run's journal and temporary files.
inline constexpr const char* k_partial_name = ".bale-partial";

struct ManifestField {
  std::string name;
  std::string codec = "none";  // "none" | "zstd"
  std::uint64_t stored_bytes = 0;
};

struct ManifestShard {
  std::string file;    // relative to the manifest
  std::string digest;  // "xxh3:..." of the shard file
  std::uint64_t num_samples = 0;
  std::uint64_t bytes = 0;              // of the shard file
  std::vector<std::string> sidecars{};  // files that belong to it: its entry points, and files for other readers
};

struct Manifest {
  std::string name;
  std::string format;
  std::string layout;
  std::uint64_t num_samples = 0;
  std::uint64_t num_skipped = 0;
  std::vector<ManifestField> fields{};
  std::vector<std::string> classes{};  // class name of label 0, 1, ...; may be empty
  std::vector<ManifestShard> shards{};
  std::vector<std::string> lists{};  // files beside the manifest that list the shards for readers other than ours
  std::map<std::string, std::string> edits{};  // what was done to the images, by name; empty: nothing
  bool encoded_keys = false;  // keys are encode_key() of the source's, which are other than names of files
  std::string plan{};                          // hash of input list and options that shape the output
  std::string created_by{};                    // "bale 0.1.0"
};

/// Canonical text: fixed key order, one-space indent, a checksum of what precedes it, final newline. Class names that are
/// not UTF-8 are written as {"hex": "..."}.
std::string manifest_text(const Manifest& manifest);

/// The checksum is compared where there is one; the first manifests had none. Throws `damaged` or `unsupported` (a newer schema version), naming `path`.
Manifest parse_manifest(const std::string& text, const std::string& path);

Manifest load_manifest(const std::string& path);

}  // namespace bale
