// The options of a run that adds to a dataset, as the dataset says.
#include <utility>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/options/option_values.hpp"
#include "bale/formats/registry/registry.hpp"
#include "bale/formats/storage/objects/object_store.hpp"
#include "bale/reader/dataset/merge_edits.hpp"
#include "bale/writer/add.hpp"
#include "bale/writer/add/packed_options.hpp"
#include "bale/writer/edits/image_edits.hpp"
#include "bale/writer/plan/dataset_files.hpp"
#include "bale/writer/run/version_stage.hpp"
#include "bale/writer/shard/shard_copy.hpp"

namespace bale {
namespace {

constexpr int k_compress_level = 3;  // of fields that are compressed in the dataset

[[noreturn]] void refuse(const std::string& directory, ErrorCode code, std::string why, std::string hint) {
  throw Error(code, std::move(why), {.path = directory, .hint = std::move(hint)});
}

std::uint32_t number_of(const ImageEditNames& edits, const std::string& name) {
  const auto found = edits.find(name);
  return found == edits.end() ? 0 : whole_number<std::uint32_t>(found->second).value_or(0);
}

/// The edits that describe_edits() gave these names. What holds for some images only is not repeated.
ImageEdits edits_of(const std::string& directory, const Manifest& manifest, bool as_pixels) {
  ImageEditNames common = manifest.edits;
  std::erase_if(common, [](const auto& edit) { return edit.second.ends_with(k_some_images); });
  ImageEdits edits{.resize_short = number_of(common, "resize_short"),
                   .resize_max = number_of(common, "resize_max"),
                   .orient = common.contains("orient"),
                   .strip_metadata = common.contains("metadata"),
                   .jpeg_lossless = common.contains("jpeg_coding")};
  if (const std::uint32_t quality = number_of(common, "jpeg_quality"); quality != 0)
    edits.quality = static_cast<int>(quality);
  const ImageEditNames repeated = describe_edits(edits, as_pixels);
  for (const auto& [name, value] : common) {
    const auto found = repeated.find(name);
    if (found != repeated.end() && (found->second == value || name == "jpeg_encoder")) continue;
    refuse(directory, ErrorCode::unsupported,
           fmt::format("its images were changed in a way that cannot be repeated: {} {}", printable(name),
                       printable(value)),
           "pack the new images as these were packed, and `bale merge` both");
  }
  return edits;
}

/// The side of the images in a layout of pixels, if all have one size.
std::string side_of_images(const std::string& directory, const Manifest& manifest) {
  if (manifest.shards.empty()) return {};
  const ManifestShard& shard = manifest.shards.front();
  const ShardIndex index = load_index_of(join_path(directory, shard.file), shard);
  return index.size() != 0 && index.width(0) == index.height(0) ? fmt::to_string(index.width(0)) : std::string();
}

}  // namespace

Manifest manifest_to_change(const std::string& directory) {
  return parse_manifest(read_current_manifest(directory).text, join_path(directory, k_manifest_name));
}

PackOptions options_as_packed(PackOptions asked, const Manifest& manifest) {
  const std::string& directory = asked.destination;
  asked.format = find_format(manifest.format, manifest.layout);
  const Layout& layout = *asked.format.layout;
  if (layout.counted) {
    refuse(directory, ErrorCode::unsupported,
           fmt::format("the names of {}.{} shards have their number, which would change", manifest.format,
                       manifest.layout),
           "`bale convert 'A::B' DST` makes one dataset of both");
  }
  asked.name = manifest.name;
  asked.sidecars = sidecars_in_all({&manifest}, layout);
  asked.seek_points = layout.keeps_bytes && all_have_seek_points({&manifest});
  for (const ManifestField& field : manifest.fields) {
    if (field.codec == name_of(Codec::zstd) && !asked.compress_level) asked.compress_level = k_compress_level;
    if (field.codec == name_of(Codec::planes)) asked.jpeg_planes = true;
  }
  return asked;
}

PackOptions options_to_add(PackOptions asked) {
  const Manifest manifest = manifest_to_change(asked.destination);
  asked = options_as_packed(std::move(asked), manifest);
  const std::string& directory = asked.destination;
  const Layout& layout = *asked.format.layout;
  if (!asked.splits.empty()) {
    refuse(directory, ErrorCode::invalid_argument, "`split` of samples that are added", "add to each split");
  }
  asked.edits = edits_of(directory, manifest, !layout.keeps_bytes);
  if (!layout.keeps_bytes && !asked.format_options.contains("size")) {
    if (std::string side = side_of_images(directory, manifest); !side.empty()) asked.format_options["size"] = side;
  }
  return asked;
}

}  // namespace bale
