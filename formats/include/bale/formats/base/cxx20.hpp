// Ends the compilation with one line if bale's headers are compiled as an older C++: #error would be the first of many.
#pragma once

#if __cplusplus < 202002L
#define BALE_NEEDS "bale needs C++20: compile with -std=c++20 or later"
#include BALE_NEEDS
#endif
