// How many transfers are under way at a time.
#include <chrono>

#include "bale/formats/storage/http/transfer_limit.hpp"
#include "bale/tests/support/catch.hpp"

using namespace bale;
using std::chrono::microseconds;

namespace {

constexpr microseconds k_far{100'000};

void answer(TransferLimit& limit, int count, microseconds time, bool others_wait = true) {
  for (int i = 0; i < count; ++i) limit.answered(time, others_wait);
}

}  // namespace

TEST_CASE("More transfers at a time where the way is long, up to the most") {
  TransferLimit limit(TransferLimit::k_most);
  CHECK(limit.at_a_time() == TransferLimit::k_first);
  answer(limit, 10, k_far, false);
  CHECK(limit.at_a_time() == TransferLimit::k_first);
  answer(limit, 10, k_far);
  CHECK(limit.at_a_time() == TransferLimit::k_first + 10);
  answer(limit, 1000, k_far);
  CHECK(limit.at_a_time() == TransferLimit::k_most);
}

TEST_CASE("No more at a time if the server is near, or takes longer than it did") {
  TransferLimit near(TransferLimit::k_most);
  answer(near, 100, microseconds(500));
  CHECK(near.at_a_time() == TransferLimit::k_first);
  TransferLimit slow(TransferLimit::k_most);
  answer(slow, 1, k_far);
  answer(slow, 100, 3 * k_far);
  CHECK(slow.at_a_time() == TransferLimit::k_first + 1);
}

TEST_CASE("A server that refuses gets half as many at a time, once for those that were under way together") {
  TransferLimit limit(TransferLimit::k_most);
  const std::uint64_t first = limit.begin(1);
  const std::uint64_t second = limit.begin(1);
  limit.refused(first);
  limit.refused(second);
  CHECK(limit.at_a_time() == TransferLimit::k_first / 2);
  for (int i = 0; i < 20; ++i) limit.refused(limit.begin(1));
  CHECK(limit.at_a_time() == 4);
}

TEST_CASE("Beyond the first transfers, all together stay within 64 MiB") {
  TransferLimit limit(TransferLimit::k_most);
  answer(limit, 1000, k_far);
  for (std::size_t i = 0; i < TransferLimit::k_first; ++i) {
    CHECK(limit.has_room(std::uint64_t{8} << 20));
    limit.begin(std::uint64_t{8} << 20);
  }
  CHECK_FALSE(limit.has_room(1));
  for (std::size_t i = 0; i < TransferLimit::k_first; ++i) limit.end(std::uint64_t{8} << 20);
  for (std::size_t i = 0; i < TransferLimit::k_most; ++i) {
    CHECK(limit.has_room(100'000));
    limit.begin(100'000);
  }
  CHECK_FALSE(limit.has_room(100'000));
}
