"""Mutations of images that a device decodes."""
from mutations.mutation import Mutation

SAME = ("cuda", "A device that decodes gives the batches*")
REFUSED = ("cuda", "An image that the device does not decode*")

MUTATIONS = [
    Mutation("a state of nvJPEG is used before its batch is decoded", "loader/cuda/decode/device_decoder.cpp",
             "return states_[block];", "return states_[0];", SAME),
    Mutation("the device does not mirror what it decodes", "loader/cuda/decode/device_decoder.cpp",
             "row.across.mirrored = spec.mirror ? 1 : 0;", "row.across.mirrored = 0;", SAME),
    Mutation("the device resizes another part of the image", "loader/transform/sample_pipeline.cpp",
             ".left = state.needed.x - part.x,", ".left = state.needed.x,", SAME),
    Mutation("the device's passes are always in one order", "loader/cuda/decode/device_decoder.cpp",
             ".down_first = rows_come_first(spec) ? 1U : 0U", ".down_first = 0U", SAME),
    Mutation("what nvJPEG refuses is tried in every epoch", "loader/cuda/decode/device_decoder.cpp",
             "if (job.was_alone && is_about_image(job.status))", "if (job.was_alone && failed_batches_ > 99)", REFUSED),
    Mutation("an image that failed alone is taken as decoded", "loader/cuda/decode/device_decoder.cpp",
             "is_done[job.row] = job.done();", "is_done[job.row] = true;", REFUSED),
    Mutation("a device that decodes nothing is asked for ever", "loader/cuda/decode/device_decoder.cpp",
             "failed_batches_ >= k_patience", "failed_batches_ >= 1000", ("cuda", "A device that decodes nothing any more*")),
    Mutation("workers leave images to a device that has stopped", "loader/worker/worker.cpp",
             "options_.device_pixels == 0 || ring_.asks_for_pixels()", "options_.device_pixels == 0",
             ("cuda", "A device that decodes nothing any more*")),
    Mutation("memory for decoded images is replaced while it is in use", "loader/cuda/decode/device_decoder.cpp",
             "synchronize(stream);  // the batches before use the memory", "(void)stream;", ("cuda", "Images that grow*")),
]
