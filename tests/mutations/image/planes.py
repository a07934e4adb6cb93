"""Mutations of JPEG planes."""
from mutations.mutation import Mutation

FIELD = "formats/image/jpeg/planes/jpeg_planes.cpp"
DECODER = "formats/image/jpeg/planes/plane_decoder.cpp"
KERNELS = "formats/image/jpeg/planes/kernels/plane_kernels.cpp"
SCANS = "formats/image/jpeg/transcode/progressive_encoder.cpp"
RUNS_END = ("image_planes", "*runs of blocks*")
PASSED_ON = ("formats/image/jpeg/planes/planes_field.cpp", ("image_planes", "*what was restored last*"))
RESTORED = ("image_planes", "*or the original comes back")
RIGHT_PIXELS = ("image_planes", "*or the pixels are right")

MUTATIONS = [
    Mutation("the header of planes is not compared with its checksum", FIELD,
             "if (!is_checked && crc32c(before) != checksum)", "if (false)", RIGHT_PIXELS),
    Mutation("a row of planes is not compared with its checksum", FIELD,
             "if (crc32c(row_bytes(row)) != checksums_[row])", "if (false)", RIGHT_PIXELS),
    Mutation("checksums of planes are believed without being asked to", FIELD,
             "is_checked_ = is_checked;", "is_checked_ = true;", RIGHT_PIXELS),
    Mutation("what planes restore is not compared with the original's checksum", FIELD,
             "header_.original_bytes() || crc32c(out) != header_.original_crc32c())", "header_.original_bytes())",
             ("image_planes", "*a bit of what is stored as it is*")),
    Mutation("planes may end before their last row does", FIELD,
             "  if (ends_.back() + tail_bytes + k_plane_padding != reader.rest().size()) fail(\"its size is wrong\");\n", "",
             ("image_planes", "*every flipped bit and every cut*")),
    Mutation("the classes of blocks take any memory", FIELD,
             "    if (size > (ends_.back() - ends_.front()) * 16) fail(\"the number of blocks is wrong\");\n", "",
             ("image_planes", "*cannot ask for more memory*")),
    Mutation("planes are stored without restoring them first", FIELD,
             "restorer_.restore(out_, restored_);", "restored_.assign(jpeg.begin(), jpeg.end());",
             ("image_planes", "*bits that an encoder need not write*")),
    Mutation("what follows an image is not compared with its checksum", FIELD,
             "if (crc32c(form_.tail) != tail_crc32c_)", "if (false)", ("image_planes", "*a bit of what follows*")),
    Mutation("bytes that were filled with zeros are not", FIELD,
             "form_.fills_with_zeros = fills == 1;", "form_.fills_with_zeros = false;", ("image_planes", "*filled with zeros come back*")),
    Mutation("what follows an image makes no other version", FIELD,
             "form.tail.empty() && !form.fills_with_zeros", "!form.fills_with_zeros", ("image_planes", "*bytes after the end*")),
    Mutation("the planes of a row need not end where it says", DECODER,
             "if (bytes_for(state.next[i] - begins[i]) != sizes[i])", "if (bytes_for(state.next[i] - begins[i]) != sizes[i] && false)",
             ("image_planes", "*planes that it does not have*")),
    Mutation("blocks outside a region are passed without those of their bits that are above the second", KERNELS,
             "next[j] += count + reaching;", "next[j] += count;", ("image_planes", "*regions have the pixels*")),
    Mutation("the DC of a group does not go on from the one before it", KERNELS,
             "before = hn::Broadcast<7>(sum);", "", ("image_planes", "*comes back to the byte*")),
    Mutation("a progressive JPEG makes no other version", FIELD,
             "{.is_progressive = version == k_version_progressive}", "{}", ("image_planes", "*comes back to the byte*")),
    Mutation("the scans of planes need not give every bit", "formats/image/jpeg/decode/progressive_scans.hpp",
             "return next == Next::end && is_complete_to(64);", "return next == Next::end;", ("image_planes", "*leave out a bit*")),
    Mutation("progressive JPEGs of any size take memory", FIELD,
             "frame->num_blocks() <= k_max_progressive_blocks", "k_max_progressive_blocks > 0",
             ("image_planes", "*number of blocks of progressive JPEGs*")),
    Mutation("a code that a scan does not have is written", SCANS,
             "return from.has_every_code;", "return true;", ("image_planes", "*leave out a bit*")),
    Mutation("a run of blocks has no longest length", SCANS, "run == k_longest_run || ", "", RUNS_END),
    Mutation("one correction more waits for the end of a run", SCANS, "k_most_corrections = 937", "k_most_corrections = 938", RUNS_END),
    Mutation("corrections are written again after sixteen zeros", SCANS, "passed &= ~to_sixteenth;", "", RUNS_END),
    Mutation("scans of one component have the blocks that fill MCUs", SCANS,
             "row < plane.mcu_down && mcu_row_ * plane.mcu_down + row < plane.real_down;", "row < plane.mcu_down;",
             ("image_planes", "*comes back to the byte*")),
    Mutation("every scan has the restart interval of the first", "formats/image/jpeg/decode/progressive_scans.cpp",
             "restart_interval_ = in.be16(2);", "", ("image_planes", "*comes back to the byte*")),
    Mutation("a run of blocks goes on after a restart", SCANS,
             "make_room();\n  end_run();", "make_room();", ("image_planes", "*comes back to the byte*")),
    Mutation("an image as large as the last gets its planes", PASSED_ON[0],
             "std::memcmp(jpeg.data(), last.original.data(), jpeg.size()) != 0", "false", PASSED_ON[1]),
    Mutation("planes that were read are made again", PASSED_ON[0],
             "was_restored(jpeg) ?", "was_restored(jpeg) && false ?", PASSED_ON[1]),
    Mutation("what was read as it is counts as planes", PASSED_ON[0],
             "return !header.is_verbatim();", "return true;", PASSED_ON[1]),
]
