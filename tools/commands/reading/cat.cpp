#include <string>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/base/storage.hpp"
#include "bale/formats/base/text/key_text.hpp"
#include "bale/formats/shard/sample/key.hpp"
#include "bale/reader/dataset.hpp"
#include "bale/reader/dataset/keys/names_apart.hpp"
#include "bale/tools/commands/commands.hpp"
#include "bale/tools/terminal/notices.hpp"

namespace bale::tools {
namespace {

/// Refuses a key that a later shard also has: the first one may be another sample than the user means.
void require_one_sample(const Dataset& dataset, const CatCommand& command, const std::string& key,
                        std::uint64_t found) {
  const std::size_t first = dataset.position(found).first;
  if (dataset.manifest() || dataset.num_shards() < 2 || !dataset.use_index(first)->find(key)) return;
  for (std::size_t shard = first + 1; shard < dataset.num_shards(); ++shard) {
    // Remote shards that were not needed are not fetched for this.
    const bool is_at_hand =
        shard < dataset.num_counted_shards() || remote_storage_of(dataset.shard_path(shard)) == nullptr;
    if (!is_at_hand || !dataset.use_index(shard)->find(key)) continue;
    const std::vector<std::string> names = names_apart(shard_paths(dataset));
    throw Error(ErrorCode::invalid_argument, "several shards have this key",
                {.path = command.spec,
                 .key = key,
                 .hint = fmt::format("put the shard before it, as in \"{}/{}\"", names[shard], printed_key(key))});
  }
}

/// The key is as `bale ls` prints it.
std::uint64_t position_of(const CatCommand& command, const Dataset& dataset) {
  if (command.index) return *command.index;
  const std::string key = read_key(*command.key);
  // `tar -C DIR -cf x.tar .` writes "./" before every name, and packing encodes dots in the names of files.
  for (const std::string& name : {key, "./" + key, encode_key(key)}) {
    const auto found = dataset.find(name);
    if (!found) continue;
    require_one_sample(dataset, command, name, *found);
    return *found;
  }
  throw Error(ErrorCode::not_found, "no sample has this key",
              {.path = command.spec, .key = key, .hint = "`bale ls` lists the keys"});
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
  const Dataset dataset = Dataset::open(
      command.spec, {.relative_names = true, .counting = Counting::while_listed, .on_scan = notice.shower()});
  const std::uint64_t position = position_of(command, dataset);
  Scratch scratch;
  terminal.print(as_text(dataset.read_field(position, field_of(command, dataset, position), scratch)));
  return 0;
}

}  // namespace bale::tools
