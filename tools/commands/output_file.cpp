#include "bale/tools/commands/output_file.hpp"

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/local_name.hpp"

namespace bale::tools {

void require_free_name(const std::string& path, bool force) {
  require_local_name(path, NameUse::writing);
  if (force || !path_exists(path)) return;
  throw Error(ErrorCode::exists, "the file exists already",
              {.path = path, .hint = "choose another name, or replace it with --force"});
}

}  // namespace bale::tools
