// One bit flipped, or the file cut short, over and over: verify finds it, the sample is named, reading never delivers
// what is wrong and still delivers all that is right. The long tier makes 524,288 flips, every bit of 64 KiB, where
// fields lie in the file as they are.
#include <algorithm>

#include <fmt/format.h>

#include "bale/tests/conformance/suite.hpp"
#include "bale/tests/support/error_of.hpp"
#include "bale/tests/support/tier.hpp"

using namespace bale;
using namespace bale::test;

namespace {

constexpr std::uint64_t k_long_flips = std::uint64_t{64} * 1024 * 8;
/// Of the flips, where fields are decompressed or decoded: there each one costs milliseconds.
constexpr std::uint64_t k_decoded_share = 8;

/// A field's bytes as they lie in the file.
struct StoredField {
  std::size_t sample;
  FileRange range;
};

/// A shard on disk that is damaged in place, over and over; its index stays whole.
class Victim {
 public:
  Victim(const Subject& subject, std::vector<OwnedSample> samples)
      : subject_(subject), samples_(std::move(samples)), index_(subject.pack("victim", samples_)) {
    const auto text = subject.file_text("victim");
    if (!text) return;
    text_ = *text;
    file_ = File::open_update(subject.path("victim"));
    const Shard shard = open();
    for (std::size_t i = 0; subject.keeps_bytes() && i < samples_.size(); ++i) {
      for (std::uint32_t f = 0; f < index_.fields().size(); ++f) {
        const Extent extent = index_.extent(i, f);
        const auto range = extent.present() ? shard.payload().locate(i, f, extent) : std::nullopt;
        if (range && range->length == extent.length) stored_.push_back({i, *range});
      }
    }
  }

  const std::string& text() const { return text_; }
  const std::vector<StoredField>& stored() const { return stored_; }

  void flip(std::uint64_t bit) {
    const auto byte = static_cast<std::byte>(text_[bit / 8]) ^ static_cast<std::byte>(1 << bit % 8);
    file_.write_at(bit / 8, Bytes(&byte, 1));
  }
  void mend(std::uint64_t bit) { file_.write_at(bit / 8, as_bytes(text_).subspan(bit / 8, 1)); }
  void cut(std::uint64_t size) { file_.truncate(size); }

  /// The sample whose stored bytes hold byte `at`, where they lie in the file as they are.
  std::optional<std::size_t> sample_at(std::uint64_t at) const {
    for (const auto& [sample, range] : stored_) {
      if (at >= range.offset && at < range.offset + range.length) return sample;
    }
    return std::nullopt;
  }

  /// What is wrong with what verify and read say of the file as it is now; empty where all is well. `hit` is the one
  /// sample that is damaged, where that is known.
  std::string judge(std::optional<std::size_t> hit) const {
    std::vector<Damage> found;
    std::optional<Shard> shard;
    const auto refusal = thrown_by([&] {
      shard.emplace(open());
      shard->verify([&](const Damage& damage) { found.push_back(damage); });
    });
    if (refusal) {
      if (refusal->code() != ErrorCode::damaged) return fmt::format("not said to be damage: {}", refusal->what());
      return hit ? fmt::format("a damaged sample is the end of the shard: {}", refusal->what()) : "";
    }
    if (found.empty()) return "not found";
    if (hit && std::none_of(found.begin(), found.end(),
                            [&](const Damage& damage) { return damage.key == samples_[*hit].key && damage.offset; })) {
      return fmt::format("verify does not name {} but says: {}", samples_[*hit].key, found[0].what);
    }
    Scratch scratch;
    for (std::size_t i = 0; i < samples_.size(); ++i) {
      try {
        const std::string why = difference(subject_, samples_[i], shard->read(i, scratch));
        if (!why.empty()) return fmt::format("sample {} delivered wrong: {}", i, why);
        if (hit == i) return "the damaged sample was delivered";
      } catch (const Error& error) {
        if (hit && hit != i) return fmt::format("sample {} is lost too: {}", i, error.what());
        if (error.context().key != samples_[i].key) return fmt::format("sample {}: {}", i, error.what());
      }
    }
    return "";
  }

 private:
  Shard open() const { return subject_.open("victim", copy_of(index_), {.check_size = false}); }

