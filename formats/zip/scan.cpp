#include "bale/formats/zip/zip.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/base/codec/inflation.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/container/reading/scanned_fields.hpp"
#include "bale/formats/shard/key.hpp"
#include "bale/formats/shard/sample.hpp"
#include "bale/formats/zip/directory.hpp"
#include "bale/formats/zip/member.hpp"

namespace bale::zip {
namespace {

class Scan {
 public:
  Scan(const File& file, IndexBuilder& index)
      : window_(file), index_(index), members_(read_members(file, index.notices())), budget_() {}

  void run() {
    forget_repeated();
    for (std::uint64_t i = 0; i < members_.size(); ++i) add_image(members_[i]);
    if (index_.size() == 0) {
      const auto file = std::find_if_not(members_.begin(), members_.end(), is_directory);
      const std::string such =
          file == members_.end() ? "" : fmt::format(": its members are such as {}", printable(file->name));
      const auto parts = file == members_.end() ? std::nullopt : split_member_name(file->name);
      const bool is_of_arrays = parts && parts->extension == k_array_field;  // numpy.savez()
      throw Error(
          ErrorCode::unsupported, "an archive without images" + such,
          {.path = window_.file().path(),
           .hint = is_of_arrays ? "in Python: `arrays = numpy.load(FILE)`, and `bale.pack(zip(arrays[\"images\"], "
                                  "arrays[\"labels\"]), DST)` with its own names"
                                : "bale reads archives of image files, and ZIP archives of these; unpack this one, "
                                  "and pack what is in it"});
    }
    for (const Member& member : members_) add_other(member);
    for (std::uint32_t field = 0; field < is_made_.size(); ++field) {
      index_.set_located(field, !is_made_[field]);
    }
  }

 private:
  /// If members share a name, the last one wins, as in every unzip program.
  void forget_repeated() {
    std::unordered_map<std::string_view, std::size_t> last;
    for (std::size_t i = 0; i < members_.size(); ++i) {
      const auto [at, is_new] = last.emplace(members_[i].name, i);
      if (is_new) continue;
      index_.notices().add(members_[at->second].name, "earlier member of a repeated name");
      repeated_.resize(members_.size());
      repeated_[at->second] = true;
      at->second = i;
    }
  }

  bool is_repeated(const Member& member) const {
    const auto at = static_cast<std::size_t>(&member - members_.data());
    return !repeated_.empty() && repeated_[at];
  }

  static bool is_directory(const Member& member) { return member.name.ends_with('/'); }

  void add_image(const Member& member) {
    const auto name = split_name(member.name);
    if (!name || is_repeated(member)) return;
    const std::string field = field_name(name->extension);
    if (!is_image_field(field)) return;
    const std::uint64_t sample = index_.add_sample(keys_.take(encode_key(name->stem), index_.size()));
    samples_.emplace(name->stem, sample);
    set_field(sample, field, member);
  }

  /// A file next to an image, with its name, is a field of it.
  void add_other(const Member& member) {
    if (is_directory(member) || is_repeated(member)) return;
    const auto name = split_name(member.name);
    const std::string field = name ? field_name(name->extension) : std::string();
    if (is_image_field(field)) return;
    const auto leave_out = [&](std::string_view why) { index_.notices().add(member.name, why); };
    if (!name) return leave_out("hidden file or file without an extension");
    const auto sample = samples_.find(name->stem);
    if (sample == samples_.end()) return leave_out("file that belongs to no image");
    if (!member.is_readable()) return leave_out(member.why_unreadable());
    const auto id = index_.stored_field_id(field);
    if (id && index_.extent(sample->second, *id).present()) return leave_out("file whose field another file has taken");
    set_field(sample->second, field, member);
  }

  void set_field(std::uint64_t sample, const std::string& field, const Member& member) {
    const std::string& path = window_.file().path();
    if (member.is_readable() && !budget_.take(member.stored_bytes, member.bytes)) {
      throw Error(
          ErrorCode::damaged,
          fmt::format(
              "member \"{}\" of {} bytes would expand to {}; ratios above {}:1 are rejected for outputs over {} bytes",
              printable(member.name), member.stored_bytes, member.bytes, k_max_inflation, k_inflation_allowance),
          {.path = path, .offset = member.header});
    }
    set_scanned_field(index_, sample, {.name = field}, data_offset(window_, member), member.bytes,
                      {.path = path, .offset = member.header});
    const std::uint32_t id = *index_.stored_field_id(field);
    if (is_made_.size() <= id) is_made_.resize(id + 1);
    if (!member.is_readable() || member.method != static_cast<std::uint16_t>(Method::stored)) {
      is_made_[id] = true;
    } else if (member.bytes != member.stored_bytes) {
      throw Error(ErrorCode::damaged, fmt::format("member \"{}\" has two sizes", printable(member.name)),
                  {.path = path, .offset = member.header});
    }
  }

  FileWindow window_;
  IndexBuilder& index_;
  const std::vector<Member> members_;
  std::vector<bool> repeated_;  // empty if none is
  InflationBudget budget_;      // of the whole archive
  ForeignKeys keys_;
  std::unordered_map<std::string_view, std::uint64_t> samples_;  // by stem; the first of images with one stem
  std::vector<bool> is_made_;                                    // by field: some of it is not a byte range of the file
};

}  // namespace

void scan(const std::string& path, IndexBuilder& index) {
  const File file = File::open_read(path);
  Scan(file, index).run();
}

}  // namespace bale::zip
