// The PNGs of COCO's panoptic annotations: which there are, and their bytes.
//
// Threads: const methods may be called by many threads at once.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bale/writer/source/annotations/annotation_set.hpp"
#include "bale/writer/source/files/text_files.hpp"

namespace bale {

class PanopticMasks {
 public:
  /// The directory of the PNGs of panoptic_val2017.json is panoptic_val2017 next to it, as COCO's zip unpacks.
  explicit PanopticMasks(const std::string& annotations);

  /// Says which PNG is that of an image, which is known by a number. Throws `damaged` for the second of an image.
  void add(std::uint32_t image, std::string png);
  /// Lists the PNGs. `row_of_image` is indexed by those numbers, and has k_no_row for images that are not packed;
  /// `images` by rows. Images without a PNG are losses. Throws `not_found` if there is no directory.
  void find(const std::vector<std::uint32_t>& row_of_image, const std::vector<std::string>& images, AnnotationLog& log);

  const std::string& directory() const { return directory_; }
  bool has(std::uint32_t row) const { return mask_of_row_[row] != AnnotationSet::k_no_row; }
  // Of a row that has one:
  std::uint64_t bytes(std::uint32_t row) const { return files_.bytes(mask_of_row_[row]); }
  /// Throws `damaged` if it is not a PNG, and as TextFiles::read().
  void append(std::uint32_t row, std::string& out) const;
  void append_identity(std::uint32_t row, std::string& out) const { files_.append_identity(mask_of_row_[row], out); }

 private:
  std::string annotations_;
  std::string directory_;
  std::vector<std::string> names_;  // by image, until find()
  TextFiles files_;
  std::vector<std::uint32_t> mask_of_row_;
};

}  // namespace bale
