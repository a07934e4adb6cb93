"""Mutations of what people do with the batches of a loop."""
from mutations.mutation import Mutation

KEPT = ("loader", "Any number of batches*")
KEYS = ("python", "tests/python/loader/test_python_loader_keys.py")
MIXTURES = ("python", "tests/python/loader/test_python_mixtures.py")

MUTATIONS = [
    Mutation("a batch is never copied, however many are kept", "loader/session/session.cpp",
             "  if (!options_.copy_when_held) return false;\n", "  if (options_.prefetch != 0) return false;\n", KEPT),
    Mutation("a copied batch loses the end of its pixels", "loader/batch/batch_view.cpp",
             "  std::memcpy(pixels_.get(), from.pixels.data(), num_bytes);",
             "  std::memcpy(pixels_.get(), from.pixels.data(), num_bytes / 2);", KEPT),
    Mutation("every row has room for the largest image", "loader/fields/row_layout.cpp",
             "  LargestRows largest(options.batch_size, max_deliveries);", "  LargestRows largest(options.batch_size, options.batch_size + 0 * max_deliveries);",
             ("python", "tests/python/loader/test_python_loader.py", "-k", "one_large")),
    Mutation("every batch has the keys of the first samples", "python/bale/_loader/lazy_keys.py",
             "        return [keys[index] for index in indices.tolist()]\n", "        return list(keys[:len(indices)])\n", KEYS),
    Mutation("every Loader opens its dataset twice", "python/bale/_loader/lazy_keys.py",
             "        self._dataset = dataset\n", "        self._dataset = dataset or Dataset(spec)\n", KEYS),
    Mutation("a dataset that is given twice is two sources", "python/bale/_loader/mixture.py",
             "            if same:\n", "            if same and number < 0:\n", MIXTURES),
    Mutation("with other shares every source begins again", "python/bale/_loader/mixture.py",
             "{one[\"dataset\"]: one[\"delivered\"] for one in theirs.values()}", "{one[\"dataset\"]: 0 for one in theirs.values()}", MIXTURES),
    Mutation("all rows are of the first source", "python/bale/_loader/mixture.py",
             "[source.number for source in self.sources]", "[0 for source in self.sources]", MIXTURES),
]
