#include "bale/formats/tar/reader.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <mutex>

#include "bale/formats/core/error.hpp"
#include "bale/formats/tar/grouper.hpp"
#include "bale/formats/tar/odd_archive.hpp"
#include "bale/formats/tar/scanner.hpp"
#include "bale/formats/tar/stream.hpp"

namespace bale::tar {
namespace {

/// A better answer than "checksum does not match" for what people rename to .tar.
void refuse_other_containers(const Stream& stream, const std::string& path) {
  std::array<std::byte, 6> head{};
  stream.read_exact(0, MutableBytes(head).first(std::min<std::size_t>(head.size(), stream.size())));
  const std::string_view text = as_text(head);
  const bool zip = text.starts_with("PK\x03\x04") || text.starts_with("PK\x05\x06");
  const bool cpio = text.starts_with("07070") || text.starts_with("\xc7\x71") || text.starts_with("\x71\xc7");
  if (!zip && !cpio) return;
  throw Error(ErrorCode::unsupported, zip ? "a zip archive, not a tar" : "a cpio archive, not a tar",
              {.path = path, .hint = "unpack it and pack the folder"});
}

/// One look at an archive with our own parser; false if it is one for libarchive, `index` then being unfinished.
bool look_at_stream(const Stream& stream, const std::string& path, IndexBuilder& index, Survey& survey) {
  Scanner scanner(stream, path, index.notices());
  Grouper grouper(index, path, survey);
  Member member;
  const auto set_label = [&](std::uint64_t sample, const Place& place) {
    index.set_label(sample, parse_label(scanner.view(place.offset, static_cast<std::size_t>(place.size))));
  };
  for (;;) {
    const Scanner::Step step = scanner.next(member);
    if (step == Scanner::Step::odd) return false;
    if (step == Scanner::Step::end) break;
    const Place place{.offset = member.offset, .size = member.size};
    switch (member.kind) {
      case Member::Kind::file:
        if (const auto sample = grouper.add(member.name, place)) set_label(*sample, place);
        break;
      case Member::Kind::hard_link:
        if (const auto label = grouper.add_link(member.name, member.target)) set_label(label->sample, label->place);
        break;
      case Member::Kind::other:
        index.notices().add(member.name, member.why);
        break;
    }
  }
  grouper.finish();
  return true;
}

/// Scans with our own parser; false if the archive is one for libarchive, `index` then being unfinished.
bool scan_stream(const Stream& stream, const std::string& path, IndexBuilder& index) {
  std::array<std::byte, k_block_bytes> first;
  const bool opens_like_tar = stream.size() >= first.size() && (stream.read_exact(0, first), has_good_checksum(first));
  if (!opens_like_tar) refuse_other_containers(stream, path);
  Survey survey;
  if (!look_at_stream(stream, path, index, survey)) return false;
  if (!survey.wants_second_look()) return true;
  survey.begin_second_look();
  index = IndexBuilder();
  return look_at_stream(stream, path, index, survey);
}

/// Offsets are positions in the unpacked spill and tell nobody else anything.
void scan_odd(const std::string& path, IndexBuilder& index) {
  std::vector<Grouper::Label> labels;
  Survey survey = Survey::of_everything();
  Grouper grouper(index, path, survey);
  const auto stream = unpack_odd_archive(path, [&](const Member& member) {
    switch (member.kind) {
      case Member::Kind::file: {
        const Place place{.offset = member.offset, .size = member.size};
        if (const auto sample = grouper.add(member.name, place)) labels.push_back({*sample, place});
        break;
      }
      case Member::Kind::hard_link:
        if (const auto label = grouper.add_link(member.name, member.target)) labels.push_back(*label);
        break;
      case Member::Kind::other:
        index.notices().add(member.name, member.why);
        break;
    }
  });
  grouper.finish();
  for (const Grouper::Label& label : labels) {
    std::vector<std::byte> cls(static_cast<std::size_t>(label.place.size));
    stream->read_exact(label.place.offset, cls);
    index.set_label(label.sample, parse_label(cls));
  }
  for (std::uint32_t f = 0; f < index.fields().size(); ++f) index.set_located(f, false);
}

/// Reads through a Stream that is opened with the first byte wanted: inflating a shard whose keys and
/// labels are all that is asked for would be a waste.
class StreamPayload : public Payload {
 public:
  using Opener = std::function<std::unique_ptr<Stream>()>;
  StreamPayload(Opener opener, bool has_places) : opener_(std::move(opener)), has_places_(has_places) {}

  void read(std::uint64_t, std::uint32_t, const Extent& extent, MutableBytes out) const override {
    stream().read_exact(extent.offset, out);
  }
  std::optional<FileRange> locate(std::uint64_t, std::uint32_t, const Extent& extent) const override {
    if (!has_places_) return std::nullopt;
    return stream().locate(extent.offset, extent.length);
  }
  void will_need(const FileRange& range) const override {
    if (has_places_) stream().will_need(range);
  }

 private:
  const Stream& stream() const {
    std::call_once(opened_, [this] {
      try {
        stream_ = opener_();
      } catch (const Error& error) {
        if (error.code() != ErrorCode::damaged) throw;  // a lack of memory or descriptors may pass
        damage_ = error;
      }
    });
    if (damage_) throw Error(*damage_);
    return *stream_;
  }

  Opener opener_;
  bool has_places_;  // false: the stream can tell nobody where its bytes lie in the file
  mutable std::once_flag opened_;
  mutable std::unique_ptr<Stream> stream_;
  mutable std::optional<Error> damage_;  // kept: to find it again would cost a pass over the file for each sample
};

}  // namespace

void scan(const std::string& path, IndexBuilder& index) {
  const FileKind kind = kind_of_file(path);
  IndexBuilder found;
  if (needs_libarchive(kind) || !scan_stream(*open_stream(path, kind), path, found)) {
    found = IndexBuilder();
    scan_odd(path, found);
  }
  index = std::move(found);
}

std::unique_ptr<Payload> open(const std::string& path, const ShardIndex& index) {
  const auto is_odd = [](const FieldInfo& field) { return !field.located; };
  if (std::any_of(index.fields().begin(), index.fields().end(), is_odd)) {
    return std::make_unique<StreamPayload>([path] { return unpack_odd_archive(path); }, false);
  }
  const FileKind kind = kind_of_file(path);
  if (kind == FileKind::plain) return std::make_unique<FilePayload>(path);
  return std::make_unique<StreamPayload>([path, kind] { return open_stream(path, kind); }, kind == FileKind::zstd);
}

}  // namespace bale::tar
