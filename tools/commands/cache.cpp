#include "bale/tools/commands/commands.hpp"

#include <algorithm>
#include <ctime>
#include <functional>
#include <string_view>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/options/option_values.hpp"
#include "bale/formats/base/storage.hpp"
#include "bale/formats/base/text/human.hpp"
#include "bale/formats/storage/remote_cache.hpp"
#include "bale/reader/fetch_dataset.hpp"
#include "bale/tools/report/json/json_output.hpp"
#include "bale/tools/terminal/progress.hpp"
#include "bale/tools/terminal/signals.hpp"
#include "bale/tools/terminal/table.hpp"

namespace bale::tools {
namespace {

using Action = int (*)(const CacheCommand&, Terminal&);

void require_arguments(const CacheCommand& command, std::size_t least, std::size_t most, const char* usage) {
  if (command.arguments.size() >= least && command.arguments.size() <= most) return;
  throw Error(ErrorCode::invalid_argument, fmt::format("write `bale cache {}`", usage));
}

void require_no_dry_run(const CacheCommand& command) {
  if (!command.dry_run) return;
  throw Error(ErrorCode::invalid_argument, fmt::format("`bale cache {}` has no --dry-run", command.action),
              {.hint = "trim, clear and warm have it"});
}

std::string shown(const std::string& name) { return name.empty() ? "(an earlier version)" : printable(name); }

std::string time_text(std::int64_t seconds) {
  if (seconds == 0) return "-";
  return fmt::format("{:%Y-%m-%d %H:%M}", fmt::localtime(static_cast<std::time_t>(seconds)));
}

std::uint64_t size_of(const std::string& text) {
  if (const auto bytes = size_of_text(text)) return *bytes;
  throw Error(ErrorCode::invalid_argument, fmt::format("\"{}\" is not a size such as 20GiB", printable(text)),
              {.hint = "`bale cache clear` removes everything"});
}

std::string use_line(const RemoteCache& cache) {
  return fmt::format("{} of {} used in {}\n", human_bytes(cache.used_bytes()), human_bytes(cache.limit_bytes()),
                     printable(cache.directory()));
}

int list(const CacheCommand& command, Terminal& terminal) {
  require_arguments(command, 0, 0, "ls");
  require_no_dry_run(command);
  const RemoteCache cache;
  const std::vector<RemoteCache::File> files = cache.files();
  if (command.json) {
    terminal.print(cache_json(cache, files));
    return k_exit_ok;
  }
  TextTable table({Align::right, Align::right, Align::left, Align::left});
  table.add({"SIZE", "CACHED", "LAST USE", "NAME"});
  for (const RemoteCache::File& file : files) {
    table.add({human_bytes(file.bytes), human_bytes(file.cached_bytes), time_text(file.last_use_s), shown(file.name)});
  }
  if (!files.empty()) terminal.print(table.text());
  if (!command.quiet) terminal.print(fmt::format("{}, {}", plural(files.size(), "file"), use_line(cache)));
  return k_exit_ok;
}

int check(const CacheCommand& command, Terminal& terminal) {
  require_arguments(command, 0, 0, "verify");
  require_no_dry_run(command);
  RemoteCache cache;
  const RemoteCache::CheckReport report =
      run_attended("compared", progress_style(command.quiet, command.json_progress), terminal,
                   [&](Progress& progress) { return cache.check(progress); });
  if (command.json) terminal.print(cache_check_json(report));
  for (const RemoteCache::Damage& damage : report.damages) {
    if (command.json) break;
    terminal.print(fmt::format("{}: {} did not match the checksums, and will be fetched again\n", shown(damage.name),
                               human_bytes(damage.bytes)));
  }
  if (report.damages.empty()) {
    if (!command.json && !command.quiet) {
      terminal.print(fmt::format("ok: {} in {}, every checksum matches\n", human_bytes(report.num_bytes),
                                 plural(report.num_files, "file")));
    }
    return k_exit_ok;
  }
  terminal.flush();
  terminal.error(fmt::format("{}: {} damaged, and what was wrong removed", printable(cache.directory()),
                             plural(report.damages.size(), "file")));
  return k_exit_damage;
}

int remove(const CacheCommand& command, Terminal& terminal, RemoteCache& cache, std::uint64_t expected,
           const std::function<std::uint64_t()>& act) {
  const std::uint64_t removed = command.dry_run ? expected : act();
  if (command.json) {
    terminal.print(cache_removal_json(cache, removed, command.dry_run));
  } else if (!command.quiet) {
    terminal.print(fmt::format("{} {}; {}", human_bytes(removed), command.dry_run ? "would be removed" : "removed",
                               use_line(cache)));
  }
  return k_exit_ok;
}

int trim(const CacheCommand& command, Terminal& terminal) {
  require_arguments(command, 0, 1, "trim [SIZE]");
  RemoteCache cache;
  const std::uint64_t size = command.arguments.empty() ? cache.limit_bytes() : size_of(command.arguments.front());
  const std::uint64_t used = cache.used_bytes();
  return remove(command, terminal, cache, used - std::min(used, size), [&] { return cache.trim(size); });
}

int clear(const CacheCommand& command, Terminal& terminal) {
  require_arguments(command, 0, 0, "clear");
  RemoteCache cache;
  return remove(command, terminal, cache, cache.used_bytes(), [&] { return cache.clear(); });
}

int warm(const CacheCommand& command, Terminal& terminal) {
  require_arguments(command, 1, ~std::size_t{0}, "warm NAME...");
  RemoteCache cache;
  const FetchList plan = plan_fetch(command.arguments);
  // One checksum and state per 4 KiB, and at most 12 KiB per file next to them.
  const std::uint64_t needed = plan.bytes + plan.bytes / 256 + plan.files.size() * (12 << 10);
  if (needed > cache.limit_bytes()) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("the cache has no room: {} are needed, its limit is {}", human_bytes(needed),
                            human_bytes(cache.limit_bytes())),
                {.path = cache.directory(), .hint = "give BALE_CACHE_LIMIT more"});
  }
  if (remote_storage_of(plan.files.front())->cache().bytes() == 0) {  // a warning has said why
    throw Error(ErrorCode::io, "is a cache that cannot be used, so nothing would be kept",
                {.path = cache.directory(), .hint = "name another directory in BALE_CACHE_DIR"});
  }
  if (!command.dry_run) {
    run_attended("fetched", progress_style(command.quiet, command.json_progress), terminal,
                 [&](Progress& progress) { return fetch(plan, progress), true; });
    cache = RemoteCache();  // the first fetch makes it
  }
  if (command.json) {
    terminal.print(cache_fetch_json(cache, plan, command.dry_run));
  } else if (!command.quiet) {
    terminal.print(fmt::format("{} of {} {}; {}", human_bytes(plan.bytes), plural(plan.files.size(), "file"),
                               command.dry_run ? "would be in the cache" : "are in the cache", use_line(cache)));
  }
  return k_exit_ok;
}

constexpr std::pair<std::string_view, Action> k_actions[] = {
    {"ls", list}, {"verify", check}, {"trim", trim}, {"clear", clear}, {"warm", warm}};

}  // namespace

std::vector<std::string_view> cache_actions() {
  std::vector<std::string_view> names;
  for (const auto& [name, action] : k_actions) names.push_back(name);
  return names;
}

int run_cache(const CacheCommand& command, Terminal& terminal) {
  for (const auto& [name, action] : k_actions) {
    if (name == command.action) return action(command, terminal);
  }
  throw Error(ErrorCode::invalid_argument, fmt::format("there is no `bale cache {}`", printable(command.action)),
              {.hint = fmt::format("choose one of: {}", joined(cache_actions()))});
}

}  // namespace bale::tools
