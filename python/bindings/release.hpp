// release(): how a Python object destroys its batch. Returning a batch opens the next one in its slot (thousands of
// rows are drawn), or queries events of the device. Other Python threads can run in the meantime.
#pragma once

#include <unistd.h>

#include <memory>

#include "bale/python/bindings/gil.hpp"

namespace bale::python {

/// Destroys `batch`, which the process `owner` made, without the GIL. In a forked child it is leaked: only the parent
/// may return the memory.
template <typename AnyBatch>
void release(std::unique_ptr<AnyBatch> batch, pid_t owner) noexcept {
  if (!batch) return;
  if (owner != ::getpid()) {
    [[maybe_unused]] AnyBatch* const parents = batch.release();
    return;
  }
  const WithoutGil without_gil;
  batch.reset();
}

}  // namespace bale::python
