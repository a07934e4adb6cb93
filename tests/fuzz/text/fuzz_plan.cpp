// Plan files: the input's bytes as a file; and, with right digests, the input cut into a head and the bytes of a shard,
// so that more than the digests is reached. Whatever they are, the plan is opened and its rows are read, or it is
// refused.
#include <cstdlib>
#include <string>
#include <vector>

#include "bale/formats/base/checksum.hpp"
#include "bale/formats/base/codec/zstd_codec.hpp"
#include "bale/formats/base/json/json.hpp"
#include "bale/formats/base/version.hpp"
#include "bale/tests/fuzz/fuzz_support.hpp"
#include "bale/writer/plan/dataset_files.hpp"
#include "bale/writer/plan/plan_file.hpp"
#include "bale/writer/source/saved/saved_source.hpp"

namespace {

using namespace bale;

void open_and_read(std::string_view bytes) {
  const test::MemoryFile file(bytes);
  try {
    const PlanFile plan = PlanFile::open(file.path());
    // Not packed sources: their names may be of any file or server.
    const std::unique_ptr<SavedSource> source = open_saved_files(parse_json(plan.source_head()));
    for (std::uint64_t number = 0; number < plan.num_shards() && number < 4; ++number) {
      test::keep(files_of_shard(plan.place(number).shard->file, plan.options()).size());
      std::unique_ptr<SavedRows> rows = source->begin_rows();
      plan.read_rows(number, [&](std::string_view row) { rows->add(row); });
      const std::unique_ptr<Source> samples = rows->finish();
      SourceSample sample;
      std::string text;
      for (std::uint64_t i = 0; i < samples->size(); ++i) {
        samples->describe(i, sample);
        samples->fingerprint(i, text);
        samples->save(i, text);
        test::keep(sample.total_bytes() + samples->origin(i).size());
      }
    }
  } catch (const Error&) {
  }
}

template <typename Number>
void append(std::string& text, Number value) {
  text.append(reinterpret_cast<const char*>(&value), sizeof value);
}

std::string frame_of(std::string_view text) {
  std::vector<std::byte> frame;
  zstd_compress(as_bytes(text), 1, frame);
  return std::string(as_text(frame));
}

void append_digest(std::string& text, std::string_view of) {
  DigestStream stream;
  stream.update(as_bytes(of));
  const Digest digest = stream.digest();
  text.append(reinterpret_cast<const char*>(digest.data()), digest.size());
}

/// A plan with this head, and one shard of these rows.
std::string plan_of(std::string_view head, std::string_view rows, std::uint64_t num_rows) {
  std::string text = "baleplan";
  std::string block = frame_of(rows);
  std::string blocks;
  append(blocks, std::uint64_t{block.size()});
  blocks += block;
  text += blocks;
  const std::uint64_t head_offset = text.size();
  const std::string frame = frame_of(head);
  text += frame;
  const std::uint64_t table_offset = text.size();
  for (const std::uint64_t value :
       {std::uint64_t{8}, std::uint64_t{blocks.size()}, num_rows, std::uint64_t{0}, std::uint64_t{0}}) {
    append(text, value);
  }
  append_digest(text, blocks);
  text += "baleplan";
  append(text, std::uint32_t{1});
  append(text, std::uint32_t{0});
  for (const std::uint64_t value : {head_offset, std::uint64_t{frame.size()}, table_offset, std::uint64_t{1}})
    append(text, value);
  append_digest(text, std::string_view(text).substr(head_offset));
  return text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  open_and_read(as_text(test::input_bytes(data, size)));
  test::Pieces pieces(data, size);
  const std::uint64_t num_rows = pieces.byte();
  std::string head = pieces.next();
  constexpr std::string_view k_version_mark = "@VERSION@";  // a plan of another version is refused
  if (const std::size_t at = head.find(k_version_mark); at != std::string::npos) {
    head.replace(at, k_version_mark.size(), version());
  }
  open_and_read(plan_of(head, pieces.next(), num_rows));
  return 0;
}
