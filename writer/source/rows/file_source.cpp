#include "bale/writer/source/rows/file_source.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/text/human.hpp"
#include "bale/formats/image/image.hpp"
#include "bale/formats/image/image_check.hpp"
#include "bale/formats/shard/sample/key.hpp"

namespace bale {
namespace {

[[noreturn]] void refuse_changed(std::string_view what, const std::string& path) {
  throw Error(ErrorCode::changed, fmt::format("{} since the plan was made", what),
              {.path = path, .hint = "make a new plan, for a new destination"});
}

/// If it is not, something may still be writing to it.
bool is_as_listed(const SteadyFile& file, const FileRow& row) {
  return file.size() == row.bytes && file.changed_ns() == row.mtime_ns;
}

}  // namespace

std::uint16_t FileListing::image_field(std::string_view extension) {
  const std::string name = field_name(extension);
  const auto found = std::find(image_fields.begin(), image_fields.end(), name);
  if (found == image_fields.end()) {
    image_fields.push_back(name);
    return static_cast<std::uint16_t>(image_fields.size() - 1);
  }
  return static_cast<std::uint16_t>(found - image_fields.begin());
}

void FileListing::name_companions(const PairRules& pair) {
  for (std::size_t which = 1; which < pair.size(); ++which) {
    companion_fields.push_back(pair.fields()[which]);
    companion_is_distant.push_back(pair.path(which) != nullptr);
  }
}

FileSource::FileSource(FileListing listing, const std::vector<std::string>& extra_fields)
    : listing_(std::move(listing)), num_extra_(extra_fields.size()) {
  const auto& samples = listing_.rows.samples();
  has_labels_ = std::any_of(samples.begin(), samples.end(), [](const FileRow& row) { return row.label != k_no_label; });
  name_fields(extra_fields);
  examine_files();
}

FileSource::FileSource(FileListing listing, Saved saved)
    : listing_(std::move(listing)),
      num_extra_(saved.has_extra ? 1 : 0),
      has_labels_(saved.has_labels),
      is_saved_(true) {
  name_fields(std::vector<std::string>(num_extra_, "json"));
}

void FileSource::name_fields(const std::vector<std::string>& extra_fields) {
  fields_ = listing_.image_fields;
  fields_.insert(fields_.end(), listing_.companion_fields.begin(), listing_.companion_fields.end());
  label_field_ = static_cast<std::uint32_t>(fields_.size());
  if (has_labels_) fields_.emplace_back(k_label_field);
  fields_.insert(fields_.end(), extra_fields.begin(), extra_fields.end());
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    if (std::find(fields_.begin(), fields_.begin() + static_cast<std::ptrdiff_t>(i), fields_[i]) ==
        fields_.begin() + static_cast<std::ptrdiff_t>(i)) {
      continue;
    }
    const auto& paired = listing_.companion_fields;
    const bool is_paired = std::find(paired.begin(), paired.end(), fields_[i]) != paired.end();
    throw Error(ErrorCode::invalid_argument, fmt::format("two sources for the field \"{}\"", printable(fields_[i])),
                {.hint = is_paired ? "leave its extension out of `pair`" : "give one of its `annotations` only"});
  }
}

void FileSource::describe(std::uint64_t i, SourceSample& out) const {
  const FileRow& image = row(i);
  out.key.clear();
  listing_.rows.append_key(image, out.key);
  out.label = image.label;
  out.fields.clear();
  out.fields.push_back({image.field, image.bytes});
  for (std::size_t which = 0; which < num_companions(); ++which) {
    const FileRow* beside = companion(i, which);
    const auto id = static_cast<std::uint32_t>(listing_.image_fields.size() + which);
    if (beside != nullptr) out.fields.push_back({id, beside->bytes});
  }
  if (image.label != k_no_label) out.fields.push_back({label_field_, fmt::format_int(image.label).size()});
  for (std::size_t which = 0; which < num_extra_; ++which) {
    out.fields.push_back({static_cast<std::uint32_t>(first_extra() + which), extra_bytes(i, which)});
  }
}

