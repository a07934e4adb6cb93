// LD_PRELOAD library for the fault tests: counts the calls that change files and misbehaves at a chosen one.
//
// Environment:
//
//   BALE_SHIM_COUNT=FILE         8-byte file (mapped, shared) in which the calls are counted, so that a killed run
//   tells BALE_SHIM_ONLY=PREFIX        count only functions whose name starts so ("fsync"); "flock" is counted then
//   only BALE_SHIM_BELOW=DIRECTORY    count only calls for what lies below it (an absolute path without links)
//
//   BALE_SHIM_KILL_AT=N          SIGKILL instead of the N-th counted call (from 1); a write is torn: half of it is done
//   BALE_SHIM_FAIL_AT=N          the N-th counted call fails with BALE_SHIM_ERRNO
//   BALE_SHIM_FAIL_ON=1          and all after it do
//
//   BALE_SHIM_STOP_AT=N          SIGSTOP before the N-th counted call, which is done when the process is continued
//   BALE_SHIM_DELAY_MS=T         each counted call takes so much longer, so that a run is surely not over yet
//   BALE_SHIM_SHORT=1            every write moves at most half of what it was given
//   BALE_SHIM_EINTR=1            every other read and write is interrupted before it does anything
//
//   BALE_SHIM_SHRINK=SUFFIX      the file whose name ends so is cut to half its size when it is first read
//   BALE_SHIM_REWRITE=SUFFIX     when half of that file is read, its bytes from 1,000 on are inverted; its time stays
//   BALE_SHIM_UNREADABLE=SUFFIX  reading from that file fails with EIO
//   BALE_SHIM_UNREADABLE_FROM=N  ... but only from this offset on
//
//   BALE_SHIM_UNSEEN=SUFFIX      looking for what has a name that ends so, and listing it as a directory after one entry,
//                                fails with BALE_SHIM_ERRNO
//
//   BALE_SHIM_STALL=SUFFIX       reading from the file whose name ends so waits ...
//   BALE_SHIM_STALL_WHILE=FILE   ... as long as this file exists
//
//   BALE_SHIM_RECORD=FILE        what was done is appended: lines "CALL\tPATH\tPATH\tOFFSET\tLENGTH", and the bytes
//                                that were written after a "write"; for runs of one thread
//
// What the disk is like: BALE_SHIM_MOUNT and BALE_SHIM_IGNORE_CASE, see shim_mount.h.
//
// Writes to standard output and standard error are left alone and not counted.
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "shim_mount.h"

#define NEXT(name, type) ((type)dlsym(RTLD_NEXT, #name))

static _Atomic uint64_t own_counter;
static _Atomic uint64_t* counter = &own_counter;
static _Atomic unsigned interruptions;
static uint64_t kill_at, fail_at, delay_ms, unreadable_from;
static uint64_t stop_at;
static int record_fd = -1;
static int fail_errno = EIO, fail_on, short_writes, eintr;
static const char *only = "", *below, *shrink, *unreadable, *rewrite, *stall, *stall_while, *unseen;

static uint64_t number(const char* name) {
  const char* text = getenv(name);
  return text ? strtoull(text, NULL, 10) : 0;
}

