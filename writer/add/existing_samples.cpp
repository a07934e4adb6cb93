#include "bale/writer/add/existing_samples.hpp"

#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>

#include "bale/formats/base/checksum.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/base/errors/error_reason.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/shard/sample/key.hpp"
#include "bale/formats/shard/shard_index.hpp"
#include "bale/writer/edits/image_edits.hpp"
#include "bale/writer/publish/removal_list.hpp"
#include "bale/writer/shard/shard_copy.hpp"

namespace bale {
namespace {

class Search {
 public:
  Search(const Source& source, const PackOptions& options, bool compares)
      : source_(source),
        compares_(compares),
        edits_images_(!describe_edits(options.edits, false).empty()),
        editor_(options.edits, false, options.max_pixels) {
    by_hash_.reserve(source.size());
    for (std::uint64_t i = 0; i < source.size(); ++i) {
      source.describe(i, described_);
      by_hash_.emplace(hash_key(described_.key), i);
    }
  }

  void look_in(const std::string& path, const ShardIndex& index) {
    for (std::uint64_t row = 0; row < index.size(); ++row) {
      const auto [begin, end] = by_hash_.equal_range(hash_key(index.key(row)));
      for (auto it = begin; it != end; ++it) {
        source_.describe(it->second, described_);
        if (described_.key != index.key(row)) continue;
        if (compares_) compare(it->second, path, index, row);
        found_.push_back(it->second);
      }
    }
  }

  std::vector<std::uint64_t> found() {
    std::sort(found_.begin(), found_.end());
    return std::move(found_);
  }

 private:
  void compare(std::uint64_t i, const std::string& path, const ShardIndex& index, std::uint64_t row) {
    const SampleView read = source_.read(i, scratch_);
    const SampleView sample = edits_images_ ? editor_.apply(read) : read;
    if (sample.label != index.label(row)) refuse(i, path, index.key(row), "has another label");
    std::size_t num_fields = 0;
    for (const auto& [id, extent] : index.row(row)) {
      const std::string& name = index.fields()[id].name;
      const FieldView* const field = sample.find(name);
      if (field == nullptr && is_in_layer(extent)) continue;  // it was set later
      if (field == nullptr || crc32c(field->bytes) != extent.crc32c) {
        refuse(i, path, index.key(row), fmt::format("has another field {}", printable(name)));
      }
      ++num_fields;
    }
    if (num_fields != sample.fields.size()) refuse(i, path, index.key(row), "has fewer fields");
  }

  [[noreturn]] void refuse(std::uint64_t i, const std::string& path, std::string_view key,
                           const std::string& how) const {
    throw Error(ErrorCode::invalid_argument, fmt::format("the sample of this key in {} {}", shown_name(path), how),
                {.path = source_.origin(i),
                 .key = std::string(key),
                 .hint = "what was packed is never changed: give the new one another name, or leave it out with "
                         "`exclude_from`"});
  }

  const Source& source_;
  const bool compares_;
  const bool edits_images_;
  ImageEditor editor_;
  Scratch scratch_;
  SourceSample described_;
  std::unordered_multimap<std::uint64_t, std::uint64_t> by_hash_;
  std::vector<std::uint64_t> found_;
};

/// What was removed of a dataset, compared with new samples.
class RemovedSearch {
 public:
  RemovedSearch(const Source& source, const PackOptions& options, RemovalList removed)
      : source_(source),
        removed_(std::move(removed)),
        keeps_bytes_(options.format.layout->keeps_bytes),
        edits_images_(!describe_edits(options.edits, false).empty()),
        editor_(options.edits, false, options.max_pixels) {}

  /// What of the sample was removed: its key, its image, or nothing.
  const char* find(std::uint64_t i) {
    source_.describe(i, described_);
    if (removed_.has_key(described_.key)) return "key";
    return keeps_bytes_ && may_have_image() && has_image(i) ? "image" : nullptr;
  }
  const std::string& key() const { return described_.key; }

 private:
  bool may_have_image() const {
    return edits_images_ || std::any_of(described_.fields.begin(), described_.fields.end(), [&](const auto& field) {
             return is_image_field(source_.fields()[field.id]) && removed_.may_have_image(field.bytes);
           });
  }

  bool has_image(std::uint64_t i) {
    try {
      const SampleView read = source_.read(i, scratch_);
      const SampleView sample = edits_images_ ? editor_.apply(read) : read;
      const FieldView* const image = sample.find_image();
      return image != nullptr && removed_.has_image(image->bytes);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::interrupted || is_lack_of_resources(error)) throw;
      return false;  // packing says what is wrong with it
    }
  }

  const Source& source_;
  const RemovalList removed_;
  const bool keeps_bytes_;
  const bool edits_images_;
  ImageEditor editor_;
  Scratch scratch_;
  SourceSample described_;
};

}  // namespace

void require_none_removed(const Source& source, const PackOptions& options, const Manifest& manifest,
                          Progress& progress) {
  RemovalList removed = RemovalList::load(options.destination, manifest);
  if (removed.empty()) return;
  RemovedSearch search(source, options, std::move(removed));
  const char* what = nullptr;
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  std::string key;
  for (std::uint64_t i = 0; i < source.size(); ++i) {
    progress.throw_if_stopped();
    const char* const found = search.find(i);
    if (found == nullptr || count++ != 0) continue;
    what = found;
    first = i;
    key = search.key();
  }
  if (what == nullptr) return;
  const std::string more = count == 1 ? "" : fmt::format(", and {} more of the new samples", count - 1);
  throw Error(ErrorCode::invalid_argument,
              fmt::format("a sample with this {} was removed from the dataset {}{}", what,
                          shown_name(options.destination), more),
              {.path = source.origin(first),
               .key = std::move(key),
               .hint = "leave it out by `exclude_from`, or take it with `allow_removed`"});
}

std::vector<std::uint64_t> find_existing(const Source& source, const std::string& directory, const Manifest& manifest,
                                         const PackOptions& options, bool compares, Progress& progress) {
  Search search(source, options, compares);
  const Layers layers(directory, manifest);
  for (const ManifestShard& shard : manifest.shards) {
    progress.throw_if_stopped();
    const std::string path = join_path(directory, shard.file);
    search.look_in(path, load_index_of(path, shard, layers));
  }
  return search.found();
}

}  // namespace bale