/// Size and time of the file are what the fingerprint says of its content, which is read later.
void FileSource::compare_with_listing(std::uint64_t i, const FileRow& row, const SteadyFile& file,
                                      const std::string& path) const {
  if (is_as_listed(file, row)) return;
  if (is_saved_) refuse_changed("changed", path);
  if (is_strict()) {
    throw Error(ErrorCode::changed, "changed after it was listed",
                {.path = path, .hint = "pack it when nothing writes to it, or leave `strict` out"});
  }
  changed_->add(i, listing_.places.empty() ? std::string() : listing_.places.front(), printable(path));
}

std::function<void(NoticeLog& log)> FileSource::read_notices() const {
  return [changed = changed_](NoticeLog& log) {
    changed->report(log, [](std::uint64_t count, const std::string& first) {
      return fmt::format(
          "files of {} changed after they were listed, and were read as they were then; the first is {}; pack again if "
          "something still writes to them",
          plural(count, "sample"), first);
    });
  };
}

/// Opens file `n` of the sample and sets `path` to its path. A missing file is an error of the sample.
SteadyFile FileSource::open_file(std::uint64_t i, std::size_t n, const FileRow* row, std::string& path) const {
  const auto refuse = [&](std::string_view place) {
    throw Error(ErrorCode::not_found, fmt::format("no {} file {}", printable(listing_.companion_fields[n - 1]), place),
                {.path = origin(i), .hint = "add the file, or leave the image out with `exclude`"});
  };
  if (row == nullptr) refuse("next to it");
  listing_.rows.path(*row, path);
  try {
    SteadyFile file(path);
    compare_with_listing(i, *row, file, path);
    return file;
  } catch (const Error& error) {
    const bool is_gone = error.code() == ErrorCode::not_found && row->mtime_ns != 0;
    if (is_gone && is_saved_) refuse_changed("is gone", path);
    if (is_gone && n == 0) {
      throw Error(ErrorCode::not_found, "gone since it was listed",
                  {.path = path, .hint = "pack again when nothing moves files there"});
    }
    if (n == 0 || error.code() != ErrorCode::not_found) throw;
    refuse(fmt::format("at {}", printable(path)));
    throw;
  }
}

/// Reads the files into `scratch` and sets its fields to views of them. Returns false if a file changed in the
/// meantime.
bool FileSource::read_files(std::uint64_t i, Scratch& scratch) const {
  const FileRow* rows[k_max_files] = {&row(i)};
  std::optional<SteadyFile> files[k_max_files];
  std::size_t total = 0;
  std::string& path = scratch.text();
  for (std::size_t n = 0; n <= num_companions(); ++n) {
    if (n > 0) rows[n] = companion(i, n - 1);
    files[n].emplace(open_file(i, n, rows[n], path));
    total += files[n]->size() + 1;
  }
  MutableBytes free = scratch.bytes(total);
  std::vector<FieldView>& views = scratch.fields();
  views.clear();
  for (std::size_t n = 0; n <= num_companions(); ++n) {
    if (n > 0 || num_companions() > 0) listing_.rows.path(*rows[n], path);
    const std::size_t size = files[n]->size();
    if (!files[n]->read(free.first(size + 1), path, !is_as_listed(*files[n], *rows[n]))) return false;
    const std::string& name = n == 0 ? listing_.image_fields[rows[0]->field] : listing_.companion_fields[n - 1];
    views.push_back({name, free.first(size)});
    free = free.subspan(size + 1);
  }
  return true;
}

