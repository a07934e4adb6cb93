// Small files and short views of sources, for the source tests.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "bale/formats/base/error.hpp"
#include "bale/tests/support/catch.hpp"
#include "bale/tests/support/error_of.hpp"
#include "bale/tests/support/temp_dir.hpp"
#include "bale/writer/source/source.hpp"

namespace bale::test {

/// The smallest image there is: a portable pixmap, 2 x 3 pixels.
inline std::string pixmap(char fill = 'x') { return "P6\n2 3\n255\n" + std::string(18, fill); }

inline void write_file(const std::string& path, const std::string& content) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream out(path, std::ios::binary);
  out << content;
  REQUIRE(out.good());
}

inline std::vector<std::string> keys(const Source& source) {
  std::vector<std::string> all;
  SourceSample sample;
  for (std::uint64_t i = 0; i < source.size(); ++i) {
    source.describe(i, sample);
    all.push_back(sample.key);
  }
  return all;
}

inline std::vector<std::int64_t> labels(const Source& source) {
  std::vector<std::int64_t> all;
  for (std::uint64_t i = 0; i < source.size(); ++i) all.push_back(source.label(i));
  return all;
}

inline std::string field_text(const Source& source, std::uint64_t i, const std::string& name) {
  Scratch scratch;
  const SampleView sample = source.read(i, scratch);
  const FieldView* field = sample.find(name);
  return field == nullptr ? "(none)" : std::string(as_text(field->bytes));
}

inline std::string notice_of(const Source& source, const std::string& path) {
  for (const Notice& notice : source.notices().kept()) {
    if (notice.name == path) return notice.why;
  }
  return "(none)";
}

}  // namespace bale::test
