// The driver's functions as we declare them, and what the fake driver finds: the other tests rest on both.
#include "bale/loader/cuda/buffers/device_buffer_pool.hpp"
#include "bale/tests/unit/cuda/cuda_support.hpp"
#include "bale/tools/measure/step/dummy_step.hpp"

using namespace bale;
using namespace bale::test;
using namespace bale::cuda_detail;
using fake_cuda::Pace;

namespace {

/// Whether one of the findings begins so.
[[maybe_unused]] bool found(const std::string& text) {
  for (const std::string& finding : fake_cuda::findings()) {
    if (finding.find(text) != std::string::npos) return true;
  }
  return false;
}

void copy_in(const Context& context, DevicePointer to, const HostMemory& from, std::size_t size, const Stream& stream) {
  const Current current(context);
  context.driver().check(context.driver().cuMemcpyHtoDAsync_v2(to, from.data(), size, stream.handle()), "copy");
}

void copy_out(const Context& context, std::byte* to, DevicePointer from, std::size_t size, const Stream& stream) {
  const Current current(context);
  context.driver().check(context.driver().cuMemcpyDtoHAsync_v2(to, from, size, stream.handle()), "copy");
}

}  // namespace

TEST_CASE("A driver without a device is distinguished from a device that is there") {
  {
    const FakeDevice device;
    CHECK(cuda_is_available());
    CHECK(Context::open(0)->device_name() == "Fake GPU");
  }
  const FakeDevice device;
  fake_cuda::set_num_devices(0);
  CHECK_FALSE(cuda_is_available());
  CHECK_THROWS_WITH(Context::open(0), ContainsSubstring("no CUDA device 0: there are 0"));
}

TEST_CASE("Errors of the driver are one line that says what failed, and why") {
  const FakeDevice device;
  const Driver& driver = Driver::get();
  const auto text_of = [&](int result) {
    return message_of([&] { driver.check(static_cast<Result>(result), "do this"); });
  };
  CHECK(text_of(0).empty());
  CHECK(text_of(719) == "CUDA: cannot do this: made up (CUDA_ERROR_OF_A_TEST)");
  CHECK(text_of(2).find("CUDA_ERROR_OUT_OF_MEMORY); reduce batch_size") != std::string::npos);
  CHECK(text_of(3).find("forked") != std::string::npos);
  // Drivers that do not work: what to do.
  for (const auto& [result, hint] : {std::pair{34, "LD_LIBRARY_PATH"},
                                     {46, "nvidia-smi"},
                                     {100, "nvidia-smi"},
                                     {304, "WSL"},
                                     {802, "nvidia-fabricmanager"},
                                     {803, "restart the machine"},
                                     {804, "update the driver"},
                                     {999, "WSL"}}) {
    CHECK_THAT(text_of(result), ContainsSubstring(hint));
  }
  for (const int result : {34, 100, 101}) {
    CHECK(code_of([&] { driver.check(static_cast<Result>(result), "start the driver"); }) == ErrorCode::not_found);
  }
}

