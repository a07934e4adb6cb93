#include "bale/writer/source/rows/source_root.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "bale/writer/source/files/long_path.hpp"
#include "bale/writer/source/rows/file_rows.hpp"

namespace bale {
namespace {

/// Empty if it cannot be resolved.
std::string without_links(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> real(::realpath(path.c_str(), nullptr), &std::free);
  return real != nullptr ? real.get() : std::string();
}

}  // namespace

std::string clean_path(std::string_view path) {
  std::string clean(path.starts_with('/') ? "/" : "");
  while (!path.empty()) {
    const std::size_t slash = std::min(path.find('/'), path.size());
    const std::string_view component = path.substr(0, slash);
    path.remove_prefix(std::min(slash + 1, path.size()));
    if (!component.empty() && component != ".") clean = bale::below(clean, component);
  }
  return clean;
}

SourceRoot::SourceRoot(const std::string& root) {
  std::string named = clean_path(root);
  add(without_links(named.empty() ? "." : named));
  std::error_code error;
  const std::string here = std::filesystem::current_path(error).string();
  const char* const shells = std::getenv("PWD");  // may go through links
  std::vector<std::string> starts{here};
  if (shells != nullptr && without_links(shells) == here) starts.push_back(clean_path(shells));
  if (named.starts_with('/')) add(named);
  for (const std::string& start : starts) {
    const std::string inside = bale::below(start, "");
    if (named.starts_with(inside)) named.erase(0, inside.size());
    if (!named.starts_with('/')) add(bale::below(start, named));
  }
  // "src/a" is src/src/a only if there is one.
  struct stat info {};
  if (!named.starts_with('/') && !named.empty() && stat_long_path(bale::below(named, named), info) != 0) add(named);
}

void SourceRoot::add(std::string_view directory) {
  if (directory.empty()) return;
  prefixes_.push_back(bale::below(clean_path(directory), ""));
}

std::string SourceRoot::below(std::string_view written) const {
  std::string path = clean_path(written);
  if (!path.empty() && (written.ends_with('/') || written.ends_with("/."))) path = bale::below(path, "");
  const auto prefix =
      std::find_if(prefixes_.begin(), prefixes_.end(), [&](const std::string& one) { return path.starts_with(one); });
  if (prefix != prefixes_.end()) return path.substr(prefix->size());
  return path.substr(path.starts_with('/') ? 1 : 0);
}

}  // namespace bale
