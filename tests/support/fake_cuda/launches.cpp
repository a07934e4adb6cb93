#include "bale/tests/support/fake_cuda/launches.hpp"

#include <chrono>
#include <cstring>
#include <thread>

namespace bale::test::fake_cuda {
namespace {

using namespace bale::cuda_detail;

constexpr const char* k_spin_kernel = "bale_spin";

/// Launches a kernel of the loader with its arguments translated to host memory.
Result launch_convert(Engine& engine, const FakeFunction& function, const HostGrid& grid, FakeStream& stream,
                      const ConvertArgs& args) {
  const HostKernel& kernel = function.kernel;
  const std::uint64_t values = std::uint64_t{args.num_images} * args.width * args.height * 3;
  const auto address = [](const void* at) { return reinterpret_cast<DevicePointer>(at); };
  const auto host = [&](const void* at, std::size_t size) { return engine.host_address(address(at), size); };
  ConvertArgs on_host = args;
  on_host.in = reinterpret_cast<const std::uint8_t*>(host(args.in, values));
  on_host.rows = reinterpret_cast<const ConvertRow*>(host(args.rows, args.num_images * sizeof(ConvertRow)));
  on_host.table = host(args.table, kernel.table_bytes);
  on_host.out = host(args.out, values * kernel.value_bytes);
  auto work = std::make_shared<Work>();
  work->what = "kernel " + function.name;
  work->run = [on_host, grid, run = kernel.run] { run(on_host, grid); };
  return engine.give(stream, std::move(work),
                     {{address(args.in), values, false},
                      {address(args.rows), args.num_images * sizeof(ConvertRow), false},
                      {address(args.table), kernel.table_bytes, false},
                      {address(args.out), values * kernel.value_bytes, true}});
}

bool is_resize_kernel(const std::string& name) { return name == "bale_resize" || name == "bale_resize_weights"; }

/// The same for the kernels that resize. They may read all that follows the pointers to decoded images and weights.
Result launch_resize(Engine& engine, const FakeFunction& function, const HostGrid& grid, FakeStream& stream,
                     const ResizeArgs& args) {
  const auto address = [](const void* at) { return reinterpret_cast<DevicePointer>(at); };
  const std::uint64_t out_bytes = std::uint64_t{args.num_images} * args.width * args.height * 3;
  const std::uint64_t rows_bytes = args.num_images * sizeof(ResizeRow);
  const bool weighs = function.name == "bale_resize_weights";
  ResizeArgs on_host = args;
  on_host.decoded = reinterpret_cast<const std::uint8_t*>(engine.host_address(address(args.decoded), 1));
  on_host.rows = reinterpret_cast<const ResizeRow*>(engine.host_address(address(args.rows), rows_bytes));
  on_host.table = reinterpret_cast<std::int32_t*>(engine.host_address(address(args.table), 1));
  on_host.out = reinterpret_cast<std::uint8_t*>(engine.host_address(address(args.out), out_bytes));
  auto work = std::make_shared<Work>();
  work->what = "kernel " + function.name;
  work->run = [on_host, grid, weighs] { weighs ? run_resize_weights(on_host, grid) : run_resize(on_host, grid); };
  std::vector<Engine::Range> uses{{address(args.rows), rows_bytes, false},
                                  engine.rest_of_allocation(address(args.table), weighs)};
  if (!weighs) {
    uses.push_back(engine.rest_of_allocation(address(args.decoded), false));
    uses.push_back({address(args.out), out_bytes, true});
  }
  return engine.give(stream, std::move(work), uses);
}

Result launch_spin(Engine& engine, const FakeFunction& function, FakeStream& stream, const SpinArgs& args) {
  auto work = std::make_shared<Work>();
  work->what = "kernel " + function.name;
  work->run = [args] { std::this_thread::sleep_for(std::chrono::nanoseconds(args.nanoseconds)); };
  return engine.give(stream, std::move(work), {});
}

template <typename Args>
Args copied(const void* parameter) {
  Args args;
  std::memcpy(&args, parameter, sizeof args);
  return args;
}

}  // namespace

std::size_t parameter_bytes(const FakeFunction& function) {
  if (function.name == k_spin_kernel) return sizeof(SpinArgs);
  return is_resize_kernel(function.name) ? sizeof(ResizeArgs) : sizeof(ConvertArgs);
}

bool can_launch(const FakeFunction& function) {
  return function.kernel.run || is_resize_kernel(function.name) || function.name == k_spin_kernel;
}

Result launch(Engine& engine, const FakeFunction& function, const HostGrid& grid, FakeStream& stream,
              const void* parameter) {
  if (function.name == k_spin_kernel) return launch_spin(engine, function, stream, copied<SpinArgs>(parameter));
  if (grid.x == 0 || grid.y == 0 || grid.y > 65535 || grid.block != k_block_threads) return k_invalid_value;
  if (is_resize_kernel(function.name)) {
    return launch_resize(engine, function, grid, stream, copied<ResizeArgs>(parameter));
  }
  return launch_convert(engine, function, grid, stream, copied<ConvertArgs>(parameter));
}

}  // namespace bale::test::fake_cuda