  const Subject& subject_;
  std::vector<OwnedSample> samples_;
  ShardIndex index_;
  std::string text_;
  File file_;
  std::vector<StoredField> stored_;
};

std::uint64_t greatest_common_divisor(std::uint64_t a, std::uint64_t b) {
  return b == 0 ? a : greatest_common_divisor(b, a % b);
}

/// `count` different numbers below `size` (all where there are fewer), from all over.
std::vector<std::uint64_t> spread(std::uint64_t size, std::uint64_t count) {
  std::uint64_t step = size * 618 / 1000 + 1;  // near the golden section: any run of them is even over the whole
  while (greatest_common_divisor(size, step) != 1) ++step;
  std::vector<std::uint64_t> picked;
  for (std::uint64_t i = 0; i < std::min(count, size); ++i) picked.push_back(i * step % size);
  return picked;
}

}  // namespace

TEST_CASE("every flipped bit of a shard is found and named, and costs one sample at most") {
  const std::uint64_t wanted = by_tier<std::uint64_t>(1000, k_long_flips, 100);
  for_each_layout([&](const Subject& subject) {
    Victim victim(subject, plain_samples_for(subject, 40, 1700));
    if (victim.text().empty()) return;
    REQUIRE(victim.text().size() >= k_long_flips / 8);
    const std::uint64_t flips = victim.stored().empty() ? wanted / k_decoded_share : wanted;
    CHECK(in_child([&]() -> std::string {
            for (const std::uint64_t bit : spread(victim.text().size() * 8, flips)) {
              victim.flip(bit);
              const std::string why = victim.judge(victim.sample_at(bit / 8));
              if (!why.empty()) return fmt::format("bit {} of byte {}: {}", bit % 8, bit / 8, why);
              victim.mend(bit);
            }
            return "";
          }) == "");
  });
}

TEST_CASE("every truncation of a shard is found, and nothing wrong is delivered from it") {
  const std::uint64_t cuts = by_tier<std::uint64_t>(300, 10'000, 60);
  for_each_layout([&](const Subject& subject) {
    Victim victim(subject, plain_samples_for(subject, 40, 1700));
    if (victim.text().empty()) return;
    const std::uint64_t size = victim.text().size();
    std::vector<std::uint64_t> sizes = spread(size, cuts);
    for (const std::uint64_t edge : {0, 512, 1024, 4096, 8192, 10240}) sizes.insert(sizes.end(), {edge, edge + 1});
    const auto step = by_tier<std::size_t>(1, 1, 9);
    for (std::size_t i = 0; i < victim.stored().size(); i += step) {
      const FileRange& range = victim.stored()[i].range;
      const std::uint64_t end = range.offset + range.length;
      sizes.insert(sizes.end(), {range.offset - 1, range.offset, range.offset + 1, end - 1, end, end + 1});
    }
    // From long to short, so that the file need not be written again.
    std::sort(sizes.rbegin(), sizes.rend());
    CHECK(in_child([&]() -> std::string {
            for (const std::uint64_t cut : sizes) {
              if (cut >= size) continue;
              victim.cut(cut);
              const std::string why = victim.judge(std::nullopt);
              if (!why.empty()) return fmt::format("cut to {} of {} bytes: {}", cut, size, why);
            }
            return "";
          }) == "");
  });
}

TEST_CASE("every flipped bit and every truncation of an index is found") {
  for_each_layout([](const Subject& subject) {
    const ShardIndex index = subject.pack("a", plain_samples_for(subject, 12, 300));
    const std::vector<std::byte> good(index.bytes().begin(), index.bytes().end());
    const auto is_refused = [](std::vector<std::byte> bytes) {
      return refuses_content([&] { ShardIndex::from_bytes(std::move(bytes), ""); });
    };
    std::vector<std::byte> bad = good;
    std::vector<std::uint64_t> missed;
    for (std::uint64_t bit = 0; bit < good.size() * 8; ++bit) {
      bad[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
      if (!is_refused(bad)) missed.push_back(bit);
      bad[bit / 8] = good[bit / 8];
    }
    CHECK(missed == std::vector<std::uint64_t>{});
    for (std::size_t size = 0; size < good.size(); ++size) {
      if (!is_refused({good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size)})) missed.push_back(size);
    }
    CHECK(missed == std::vector<std::uint64_t>{});
  });
}
