"""Mutations of what a Writer promises: what a state says is there, nothing twice, and the order of shards."""
from mutations.mutation import Mutation

UNIT = ("writer",)
FAULTS = ("python", "tests/python/stream/test_python_writer_faults.py", "-k")

MUTATIONS = [
    Mutation("a checkpoint does not make the waiting samples durable", "writer/stream/writer.cpp",
             "    filling_->sync();\n    dataset_.sync_names();", "    dataset_.sync_names();",
             (*UNIT, "a resumed Writer has every sample*")),
    Mutation("waiting samples are written and not synced", "writer/stream/sample_log.cpp",
             "  file_.sync();\n", "", (*FAULTS, "power_loss")),
    Mutation("a checkpoint does not wait for the shards before it", "writer/stream/writer.cpp",
             "    const auto lock = lock_open();\n    queue_->drain(options_.on_wait);\n    filling_->sync();",
             "    const auto lock = lock_open();\n    filling_->sync();", (*FAULTS, "killed or power_loss")),
    Mutation("a record is taken up without its checksum", "writer/stream/sample_log.cpp",
             "  if (crc32c(Bytes(buffer).subspan(sizeof head.crc32c)) != head.crc32c) return 0;\n", "",
             (*UNIT, "of a file that ends anywhere*")),
    Mutation("keys are not compared with those before a resume", "writer/stream/writer.cpp",
             "      keys_.insert(hash_key(key));\n      if", "      if", ("python", "tests/python/stream/test_python_writer.py", "-k", "states")),
    Mutation("keys are not compared with those of the same call", "writer/stream/writer.cpp",
             "      if (!place && earlier && earlier->first == at)", "      if (false)", (*UNIT, "add_many*")),
    Mutation("samples of a call are added before all are checked", "writer/stream/writer.cpp",
             "    refuse_repeated_keys(samples, checked);\n    const std::uint64_t first = count_;\n",
             "    const std::uint64_t first = count_;\n    append(checked[0]);\n    refuse_repeated_keys(samples, checked);\n",
             (*UNIT, "add_many*")),
    Mutation("waiting samples are forgotten before their shard is published", "writer/stream/writer.cpp",
             "    dataset_.publish(std::move(finished));\n    task.pending->remove();",
             "    task.pending->remove();\n    dataset_.publish(std::move(finished));", (*FAULTS, "killed or power_loss")),
]
