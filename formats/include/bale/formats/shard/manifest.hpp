// Manifest: the content of manifest.json, which describes a packed dataset. It is written last: a directory with a
// manifest is complete. Schema: formats/shard/MANIFEST.md.
//
// Threads: plain values; the functions may be called from any thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bale {

inline constexpr const char* k_manifest_name = "manifest.json";
/// Directory inside the destination with the journal and temporary files of an unfinished run.
inline constexpr const char* k_partial_name = ".bale-partial";
/// The ledger of skipped samples, and the directory of copies of their files, next to the manifest.
inline constexpr const char* k_ledger_name = "skipped.jsonl";
inline constexpr std::string_view k_quarantine_name = "quarantine";

/// What the keys of a dataset are.
enum class KeyForm : std::uint8_t {
  plain,
  encoded,          // encode_key() of the source's keys, which were not names of files
  with_extensions,  // encode_key() of the whole names of the packed files
};
/// Empty for plain keys.
std::string_view key_form_name(KeyForm form);
/// Of a name that key_form_name() returns; plain for any other.
KeyForm key_form_named(std::string_view name);

struct ManifestField {
  std::string name;
  std::string codec = "none";      // name_of() a Codec
  std::uint64_t stored_bytes = 0;  // over all shards
};

struct ManifestShard {
  std::string file;                     // name of a file in the manifest's directory
  std::string digest;                   // "xxh3:..." of the shard file
  std::uint64_t num_samples = 0;        // that readers get
  std::uint64_t bytes = 0;              // of the shard file
  std::vector<std::string> sidecars{};  // files next to it: seek points, and files for other readers
  std::uint64_t num_removed = 0;        // samples that it also holds, and layers remove

  std::uint64_t num_stored() const { return num_samples + num_removed; }
};

/// A file of changes over the shards (formats/shard/LAYER.md).
struct ManifestLayer {
  std::string kind;    // name_of() a LayerKind
  std::string digest;  // "xxh3:..." of the file, which is named by it
  std::uint64_t num_rows = 0;
  std::uint64_t bytes = 0;  // of the file
};

/// A list of samples that must not be added again (bale/writer/removals.hpp).
struct ManifestRemovals {
  std::string digest;  // "xxh3:..." of the file, which is named by it
  std::uint64_t num_samples = 0;
};

/// What made a version of a dataset of the one before it.
struct ManifestChange {
  std::string verb{};             // "add", "remove", "set"
  std::uint64_t num_samples = 0;  // that it is about
  std::string message{};          // of the user; raw bytes
};

struct Manifest {
  std::string name;
  std::string format;
  std::string layout;
  std::uint64_t num_samples = 0;
  std::uint64_t num_skipped = 0;  // bad samples that were left out
  std::vector<ManifestField> fields{};
  std::vector<std::string> classes{};  // class name of label 0, 1, ...; may be empty
  std::vector<ManifestShard> shards{};
  std::vector<std::string> lists{};            // files next to the manifest that list the shards for other readers
  std::vector<ManifestLayer> layers{};         // later ones take precedence
  std::vector<ManifestRemovals> removals{};    // also of samples that no shard has anymore
  std::map<std::string, std::string> edits{};  // how the images were changed, by name of the edit; empty: unchanged
  KeyForm keys = KeyForm::plain;
  std::string label_base{};  // number of the first class for other readers of the shards; empty: 0
  std::string plan{};        // hash of the input list and of the options that determine the output
  std::string created_by{};  // "bale 0.1.0"
  std::string parent{};      // id of the version before this one; empty: this is the first
  ManifestChange change{};   // if there is a parent
  std::uint64_t next_shard =
      0;  // no shard of a version had this number or a higher one; 0: those that are listed say so
};

/// What stays of a version whose manifest was removed, under the name that the manifest had.
struct GoneVersion {
  std::string id;
  std::string why;       // "pruned"
  std::string parent{};  // id of the version before it; empty: it was the first
};
std::string gone_version_text(const GoneVersion& gone);
/// nullopt for any other text, such as a manifest.
std::optional<GoneVersion> parse_gone_version(const std::string& text);

/// Canonical text: fixed order of members, indented by one space, ending with a checksum of the preceding text and a
/// newline. Field and class names that are not UTF-8 are written as {"hex": "..."}.
std::string manifest_text(const Manifest& manifest);

/// Parses a manifest and compares its checksum, which the first manifests did not have. Throws `damaged`,
/// `unsupported` for another schema version or another program's manifest.json, and `removed` for what stays of a
/// version that is gone. `path` is used in messages only.
Manifest parse_manifest(const std::string& text, const std::string& path);

/// Reads and parses a file of at most 1 GiB. Throws what parse_manifest() and read_file() throw.
Manifest load_manifest(const std::string& path);

/// True if nothing in a manifest.json says that bale wrote it, also if it is a directory, a pipe or larger than 1 GiB.
/// For one that load_manifest() takes for damaged or unsupported. Throws what read_file() throws.
bool is_of_another_program(const std::string& path);

}  // namespace bale
