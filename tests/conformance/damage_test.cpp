// Damage is reported, never delivered, and never the end of the reader.
#include <fmt/format.h>

#include "bale/tests/conformance/suite.hpp"
#include "bale/tests/support/error_of.hpp"
#include "bale/tests/support/text_file.hpp"
#include "bale/tests/support/tier.hpp"

using namespace bale;
using namespace bale::test;

namespace {

/// Opens a damaged shard with its good index and reads everything: each sample is delivered as it was or
/// refused with an Error. `refused` gets the keys that were not delivered, as the errors name them.
std::string read_damaged(const Subject& subject, const std::string& stem, const ShardIndex& index,
                         const std::vector<OwnedSample>& samples, std::vector<std::string>* refused = nullptr) {
  std::optional<Shard> shard;
  if (thrown_by([&] { shard.emplace(subject.open(stem, copy_of(index), {.check_size = false})); })) {
    if (refused != nullptr) refused->push_back("(the whole shard)");
    return "";
  }
  Scratch scratch;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    std::string why;
    const auto error = thrown_by([&] { why = difference(subject, samples[i], shard->read(i, scratch)); });
    if (!why.empty()) return fmt::format("sample {} delivered wrong: {}", i, why);
    if (error && refused != nullptr) refused->push_back(error->context().key);
  }
  return "";
}

/// Scans a shard that was cut short: an Error, or whole samples only. A container without an end mark may
/// have been cut between two samples; that some are missing is then told by the index alone.
std::string scan_cut(const Subject& subject, const std::string& stem, const ShardIndex& index) {
  try {
    const std::uint64_t file_bytes = subject.file_text(stem)->size();
    const ShardIndex scanned = subject.scan(stem);
    if (scanned.size() > index.size()) return fmt::format("scan found {} samples of {}", scanned.size(), index.size());
    const auto payload = subject.format().open(subject.path(stem), scanned);
    for (std::uint64_t i = 0; i < scanned.size(); ++i) {
      if (subject.layout().keeps_keys_in_file && scanned.key(i) != index.key(i)) return "scan found another key";
      for (std::uint32_t f = 0; f < scanned.fields().size(); ++f) {
        const Extent extent = scanned.extent(i, f);
        if (!extent.present() || !subject.keeps_bytes()) continue;
        if (extent.length != stored_extent(index, i, scanned.fields()[f].stored_name()).length) {
          return "scan found another length";
        }
        const auto range = payload->locate(i, f, extent);
        if (range && range->offset + range->length > file_bytes) return "scan found a field beyond the end of the file";
      }
    }
  } catch (const Error&) {
  }
  return "";
}

/// Whether verify says of a shard that was cut short that it is shorter than its index says.
std::string verify_cut(const Subject& subject, const std::string& stem, const ShardIndex& index) {
  std::string said;
  const auto refusal = thrown_by([&] {
    const Shard shard = subject.open(stem, copy_of(index), {.check_size = false});
    shard.verify([&](const Damage& damage) { said += damage.what + "\n"; });
  });
  if (refusal) return "";  // the container's library refuses the file
  return said.find(fmt::format("bytes, its index says {}", index.shard_bytes())) != std::string::npos ? "" : said + ".";
}

}  // namespace

TEST_CASE("a shard that was cut short is an error wherever it was cut") {
  for_each_layout([](const Subject& subject) {
    const std::vector<OwnedSample> samples = plain_samples_for(subject, 60, 5000);
    const ShardIndex index = subject.pack("a", samples);
    const auto good = subject.file_text("a");
    if (!good) return;
    const std::size_t size = good->size();
    std::vector<std::size_t> cuts{0, 1, 7, 100, 511, 512, 513, 4095, 4096, 4097, size - 1, size - 512, size - 4096};
    const auto parts = by_tier<std::size_t>(16, 16, 5);
    for (std::size_t i = 1; i < parts; ++i) cuts.push_back(size * i / parts);
    for (const std::size_t cut : cuts) {
      if (cut >= size) continue;
      spit(subject.path("cut"), good->substr(0, cut));
      INFO("cut to " << cut << " of " << size << " bytes");
      CHECK_THROWS_AS(subject.open("cut", copy_of(index)), Error);
      CHECK(in_child([&] { return read_damaged(subject, "cut", index, samples); }) == "");
      CHECK(in_child([&] { return verify_cut(subject, "cut", index); }) == "");
      CHECK(in_child([&] { return scan_cut(subject, "cut", index); }) == "");
    }
  });
}

TEST_CASE("a flipped payload bit is found, its sample named, and the others still read") {
  for_each_layout([](const Subject& subject) {
    const std::vector<OwnedSample> samples = plain_samples_for(subject, 20, 5000);
    const ShardIndex index = subject.pack("a", samples);
    const auto good = subject.file_text("a");
    if (!good) return;
    const Shard shard = subject.open("a", copy_of(index));
    for (std::uint64_t i = 0; i < index.size(); i += 7) {
      for (std::uint32_t f = 0; f < index.fields().size(); ++f) {
        const Extent extent = index.extent(i, f);
        const auto range = extent.present() ? shard.payload().locate(i, f, extent) : std::nullopt;
        if (!range || range->length == 0) continue;
        const bool stored_plainly = subject.keeps_bytes() && range->length == extent.length;
        for (const std::uint64_t at :
             {range->offset, range->offset + range->length / 2, range->offset + range->length - 1}) {
          std::string bad = *good;
          bad[at] = static_cast<char>(bad[at] ^ 0x10);
          spit(subject.path("flip"), bad);
          INFO("sample " << i << ", byte " << at);
          CHECK(in_child([&]() -> std::string {
                  std::vector<std::string> refused;
                  std::string why = read_damaged(subject, "flip", index, samples, &refused);
                  if (!why.empty() || !stored_plainly) return why;
                  if (refused.size() != 1) return fmt::format("{} samples refused", refused.size());
                  return refused[0] == samples[i].key ? "" : "the error names " + refused[0];
                }) == "");
        }
      }
    }
  });
}

TEST_CASE("flipped bits anywhere never deliver wrong bytes and never crash") {
  for_each_layout([](const Subject& subject) {
    const std::vector<OwnedSample> samples = plain_samples_for(subject, 12, 600);
    const ShardIndex index = subject.pack("a", samples);
    const auto good = subject.file_text("a");
    if (!good) return;
    CHECK(in_child([&]() -> std::string {
            const std::size_t step = good->size() / by_tier<std::size_t>(500, 500, 100) + 1;
            for (std::size_t at = 0; at < good->size(); at += step) {
              std::string bad = *good;
              bad[at] = static_cast<char>(bad[at] ^ (1 << at % 8));
              spit(subject.path("flip"), bad);
              const std::string why = read_damaged(subject, "flip", index, samples);
              if (!why.empty()) return fmt::format("byte {}: {}", at, why);
              // Where scanning is a library's work it may die of this, so only those that promise are asked.
              if (subject.format().scan_survives_damage) thrown_by([&] { subject.scan("flip"); });
            }
            return "";
          }) == "");
  });
}
