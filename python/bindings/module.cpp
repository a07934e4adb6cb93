#include <exception>
#include <new>

#include "bale/formats/base/error.hpp"
#include "bale/formats/image/simd/simd_target.hpp"
#include "bale/formats/shard/sample.hpp"
#include "bale/python/bindings/bindings.hpp"

namespace bale::python {
namespace {

/// Sets Python's error. The package makes the exception (python/bale/errors.py).
void set_python_error(const Error& error) {
  const ErrorContext& context = error.context();
  nb::object offset = context.offset ? nb::object(nb::int_(*context.offset)) : nb::none();
  const nb::object exception =
      nb::module_::import_("bale.errors")
          .attr("error_of")(to_str(error_code_name(error.code())), to_str(error.what()), to_str(context.path),
                            to_str(context.key), offset, to_str(context.hint), context.system_error);
  PyErr_SetObject(exception.type().ptr(), exception.ptr());
}

}  // namespace

nb::str to_str(std::string_view raw) {
  PyObject* const text = PyUnicode_DecodeUTF8(raw.data(), static_cast<Py_ssize_t>(raw.size()), "surrogateescape");
  if (text == nullptr) throw nb::python_error();
  return nb::steal<nb::str>(text);
}

std::string from_str(const nb::str& text) {
  Py_ssize_t size = 0;
  if (const char* const utf8 = PyUnicode_AsUTF8AndSize(text.ptr(), &size))
    return {utf8, static_cast<std::size_t>(size)};
  PyErr_Clear();  // a surrogate stands for a byte that is not UTF-8
  PyObject* const raw = PyUnicode_AsEncodedString(text.ptr(), "utf-8", "surrogateescape");
  if (raw == nullptr) throw nb::python_error();
  const auto bytes = nb::steal<nb::bytes>(raw);
  return {bytes.c_str(), bytes.size()};
}

nb::bytes to_bytes(Bytes bytes) { return nb::bytes(bytes.data(), bytes.size()); }

void bind_errors(nb::module_& module) {
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    const auto translate = [](const Error& error) {
      try {
        set_python_error(error);
      } catch (nb::python_error& failed) {
        failed.restore();
      }
    };
    try {
      std::rethrow_exception(thrown);
    } catch (const Error& error) {
      translate(error);
    } catch (const std::bad_alloc&) {
      translate(out_of_memory_error());
    }
  });
  nb::list rows;
  for (const Verdict& verdict : verdicts())
    rows.append(nb::make_tuple(to_str(verdict.name), verdict.exit_code, to_str(verdict.python_class)));
  module.attr("VERDICTS") = nb::tuple(rows);
  module.attr("NO_LABEL") = k_no_label;
}

}  // namespace bale::python

NB_MODULE(_bale, module) {
  // The loader cleans up objects that are alive when the interpreter exits. A leak report would only worry users.
  nanobind::set_leak_warnings(false);
  bale::limit_simd_by_environment();
  module.doc() = "The C++ side of bale; use the package `bale`.";
  bale::python::bind_errors(module);
  bale::python::bind_cache(module);
  bale::python::bind_dataset(module);
  bale::python::bind_file(module);
  bale::python::bind_order(module);
  bale::python::bind_batch(module);
  bale::python::bind_loader(module);
  bale::python::bind_cuda(module);
  bale::python::bind_steps(module);
  bale::python::bind_requests(module);
  bale::python::bind_writer(module);
}
