/* Included before Python.h: what the module takes from Python may be absent. The programs that load it without Python
 * (launcher.c) do not call it. In Python every one of these is there, as before. */
#pragma once
#define PyAPI_FUNC(type) __attribute__((weak, visibility("default"))) type
#define PyAPI_DATA(type) extern __attribute__((weak, visibility("default"))) type
