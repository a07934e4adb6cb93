// Image lists, im2rec's `.lst`: one line per image with its number, labels and path.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bale/formats/recordio/image_record.hpp"

namespace bale::recordio {

/// Keys by the numbers of their records.
class ImageList {
 public:
  /// The list next to a `.rec` file; empty if there is none. Malformed lines are ignored.
  static ImageList beside(const std::string& record_path);

  /// nullptr if the list does not have the number, or has it twice.
  const std::string* key(std::uint64_t id) const;

 private:
  std::vector<std::pair<std::uint64_t, std::string>> keys_;  // sorted by number
};

/// A line of the list, as im2rec writes it.
std::string list_line(const IrHeader& header, std::string_view key, std::string_view image_field);

}  // namespace bale::recordio
