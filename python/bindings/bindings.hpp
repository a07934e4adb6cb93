// bale._bale: the extension module. Only this room sees Python; the package in python/bale is what users see.
//
// The GIL is held but while files are read or batches waited for. Objects that are tied to a process know it by its id:
// in a forked child they refuse (Loader, Batch) or open anew (Dataset), and leak what belongs to the parent.
#pragma once

#include <string>
#include <string_view>

#include <nanobind/nanobind.h>

#include "bale/formats/base/bytes.hpp"
#include "bale/formats/base/notice_log.hpp"
#include "bale/loader/transform/transform.hpp"

namespace bale::python {

namespace nb = nanobind;

/// Bytes of any kind as str and back, as os.fsdecode and os.fsencode do it on UTF-8.
nb::str to_str(std::string_view raw);
std::string from_str(const nb::str& text);
nb::bytes to_bytes(Bytes bytes);

/// (what was ignored, how many, the first name) for each reason, and ("", 0, text) for what is worth a warning.
using Notices = nb::typed<nb::list, nb::typed<nb::tuple, nb::str, nb::int_, nb::str>>;
Notices list_of(const NoticeLog& log);

/// The C++ value of a bale.transforms.Transform, checked.
Transform transform_of(nb::handle transform);

void bind_errors(nb::module_& module);
void bind_dataset(nb::module_& module);
void bind_order(nb::module_& module);
void bind_batch(nb::module_& module);
void bind_loader(nb::module_& module);
void bind_cuda(nb::module_& module);

}  // namespace bale::python
