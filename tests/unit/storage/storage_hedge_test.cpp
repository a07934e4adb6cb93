// When a request is sent a second time.
#include <chrono>

#include "bale/formats/storage/ranges/hedge.hpp"
#include "bale/tests/support/catch.hpp"

using namespace bale;
using std::chrono::milliseconds;

TEST_CASE("A second request waits for twice what nearly all answers took, and at least for 100 ms") {
  Hedge hedge;
  for (int i = 0; i < 19; ++i) hedge.note_first_byte_after(milliseconds(5));
  CHECK_FALSE(hedge.delay());
  hedge.note_first_byte_after(milliseconds(5));
  CHECK(hedge.delay() == milliseconds(100));
  for (int i = 0; i < 100; ++i) hedge.note_first_byte_after(milliseconds(i < 90 ? 80 : 200));
  CHECK(hedge.delay() == milliseconds(400));
  for (int i = 0; i < 100; ++i) hedge.note_first_byte_after(milliseconds(i < 98 ? 80 : 5000));
  CHECK(hedge.delay() == milliseconds(160));
}

TEST_CASE("One request of twenty may be sent twice, and at most five in a row") {
  Hedge hedge;
  CHECK_FALSE(hedge.take());
  for (int i = 0; i < 19; ++i) hedge.note_request();
  CHECK_FALSE(hedge.take());
  hedge.note_request();
  hedge.note_request();  // sums of 0.05 are not exact
  CHECK(hedge.take());
  CHECK_FALSE(hedge.take());
  for (int i = 0; i < 10'000; ++i) hedge.note_request();
  int taken = 0;
  while (hedge.take()) ++taken;
  CHECK(taken == 5);
}

TEST_CASE("Each host has its own") {
  CHECK(Hedge::of_host("http://a:1/x") == Hedge::of_host("http://a:1/y"));
  CHECK(Hedge::of_host("http://a:1/x") != Hedge::of_host("http://a:2/x"));
}
