"""Ways to break the code that some test must notice; scripts/check_mutations.py applies them."""
from typing import NamedTuple


class Mutation(NamedTuple):
    name: str
    file: str
    old: str  # occurs once in the file
    new: str
    test: tuple  # ("python", file, option...), or a C++ test program's name and its arguments


FLIPS = ("conformance", "every flipped bit of*")
INDEX = ("conformance", "every flipped bit and*")
POWER = ("python", "tests/python/test_power_loss.py", "-k", "tar.plain")

MUTATIONS = [
    # Damage that is not looked for.
    Mutation("field checksums are not compared", "formats/core/shard.cpp",
             "if (options_.verify_checksums && index_->has_checksums() &&", "if (options_.verify_checksums && false &&",
             FLIPS),
    Mutation("the shard's digest is not compared", "formats/core/shard_verify.cpp",
             "if (size_matches && !digest_matches && findings == 0)", "if (false)", FLIPS),
    Mutation("a damaged container loses the sample's name", "formats/core/shard.cpp",
             "    } catch (const Error&) {\n      // The container", "    } catch (const std::bad_alloc&) {\n      // The container",
             ("core", "Where a container cannot say*")),
    Mutation("the index's body is not checked (labels, keys)", "formats/core/shard_index.cpp",
             "if (crc32c(bytes_.subspan(sizeof(Header))) != header.body_crc32c)", "if (false)", INDEX),
    Mutation("the index's header is not checked", "formats/core/shard_index.cpp",
             "if (crc32c(bytes_.first(offsetof(Header, header_crc32c))) != header.header_crc32c)", "if (false)", INDEX),
    Mutation("the size of a shard is not compared", "formats/core/shard_verify.cpp",
             "const bool size_matches = file_bytes == index_->shard_bytes();", "const bool size_matches = true;",
             ("conformance", "a shard that was cut short*")),
    Mutation("the manifest's checksum is not compared", "formats/core/manifest.cpp",
             "if (has_checksum) check_seal(text, path);", "", ("vocabulary", "*manifest*")),
    Mutation("a manifest may lack its checksum", "formats/core/manifest.cpp",
             "if (!has_checksum && root.size() != k_members_without_checksum + num_optional)", "if (false)", ("vocabulary", "*manifest*")),
    Mutation("header checksums of tar are ignored", "formats/tar/header_parse.cpp",
             'if (!has_good_checksum(block)) return "header checksum does not match";', "", ("tar",)),
    Mutation("an image's size is not looked at before decoding", "formats/image/decode.cpp",
             "  if (width > max_pixels / height) {", "  if (false) {", ("image",)),
    Mutation("entry points of other bytes are believed", "formats/image/baseline_entry_points.cpp",
             " || owner->image_crc32c != kept.image_crc32c", "", ("image_baseline", "Records that are damaged*")),
    Mutation("entry points are used for bytes that nobody compared", "loader/worker/worker.cpp",
             "if (!config_.verify_checksums || !index", "if (!index", ("loader", "Images that changed since*")),
    Mutation("a JPEG's restart markers are not counted", "formats/image/baseline_entropy.cpp",
             "  if (stream.segment.marker() != k_rst0 + stream.next_restart) return false;\n", "", ("image_baseline",)),
    Mutation("a JPEG's coefficients may go beyond their block", "formats/image/baseline_entropy.cpp",
             "  if (place >= k_block_end) return false;\n", "", ("image_baseline",)),
    Mutation("of two JPEGs side by side, one is taken for done with the other", "formats/image/baseline_decoder.cpp",
             "  good[1] = good[1] && b.finish();\n", "", ("image_baseline", "Images that are decoded*")),
    # What must be safe before what.
    Mutation("a shard is renamed before its fsync", "writer/shard_job.cpp", "    sync_path(job_.staged_path);\n", "", POWER),
    Mutation("a shard is published before its journal line is safe", "writer/journal.cpp",
             "  file_.write_at(end_, as_bytes(line));\n  file_.sync();", "  file_.write_at(end_, as_bytes(line));", POWER),
    Mutation("indexes, entry points and the manifest are renamed before their fsync", "formats/core/file.cpp",
             "  file.write_at(0, bytes);\n  file.sync();", "  file.write_at(0, bytes);", POWER),
    Mutation("the directory is not synced after a rename", "formats/core/file.cpp",
             "  sync_directory(parent_directory(to));\n", "",
             ("python", "tests/python/test_power_loss.py", "-k", "index")),
    Mutation("a failed fsync is tried again", "formats/core/file.cpp",
             "if (::fsync(fd_) != 0) throw_errno", "if (::fsync(fd_) != 0 && ::fsync(fd_) != 0) throw_errno",
             ("python", "tests/python/test_bad_input.py", "-k", "fsync")),
    Mutation("resuming believes what the journal says", "writer/packer.cpp",
             "    const ShardIndex index = ShardIndex::load(index_path(path));\n",
             "    const ShardIndex index = ShardIndex::load(index_path(path));\n    if (index.size() != ~0U) return true;\n",
             ("packer",)),
    Mutation("a source that changes while it is read is taken", "writer/source/steady_file.cpp",
             "  return after.st_size == info_.st_size && mtime_ns(after) == mtime_ns(info_);", "  return true;", ("source",)),
    # The stream of batches.
    Mutation("a slot is reused while its batch is held", "loader/session.cpp",
             "  open_.pop_front();\n  rows_passed_ +=", "  free_slots_.push_back(batch.slot);\n  open_.pop_front();\n  rows_passed_ +=",
             ("loader", "-a", "Batches may be kept*")),
    Mutation("draws depend on the worker", "loader/worker/worker.cpp",
             "{\n      .seed = config_.seed, .epoch", "{\n      .seed = config_.seed + number_, .epoch",
             ("loader", "The stream is the same*")),
    Mutation("a resumed epoch begins a batch late", "reader/order/rank_plan.cpp",
             "return start_ + batches * share_", "return start_ + (batches + 1) * share_", ("order",)),
    Mutation("padding is off by one", "reader/order/rank_plan.cpp", "(dealt - left) % epoch_size_",
             "(dealt - left + 1) % epoch_size_", ("order",)),
    Mutation("the last rows of an epoch are left out", "reader/order/rank_plan.cpp",
             "num_rows_ = divide_up(left, share.world_size);", "num_rows_ = left / share.world_size;", ("order",)),
    # Workers.
    Mutation("a sample that ends its worker is never quarantined", "loader/session_faults.cpp",
             "constexpr std::uint32_t k_max_kills = 2;", "constexpr std::uint32_t k_max_kills = 2'000'000;",
             ("loader", "A sample that ends its worker twice*")),
    Mutation("the rows of a dead worker are not given to others", "loader/session_faults.cpp",
             "  if (row.kills < k_max_kills && row.interruptions < k_max_interruptions) {\n    return set_phase(RowPhase::free);",
             "  if (row.kills < k_max_kills && row.interruptions < k_max_interruptions) {\n    return;",
             ("loader", "A crash is survived*")),
    Mutation("a row at which a worker died is filled beside another", "loader/worker/worker.cpp",
             "return row.kills + row.interruptions > 0;", "return row.kills + row.interruptions > 1000;",
             ("loader", "A sample that ends its worker twice*")),
    Mutation("stalled workers are left alone", "loader/worker/process_pool.cpp",
             "    ::kill(process.pid, SIGKILL);\n  }\n}", "  }\n}", ("loader", "A worker that hangs*")),
    Mutation("a skipped sample is not told", "loader/session_faults.cpp",
             "      bad_samples_.push_back(describe(batch, i, BadSample::Action::skipped));\n", "",
             ("loader", "*ledger*")),
    Mutation("a row of zeros is passed for a sample", "loader/session.cpp",
             "  ring_.mask(slot)[row] = 0;\n  ring_.labels(slot)[row] = k_no_label;\n  if (", "  if (",
             ("loader", "*ledger*")),
    # Others' files.
    Mutation("entry points are nobody's", "writer/shard_job.cpp",
             "      finished.shard.sidecars.push_back(entry_path(job_.shard.file));\n", "",
             ("python", "tests/python/test_entry_points.py", "-k", "overwrite")),
    Mutation("extract follows links", "tools/safe_directory.cpp", "O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC",
             "O_RDONLY | O_DIRECTORY | O_CLOEXEC", ("python", "tests/python/test_cli.py", "-k", "extract")),
    Mutation("--overwrite follows a journal anywhere", "writer/journal.cpp", "  check_names(finished);\n", "",
             ("python", "tests/python/test_bad_input.py", "-k", "overwrite")),
    Mutation("--overwrite follows a journal's last files anywhere", "writer/journal.cpp",
             "        check_paths(content.last_files);\n", "",
             ("python", "tests/python/test_bad_input.py", "-k", "overwrite")),
    Mutation("--overwrite removes whatever is in the way", "writer/destination.cpp", "  if (!exists(file)) return;\n  throw",
             "  if (!exists(file) || ::unlink(file.c_str()) == 0) return;\n  throw",
             ("python", "tests/python/test_bad_input.py", "-k", "overwrite")),
]
