"""Mutations of what steps make of pixels."""
from mutations.mutation import Mutation

PIXELS = ("python", "tests/python/test_transform_steps.py")
UNIT = ("transform", "steps:*")

MUTATIONS = [
    Mutation("bilinear positions are not those of pixel centers", "formats/image/warp/warp.cpp",
             "void sample_bilinear(const Source& source, double x_in, double y_in, std::uint32_t* out) {\n"
             "  const Position x(x_in - 0.5);",
             "void sample_bilinear(const Source& source, double x_in, double y_in, std::uint32_t* out) {\n"
             "  const Position x(x_in - 0.25);", PIXELS),
    Mutation("nearest warps start at the corner of a pixel", "formats/image/warp/warp_nearest.cpp",
             "to_fixed(m[2] + m[0] * 0.5 + m[1] * 0.5)", "to_fixed(m[2])", PIXELS),
    Mutation("a turned image is rounded down", "loader/transform/draw/rotation.cpp",
             "std::ceil(high[0]) - std::floor(low[0])", "std::floor(high[0] - low[0])", PIXELS),
    Mutation("sines are not rounded to 15 digits", "loader/transform/draw/rotation.cpp",
             "std::chars_format::fixed, 15)", "std::chars_format::fixed, 6)", PIXELS),
    Mutation("reflection repeats the edge", "formats/image/warp/border.cpp",
             "return place < size ? place : period - place;", "return place < size ? place : period - place + 1;", PIXELS),
    Mutation("the counts of a run are those of its start", "loader/transform/steps/point_run.cpp",
             "counts[channel][tables[channel][value]] +=", "counts[channel][value] +=", PIXELS),
    Mutation("vectors look the upper half of a table up in its lower half", "formats/image/point/apply_tables.cpp",
             "look_up<k_half>(table + k_half * 16, low, values)", "look_up<k_half>(table, low, values)", UNIT),
    Mutation("pixels after the last whole vector stay", "formats/image/point/apply_tables.cpp",
             "  for (; i < num_pixels; ++i) {", "  for (; i + 16 < num_pixels; ++i) {", UNIT),
    Mutation("contrast takes the mean of the pixels before the run", "loader/transform/steps/point_run.cpp",
             "  const std::optional<Histogram> counts = counts_;\n  finish(picture);",
             "  const std::optional<Histogram> counts = counts_;\n  counts_ = counts;", PIXELS),
    Mutation("smoothing rounds down", "formats/image/blur/smooth.cpp", "((sum + 6) * 5042) >> 16", "(sum * 5042) >> 16",
             PIXELS),
    Mutation("the box has no edge", "formats/image/blur/box_blur.cpp", "(left + beyond[i]) * edge_weight", "0", PIXELS),
    Mutation("lanczos is one lobe", "formats/image/resample/resample_filter.cpp", "sinc(x) * sinc(x / 3)", "sinc(x)",
             PIXELS),
    Mutation("unknown members are ignored", "loader/transform/json/read_value.hpp",
             "  if (known == given.size()) return one;", "  if (known != 0) return one;", PIXELS),
    Mutation("a step of an unfinished list runs on the next picture", "loader/transform/steps/step_runner.cpp",
             "  state_->points = {};", "  // nothing", UNIT),
    Mutation("images of any size are made", "loader/transform/draw/step_limits.cpp", "  if (fits && width * height <= k_max_pixels) return;",
             "  if (width > 0) return;", PIXELS),
]
