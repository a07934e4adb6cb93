"""Mutations of mixup and cutmix."""
from mutations.mutation import Mutation

MIX = ("python", "tests/python/loader/test_python_mix.py")

MUTATIONS = [
    Mutation("a row is mixed with one without an image", "loader/batch/batch_mixer.cpp",
             "    if (!batch.image(other).empty()) return other;\n", "    return other;\n", (*MIX, "-k", "without_an_image")),
    Mutation("the first image is mixed with the mixed last one", "loader/batch/batch_mixer.cpp",
             "rows_[row].partner > row ? kept : stripe_of(rows_[row].partner)", "stripe_of(rows_[row].partner)",
             (*MIX, "-k", "formulas")),
    Mutation("16 bits are mixed as they are", "loader/batch/batch_mixer.cpp",
             "values[halves[value]] = floats[value];", "(void)floats;", (*MIX, "-k", "device")),
    Mutation("copies have no shares", "loader/batch/batch_view.cpp",
             "shares_(values_of(from.shares)),", "shares_(),",
             (*MIX, "-k", "every_way")),
    Mutation("a box starts at the left edge", "loader/batch/batch_mixer.cpp",
             "draw.left * bytes_per_column;", "0 * bytes_per_column;", (*MIX, "-k", "device")),
    Mutation("soft labels of both images are the first one's", "python/bale/torch/_loader/conversion.py",
             "self._smoothed(partner_labels) * (1 - shares)", "self._smoothed(labels) * (1 - shares)",
             (*MIX, "-k", "soft_labels")),
    Mutation("a row without a label is smoothed", "python/bale/torch/_loader/conversion.py",
             "rows.masked_fill_(labels < 0, 0)", "rows", (*MIX, "-k", "without_a_label")),
]
