// Verifies a shard, and computes the checksums of one that has none: the two operations that read everything.
#include <map>

#include <fmt/format.h>

#include "bale/formats/base/errors/error_reason.hpp"
#include "bale/formats/shard/layer.hpp"
#include "bale/formats/shard/sample/key.hpp"
#include "bale/formats/shard/shard.hpp"

namespace bale {
namespace {

using Report = std::function<void(const Damage&)>;

/// Whether an error is about the shard being verified, so that verification can continue. A file that the system cannot
/// read is as lost as one with damaged bytes.
bool is_finding(const Error& error) {
  return error.code() == ErrorCode::damaged || (error.code() == ErrorCode::io && concerns_one_file(error));
}

/// Reports where the new scan and the index disagree, at most a few times: after one shifted sample, all differ.
void compare_with_scan(const std::string& path, const ShardIndex& scanned, const ShardIndex& index, bool keys_in_file,
                       const Report& report) {
  constexpr int k_max_findings = 8;
  if (scanned.size() != index.size()) {
    report({.path = path, .what = fmt::format("holds {} samples, its index says {}", scanned.size(), index.size())});
    return;
  }
  std::map<std::string, std::uint32_t> scanned_ids;
  for (std::uint32_t f = 0; f < scanned.fields().size(); ++f) scanned_ids.emplace(scanned.fields()[f].stored_name(), f);
  std::vector<std::optional<std::uint32_t>> twins;
  for (const FieldInfo& field : index.fields()) {
    const auto twin = scanned_ids.find(field.stored_name());
    twins.push_back(twin == scanned_ids.end() ? std::nullopt : std::optional(twin->second));
  }
  int findings = 0;
  for (std::uint64_t i = 0; i < index.size() && findings < k_max_findings; ++i) {
    const std::string key(index.key(i));
    if (keys_in_file && scanned.key(i) != key) {
      report(
          {.path = path, .key = key, .what = fmt::format("the container calls it \"{}\"", printable(scanned.key(i)))});
      ++findings;
    }
    for (const auto& [f, extent] : index.row(i)) {
      const FieldInfo& field = index.fields()[f];
      if (!field.located) continue;
      const Extent found = twins[f] ? scanned.extent(i, *twins[f]) : Extent{};
      if (found.offset == extent.offset && found.length == extent.length) continue;
      report({.path = path,
              .key = key,
              .field = field.name,
              .offset = extent.offset,
              .what = "the container has the field elsewhere than its index says"});
      ++findings;
    }
  }
}

}  // namespace

struct Shard::Verification {
  const Report& report;
  std::uint64_t file_bytes = 0;
  bool size_matches = false;
  std::uint64_t num_findings = 0;
  NoticeLog notices{};

  void find(const Damage& damage) {
    ++num_findings;
    report(damage);
  }
};

void Shard::verify_field(std::uint64_t i, std::uint32_t field, const Extent& extent, Scratch& scratch,
                         Verification& state) const {
  try {
    const auto range = is_in_container(extent) ? payload_->locate(i, field, extent) : std::nullopt;
    if (range && range->offset > state.file_bytes) {
      // Nothing to allocate: the file ends before the field begins.
      throw Error(ErrorCode::damaged, "lies beyond the end of the file", {.offset = range->offset});
    }
    load_field(i, field, extent, scratch.bytes(extent.length), scratch, FieldForm::original);
  } catch (const Error& error) {
    if (!is_finding(error)) throw;
    state.find({.path = path_,
                .key = std::string(index_->key(i)),
                .field = index_->fields()[field].name,
                .offset = error.context().offset ? error.context().offset : std::optional(extent.offset),
                .what = error_reason(error),
                .code = code_of_finding(error)});
  }
}

/// Compares a new scan of the container with the index.
void Shard::verify_scan(Verification& state) const {
  const bool keys_in_file = keeps_keys_in_file(*format_);
  try {
    const ShardIndex scanned = scan_shard(path_, *format_);
    for (const Warning& warning : scanned.notices().warnings()) {
      if (warning.kind == WarningKind::defect)
        state.report({.path = path_, .offset = warning.offset, .what = warning.what});
    }
    state.notices = scanned.notices();
    state.notices.drop_defects();
    compare_with_scan(path_, scanned, *index_, keys_in_file, [&](const Damage& damage) { state.find(damage); });
  } catch (const Error& error) {
    if (is_lack_of_resources(error) || error.code() == ErrorCode::interrupted) throw;
    const bool is_unread = error.code() == ErrorCode::unsupported;
    state.find({.path = path_,
                .offset = error.context().offset,
                .what = error.message(),
                .code = is_unread ? ErrorCode::unsupported : ErrorCode::damaged});
  }
}

/// Reports damage outside every sample. The container's own checksums may locate it.
void Shard::report_other_damage(const Digest& found, const Digest& expected, const Verification& state) const {
  if (format_->check != nullptr) {
    try {
      format_->check(path_);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::damaged) throw;
      state.report({.path = path_, .offset = error.context().offset, .what = error.message()});
      return;
    }
  }
  state.report({.path = path_,
                .what = fmt::format("digest is {}, its index says {}: bytes outside every sample's data are damaged",
                                    digest_text(found), digest_text(expected))});
}

