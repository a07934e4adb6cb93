"""Mutations of what people do with the batches of a loop."""
from mutations.mutation import Mutation

KEPT = ("loader", "Any number of batches*")

MUTATIONS = [
    Mutation("a batch is never copied, however many are kept", "loader/session.cpp",
             "  if (!options_.copy_when_held) return false;\n", "  if (options_.prefetch != 0) return false;\n", KEPT),
    Mutation("a copied batch loses the end of its pixels", "loader/batch_copy.cpp",
             "  std::memcpy(pixel_memory.get(), ring.pixels(slot).data(), pixel_bytes);",
             "  std::memcpy(pixel_memory.get(), ring.pixels(slot).data(), pixel_bytes / 2);", KEPT),
]
