// BALE_LIFETIMEBOUND: after a method whose result lives no longer than its object. Compilers that know the attribute
// warn when the object is a temporary.
#pragma once

#if defined(__has_cpp_attribute)
#if __has_cpp_attribute(clang::lifetimebound)
#define BALE_LIFETIMEBOUND [[clang::lifetimebound]]
#elif __has_cpp_attribute(msvc::lifetimebound)
#define BALE_LIFETIMEBOUND [[msvc::lifetimebound]]
#endif
#endif
#ifndef BALE_LIFETIMEBOUND
#define BALE_LIFETIMEBOUND
#endif
