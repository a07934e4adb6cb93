"""Mutations of lists of transforms in Python, and of their translation."""
from mutations.mutation import Mutation

LISTS = ("python", "tests/python/transforms/test_transform_lists.py")
TRANSLATE = ("python", "tests/python/transforms/test_transform_translate.py")
REPLAY = ("python", "tests/python/transforms/test_transform_replay.py")

MUTATIONS = [
    Mutation("a kernel's width and height change places", "python/bale/transforms/_operations/color.py",
             '"kernel_size": (height, width)', '"kernel_size": (width, height)', (*LISTS, "-k", "json")),
    Mutation("a crop with a border runs before Normalize", "python/bale/transforms/_operations/order.py",
             "        return one.padding is None and not one.pad_if_needed\n", "        return True\n", (*LISTS, "-k", "order")),
    Mutation("a padded center crop runs before Normalize", "python/bale/transforms/_operations/order.py",
             " and Normalize not in kinds", "", (*LISTS, "-k", "order")),
    Mutation("an alternative that does nothing is lost", "python/bale/transforms/_operations/control.py",
             "if len(parts) == 1 else {", "if parts else {", (*LISTS, "-k", "json")),
    Mutation("a subclass that does something else is taken for its base", "python/bale/transforms/_translation/translation.py",
             "        if _is_changed(given, kind):\n", "        if False:\n", (*TRANSLATE, "-k", "named")),
    Mutation("any function is taken for convert(\"RGB\")", "python/bale/transforms/_translation/from_code.py",
             "        return code.co_code, code.co_names, constants, code.co_argcount, code.co_freevars\n",
             "        return code.co_argcount\n", (*TRANSLATE, "-k", "named")),
    Mutation("constants of a known class are not compared", "python/bale/transforms/_translation/from_code.py",
             "code.co_names, constants, code.co_argcount", "code.co_names, code.co_argcount", (*TRANSLATE, "-k", "named")),
    Mutation("a changed policy of timm is taken for timm's", "python/bale/transforms/_translation/from_timm.py",
             "    if any(one != found[0] for one in found):\n", "    if False:\n", (*TRANSLATE, "-k", "timm")),
    Mutation("timm's largest move is not compared", "python/bale/transforms/_translation/from_timm.py",
             "    if share != _LARGEST_MOVE[kind]:\n", "    if False:\n", (*TRANSLATE, "-k", "timm")),
    Mutation("timm's interpolation is lost", "python/bale/transforms/_translation/from_timm.py",
             "given.size, given.scale, given.ratio, given.interpolation)", "given.size, given.scale, given.ratio)",
             (*TRANSLATE, "-k", "timm")),
    Mutation("a replayed mixture rounds", "python/bale/transforms/_replaying.py",
             "np.clip(total, 0, 255).astype(np.uint8)", "np.clip(total + 0.5, 0, 255).astype(np.uint8)", (*REPLAY, "-k", "mixtures")),
]
