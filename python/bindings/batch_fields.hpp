// What bale.fields asks of a Batch: the stored fields of its rows.
#pragma once

#include "bale/python/bindings/bindings.hpp"
#include "bale/python/bindings/process_batch.hpp"

namespace bale::python {

/// Adds the methods to the class of a Batch.
void bind_batch_fields(nb::class_<ProcessBatch>& batch);

}  // namespace bale::python
