// What a shard says of a container that gives nothing, not even where its fields lie.
#include <array>
#include <memory>
#include <vector>

#include "bale/formats/base/error.hpp"
#include "bale/formats/shard/shard.hpp"
#include "bale/tests/support/catch.hpp"
#include "bale/tests/support/error_of.hpp"
#include "bale/tests/support/temp_dir.hpp"

using namespace bale;

namespace {

[[noreturn]] void fail() { throw Error(ErrorCode::damaged, "the container's pages make no sense"); }

class BrokenPayload final : public Payload {
 public:
  void read(std::uint64_t, std::uint32_t, const Extent&, MutableBytes) const override { fail(); }
  std::optional<FileRange> locate(std::uint64_t, std::uint32_t, const Extent&) const override { fail(); }
  void will_need(const FileRange&) const override {}
};

constexpr std::array<Layout, 1> k_layouts{{{.name = "broken"}}};

const Format k_broken{.name = "broken",
                      .layouts = k_layouts,
                      .probe = [](const ProbeInput&) { return 0; },
                      .scan = [](const std::string&, IndexBuilder&) { fail(); },
                      .open = [](const std::string&, const ShardIndex&) -> std::unique_ptr<Payload> {
                        return std::make_unique<BrokenPayload>();
                      },
                      .create = nullptr};

}  // namespace

TEST_CASE_METHOD(test::InTempDir,
                 "Where a container cannot say where a field lies, shard, sample and field are named all the same") {
  const std::string path = dir / "shard";
  write_durably(path, std::vector<std::byte>(100));
  IndexBuilder builder;
  const std::uint32_t image = builder.add_field("jpg");
  builder.add_sample("n01/photo");
  builder.set_extent(0, image, 10, 20);
  const Shard shard = Shard::open(path, k_broken, ShardIndex::from_bytes(builder.build(100, {}, false, path), path));

  Scratch scratch;
  const Error error = test::error_of([&] { shard.read(0, scratch); });
  CHECK(error.code() == ErrorCode::damaged);
  CHECK(error.context().path == path);
  CHECK(error.context().key == "n01/photo");
  CHECK_FALSE(error.context().offset);
  CHECK(error.message() == "field jpg: the container's pages make no sense");
  std::vector<Damage> found;
  shard.verify([&](const Damage& damage) { found.push_back(damage); });
  REQUIRE_FALSE(found.empty());
  CHECK(found[0].key == "n01/photo");
  CHECK(found[0].field == "jpg");
}

TEST_CASE("a line of an error shows the ends of a long key") {
  const std::string key = "first" + std::string(5000, 'k') + "last";
  const std::string line = Error(ErrorCode::damaged, "is wrong", {.path = "x.tar", .key = key}).what();
  CHECK(line.size() < 600);
  CHECK(line.find("first") != std::string::npos);
  CHECK(line.find("last") != std::string::npos);
}
