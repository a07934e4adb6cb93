// Orders written down: a change of any of these numbers changes what every user's run delivers.
#include <vector>

#include "bale/reader/order/epoch_order.hpp"
#include "bale/tests/support/catch.hpp"

namespace bale {
namespace {

using Samples = std::vector<std::uint64_t>;

Samples head(const EpochOrder& order, std::uint64_t epoch, std::uint64_t count) {
  Samples result;
  for (std::uint64_t i = 0; i < count; ++i) result.push_back(order.at(epoch, i).sample);
  return result;
}

}  // namespace

TEST_CASE("golden: a small full shuffle", "[order]") {
  const EpochOrder order(Selection::all(10), Shuffle::full(), 0);
  CHECK(head(order, 0, 10) == Samples{1, 9, 2, 3, 8, 0, 6, 5, 7, 4});
  CHECK(head(order, 1, 10) == Samples{3, 4, 9, 5, 0, 2, 6, 7, 8, 1});
}

TEST_CASE("golden: another seed", "[order]") {
  const EpochOrder order(Selection::all(10), Shuffle::full(), 1);
  CHECK(head(order, 0, 10) == Samples{5, 0, 9, 1, 4, 3, 7, 6, 2, 8});
}

TEST_CASE("golden: a full shuffle of fifty", "[order]") {
  const EpochOrder order(Selection::all(50), Shuffle::full(), 7);
  CHECK(head(order, 3, 50) == Samples{41, 3,  33, 6,  10, 4,  46, 19, 25, 42, 38, 14, 23, 31, 20, 48, 24,
                                      40, 26, 45, 5,  43, 8,  0,  21, 39, 9,  15, 17, 37, 16, 29, 18, 11,
                                      2,  34, 36, 27, 22, 49, 7,  44, 12, 30, 32, 47, 35, 13, 1,  28});
}

TEST_CASE("golden: a full shuffle of ImageNet's size", "[order]") {
  const EpochOrder order(Selection::all(1281167), Shuffle::full(), 42);
  CHECK(head(order, 0, 12) ==
        Samples{490769, 681481, 707821, 1108937, 1058773, 1128779, 329263, 304113, 949227, 241654, 775448, 133034});
  CHECK(head(order, 89, 12) ==
        Samples{672212, 1187882, 947131, 26456, 1259987, 80801, 1114336, 683988, 1280322, 73550, 1241542, 317381});
}

TEST_CASE("golden: a full shuffle of a large dataset", "[order]") {
  const EpochOrder order(Selection::all(5000000000), Shuffle::full(), 42);
  CHECK(head(order, 1, 8) ==
        Samples{490408090, 2723616711, 3074217922, 2257466459, 1489435860, 3068785329, 2009150929, 852118736});
}

TEST_CASE("golden: a block shuffle with a short block", "[order]") {
  const EpochOrder order(Selection::all(23), Shuffle::block(4, 2), 5);
  CHECK(head(order, 0, 23) ==
        Samples{8, 7, 10, 11, 5, 6, 9, 4, 18, 15, 19, 12, 16, 14, 17, 13, 0, 22, 1, 21, 2, 3, 20});
  CHECK(head(order, 1, 23) ==
        Samples{7, 8, 11, 6, 10, 9, 5, 4, 21, 15, 14, 22, 20, 12, 13, 3, 1, 17, 18, 0, 19, 2, 16});
}

TEST_CASE("golden: a block shuffle of ImageNet's size", "[order]") {
  const EpochOrder order(Selection::all(1281167), Shuffle::block(64, 32), 42);
  CHECK(head(order, 0, 12) ==
        Samples{1217476, 988051, 639543, 934802, 164258, 389960, 1105653, 508826, 263438, 124727, 642957, 333750});
}

TEST_CASE("golden: a repeated subset", "[order]") {
  const EpochOrder order(Selection::subset({9, 4, 4, 0, 7}, 10).repeated(2), Shuffle::full(), 3);
  CHECK(head(order, 0, 10) == Samples{7, 9, 4, 7, 4, 9, 4, 0, 4, 0});
}

TEST_CASE("golden: weighted draws", "[order]") {
  const EpochOrder order(Selection::weighted(std::vector<double>{1, 0.5, 0, 8, 0.1}, 20), Shuffle::full(), 3);
  CHECK(head(order, 0, 20) == Samples{0, 3, 3, 0, 3, 3, 3, 3, 1, 3, 3, 0, 3, 3, 3, 3, 3, 3, 3, 3});
  CHECK(head(order, 1, 20) == Samples{3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 0});
}

TEST_CASE("golden: class-balanced draws", "[order]") {
  const EpochOrder order(Selection::class_balanced(std::vector<std::int64_t>{0, 0, 0, 1, 1, 7}, 20), Shuffle::full(),
                         3);
  CHECK(head(order, 0, 20) == Samples{0, 3, 4, 0, 3, 3, 2, 2, 3, 1, 5, 0, 5, 2, 2, 5, 5, 4, 3, 4});
}

TEST_CASE("golden: a mixture", "[order]") {
  const Selection selection = Selection::mixture({10, 6, 4}, {7, 2, 1}, {.epoch_samples = 16, .exact_every = 10});
  const EpochOrder order(selection, Shuffle::full(), 3);
  CHECK(head(order, 0, 16) == Samples{15, 9, 0, 16, 3, 6, 12, 5, 4, 8, 17, 2, 7, 10, 1, 8});
  CHECK(head(order, 5, 16) == Samples{1, 14, 9, 5, 3, 5, 18, 15, 6, 3, 19, 4, 10, 1, 0, 15});
}

}  // namespace bale
