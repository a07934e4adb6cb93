#include <fmt/format.h>

#include "bale/reader/dataset.hpp"
#include "bale/tools/commands/commands.hpp"
#include "bale/tools/terminal/scan_notice.hpp"

namespace bale::tools {
namespace {

std::uint64_t position_of(const CatCommand& command, const Dataset& dataset) {
  if (command.index) return *command.index;
  if (const auto found = dataset.find(*command.key)) return *found;
  // `tar -C DIR -cf x.tar .` writes "./" before every name.
  if (const auto found = dataset.find("./" + *command.key)) return *found;
  throw Error(ErrorCode::not_found, "no sample has this key",
              {.path = command.spec, .key = *command.key, .hint = "`bale ls` lists the keys"});
}

/// The requested field, or the sample's first image field.
std::string field_of(const CatCommand& command, const Dataset& dataset, std::uint64_t position) {
  if (!command.field.empty()) return command.field;
  const auto [number, sample] = dataset.position(position);
  const IndexInUse held = dataset.use_index(number);
  const ShardIndex& index = *held;
  if (const auto field = index.image_field(sample)) return index.fields()[*field].name;
  std::string names;
  for (const FieldInfo& field : index.fields()) names += (names.empty() ? "" : ", ") + field.name;
  throw Error(ErrorCode::not_found, "the sample has no image field",
              {.path = command.spec,
               .key = std::string(index.key(sample)),
               .hint = fmt::format("name one with --field: {}", printable(names))});
}

}  // namespace

int run_cat(const CatCommand& command, Terminal& terminal) {
  if (!command.key && !command.index) {
    throw Error(ErrorCode::invalid_argument, "KEY or --index N is needed", {.hint = "see `bale cat --help`"});
  }
  ScanNotice notice(terminal, false);
  const Dataset dataset =
      Dataset::open(command.spec, {.counting = Counting::while_listed, .on_scan = notice.shower()});
  const std::uint64_t position = position_of(command, dataset);
  Scratch scratch;
  terminal.print(as_text(dataset.read_field(position, field_of(command, dataset, position), scratch)));
  return 0;
}

}  // namespace bale::tools
