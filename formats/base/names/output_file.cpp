#include "bale/formats/base/names/output_file.hpp"

#include <sys/stat.h>

#include <cerrno>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/files/temporary_file.hpp"
#include "bale/formats/base/names/url_rules.hpp"

namespace bale {

void require_output_file(const std::string& path, bool force) {
  if (path.empty()) return;
  require_local_name(path, UrlUse::writing);
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) {
    throw Error(ErrorCode::exists, "is a directory", {.path = path, .hint = "name a file"});
  }
  if (!force && path_exists(path)) {
    throw Error(ErrorCode::exists, "the file exists already",
                {.path = path, .hint = "choose another name, or replace it with `force`"});
  }
  if (::lstat(path.c_str(), &info) != 0 && errno != ENOENT) throw_errno("create", path);
  const StagedFile probe(path, {});  // removed at once: a file can be made there
}

}  // namespace bale
