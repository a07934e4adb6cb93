"""Mutations of what packing in parts promises."""
from mutations.mutation import Mutation

SCALE = ("python", "tests/python/writer/test_scale_out.py", "-k")

MUTATIONS = [
    Mutation("a plan takes any option of a format", "writer/run/plan_pack.cpp",
             "  note_sizing(options, plan);\n  try_format_options(options, ",
             "  note_sizing(options, plan);\n  if (options.jobs > 999) try_format_options(options, ",
             ("packer", "a plan and a preview*")),
    Mutation("a file that changed since the plan is packed", "writer/source/rows/file_source.cpp",
             "  if (is_saved_) refuse_changed(\"changed\", path);\n", "", (*SCALE, "changed_since_the_plan")),
    Mutation("a changed file is skipped as a bad sample", "writer/shard/shard_job.cpp",
             "      if (job_.fixed_source && error.code() == ErrorCode::changed) throw;\n", "",
             (*SCALE, "changed_since_the_plan")),
    Mutation("a part believes a record without reading the shard", "writer/run/part_directory.cpp",
             "  return bale::is_intact(moves_of(options_, slot), options_, record.finished, {}, depth);\n", "  return true;\n",
             (*SCALE, "compared_and_not_written_again")),
    Mutation("a merge takes the first of two records", "writer/run/run.cpp",
             "found->second.size() == 1 &&", "", (*SCALE, "wrote_other_bytes")),
    Mutation("rows of a plan are not compared with their digest", "writer/plan/plan_file.cpp",
             "  if (digest.digest() != entry.digest || num_rows != entry.num_rows) refuse(\"rows of the plan are damaged\");\n", "",
             (*SCALE, "damaged_plans")),
    Mutation("two merges at once get in each other's way", "writer/run/part.cpp",
             "    if (!take_published(opened, *store, run, report)) throw;", "    throw;", (*SCALE, "overtakes")),
    Mutation("a run begins beside parts", "writer/journal/journal.cpp", "    if (!name.starts_with(k_parts_prefix)) continue;\n", "    continue;\n",
             (*SCALE, "only_one_thing")),
]
