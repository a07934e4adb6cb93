#pragma once
// The loader's kernels on this host: their arguments have addresses of the device, which are translated.

#include "bale/tests/support/fake_cuda/engine.hpp"

namespace bale::test::fake_cuda {

inline constexpr auto k_invalid_value = static_cast<cuda_detail::Result>(1);

/// Size of the one parameter that a kernel takes.
std::size_t parameter_bytes(const FakeFunction& function);
bool can_launch(const FakeFunction& function);
/// Gives a launch to the stream. `parameter`: what the driver was given. The engine's mutex is held.
cuda_detail::Result launch(Engine& engine, const FakeFunction& function, const cuda_detail::HostGrid& grid,
                           FakeStream& stream, const void* parameter);

}  // namespace bale::test::fake_cuda
