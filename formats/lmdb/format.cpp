#include <cstring>

#include "bale/formats/container/reading/file_payload.hpp"
#include "bale/formats/lmdb/btree_walk.hpp"
#include "bale/formats/lmdb/key_scheme.hpp"
#include "bale/formats/lmdb/lmdb.hpp"
#include "bale/formats/shard/format.hpp"

namespace bale {
namespace {

int probe(const ProbeInput& input) {
  std::uint32_t magic = 0;
  if (input.head.size() < lmdb::k_page_header_bytes + sizeof magic) return 0;
  std::memcpy(&magic, input.head.data() + lmdb::k_page_header_bytes, sizeof magic);
  return magic == lmdb::k_magic ? 100 : 0;
}

void scan(const std::string& path, IndexBuilder& index) {
  const lmdb::BTree tree(path);
  std::string header;
  tree.walk(lmdb::Heads::skip, [&](const lmdb::TreeEntry& entry) {
    if (entry.key == lmdb::k_header_key) header = as_text(entry.head);
  });
  if (header.empty()) {
    lmdb::scan_foreign(tree, index);
  } else {
    lmdb::scan_ours(tree, header, index);
  }
}

/// Every field is stored in the file unchanged, so reading needs neither liblmdb nor the tree.
std::unique_ptr<Payload> open(const std::string& path, const ShardIndex&) {
  return std::make_unique<FilePayload>(path);
}

constexpr Layout k_layouts[] = {
    {.name = "plain",
     .suffix = ".lmdb",
     .compresses_fields = true,
     .summary = "one LMDB file per shard: %08d gives the image, %08d.NAME the other fields"}};

}  // namespace

extern const Format k_lmdb_format;
const Format k_lmdb_format{.name = "lmdb",
                           .layouts = k_layouts,
                           .probe = probe,
                           .scan = scan,
                           .open = open,
                           .create = lmdb::create_writer,
                           .scan_survives_damage = true,
                           .field_rule = lmdb::k_field_rule};

}  // namespace bale