NoticeLog Shard::verify(const Report& report, const std::function<void(std::uint64_t)>& on_progress) const {
  Verification state{.report = report, .file_bytes = File::open_read(path_).size()};
  state.size_matches = state.file_bytes == index_->shard_bytes();
  if (!state.size_matches) {
    report({.path = path_,
            .what = fmt::format("file has {} bytes, its index says {}", state.file_bytes, index_->shard_bytes())});
  }
  Scratch scratch;
  for (std::uint64_t i = 0; i < size(); ++i) {
    std::uint64_t bytes = 0;
    for (const auto& [field, extent] : index_->row(i)) {
      bytes += extent.length;
      verify_field(i, field, extent, scratch, state);
    }
    if (on_progress) on_progress(bytes);
  }

  const std::optional<Digest> expected = index_->digest();
  std::optional<Digest> found;
  try {
    if (state.size_matches && expected) found = digest_file(path_);
    const bool is_other = state.size_matches && expected && found != expected && state.num_findings == 0;
    // Of a remote file: perhaps it was damaged on its way, or in the cache.
    if (is_other && File::open_read(path_).forget(0, state.file_bytes)) found = digest_file(path_);
  } catch (const Error& error) {
    if (!is_finding(error)) throw;
    if (state.num_findings == 0)
      report({.path = path_,
              .offset = error.context().offset,
              .what = error_reason(error),
              .code = code_of_finding(error)});
    return {};  // the readable samples were compared; nothing else can be
  }
  const bool digest_matches = state.size_matches && found == expected;
  if (digest_matches || format_->scan_survives_damage) verify_scan(state);
  if (state.size_matches && !digest_matches && state.num_findings == 0) report_other_damage(*found, *expected, state);
  return std::move(state.notices);
}

void checksum_payload(IndexBuilder& builder, const std::string& path, const Format& format, const LookAtImage& look,
                      const std::function<void(std::uint64_t)>& on_progress) {
  const std::uint64_t file_bytes = File::open_read(path).size();
  const Shard shard =
      Shard::open(path, format, ShardIndex::from_bytes(builder.build(file_bytes, std::nullopt, false, path), path), {});
  Scratch scratch;
  for (std::uint64_t i = 0; i < shard.size(); ++i) {
    std::uint64_t bytes = 0;
    const SampleView sample = shard.read(i, scratch);
    for (const FieldView& field : sample.fields) {
      builder.set_crc32c(i, *builder.field_id(field.name), crc32c(field.bytes));
      bytes += field.bytes.size();
    }
    const FieldView* const image = look ? sample.find_image() : nullptr;
    if (image != nullptr) {
      const ImageEntry entry = look(image->bytes);
      if (entry.width != 0) builder.set_dimensions(i, entry.width, entry.height);
      builder.set_condition(i, entry.condition);
    }
    if (on_progress) on_progress(bytes);
  }
}

std::vector<std::byte> index_shard(const std::string& path, const Format& format, const LookAtImage& look,
                                   const std::function<void(std::uint64_t)>& on_progress, NoticeLog& notices,
                                   const std::function<void(IndexBuilder& scanned)>& amend) {
  IndexBuilder builder;
  format.scan(path, builder);
  if (amend) amend(builder);
  notices.merge(builder.notices(), path);
  checksum_payload(builder, path, format, look, on_progress);
  return builder.build(File::open_read(path).size(), digest_file(path), true, path, digest_file_ends(path));
}

}  // namespace bale
