/* A program whose code is in the Python package's module: loads FOLDER/../MODULE, where FOLDER has this program, and calls ENTRY. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char** argv) {
  char path[4096 + sizeof "/../" BALE_MODULE];
  const ssize_t length = readlink("/proc/self/exe", path, 4096);
  if (length <= 0) {
    fputs("bale: /proc is needed, and is not mounted here\n", stderr);
    return 1;
  }
  path[length] = '\0';
  strcpy(strrchr(path, '/'), "/../" BALE_MODULE);
  void* const module = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
  int (*const entry)(int, char**) = module == NULL ? NULL : (int (*)(int, char**))dlsym(module, BALE_ENTRY);
  if (entry == NULL) {
    fprintf(stderr, "bale: the package is incomplete: %s\n", dlerror());
    return 1;
  }
  return entry(argc, argv);
}
