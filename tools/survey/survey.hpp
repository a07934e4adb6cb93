// survey_images(): one pass over every image of one or more sources, the splits of a dataset, that records what a
// report says of them.
//
// Memory: about 350 bytes per sample with thumbprints, 90 without them. Images are read one at a time per thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "bale/formats/base/progress.hpp"
#include "bale/formats/image/image.hpp"
#include "bale/tools/survey/examined_image.hpp"
#include "bale/writer/source/source.hpp"

namespace bale {

/// A source, which must outlive the Survey, and its name in the report.
struct SurveyPart {
  std::string name;
  const Source* source = nullptr;
};

struct SurveyOptions {
  bool keep_thumbprints = true;                     // for find_duplicates() with near duplicates
  std::uint64_t max_pixels = k_default_max_pixels;  // larger images are not decoded
  unsigned jobs = 0;                                // threads; 0: one per core
};

/// Stands for the class of a sample without a label.
inline constexpr std::uint32_t k_no_class = 0xFFFFFFFF;

/// What is kept of an image. See ExaminedImage.
struct SurveyedImage {
  Digest digest{};
  std::uint64_t bytes = 0;
  std::uint64_t hash = 0;
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::uint32_t class_number = k_no_class;  // in Survey::classes
  std::uint8_t sampling = 0;                // in Survey::samplings
  ImageKind kind = ImageKind::unknown;
  std::uint8_t orientation = 1;
  bool is_progressive = false;
  bool is_decoded = false;
  Remarks remarks{};

  bool has_hash() const { return is_decoded && !remarks.has(Remark::blank); }
};

struct Survey {
  std::vector<SurveyPart> parts;
  std::vector<std::uint64_t> begins;  // number of the first sample of each part, and the number of samples
  /// Classes of all parts, by name: classes of two parts are the same if they have the same name. Classes without a
  /// name are named by their number.
  std::vector<std::string> classes;
  std::vector<std::string> samplings;            // of JPEGs: "4:2:0"; the first is empty, for other kinds
  std::vector<SurveyedImage> images;             // of all parts, one after another
  std::vector<Thumbprint> thumbprints;           // of each image, if they were to be kept
  std::map<std::uint64_t, std::string> reasons;  // of images that cannot be used, by their number

  std::size_t part_of(std::uint64_t image) const;
  /// A path, or key and shard. For messages.
  std::string origin(std::uint64_t image) const;
  /// The key, raw.
  std::string key(std::uint64_t image) const;
};

/// Reads and examines every sample. A sample that cannot be read is remarked. What more than half of the images are
/// (gray, tiny) is not remarked. `progress` counts samples and bytes. Throws `interrupted`, and what a lack of memory
/// or descriptors throws.
Survey survey_images(std::vector<SurveyPart> parts, const SurveyOptions& options, Progress& progress);

}  // namespace bale
