// Whatever the bytes of a list or a table, its records are cut and its cells split within them, or it is refused; the
// other columns of a row are always JSON that can be read again. The first byte chooses the kind.
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "bale/formats/base/error.hpp"
#include "bale/tests/fuzz/fuzz_support.hpp"
#include "bale/writer/source/tables/record_reader.hpp"
#include "bale/writer/source/tables/table_rows.hpp"

namespace {

using bale::RecordKind;
using bale::TableColumns;

void read_list(const std::string& path, RecordKind kind) {
  bale::RecordReader reader(path, kind);
  while (reader.next()) {
    const char end = kind == RecordKind::nul_separated ? '\0' : '\n';
    if (reader.record().find(end) != std::string_view::npos) std::abort();
  }
}

void read_table(const std::string& path, RecordKind records, TableColumns::Kind kind) {
  bale::RecordReader reader(path, records);
  TableColumns columns(kind, {});
  if (kind != TableColumns::Kind::jsonl) {
    if (!reader.next()) return;
    columns.set_header(reader.record(), reader.delimiter());
  }
  while (reader.next()) {
    try {
      columns.parse(reader.record());
      if (!nlohmann::json::parse(columns.extra_json(reader.record())).is_object()) std::abort();
    } catch (const bale::Error&) {
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  if (size == 0) return 0;
  const bale::test::MemoryFile file({reinterpret_cast<const char*>(data + 1), size - 1});
  try {
    switch (data[0] % 5) {
      case 0:
        read_list(file.path(), RecordKind::lines);
        break;
      case 1:
        read_list(file.path(), RecordKind::nul_separated);
        break;
      case 2:
        read_table(file.path(), RecordKind::csv, TableColumns::Kind::csv);
        break;
      case 3:
        read_table(file.path(), RecordKind::tsv, TableColumns::Kind::tsv);
        break;
      default:
        read_table(file.path(), RecordKind::lines, TableColumns::Kind::jsonl);
    }
  } catch (const bale::Error&) {
  }
  return 0;
}
