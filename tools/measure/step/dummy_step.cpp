#include "bale/tools/measure/step/dummy_step.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "bale/formats/base/error.hpp"
#include "bale/tools/measure/step/spin_args.hpp"

namespace bale::cuda_detail {

extern const char* const k_spin_kernel_ptx;

namespace {

constexpr const char* k_spin_kernel = "bale_spin";

std::unique_ptr<const Module> loaded(const std::shared_ptr<const Context>& context) {
  std::string refusal;
  auto module = Module::load(context, k_spin_kernel_ptx, {k_spin_kernel}, refusal);
  if (module) return module;
  throw Error(ErrorCode::unsupported, "the device does not take the kernel of --step-ms: " + refusal,
              {.hint = "update its driver, or leave --step-ms out"});
}

}  // namespace

DummyStep::DummyStep(std::shared_ptr<const Context> context)
    : context_(std::move(context)), module_(loaded(context_)), kernel_(module_->function(k_spin_kernel)) {}

void DummyStep::run(StreamHandle stream, double seconds) const {
  SpinArgs args{.nanoseconds = static_cast<std::uint64_t>(seconds * 1e9)};
  void* parameters[] = {&args};
  const Current current(*context_);
  const Driver& driver = context_->driver();
  driver.check(driver.cuLaunchKernel(kernel_, 1, 1, 1, 1, 1, 1, 0, stream, parameters, nullptr), "start a kernel");
}

double plain_copy_rate(const std::shared_ptr<const Context>& context, std::size_t size_bytes) {
  const HostMemory from(context, size_bytes);
  const DeviceMemory to(context, size_bytes);
  const Stream stream(context);
  std::array<double, 9> rates{};
  for (double& rate : rates) {
    const Event begin(context, stream.handle(), Event::Timing::on);
    const Current current(*context);
    const Driver& driver = context->driver();
    driver.check(driver.cuMemcpyHtoDAsync_v2(to.address(), from.data(), size_bytes, stream.handle()),
                 "copy to the device");
    const Event end(context, stream.handle(), Event::Timing::on);
    end.synchronize();
    rate = static_cast<double>(size_bytes) / std::max(Event::seconds_between(begin, end), 1e-9);
  }
  std::nth_element(rates.begin(), rates.begin() + rates.size() / 2, rates.end());
  return rates[rates.size() / 2];
}

}  // namespace bale::cuda_detail
