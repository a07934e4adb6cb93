// bale._bale: the extension module. Only this folder depends on Python's API. Users see the package in python/bale.
//
// The GIL is released while files are read and while batches are waited for. Some objects belong to a process and store
// its id. In a forked child they throw (Loader, DeviceBatch) or open again (Dataset), and leak what the parent owns.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>

#include "bale/formats/base/bytes.hpp"
#include "bale/formats/base/notice_log.hpp"
#include "bale/loader/transform/transform.hpp"

namespace bale::python {

namespace nb = nanobind;

/// Converts any bytes to str and back, as os.fsdecode and os.fsencode do with UTF-8.
nb::str to_str(std::string_view raw);
std::string from_str(const nb::str& text);
nb::bytes to_bytes(Bytes bytes);

/// The values of options as texts, by keyword: what take_options() takes. python/bale/_keywords.py makes them.
std::vector<std::pair<std::string, std::vector<std::string>>> given_options(const nb::dict& options);

/// (reason, count, first name) for each reason why something was ignored, and ("", 0, text) for each warning.
using Notices = nb::typed<nb::list, nb::typed<nb::tuple, nb::str, nb::int_, nb::str>>;
Notices list_of(const NoticeLog& log);

/// Converts a bale.transforms.Compose and checks it.
Transform transform_of(nb::handle transform);

void bind_errors(nb::module_& module);
void bind_cache(nb::module_& module);
void bind_dataset(nb::module_& module);
void bind_file(nb::module_& module);
void bind_order(nb::module_& module);
void bind_batch(nb::module_& module);
void bind_loader(nb::module_& module);
void bind_cuda(nb::module_& module);
void bind_steps(nb::module_& module);
void bind_requests(nb::module_& module);
void bind_writer(nb::module_& module);

}  // namespace bale::python
