// `fields` of a Python batch, and what bale._loader.batch_fields.BatchFields makes it of.
#pragma once

#include "bale/python/bindings/bindings.hpp"

namespace bale::python {

/// `Batch` is ProcessBatch or ProcessDeviceBatch.
template <typename Batch>
void bind_batch_fields(nb::class_<Batch>& batch);

}  // namespace bale::python
