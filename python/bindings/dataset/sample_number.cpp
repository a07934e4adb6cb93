#include "bale/python/bindings/dataset/read_many.hpp"

namespace bale::python {

namespace nb = nanobind;

std::uint64_t sample_at(nb::handle i, std::uint64_t size) {
  const nb::object index = nb::steal(PyNumber_Index(i.ptr()));
  if (!index.is_valid()) throw nb::python_error();
  int overflow = 0;
  const long long position = PyLong_AsLongLongAndOverflow(index.ptr(), &overflow);
  const auto count = static_cast<long long>(size);
  if (overflow != 0 || position < -count || position >= count) {
    PyErr_Format(PyExc_IndexError, "sample %S of %lld", index.ptr(), count);
    throw nb::python_error();
  }
  return static_cast<std::uint64_t>(position < 0 ? position + count : position);
}

std::vector<std::uint64_t> samples_at(nb::handle positions, std::uint64_t size) {
  const nb::object iterator = nb::steal(PyObject_GetIter(positions.ptr()));
  if (!iterator.is_valid()) throw nb::python_error();
  std::vector<std::uint64_t> samples;
  for (;;) {
    const nb::object i = nb::steal(PyIter_Next(iterator.ptr()));
    if (!i.is_valid()) break;
    samples.push_back(sample_at(i, size));
  }
  if (PyErr_Occurred() != nullptr) throw nb::python_error();
  return samples;
}

}  // namespace bale::python
