#include "bale/tools/commands/packing/attended.hpp"

#include <fmt/format.h>

#include "bale/formats/base/errors/error_reason.hpp"
#include "bale/tools/terminal/human.hpp"

namespace bale::tools {
namespace {

constexpr const char* k_again = "run the same command again to continue";

}  // namespace

Error with_way_on(const Error& error, const AttendedRun& run, const Progress& progress) {
  if (error.context().hint == k_no_space_hint) {
    ErrorContext context = error.context();
    context.hint = fmt::format("free some space, then {}", k_again);
    return {error.code(), error.message(), std::move(context)};
  }
  if (error.code() != ErrorCode::interrupted) return error;
  const std::string done = fmt::format("interrupted with {} of {} written", human_count(progress.shards),
                                       plural(progress.total_shards, "shard"));
  return {
      error.code(), done, {.path = run.place, .hint = error.context().hint.empty() ? k_again : error.context().hint}};
}

}  // namespace bale::tools