__attribute__((constructor)) static void start(void) {
  kill_at = number("BALE_SHIM_KILL_AT");
  fail_at = number("BALE_SHIM_FAIL_AT");
  stop_at = number("BALE_SHIM_STOP_AT");
  delay_ms = number("BALE_SHIM_DELAY_MS");
  unreadable_from = number("BALE_SHIM_UNREADABLE_FROM");
  fail_on = (int)number("BALE_SHIM_FAIL_ON");
  short_writes = (int)number("BALE_SHIM_SHORT");
  eintr = (int)number("BALE_SHIM_EINTR");
  if (getenv("BALE_SHIM_ERRNO")) fail_errno = (int)number("BALE_SHIM_ERRNO");
  if (getenv("BALE_SHIM_ONLY")) only = getenv("BALE_SHIM_ONLY");
  below = getenv("BALE_SHIM_BELOW");
  shrink = getenv("BALE_SHIM_SHRINK");
  unreadable = getenv("BALE_SHIM_UNREADABLE");
  rewrite = getenv("BALE_SHIM_REWRITE");
  unseen = getenv("BALE_SHIM_UNSEEN");
  stall = getenv("BALE_SHIM_STALL");
  stall_while = getenv("BALE_SHIM_STALL_WHILE");
  mount_start();
  typedef int (*open_t)(const char*, int, ...);
  const char* record = getenv("BALE_SHIM_RECORD");
  if (record) record_fd = NEXT(open, open_t)(record, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  const char* path = getenv("BALE_SHIM_COUNT");
  const int fd = path ? NEXT(open, open_t)(path, O_RDWR) : -1;
  if (fd >= 0) {
    void* shared = mmap(NULL, sizeof *counter, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (shared != MAP_FAILED) counter = shared;
    close(fd);
  }
}

// --- recording
static void record_line(const char* call, const char* path, const char* other, int64_t offset, size_t length) {
  if (record_fd >= 0) dprintf(record_fd, "%s\t%s\t%s\t%lld\t%zu\n", call, path, other, (long long)offset, length);
}

static void record_names(const char* call, int directory, const char* path, int other_directory, const char* other) {
  char whole[PATH_MAX] = "", other_whole[PATH_MAX] = "";
  if (record_fd < 0 || !mount_absolute(directory, path, whole)) return;
  if (other && !mount_absolute(other_directory, other, other_whole)) return;
  record_line(call, whole, other_whole, 0, 0);
}

static void record_fd_call(const char* call, int fd, int64_t offset, size_t length) {
  if (record_fd < 0) return;
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t size = readlink(link, path, sizeof path - 1);
  path[size < 0 ? 0 : size] = 0;
  record_line(call, path, "", offset, length);
}

// `length` bytes that are in the file at `offset` now.
static void record_write(int fd, int64_t offset, size_t length) {
  if (record_fd < 0) return;
  char* data = malloc(length);
  record_fd_call("write", fd, offset, length);
  if (!data || syscall(SYS_pread64, fd, data, length, offset) != (ssize_t)length) abort();
  if (syscall(SYS_write, record_fd, data, length) != (ssize_t)length) abort();
  free(data);
}

enum outcome { go_on, fail, torn };

// Counts a call. Kills the process here unless the call is a write, which is torn first.
static enum outcome count(const char* function, int is_write) {
  if (strncmp(function, only, strlen(only)) != 0) return go_on;
  const uint64_t n = atomic_fetch_add(counter, 1) + 1;
  if (delay_ms) usleep(delay_ms * 1000);
  if (n == stop_at) raise(SIGSTOP);
  if (n == kill_at) {
    if (is_write) return torn;
    kill(getpid(), SIGKILL);
  }
  if (fail_at && (n == fail_at || (fail_on && n > fail_at))) {
    errno = fail_errno;
    return fail;
  }
  return go_on;
}

static int interrupted(void) {
  if (!eintr || atomic_fetch_add(&interruptions, 1) % 2) return 0;
  errno = EINTR;
  return 1;
}

// Whether calls for a file are counted.
static int is_below(const char* path) { return strncmp(path, below, strlen(below)) == 0; }

static int concerns_path(int directory, const char* path) {
  char whole[PATH_MAX] = "";
  return !below || (mount_absolute(directory, path, whole) && is_below(whole));
}

static int concerns_fd(int fd) {
  char link[64], path[PATH_MAX];
  if (!below) return 1;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t size = readlink(link, path, sizeof path - 1);
  path[size < 0 ? 0 : size] = 0;
  return is_below(path);
}

#define BEFORE(function, is_concerned)                           \
  do {                                                           \
    if ((is_concerned) && count(function, 0) == fail) return -1; \
  } while (0)

// --- writes: all end here, as (pointer, length) lists
static ssize_t any_write(const char* function, int fd, const struct iovec* parts, int num_parts, off64_t offset) {
  typedef ssize_t (*writev_t)(int, const struct iovec*, int);
  typedef ssize_t (*pwritev_t)(int, const struct iovec*, int, off64_t);
  const writev_t next_writev = NEXT(writev, writev_t);
  const pwritev_t next_pwritev = NEXT(pwritev64, pwritev_t);
  if (fd == STDOUT_FILENO || fd == STDERR_FILENO) return next_writev(fd, parts, num_parts);
  const enum outcome outcome = concerns_fd(fd) ? count(function, 1) : go_on;
  if (outcome == fail || interrupted()) return -1;
  struct iovec half = parts[0];
  if (outcome == torn || (short_writes && half.iov_len > 1)) {
    half.iov_len /= 2;
    parts = &half;
    num_parts = 1;
  }
  const int64_t at = offset < 0 ? lseek(fd, 0, SEEK_CUR) : offset;
  const ssize_t done = offset < 0 ? next_writev(fd, parts, num_parts) : next_pwritev(fd, parts, num_parts, offset);
  if (outcome == torn) kill(getpid(), SIGKILL);
  if (done > 0) record_write(fd, at, (size_t)done);
  return done;
}

ssize_t write(int fd, const void* data, size_t size) {
  const struct iovec part = {(void*)data, size};
  return any_write("write", fd, &part, 1, -1);
}
ssize_t pwrite(int fd, const void* data, size_t size, off_t offset) {
  const struct iovec part = {(void*)data, size};
  return any_write("pwrite", fd, &part, 1, offset);
}
ssize_t pwrite64(int fd, const void* data, size_t size, off64_t offset) { return pwrite(fd, data, size, offset); }
ssize_t writev(int fd, const struct iovec* parts, int n) { return any_write("writev", fd, parts, n, -1); }
ssize_t pwritev(int fd, const struct iovec* parts, int n, off_t offset) {
  return any_write("pwritev", fd, parts, n, offset);
}
ssize_t pwritev64(int fd, const struct iovec* parts, int n, off64_t offset) { return pwritev(fd, parts, n, offset); }

// --- reads: only to interrupt, shrink or refuse
static int ends_with(const char* text, const char* suffix) {
  const size_t length = strlen(text), tail = strlen(suffix);
  return length >= tail && strcmp(text + length - tail, suffix) == 0;
}

static void invert(const char* path, const struct stat* info, size_t offset, size_t* size) {
  const size_t half = (size_t)info->st_size / 2, rest = half - offset;
  if (rest != 0 && rest < *size) *size = rest;
  if (rest != 0) return;
  const int file = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR);
  char* bytes = mmap(NULL, half * 2, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  for (size_t i = 1000; i < half * 2; ++i) bytes[i] = (char)~bytes[i];
  const struct timespec times[2] = {info->st_atim, info->st_mtim};
  if (munmap(bytes, half * 2) != 0 || futimens(file, times) != 0) abort();
  syscall(SYS_close, file);
}

static int before_read(int fd, off64_t offset, size_t* size) {
  if (interrupted()) return -1;
  if (!shrink && !unreadable && !stall && !rewrite) return 0;
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = 0;
  if (stall && stall_while && ends_with(path, stall)) {
    while (syscall(SYS_faccessat, AT_FDCWD, stall_while, F_OK) == 0) usleep(5000);
  }
  if (unreadable && ends_with(path, unreadable)) {
    if ((uint64_t)offset >= unreadable_from) {
      errno = EIO;
      return -1;
    }
    if (*size > unreadable_from - (uint64_t)offset) *size = unreadable_from - (uint64_t)offset;
  }
  struct stat info;
  if (shrink && ends_with(path, shrink) && stat(path, &info) == 0) {
    if (truncate(path, info.st_size / 2) != 0) abort();
  }
  if (rewrite && ends_with(path, rewrite) && stat(path, &info) == 0) invert(path, &info, (size_t)offset, size);
  return 0;
}

ssize_t read(int fd, void* data, size_t size) {
  if (before_read(fd, unreadable || rewrite ? lseek(fd, 0, SEEK_CUR) : 0, &size)) return -1;
  return NEXT(read, ssize_t(*)(int, void*, size_t))(fd, data, size);
}
ssize_t pread64(int fd, void* data, size_t size, off64_t offset) {
  if (before_read(fd, offset, &size)) return -1;
  return NEXT(pread64, ssize_t(*)(int, void*, size_t, off64_t))(fd, data, size, offset);
}
ssize_t pread(int fd, void* data, size_t size, off_t offset) { return pread64(fd, data, size, offset); }
ssize_t readv(int fd, const struct iovec* parts, int n) {
  size_t size = SIZE_MAX / 2;
  if (before_read(fd, 0, &size)) return -1;
  return NEXT(readv, ssize_t(*)(int, const struct iovec*, int))(fd, parts, n);
}
ssize_t preadv(int fd, const struct iovec* parts, int n, off_t offset) {
  size_t size = SIZE_MAX / 2;
  if (before_read(fd, offset, &size)) return -1;
  return NEXT(preadv64, ssize_t(*)(int, const struct iovec*, int, off64_t))(fd, parts, n, offset);
}

// --- files that come to be
static mode_t mode_of(int flags, va_list rest) {
  return (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(rest, mode_t) : 0;
}

int openat(int directory, const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = mode_of(flags, rest);
  va_end(rest);
  const int changes = flags & (O_CREAT | O_TRUNC);
  if (changes) BEFORE("openat", concerns_path(directory, path));
  if (mount_ways.no_tmpfile && (flags & O_TMPFILE) == O_TMPFILE) {
    errno = EOPNOTSUPP;
    return -1;
  }
  char buffer[PATH_MAX];
  path = mount_path(directory, path, buffer);
  const int fd = NEXT(openat, int (*)(int, const char*, int, ...))(directory, path, flags, mode);
  if (fd >= 0 && changes) record_fd_call(flags & O_TRUNC ? "create" : "open", fd, 0, 0);
  return fd;
}
int openat64(int directory, const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = mode_of(flags, rest);
  va_end(rest);
  return openat(directory, path, flags, mode);
}
int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = mode_of(flags, rest);
  va_end(rest);
  return openat(AT_FDCWD, path, flags, mode);
}
int open64(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = mode_of(flags, rest);
  va_end(rest);
  return openat(AT_FDCWD, path, flags, mode);
}
FILE* fopen64(const char* path, const char* mode) {
  char buffer[PATH_MAX];
  path = mount_path(AT_FDCWD, path, buffer);
  if (mode[0] != 'r' && concerns_path(AT_FDCWD, path) && count("fopen", 0) == fail) return NULL;
  if (mode[0] != 'r') record_line("create", path, "", 0, 0);
  return NEXT(fopen64, FILE * (*)(const char*, const char*))(path, mode);
}
FILE* fopen(const char* path, const char* mode) { return fopen64(path, mode); }

// --- everything else that changes a file or a directory
#define PASS_AND(result, name, parameters, arguments, is_concerned, record) \
  result name parameters {                                                  \
    BEFORE(#name, is_concerned);                                            \
    const result done = NEXT(name, result(*) parameters) arguments;         \
    if (done >= 0) record;                                                  \
    return done;                                                            \
  }
#define PASS(result, name, parameters, arguments, is_concerned) \
  PASS_AND(result, name, parameters, arguments, is_concerned, (void)0)
PASS(int, msync, (void* data, size_t size, int flags), (data, size, flags), !below)
PASS_AND(int, ftruncate, (int fd, off_t size), (fd, size), concerns_fd(fd), record_fd_call("truncate", fd, size, 0))
PASS_AND(int, ftruncate64, (int fd, off64_t size), (fd, size), concerns_fd(fd), record_fd_call("truncate", fd, size, 0))
PASS(int, fallocate, (int fd, int mode, off_t offset, off_t size), (fd, mode, offset, size), concerns_fd(fd))
PASS(int, fallocate64, (int fd, int mode, off64_t offset, off64_t size), (fd, mode, offset, size), concerns_fd(fd))
PASS_AND(ssize_t, copy_file_range, (int in, off64_t* at_in, int out, off64_t* at_out, size_t size, unsigned flags),
         (in, at_in, out, at_out, size, flags), concerns_fd(out),
         record_write(out, (at_out ? *at_out : lseek(out, 0, SEEK_CUR)) - done, (size_t)done))
PASS_AND(ssize_t, sendfile64, (int out, int in, off64_t* at, size_t size), (out, in, at, size), concerns_fd(out),
         record_write(out, lseek(out, 0, SEEK_CUR) - done, (size_t)done))
ssize_t sendfile(int out, int in, off_t* at, size_t size) { return sendfile64(out, in, at, size); }

// These two return the error instead of setting errno.
int posix_fallocate64(int fd, off64_t offset, off64_t size) {
  if (concerns_fd(fd) && count("posix_fallocate", 0) == fail) return fail_errno;
  return NEXT(posix_fallocate64, int (*)(int, off64_t, off64_t))(fd, offset, size);
}
int posix_fallocate(int fd, off_t offset, off_t size) { return posix_fallocate64(fd, offset, size); }

// --- names: what the mount makes of them
static int refused(int error) {
  errno = error;
  return -1;
}

static int any_fsync(const char* function, int fd) {
  BEFORE(function, concerns_fd(fd));
  const int error = mount_refuses_fsync(fd);
  if (error) return refused(error);
  const int done = NEXT(fsync, int (*)(int))(fd);
  if (done >= 0) record_fd_call("fsync", fd, 0, 0);
  return done;
}
int fsync(int fd) { return any_fsync("fsync", fd); }
int fdatasync(int fd) { return any_fsync("fdatasync", fd); }

static int any_rename(const char* function, int a, const char* from, int b, const char* to, unsigned flags) {
  char from_buffer[PATH_MAX], to_buffer[PATH_MAX];
  BEFORE(function, concerns_path(b, to));
  if (flags && mount_ways.no_renameat2) return refused(EINVAL);
  from = mount_path(a, from, from_buffer);
  to = mount_path(b, to, to_buffer);
  const int error = mount_refuses_rename(a, from, b, to);
  if (error) return refused(error);
  if (!flags) mount_keep_open_file(b, to);
  const int done = NEXT(renameat2, int (*)(int, const char*, int, const char*, unsigned))(a, from, b, to, flags);
  if (done >= 0) record_names("rename", a, from, b, to);
  return done;
}
int rename(const char* from, const char* to) { return any_rename("rename", AT_FDCWD, from, AT_FDCWD, to, 0); }
int renameat(int a, const char* from, int b, const char* to) { return any_rename("renameat", a, from, b, to, 0); }
int renameat2(int a, const char* from, int b, const char* to, unsigned flags) {
  return any_rename("renameat2", a, from, b, to, flags);
}

static int any_unlink(const char* function, int directory, const char* path, int flags) {
  char buffer[PATH_MAX];
  BEFORE(function, concerns_path(directory, path));
  path = mount_path(directory, path, buffer);
  if (!(flags & AT_REMOVEDIR) && mount_keep_open_file(directory, path)) return 0;
  const int done = NEXT(unlinkat, int (*)(int, const char*, int))(directory, path, flags);
  if (done >= 0) record_names(flags & AT_REMOVEDIR ? "rmdir" : "unlink", directory, path, 0, NULL);
  return done;
}
int unlink(const char* path) { return any_unlink("unlink", AT_FDCWD, path, 0); }
int unlinkat(int directory, const char* path, int flags) { return any_unlink("unlinkat", directory, path, flags); }
int rmdir(const char* path) { return any_unlink("rmdir", AT_FDCWD, path, AT_REMOVEDIR); }
int remove(const char* path) {
  const int done = any_unlink("remove", AT_FDCWD, path, 0);
  return done != 0 && (errno == EISDIR || errno == EPERM) ? any_unlink("rmdir", AT_FDCWD, path, AT_REMOVEDIR) : done;
}

static int any_mkdir(const char* function, int directory, const char* path, mode_t mode) {
  char buffer[PATH_MAX];
  BEFORE(function, concerns_path(directory, path));
  path = mount_path(directory, path, buffer);
  const int done = NEXT(mkdirat, int (*)(int, const char*, mode_t))(directory, path, mode);
  if (done >= 0) record_names("mkdir", directory, path, 0, NULL);
  return done;
}
int mkdir(const char* path, mode_t mode) { return any_mkdir("mkdir", AT_FDCWD, path, mode); }
int mkdirat(int directory, const char* path, mode_t mode) { return any_mkdir("mkdirat", directory, path, mode); }

int linkat(int a, const char* from, int b, const char* to, int flags) {
  BEFORE("linkat", concerns_path(b, to));
  if (mount_ways.no_hard_links) return refused(EPERM);
  const int done = NEXT(linkat, int (*)(int, const char*, int, const char*, int))(a, from, b, to, flags);
  if (done >= 0) record_names("link", a, from, b, to);
  return done;
}
int link(const char* from, const char* to) { return linkat(AT_FDCWD, from, AT_FDCWD, to, 0); }

int flock(int fd, int operation) {
  if (strcmp(only, "flock") == 0) BEFORE("flock", concerns_fd(fd));
  if (mount_ways.no_flock) return refused(ENOSYS);
  return NEXT(flock, int (*)(int, int))(fd, operation);
}
int close(int fd) {
  const int done = NEXT(close, int (*)(int))(fd);
  mount_sweep();
  return done;
}
int munmap(void* data, size_t size) {
  const int done = NEXT(munmap, int (*)(void*, size_t))(data, size);
  mount_sweep();
  return done;
}

static int is_unseen(const char* path) {
  if (!unseen || !ends_with(path, unseen)) return 0;
  errno = fail_errno;
  return 1;
}

struct dirent* readdir(DIR* stream) {
  char link[64], path[PATH_MAX];
  snprintf(link, sizeof link, "/proc/self/fd/%d", dirfd(stream));
  const ssize_t length = unseen ? readlink(link, path, sizeof path - 1) : -1;
  if (length > 0) {
    path[length] = 0;
    if (telldir(stream) != 0 && is_unseen(path)) return NULL;
  }
  return NEXT(readdir, struct dirent* (*)(DIR*))(stream);
}
struct dirent64* readdir64(DIR* stream) { return (struct dirent64*)readdir(stream); }

int faccessat(int directory, const char* path, int mode, int flags) {
  if (is_unseen(path)) return -1;
  char buffer[PATH_MAX];
  path = mount_path(directory, path, buffer);
  return NEXT(faccessat, int (*)(int, const char*, int, int))(directory, path, mode, flags);
}
int access(const char* path, int mode) { return faccessat(AT_FDCWD, path, mode, 0); }

int fstatat(int directory, const char* path, struct stat* info, int flags) {
  if (is_unseen(path)) return -1;
  char buffer[PATH_MAX];
  path = mount_path(directory, path, buffer);
  const int done = NEXT(fstatat, int (*)(int, const char*, struct stat*, int))(directory, path, info, flags);
  if (done == 0) mount_coarsen(info);
  return done;
}
int stat(const char* path, struct stat* info) { return fstatat(AT_FDCWD, path, info, 0); }
int lstat(const char* path, struct stat* info) { return fstatat(AT_FDCWD, path, info, AT_SYMLINK_NOFOLLOW); }
int fstat(int fd, struct stat* info) {
  const int done = NEXT(fstat, int (*)(int, struct stat*))(fd, info);
  if (done == 0) mount_coarsen(info);
  return done;
}
int fstatat64(int directory, const char* path, struct stat64* info, int flags) {
  return fstatat(directory, path, (struct stat*)info, flags);
}
int stat64(const char* path, struct stat64* info) { return stat(path, (struct stat*)info); }
int lstat64(const char* path, struct stat64* info) { return lstat(path, (struct stat*)info); }
int fstat64(int fd, struct stat64* info) { return fstat(fd, (struct stat*)info); }
