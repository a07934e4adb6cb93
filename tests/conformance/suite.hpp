// What every format and layout must do, whoever wrote it: the samples, and the way from them to a shard.
//
// A test runs once for each layout of bale::formats(), and of a format in memory (for_each_layout), and asks the
// layout's flags what it may expect. Nothing here knows a format by name.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bale/formats/shard/format.hpp"
#include "bale/formats/shard/shard.hpp"
#include "bale/tests/support/catch.hpp"
#include "bale/tests/support/owned_sample.hpp"
#include "bale/tests/support/temp_dir.hpp"

namespace bale::test {

/// A format of these tests, whose shards are not files (memory_format.cpp).
extern const Format k_memory_format;

/// One layout under test, with a directory of its own.
class Subject {
 public:
  Subject(const Format& format, const Layout& layout, bool has_planes)
      : format_(&format), layout_(&layout), has_planes_(has_planes) {}

  const Format& format() const { return *format_; }
  const Layout& layout() const { return *layout_; }
  std::string path(const std::string& stem) const { return dir_ / (stem + std::string(layout_->suffix)); }
  std::string index_file(const std::string& stem) const { return index_path(path(stem)); }

  bool is_in_memory() const { return format_ == &k_memory_format; }
  /// Whether fields come back as they were given.
  bool keeps_bytes() const { return layout_->keeps_bytes; }

  /// Whether JPEGs are stored as planes.
  bool has_planes() const { return has_planes_; }

  /// Writes a shard; fields named "json" are compressed where the layout has room for that.
  ShardIndex pack(const std::string& stem, const std::vector<OwnedSample>& samples) const;
  /// Index made from the container alone.
  ShardIndex scan(const std::string& stem) const;
  Shard open(const std::string& stem, ShardIndex index, const ShardOpenOptions& options = {}) const {
    return Shard::open(path(stem), *format_, std::move(index), options);
  }
  /// Content of the shard file; nullopt where the format keeps none.
  std::optional<std::string> file_text(const std::string& stem) const;

 private:
  const Format* format_;
  const Layout* layout_;
  bool has_planes_;
  TempDir dir_;
};

/// An index that a shard may own.
inline ShardIndex copy_of(const ShardIndex& index) {
  return ShardIndex::from_bytes({index.bytes().begin(), index.bytes().end()}, "");
}

/// Runs `test` for each layout, in a Catch section named after it, and again with planes where it can have them.
void for_each_layout(const std::function<void(const Subject&)>& test);

/// A sample fit for the layout: `index` varies its content, `bytes` is the size of its image field where
/// the layout keeps bytes (elsewhere the image is a real one, equal in size to all others). A JPEG, about as large,
/// where it is stored as planes.
OwnedSample make_sample_for(const Subject& subject, std::size_t index, std::size_t bytes);

/// Odd keys, odd labels; missing, empty, tiny and large fields.
std::vector<OwnedSample> mixed_samples_for(const Subject& subject);
/// Many small ones.
std::vector<OwnedSample> plain_samples_for(const Subject& subject, std::size_t count, std::size_t bytes = 100);

/// Extent of sample `i`'s field by its name inside the container; absent where there is none.
Extent stored_extent(const ShardIndex& index, std::uint64_t i, std::string_view stored_name);

/// Why what was read is not the sample; empty where it is.
std::string difference(const Subject& subject, const OwnedSample& expected, const SampleView& read);

/// difference() over all samples of a shard.
void check_shard(const Subject& subject, const Shard& shard, const std::vector<OwnedSample>& samples);

/// Runs `work` in a forked child, so that a crash of a container's library is a finding and not the end
/// of the suite. Gives what `work` returned: empty where all was well, else what was not (or how it died).
std::string in_child(const std::function<std::string()>& work);

}  // namespace bale::test
