// Image lists, im2rec's `.lst`: number, labels and path of every image, a line each.
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
  /// The list beside a `.rec` file; empty where there is none. Lines that make no sense are ignored.
  static ImageList beside(const std::string& record_path);

  /// nullptr where the list has no such number, or has it twice.
  const std::string* key(std::uint64_t id) const;

 private:
  std::vector<std::pair<std::uint64_t, std::string>> keys_;  // sorted by number
};

/// A line of the list, as im2rec writes it.
std::string list_line(const IrHeader& header, std::string_view key, std::string_view image_field);

}  // namespace bale::recordio
