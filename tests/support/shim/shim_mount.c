#define _GNU_SOURCE
#include "shim_mount.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/syscall.h>
#include <unistd.h>

// Calls of the kernel: those of the C library are the shim's.
#define KERNEL(name, ...) syscall(SYS_##name, __VA_ARGS__)

struct ways mount_ways;
static char case_root[PATH_MAX];

void mount_start(void) {
  const char* root = getenv("BALE_SHIM_IGNORE_CASE");
  if (root) snprintf(case_root, sizeof case_root, "%s", root);
  mount_ways.coarse_times = getenv("BALE_SHIM_COARSE_TIMES") != NULL;
  const char* name = getenv("BALE_SHIM_MOUNT");
  if (!name) return;
  const int nfs = !strcmp(name, "nfs"), lustre = !strcmp(name, "lustre"), cifs = !strcmp(name, "cifs");
  const int overlay = !strcmp(name, "overlay");
  if (!nfs && !lustre && !cifs && !overlay) abort();
  mount_ways.no_tmpfile = 1;
  mount_ways.silly_renames = nfs;
  mount_ways.no_renameat2 = nfs || cifs;
  mount_ways.no_flock = lustre;
  mount_ways.no_hard_links = mount_ways.no_rename_over = mount_ways.no_directory_fsync = cifs;
  mount_ways.no_directory_rename = overlay;
}

int mount_absolute(int directory, const char* path, char* out) {
  if (path[0] == '/') return snprintf(out, PATH_MAX, "%s", path) < PATH_MAX;
  char link[64], base[PATH_MAX];
  snprintf(link, sizeof link, directory == AT_FDCWD ? "/proc/self/cwd" : "/proc/self/fd/%d", directory);
  const ssize_t length = readlink(link, base, sizeof base - 1);
  if (length < 0) return 0;
  base[length] = 0;
  return snprintf(out, PATH_MAX, "%s/%s", base, path) < PATH_MAX;
}

// --- names that differ by case

/// Puts the entry of `directory` that is `name` but for its case into `found`.
static void find_entry(const char* directory, const char* name, char* found) {
  DIR* stream = opendir(directory);
  struct dirent* entry;
  while (stream && (entry = readdir(stream))) {
    if (strcasecmp(entry->d_name, name) == 0) snprintf(found, NAME_MAX + 1, "%s", entry->d_name);
  }
  if (stream) closedir(stream);
}

const char* mount_path(int directory, const char* path, char* buffer) {
  char whole[PATH_MAX];
  const size_t root = strlen(case_root);
  if (!root || !path || !mount_absolute(directory, path, whole)) return path;
  if (strncmp(whole, case_root, root) != 0 || whole[root] != '/') return path;
  strcpy(buffer, case_root);
  char* rest = NULL;
  for (char* part = strtok_r(whole + root, "/", &rest); part; part = strtok_r(NULL, "/", &rest)) {
    char found[NAME_MAX + 1], directory_so_far[PATH_MAX];
    snprintf(found, sizeof found, "%s", part);
    strcpy(directory_so_far, buffer);
    const size_t used = strlen(buffer);
    if (used + strlen(part) + 2 > PATH_MAX) return path;
    sprintf(buffer + used, "/%s", part);
    if (KERNEL(faccessat, AT_FDCWD, buffer, F_OK) == 0) continue;
    find_entry(directory_so_far, part, found);
    sprintf(buffer + used, "/%s", found);
  }
  return buffer;
}

// --- files that stay while they are open

struct kept_file {
  ino_t inode;
  char path[PATH_MAX];
  struct kept_file* next;
};
static struct kept_file* kept_files;
static pthread_mutex_t kept_mutex = PTHREAD_MUTEX_INITIALIZER;

/// Whether this process has the file open or mapped.
static int is_in_use(ino_t inode) {
  for (int fd = 3; fd < 1024; ++fd) {
    struct stat info;
    if (KERNEL(fstat, fd, &info) == 0 && info.st_ino == inode) return 1;
  }
  FILE* maps = fopen("/proc/self/maps", "r");
  char line[PATH_MAX + 256];
  int found = 0;
  while (maps && !found && fgets(line, sizeof line, maps)) {
    unsigned long long mapped = 0;
    if (sscanf(line, "%*s %*s %*s %*s %llu", &mapped) == 1) found = mapped == inode;
  }
  if (maps) fclose(maps);
  return found;
}

int mount_keep_open_file(int directory, const char* path) {
  struct stat info;
  char whole[PATH_MAX];
  if (!mount_ways.silly_renames || KERNEL(newfstatat, directory, path, &info, AT_SYMLINK_NOFOLLOW) != 0) return 0;
  if (!S_ISREG(info.st_mode) || !is_in_use(info.st_ino) || !mount_absolute(directory, path, whole)) return 0;
  struct kept_file* kept = malloc(sizeof *kept);
  const char* slash = strrchr(whole, '/');
  kept->inode = info.st_ino;
  snprintf(kept->path, sizeof kept->path, "%.*s/.nfs%016llx", (int)(slash - whole), whole,
           (unsigned long long)info.st_ino);
  if (KERNEL(renameat, AT_FDCWD, whole, AT_FDCWD, kept->path) != 0) abort();
  pthread_mutex_lock(&kept_mutex);
  kept->next = kept_files;
  kept_files = kept;
  pthread_mutex_unlock(&kept_mutex);
  return 1;
}

static void remove_kept(int even_in_use) {
  const int error = errno;
  pthread_mutex_lock(&kept_mutex);
  for (struct kept_file** at = &kept_files; *at;) {
    struct kept_file* kept = *at;
    if (!even_in_use && is_in_use(kept->inode)) {
      at = &kept->next;
      continue;
    }
    KERNEL(unlinkat, AT_FDCWD, kept->path, 0);
    *at = kept->next;
    free(kept);
  }
  pthread_mutex_unlock(&kept_mutex);
  errno = error;
}

void mount_sweep(void) {
  if (kept_files) remove_kept(0);
}

__attribute__((destructor)) static void end(void) { remove_kept(1); }

// --- refusals

int mount_refuses_rename(int from_directory, const char* from, int to_directory, const char* to) {
  struct stat source, target;
  if (KERNEL(newfstatat, from_directory, from, &source, AT_SYMLINK_NOFOLLOW) != 0) return 0;
  if (mount_ways.no_directory_rename && S_ISDIR(source.st_mode)) return EXDEV;
  const int there = KERNEL(newfstatat, to_directory, to, &target, AT_SYMLINK_NOFOLLOW) == 0;
  if (mount_ways.no_rename_over && there && target.st_ino != source.st_ino) return EEXIST;
  return 0;
}

int mount_refuses_fsync(int fd) {
  struct stat info;
  return mount_ways.no_directory_fsync && KERNEL(fstat, fd, &info) == 0 && S_ISDIR(info.st_mode) ? EINVAL : 0;
}

void mount_coarsen(struct stat* info) {
  if (!mount_ways.coarse_times) return;
  info->st_mtim.tv_sec &= ~(time_t)1;
  info->st_ctim.tv_sec &= ~(time_t)1;
  info->st_mtim.tv_nsec = info->st_ctim.tv_nsec = 0;
}
