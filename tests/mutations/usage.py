"""Mutations of what a first hour is made of: kept batches on a device, masks, names, advice."""
from mutations.mutation import Mutation

PAIRS = ("python", "tests/python/test_pairs.py")

MUTATIONS = [
    Mutation("memory of batches beyond hold is never freed", "loader/cuda/device_buffer_pool.cpp",
             "free_.size() > num_standing_;", "free_.size() > 1000;", ("cuda", "Any number of batches on a device*")),
    Mutation("memory of batches beyond hold is freed in every step", "loader/cuda/device_buffer_pool.cpp",
             "free_.size() > num_standing_;", "!free_.empty();", ("cuda", "A caller that always holds more*")),
    Mutation("memory of a batch is freed while work still uses it", "loader/cuda/device_buffer_pool.cpp",
             "[](const auto& use) { return use->done(); }", "[](const auto&) { return true; }",
             ("cuda", "Any number of batches on a device*")),
    Mutation("labels keep their batch on the device", "python/bale/torch/loader.py",
             "        labels = labels.clone()  #", "        #",
             ("python", "tests/python/test_python_cuda.py", "-k", "all_tensors_may_be_kept")),
    Mutation("a batch ends with the GIL", "python/bindings/let_go.hpp",
             "  const WithoutGil without_gil;\n", "",
             ("python", "tests/python/test_python_let_go.py", "-k", "other_threads")),
    Mutation("the shortest extension of --pair wins", "writer/source/pair_rules.cpp",
             "std::size_t dot = name.find('.', 1);", "std::size_t dot = name.rfind('.');", PAIRS),
    Mutation("a mask that is missing elsewhere has no name", "writer/source/file_source.cpp",
             'refuse(fmt::format("at {}", printable(path)));', 'refuse("there");', PAIRS),
    Mutation("masks in another tree are no part of the fingerprint", "writer/source/file_source.cpp",
             "if (listing_.companion_is_distant[which])", "if (false)", PAIRS),
    Mutation("a suffix stays in the names of masks", "writer/source/pair_path.cpp",
             "return text.ends_with(suffix) ?", "return suffix.empty() ?", PAIRS),
    Mutation("an image is resized without its mask", "writer/image_edits.cpp",
             "(!is_image_field(extension) && !has_pixels)) continue;", "(is_image_field(extension) && !has_pixels)) continue;", PAIRS),
    Mutation("URLs in a list of shards are looked for as files", "reader/shard_spec.cpp",
             "    require_local_name(part, NameUse::dataset);\n", "", ("python", "tests/python/test_remote_names.py")),
    Mutation("a busy machine is judged", "tools/measure/tune_verdict.cpp",
             "if (bound_of(best, read_images_per_s) == Bound::other_programs)",
             "if (bound_of(best, read_images_per_s) == Bound::cpu)", ("tools", "no setting is*")),
    Mutation("samples that nothing could decode are scored", "tools/measure/tune_verdict.cpp",
             "  if (best.result.images == 0) return NoVerdict::nothing_decoded;\n", "", ("tools", "no setting is*")),
    Mutation("cores that the loader did not use are counted as needed", "tools/measure/doctor_verdict.cpp",
             "figures.setting.cpu_share * figures.cores;", "1.0 * figures.cores;", ("tools", "the doctor says how long*")),
]
