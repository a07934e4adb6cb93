"""Mutations of what bounds memory and disk space, and of draws of repeated samples."""
from mutations.mutation import Mutation

MUTATIONS = [
    Mutation("the device mirrors all deliveries of a sample alike", "loader/cuda/cuda_session.cpp",
             "  if (copy == 0) return KeyedRandom", "  if (copy < ~0UL) return KeyedRandom",
             ("cuda", "Deliveries of one sample*")),
    Mutation("batches that begin with one sample are mixed alike", "loader/cuda/cuda_session.cpp",
             ".first_copy = batch.copy(0)", ".first_copy = 0", ("cuda", "Batches of one epoch that begin*")),
]
