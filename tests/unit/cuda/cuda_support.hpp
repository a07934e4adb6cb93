// What the tests of loader/cuda over the fake driver share.
#pragma once

#include <string>

#include "bale/formats/base/error.hpp"
#include "bale/tests/support/catch.hpp"
#include "bale/tests/support/error_of.hpp"
#include "bale/tests/support/fake_cuda/fake_cuda.hpp"
#include "bale/tests/unit/cuda/device_support.hpp"

namespace bale::test {

/// A new fake device for a test; at its end nothing may be left on it, and nothing may have gone wrong.
class FakeDevice {
 public:
  explicit FakeDevice(fake_cuda::Pace pace = fake_cuda::Pace::when_asked, std::uint64_t seed = 1) {
    fake_cuda::reset(seed);
    fake_cuda::set_pace(pace);
  }
  ~FakeDevice() {
    for (const std::string& finding : fake_cuda::findings()) FAIL_CHECK(finding);
    CHECK(fake_cuda::live() == fake_cuda::Live{});
    CHECK(fake_cuda::num_current() == 0);
    CHECK(fake_cuda::capture_mode() == 0);
    fake_cuda::reset();
  }
  FakeDevice(const FakeDevice&) = delete;
  FakeDevice& operator=(const FakeDevice&) = delete;
};

}  // namespace bale::test
