// PairPath: the place of a companion file that does not lie next to its image, as a pattern over the image's path, such
// as ../SegmentationClass/{stem}.png.
//
// A plain value; immutable once made.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace bale {

class PairPath {
 public:
  struct Place {
    std::string directory;  // absolute, or relative to the source's root; may begin with ".."
    std::string name;
  };

  /// `text` is FIELD=PATTERN. A pattern may have {dir} (directory of the image below the source's root), {stem} (its
  /// name without the extension) and {key} ({dir}/{stem}). In each, %SUFFIX removes SUFFIX from the end as in a shell,
  /// such as {stem%SUFFIX}. Throws `invalid_argument`.
  explicit PairPath(std::string_view text);

  const std::string& field() const { return field_; }
  Place place(std::string_view image_directory, std::string_view stem) const;

 private:
  enum class What { text, dir, stem, key };
  struct Part {
    What what = What::text;
    std::string text;  // the text, or the suffix to remove
  };
  void parse(std::string_view pattern);
  void add_placeholder(std::string_view inside);

  std::string field_;
  std::vector<Part> parts_;
};

/// `directory` without its leading ".." components.
std::string_view without_leading_parents(std::string_view directory);

}  // namespace bale
