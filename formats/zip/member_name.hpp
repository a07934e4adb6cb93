// Names of members, split into stem and extension.
#pragma once

#include <optional>
#include <string_view>

namespace bale::zip {

/// A file name and its parts. Both borrow from the name.
struct MemberName {
  std::string_view stem;       // with directories
  std::string_view extension;  // after the last dot
};

/// nullopt for directories, files without an extension, and hidden files, such as macOS's "__MACOSX/x/._y.jpg".
inline std::optional<MemberName> split_name(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  const std::size_t base = slash == std::string_view::npos ? 0 : slash + 1;
  const std::size_t dot = path.rfind('.');
  if (dot == std::string_view::npos || dot <= base || path[base] == '.' || dot + 1 == path.size()) return std::nullopt;
  return MemberName{path.substr(0, dot), path.substr(dot + 1)};
}

}  // namespace bale::zip
