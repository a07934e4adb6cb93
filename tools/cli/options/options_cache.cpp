#include "bale/tools/cli/options/options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bale/tools/cli/options/common_options.hpp"

namespace bale::tools {

void declare_cache(CacheCommand& command, CommandModel& app) {
  add_positional(app, "ACTION", command.action, "What to do, as below").value_name =
      fmt::format("{}", fmt::join(cache_actions(), "|"));
  add_positional(app, "ARG", command.arguments, "A size for trim, remote datasets for warm").required = false;
  add_flag(app.options, "--dry-run", command.dry_run, "With trim, clear or warm: show what would be done");
  add_json(app, command.json);
  add_quiet(app, command.quiet);
  add_json_progress(app, command.json_progress);
  app.footer =
      "\n"
      "  bale cache ls            list the files: size, bytes in the cache, last use\n"
      "  bale cache verify        compare everything with its checksum; remove what is wrong (exit code 3)\n"
      "  bale cache trim [SIZE]   remove what would be evicted first, down to SIZE (default: the limit)\n"
      "  bale cache clear         remove everything\n"
      "  bale cache warm NAME...  fetch whole remote datasets or shards\n"
      "\n"
      "The cache is the directory BALE_CACHE_DIR, by default ~/.cache/bale, and takes at most\n"
      "BALE_CACHE_LIMIT, by default nine tenths of what is free. All actions may be used while\n"
      "other processes read from it.\n"
      "Example:\n"
      "  bale cache warm s3://bucket/imagenet/train";
}

}  // namespace bale::tools