void FileSource::refuse_image(std::uint64_t i, Bytes bytes) const {
  const std::string_view kind = name_by_signature(bytes);
  const std::string what = bytes.empty()  ? "empty file"
                           : kind.empty() ? "not an image: no known signature"
                                          : fmt::format("not an image that bale packs: {} by its signature", kind);
  throw Error(ErrorCode::damaged, what,
              {.path = origin(i),
               .hint = kind == k_lfs_pointer ? k_lfs_hint
                                             : "leave it out with `exclude`, or all such files with `on_error` skip"});
}

SampleView FileSource::read(std::uint64_t i, Scratch& scratch) const {
  if (!read_files(i, scratch) && !read_files(i, scratch)) {
    throw Error(ErrorCode::changed, "the file changed while it was read",
                {.path = scratch.text(), .hint = "pack it when nothing writes to it"});
  }
  std::vector<FieldView>& views = scratch.fields();
  SampleView sample{.label = row(i).label};
  if (is_image_field(views[0].name)) {
    const ImageHeader header = probe_image(views[0].bytes);
    if (header.kind == ImageKind::unknown) refuse_image(i, views[0].bytes);
    sample.width = header.width;
    sample.height = header.height;
  }
  // The text is complete before views are taken: appending may move it.
  std::string& text = scratch.text();
  text.clear();
  listing_.rows.append_key(row(i), text);
  const std::size_t key_end = text.size();
  if (sample.label != k_no_label) text += fmt::format_int(sample.label).c_str();
  std::vector<std::size_t> ends{text.size()};  // of the label, and of each extra field
  sample.fields = views;
  for (std::size_t which = 0; which < num_extra_; ++which) {
    append_extra(i, which, sample, text);
    ends.push_back(text.size());
  }
  const std::string_view all = text;
  sample.key = all.substr(0, key_end);
  if (sample.label != k_no_label) {
    views.push_back({k_label_field, as_bytes(all.substr(key_end, ends[0] - key_end))});
  } else if (const auto cls =
                 std::find_if(views.begin(), views.end(), [](const FieldView& v) { return v.name == k_label_field; });
             cls != views.end()) {
    sample.label = parse_label(cls->bytes);
  }
  for (std::size_t which = 0; which < num_extra_; ++which) {
    views.push_back({fields_[first_extra() + which], as_bytes(all.substr(ends[which], ends[which + 1] - ends[which]))});
  }
  sample.fields = views;
  return sample;
}

std::vector<SourceFile> FileSource::files(std::uint64_t i) const {
  const auto file_of = [&](const FileRow& row) {
    return SourceFile{listing_.rows.path(row), listing_.rows.path_below_root(row)};
  };
  std::vector<SourceFile> files{file_of(row(i))};
  for (std::size_t which = 0; which < num_companions(); ++which) {
    if (const FileRow* beside = companion(i, which)) files.push_back(file_of(*beside));
  }
  return files;
}

void FileSource::will_need(std::uint64_t i) const {
  std::string path;
  listing_.rows.path(row(i), path);
  read_file_ahead(path);
  for (std::size_t which = 0; which < num_companions(); ++which) {
    if (const FileRow* beside = companion(i, which)) {
      listing_.rows.path(*beside, path);
      read_file_ahead(path);
    }
  }
}

void FileSource::fingerprint(std::uint64_t i, std::string& out) const {
  const FileRow& image = row(i);
  listing_.rows.append_key(image, out);
  out += fmt::format("\t{}\t{}\t{}\t{}", fields_[image.field], image.bytes, image.mtime_ns, image.label);
  for (std::size_t which = 0; which < num_companions(); ++which) {
    if (const FileRow* beside = companion(i, which)) {
      out += fmt::format("\t{}\t{}", beside->bytes, beside->mtime_ns);
      if (listing_.companion_is_distant[which]) out += '\t' + listing_.rows.path_below_root(*beside);
    } else {
      out += "\tmissing";
    }
  }
  if (num_extra_ > 0) {
    out += '\t';
    append_extra_identity(i, out);
  }
  out += '\n';
}

}  // namespace bale
