"""Mutations of what an error is called, and of what bale takes from containers of newer or other writers."""
from mutations.mutation import Mutation

VERDICTS = ("python", "tests/python/cli/test_python_verdicts.py")
DAMAGE = ("python", "tests/python/formats/test_damage.py")
HDF5 = ("python", "tests/python/interop/test_foreign_hdf5.py")
LMDB = ("python", "tests/python/interop/test_interop_lmdb.py")
LABELS = ("python", "tests/python/interop/test_foreign_labels.py")

MUTATIONS = [
    Mutation("an exit code differs from Python's table", "formats/base/errors/error.cpp",
             '"retryable", k_exit_retryable,', '"retryable", k_exit_failure,', (*VERDICTS, "-k", "table")),
    Mutation("lack of memory is the sample's fault", "loader/worker/worker.cpp",
             "    lane.is_out_of_memory = true;\n",
             "    lane.error.emplace(ErrorCode::damaged, \"bad\");\n    lane.fault = FaultOf::sample;\n",
             (*VERDICTS, "-k", "lack_of_memory")),
    Mutation("a worker calls every bad sample damaged", "loader/worker/worker.cpp",
             "      lane.fault = is_data_error(*lane.error)",
             "      if (is_data_error(*lane.error)) lane.error.emplace(ErrorCode::damaged, lane.error->message());\n"
             "      lane.fault = is_data_error(*lane.error)", (*VERDICTS, "-k", "wrong_with_a_sample")),
    Mutation("verify calls a disk that fails damage", "formats/base/errors/error_reason.hpp",
             "error.code() == ErrorCode::io || error.code() == ErrorCode::unsupported;", "error.code() == ErrorCode::unsupported;",
             (*DAMAGE, "-k", "disk_fails")),
    Mutation("an index does not say that a file is a shard", "formats/registry/lookup.cpp",
             "throw Error(ErrorCode::damaged, error.message(),", "throw Error(ErrorCode::unsupported, error.message(),",
             (*DAMAGE, "-k", "no_format")),
    Mutation("large images stay in memory", "formats/image/image_decoder.cpp",
             "  state_->buffer.free_above(k_large_pixel_bytes);\n", "", (*VERDICTS, "-k", "one_large_image")),
    Mutation("what a newer HDF5 wrote is damage", "formats/hdf5/library/h5.cpp",
             "if (code == ErrorCode::damaged && is_unknown_to_library(summary.innermost)) {", "if (false) {",
             (*HDF5, "-k", "newer_library")),
    Mutation("a dataset that was never written lies before the user block", "formats/hdf5/library/h5.cpp",
             "status != H5D_SPACE_STATUS_NOT_ALLOCATED;", "true;", (*HDF5, "-k", "user_block")),
    Mutation("a user block of 4 KiB hides an HDF5 file", "formats/registry/lookup.cpp",
             "    input.file = &file;\n", "", (*HDF5, "-k", "user_block")),
    Mutation("the signature of HDF5 is looked for at one place", "formats/hdf5/format.cpp",
             "at = std::max<std::uint64_t>(512, 2 * at)", "at = input.file_bytes", (*HDF5, "-k", "user_block")),
    Mutation("entries that belong to no sample are dropped silently", "formats/lmdb/scan_foreign.cpp",
             'return leave_out(entry, "entry that belongs to no sample");', "return;", (*LMDB, "-k", "further_keys")),
    Mutation("a stated count is not compared", "formats/lmdb/scan_foreign.cpp",
             "      if (count.value == index_.size()) continue;\n", "      continue;\n", (*LMDB, "-k", "count")),
    Mutation("a text that gives no label is not reported", "formats/shard/index/index_builder.cpp",
             "  notices_.add(fmt::format(\"{}: \\\"{}\\\"\", key(i)", "  if (false) notices_.add(fmt::format(\"{}: \\\"{}\\\"\", key(i)",
             (*LABELS, "-k", "not_a_number")),
    Mutation("fractions are rounded to labels", "formats/shard/sample/sample.cpp", " && number == std::floor(number);", ";",
             (*LABELS, "-k", "not_a_number")),
    Mutation("--jpeg-lossless keeps any number of markers", "formats/image/jpeg/jpeg_lossless.cpp", " || !has_few_segments(image)) return",
             ") return", ("python", "tests/python/formats/test_seek_points.py", "-k", "square")),
]
