// PairPath: where a file lies that belongs to an image, if it does not lie beside the image: a pattern of the image's
// own path, such as ../SegmentationClass/{stem}.png.
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
    std::string directory;  // absolute, or from the source's root on; may begin with ".."
    std::string name;
  };

  /// `text` is FIELD=PATTERN. A pattern has {dir} (directory of the image below the source's root), {stem} (its name
  /// without the extension) and {key} ({dir}/{stem}), each also as {stem%SUFFIX}: without SUFFIX at its end, as in a
  /// shell. Throws `invalid_argument`.
  explicit PairPath(std::string_view text);

  const std::string& field() const { return field_; }
  Place place(std::string_view image_directory, std::string_view stem) const;

 private:
  enum class What { text, dir, stem, key };
  struct Part {
    What what = What::text;
    std::string text;  // itself, or the suffix that is taken away
  };
  void parse(std::string_view pattern);
  void add_placeholder(std::string_view inside);

  std::string field_;
  std::vector<Part> parts_;
};

/// `directory` without the ".." that it begins with.
std::string_view without_leading_parents(std::string_view directory);

}  // namespace bale
