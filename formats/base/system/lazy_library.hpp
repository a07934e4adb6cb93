// LazyLibrary: a shared library that is opened when the first of its functions is called. Most runs call none.
//
// A room that calls such a library has a header that lists the functions (formats/storage/http/libcurl.hpp). Each
// becomes an object in the room's namespace, which hides the function of this name and is called like it. One that is
// not listed is not found by the linker. A static library is linked (scripts/cmake/BaleLazy.cmake); its functions are
// not listed then.
//
// Threads: any number may call, also in a child of fork(): there is no lock but that of dlopen().
#pragma once

#include <atomic>

namespace bale {

class LazyLibrary {
 public:
  /// `name` is the library's own, as "libcurl.so.4", `package` the Debian package that has it; empty if unknown.
  constexpr LazyLibrary(const char* name, const char* package) : name_(name), package_(package) {}

  /// The address. Throws `unsupported` if the library cannot be opened or does not have the symbol.
  void* find_function(const char* name);
  /// The same for a variable, which a program that is linked with the library has moved into itself.
  void* find_variable(const char* name);

 private:
  void* open();

  const char* name_;
  const char* package_;
  std::atomic<void*> handle_{nullptr};  // never closed
};

/// A function. The conversion, by which it is called, may throw as LazyLibrary::find_function() does.
template <typename Function>
class LazyFunction {
 public:
  constexpr LazyFunction(LazyLibrary& library, const char* name) : library_(library), name_(name) {}

  operator Function*() const {
    Function* known = known_.load(std::memory_order_acquire);
    if (known == nullptr) {
      known = reinterpret_cast<Function*>(library_.find_function(name_));
      known_.store(known, std::memory_order_release);
    }
    return known;
  }

 private:
  LazyLibrary& library_;
  const char* name_;
  mutable std::atomic<Function*> known_{nullptr};
};

/// The value of a variable.
template <typename Value>
class LazyVariable {
 public:
  constexpr LazyVariable(LazyLibrary& library, const char* name) : library_(library), name_(name) {}
  operator Value() const { return *static_cast<const Value*>(library_.find_variable(name_)); }

 private:
  LazyLibrary& library_;
  const char* name_;
};

}  // namespace bale

/// Declares them. The second name is the first after the library's own macros have replaced it.
#define BALE_LAZY_FUNCTION(library, name) BALE_LAZY_NAMED(library, LazyFunction<decltype(::name)>, name)
#define BALE_LAZY_VARIABLE(library, name) BALE_LAZY_NAMED(library, LazyVariable<decltype(::name)>, name)
#define BALE_LAZY_NAMED(library, type, name) inline constinit const type name{library, #name};
