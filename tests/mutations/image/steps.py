"""Mutations of what steps make of pixels."""
from mutations.mutation import Mutation

PIXELS = ("python", "tests/python/transforms/test_transform_steps.py")
UNIT = ("transform", "steps:*")
COLOR = ("color", "*")

MUTATIONS = [
    Mutation("positions of warps are not those of pixel centers", "formats/image/warp/warp.cpp",
             "const double x_at = xs[i] - 0.5;", "const double x_at = xs[i] - 0.25;", PIXELS),
    Mutation("nearest warps start at the corner of a pixel", "formats/image/warp/warp_nearest.cpp",
             "to_fixed(m[2] + m[0] * 0.5 + m[1] * 0.5)", "to_fixed(m[2])", PIXELS),
    Mutation("a turned image is rounded down", "loader/transform/geometry/size_after.cpp",
             "std::ceil(high[0]) - std::floor(low[0])", "std::floor(high[0] - low[0])", PIXELS),
    Mutation("sines are not rounded to 15 digits", "loader/transform/geometry/size_after.cpp",
             "std::chars_format::fixed, 15)", "std::chars_format::fixed, 6)", PIXELS),
    Mutation("reflection repeats the edge", "formats/image/warp/border.cpp",
             "return place < size ? place : period - place;", "return place < size ? place : period - place + 1;", PIXELS),
    Mutation("the counts of a run are those of its start", "loader/transform/steps/color_run.cpp",
             "  if (counts_) counts_ = counts_after(change, *counts_);\n", "", UNIT),
    Mutation("vectors look the upper half of a table up in its lower half", "formats/image/color/point-inl.hpp",
             "look_up_rows<k_half>(table + k_half * 16, low, values)", "look_up_rows<k_half>(table, low, values)", UNIT),
    Mutation("pixels after the last whole vector stay", "formats/image/color/point-inl.hpp",
             "change_vectors(change, channel, values, count); i < count;",
             "change_vectors(change, channel, values, count); i + 16 < count;", UNIT),
    Mutation("contrast takes the mean of the pixels before the run", "loader/transform/steps/color_run.cpp",
             "mean_gray_after(changes_, pixels.rgb, pixels.count);\n  changes_.clear();",
             "mean_gray_after({}, pixels.rgb, pixels.count);", UNIT),
    Mutation("what is after the last pixel counts to the mean", "formats/image/color/luma-inl.hpp",
             "std::fill(plane + count, plane + k_block, 0);", "static_cast<void>(plane);", COLOR),
    Mutation("a hue that is an integer is not one less", "formats/image/color/hue_tables.hpp", "{88, 92, 96, 100, 104}",
             "{88, 92, 96, 100}", COLOR),
    Mutation("saturation does not care how float rounds", "formats/image/color/color_change.cpp",
             "constexpr float k_margin = 1.0F / 65536;", "constexpr float k_margin = 0;", COLOR),
    Mutation("the second of two lines is applied first", "formats/image/color/point-inl.hpp",
             "look_up_line(change.lines[1], look_up_line(change.lines[0], v))",
             "look_up_line(change.lines[0], look_up_line(change.lines[1], v))", COLOR),
    Mutation("smoothing rounds down", "formats/image/blur/smooth.cpp", "((sum + 6) * 5042) >> 16", "(sum * 5042) >> 16",
             PIXELS),
    Mutation("the box has no edge", "formats/image/blur/box_blur.cpp", "(left + beyond[i]) * edge_weight", "0", PIXELS),
    Mutation("lanczos is one lobe", "formats/image/resample/resample_filter.cpp", "sinc(x) * sinc(x / 3)", "sinc(x)",
             PIXELS),
    Mutation("unknown members are ignored", "loader/transform/json/json.cpp",
             "  if (known == given.size()) return one;", "  if (known != 0) return one;", PIXELS),
    Mutation("a step of an unfinished list runs on the next picture", "loader/transform/steps/step_runner.cpp",
             "  state_->colors.clear();", "  // nothing", UNIT),
    Mutation("images of any size are made", "loader/transform/geometry/size_after.cpp", "  if (fits && width * height <= k_max_pixels) return;",
             "  if (width > 0) return;", PIXELS),
]