#ifndef __SANITIZE_ADDRESS__  // these do what AddressSanitizer does not allow
namespace {

/// Two streams, and memory on the device for their work.
struct TwoStreams {
  std::shared_ptr<const Context> context = Context::open(0);
  Stream stream{context};
  Stream other{context};
  DeviceMemory memory{context, 1000};
  std::vector<std::byte> out = std::vector<std::byte>(1000);
};

void change_and_free_what_is_copied(const TwoStreams& on) {
  // What is copied changes before it is done.
  auto pinned = std::make_unique<HostMemory>(on.context, 1000);
  copy_in(*on.context, on.memory.address(), *pinned, 1000, on.stream);
  pinned->data()[5] = std::byte{1};
  on.stream.synchronize();
  CHECK(found("what it copies was changed"));

  // Memory goes while it is copied.
  copy_in(*on.context, on.memory.address(), *pinned, 1000, on.stream);
  pinned.reset();
  on.stream.synchronize();
  CHECK(found("freed while it is copied"));
  CHECK(found("unmapped, freed or unregistered"));
}

/// Two streams use the same memory: ordered by an event first, then without one.
void use_without_order(TwoStreams& on) {
  copy_out(*on.context, on.out.data(), on.memory.address(), 1000, on.stream);
  CHECK_FALSE(found("in no order"));
  const HostMemory source(on.context, 1000);
  {
    const Event read(on.context, on.stream.handle());
    read.wait_on(on.other.handle());
    copy_in(*on.context, on.memory.address(), source, 1000, on.other);
    CHECK_FALSE(found("in no order"));
  }
  copy_out(*on.context, on.out.data(), on.memory.address() + 400, 10, on.stream);
  CHECK(found("in no order"));
  on.stream.synchronize();
  on.other.synchronize();
}

void use_wrong_memory(TwoStreams& on) {
  // Beyond what was allocated; not page-locked.
  CHECK_THROWS(copy_out(*on.context, on.out.data(), on.memory.address() + 900, 101, on.stream));
  CHECK(found("goes beyond"));
  const Current current(*on.context);
  CHECK(on.context->driver().cuMemcpyHtoDAsync_v2(on.memory.address(), on.out.data(), 10, on.stream.handle()) !=
        Result::success);
  CHECK(found("not page-locked"));

  // Freed while in use.
  const HostMemory source(on.context, 1000);
  {
    const DeviceMemory brief(on.context, 10);
    copy_in(*on.context, brief.address(), source, 10, on.stream);
  }
  CHECK(found("freed while it may be in use"));
  on.stream.synchronize();

  // Registered twice.
  alignas(4096) static std::byte pages[3 * 4096];
  const LockedRange range(on.context, pages);
  CHECK(range.refusal().empty());
  CHECK_FALSE(LockedRange(on.context, MutableBytes(pages).subspan(4096, 4096)).refusal().empty());
  CHECK(found("registered already"));
}

void use_a_destroyed_event(const Context& context) {
  const Current current(context);
  EventHandle gone = nullptr;
  context.driver().cuEventCreate(&gone, 0);
  context.driver().cuEventDestroy_v2(gone);
  CHECK(context.driver().cuEventQuery(gone) != Result::success);
  CHECK(found("this event was destroyed"));
}

}  // namespace

TEST_CASE("The fake driver finds what it is there to find") {
  fake_cuda::reset();
  fake_cuda::set_pace(Pace::never);
  {
    TwoStreams on;
    change_and_free_what_is_copied(on);
    use_without_order(on);
    use_wrong_memory(on);
    use_a_destroyed_event(*on.context);
  }
  CHECK(fake_cuda::live() == fake_cuda::Live{});
  EventHandle none = nullptr;
  Driver::get().cuEventCreate(&none, 0);
  CHECK(found("no context is current"));
  CHECK(fake_cuda::live().events == 1);
  fake_cuda::reset();
}
#endif

TEST_CASE("A ring's buffer is taken again while its last use is still queued, and waited for on the device") {
  const FakeDevice device(Pace::never);
  const auto context = Context::open(0);
  const Stream writer(context);
  const Stream reader(context);
  const HostMemory source(context, 256);
  std::vector<std::byte> out(100 * 256);
  {
    DeviceBufferPool ring(context, 3, 200);
    CHECK(ring.address(1) % 256 == 0);
    for (std::size_t round = 0; round < 100; ++round) {
      const std::uint32_t buffer = ring.take();
      ring.wait_on(buffer, writer.handle());
      copy_in(*context, ring.address(buffer), source, 200, writer);
      Event(context, writer.handle()).wait_on(reader.handle());
      copy_out(*context, out.data() + 256 * round, ring.address(buffer), 200, reader);
      const StreamHandle users[] = {reader.handle()};
      ring.give_back(buffer, users);
    }
    CHECK(fake_cuda::num_calls("cuEventSynchronize") == 0);
  }
  reader.synchronize();
  writer.synchronize();
}

TEST_CASE("A dummy step takes its time, and plain copies have a rate") {
  const FakeDevice device;
  const auto context = Context::open(0);
  CHECK(plain_copy_rate(context, 1 << 16) > 0);
  const DummyStep step(context);
  const Stream stream(context);
  const Event begin(context, stream.handle(), Event::Timing::on);
  step.run(stream.handle(), 0.02);
  const Event end(context, stream.handle(), Event::Timing::on);
  end.synchronize();
  CHECK(Event::seconds_between(begin, end) >= 0.02);
}
