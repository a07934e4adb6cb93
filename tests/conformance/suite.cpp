#include "bale/tests/conformance/suite.hpp"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "bale/formats/base/codec/zstd_codec.hpp"
#include "bale/formats/image/jpeg/planes/planes_field.hpp"
#include "bale/formats/registry/registry.hpp"
#include "bale/formats/shard/sample/key.hpp"
#include "bale/formats/shard/shard_name.hpp"
#include "bale/tests/support/text_file.hpp"

namespace bale::test {

ShardIndex Subject::pack(const std::string& stem, const std::vector<OwnedSample>& samples) const {
  IndexBuilder index;
  ShardPlan plan{.num_samples = samples.size()};
  for (const OwnedSample& sample : samples) {
    plan.key_bytes += sample.key.size();
    for (const OwnedField& field : sample.fields) {
      const bool compressed = layout_->compresses_fields &&
                              (field.name == "json" || least_codec(format_->field_rule, field.name) == Codec::zstd);
      const bool as_planes = has_planes_ && is_jpeg_field(field.name);
      auto id = index.field_id(field.name);
      if (!id) {
        id = index.add_field(field.name, as_planes ? Codec::planes : compressed ? Codec::zstd : Codec::none);
        plan.fields.push_back({.name = index.fields()[*id].stored_name()});
      }
      plan.fields[*id].num_samples += 1;
      plan.fields[*id].bytes += field.bytes.size();
    }
  }

  const auto writer = format_->create({.path = path(stem), .layout = layout_->name, .plan = plan});
  for (const OwnedSample& sample : samples) {
    const std::uint64_t i = index.add_sample(sample.key, sample.label);
    std::vector<FieldView> views;
    std::vector<std::string> names;
    std::vector<std::byte> compressed;
    std::vector<std::byte> planes;
    names.reserve(sample.fields.size());
    for (const OwnedField& field : sample.fields) {
      const std::uint32_t id = *index.field_id(field.name);
      names.push_back(index.fields()[id].stored_name());
      views.push_back({names.back(), as_bytes(field.bytes)});
      if (index.fields()[id].codec == Codec::zstd) {
        zstd_compress(views.back().bytes, 3, compressed);
        views.back().bytes = compressed;
      }
      if (index.fields()[id].codec == Codec::planes) {
        make_planes(views.back().bytes, planes);
        views.back().bytes = planes;
      }
      index.set_crc32c(i, id, crc32c(as_bytes(field.bytes)));
    }
    writer->add({.key = sample.key, .label = sample.label, .fields = views});
  }
  writer->finish(index);
  if (!keeps_bytes()) checksum_payload(index, path(stem), *format_, {}, {});
  const auto text = file_text(stem);
  const std::optional<Digest> digest = text ? std::optional(digest_file(path(stem))) : std::nullopt;
  ShardIndex made = ShardIndex::from_bytes(index.build(text ? text->size() : 0, digest, true, path(stem)), path(stem));
  for (const Sidecar& sidecar : layout_->sidecars) {
    if (!sidecar.always) continue;
    publish_file(sidecar_path(path(stem), *layout_, sidecar), as_bytes(sidecar.text(path(stem), made)));
  }
  return made;
}

ShardIndex Subject::scan(const std::string& stem) const {
  IndexBuilder index;
  format_->scan(path(stem), index);
  const auto text = file_text(stem);
  return ShardIndex::from_bytes(index.build(text ? text->size() : 0, std::nullopt, false, path(stem)), path(stem));
}

std::optional<std::string> Subject::file_text(const std::string& stem) const {
  if (!std::filesystem::exists(path(stem))) return std::nullopt;
  return slurp(path(stem));
}

void for_each_layout(const std::function<void(const Subject&)>& test) {
  std::vector<const Format*> all(formats().begin(), formats().end());
  all.push_back(&k_memory_format);
  for (const Format* format : all) {
    for (const Layout& layout : format->layouts) {
      DYNAMIC_SECTION(format->name << "." << layout.name) { test(Subject(*format, layout, false)); }
      if (!layout.compresses_fields) continue;
      DYNAMIC_SECTION(format->name << "." << layout.name << ", planes") { test(Subject(*format, layout, true)); }
    }
  }
}

Extent stored_extent(const ShardIndex& index, std::uint64_t i, std::string_view stored_name) {
  for (std::uint32_t f = 0; f < index.fields().size(); ++f) {
    if (index.fields()[f].stored_name() == stored_name) return index.extent(i, f);
  }
  return {};
}

std::string difference(const Subject& subject, const OwnedSample& expected, const SampleView& read) {
  if (read.key != expected.key) return fmt::format("key is \"{}\"", printable(read.key));
  if (read.label != expected.label) return fmt::format("label is {}", read.label);
  if (!subject.keeps_bytes()) return read.fields.empty() ? "no fields" : "";
  if (read.fields.size() != expected.fields.size()) return fmt::format("{} fields", read.fields.size());
  for (const OwnedField& field : expected.fields) {
    const FieldView* found = read.find(field.name);
    if (found == nullptr) return fmt::format("field {} is missing", field.name);
    if (as_text(found->bytes) != field.bytes) return fmt::format("field {} differs", field.name);
  }
  return "";
}

void check_shard(const Subject& subject, const Shard& shard, const std::vector<OwnedSample>& samples) {
  REQUIRE(shard.size() == samples.size());
  Scratch scratch;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    INFO("sample " << i);
    REQUIRE(difference(subject, samples[i], shard.read(i, scratch)).empty());
  }
}

std::string in_child(const std::function<std::string()>& work) {
  int ends[2];
  if (::pipe(ends) != 0) return "no pipe";
  const pid_t child = ::fork();
  if (child < 0) return "no child";
  if (child == 0) {
    std::string finding;
    try {
      finding = work();
    } catch (const std::exception& error) {
      finding = fmt::format("an exception of another type: {}", error.what());
    }
    finding.resize(std::min<std::size_t>(finding.size(), 4000));  // less than a pipe holds
    const bool told = ::write(ends[1], finding.data(), finding.size()) == static_cast<ssize_t>(finding.size());
    ::_exit(told ? 0 : 1);
  }
  ::close(ends[1]);
  std::string finding(4096, '\0');
  const ssize_t got = ::read(ends[0], finding.data(), finding.size());
  finding.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) return fmt::format("killed by signal {}", WTERMSIG(status));
  if (WEXITSTATUS(status) != 0) return fmt::format("exit status {}", WEXITSTATUS(status));
  return finding;
}

}  // namespace bale::test
