// LD_PRELOAD library for the fault tests: counts the calls that change files and misbehaves at a chosen one.
//
// Environment:
//
//   BALE_SHIM_COUNT=FILE         8-byte file (mapped, shared) in which the calls are counted, so that a killed run tells
//   BALE_SHIM_ONLY=PREFIX        count only functions whose name starts so ("fsync")
//
//   BALE_SHIM_KILL_AT=N          SIGKILL instead of the N-th counted call (from 1); a write is torn: half of it is done
//   BALE_SHIM_FAIL_AT=N          the N-th counted call fails with BALE_SHIM_ERRNO
//   BALE_SHIM_FAIL_ON=1          and all after it do
//
//   BALE_SHIM_DELAY_MS=T         each counted call takes so much longer, so that a run is surely not over yet
//   BALE_SHIM_SHORT=1            every write moves at most half of what it was given
//   BALE_SHIM_EINTR=1            every other read and write is interrupted before it does anything
//
//   BALE_SHIM_SHRINK=SUFFIX      the file whose name ends so is cut to half its size when it is first read
//   BALE_SHIM_UNREADABLE=SUFFIX  reading from that file fails with EIO
//
//   BALE_SHIM_RECORD=FILE        what was done is appended: lines "CALL\tPATH\tPATH\tOFFSET\tLENGTH", and the bytes
//                                that were written after a "write"; for runs of one thread
//
// Writes to standard output and standard error are left alone and not counted.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define NEXT(name, type) ((type)dlsym(RTLD_NEXT, #name))

static _Atomic uint64_t own_counter;
static _Atomic uint64_t* counter = &own_counter;
static _Atomic unsigned interruptions;
static uint64_t kill_at, fail_at, delay_ms;
static int record_fd = -1;
static int fail_errno = EIO, fail_on, short_writes, eintr;
static const char *only = "", *shrink, *unreadable;

static uint64_t number(const char* name) {
  const char* text = getenv(name);
  return text ? strtoull(text, NULL, 10) : 0;
}

__attribute__((constructor)) static void start(void) {
  kill_at = number("BALE_SHIM_KILL_AT");
  fail_at = number("BALE_SHIM_FAIL_AT");
  delay_ms = number("BALE_SHIM_DELAY_MS");
  fail_on = (int)number("BALE_SHIM_FAIL_ON");
  short_writes = (int)number("BALE_SHIM_SHORT");
  eintr = (int)number("BALE_SHIM_EINTR");
  if (getenv("BALE_SHIM_ERRNO")) fail_errno = (int)number("BALE_SHIM_ERRNO");
  if (getenv("BALE_SHIM_ONLY")) only = getenv("BALE_SHIM_ONLY");
  shrink = getenv("BALE_SHIM_SHRINK");
  unreadable = getenv("BALE_SHIM_UNREADABLE");
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

#define BEFORE(function)                       \
  do {                                         \
    if (count(function, 0) == fail) return -1; \
  } while (0)

// --- writes: all end here, as (pointer, length) lists
static ssize_t any_write(const char* function, int fd, const struct iovec* parts, int num_parts, off64_t offset) {
  typedef ssize_t (*writev_t)(int, const struct iovec*, int);
  typedef ssize_t (*pwritev_t)(int, const struct iovec*, int, off64_t);
  const writev_t next_writev = NEXT(writev, writev_t);
  const pwritev_t next_pwritev = NEXT(pwritev64, pwritev_t);
  if (fd == STDOUT_FILENO || fd == STDERR_FILENO) return next_writev(fd, parts, num_parts);
  const enum outcome outcome = count(function, 1);
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

static int before_read(int fd) {
  if (interrupted()) return -1;
  if (!shrink && !unreadable) return 0;
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = 0;
  if (unreadable && ends_with(path, unreadable)) {
    errno = EIO;
    return -1;
  }
  struct stat info;
  if (shrink && ends_with(path, shrink) && stat(path, &info) == 0) {
    if (truncate(path, info.st_size / 2) != 0) abort();
  }
  return 0;
}

ssize_t read(int fd, void* data, size_t size) {
  if (before_read(fd)) return -1;
  return NEXT(read, ssize_t(*)(int, void*, size_t))(fd, data, size);
}
ssize_t pread64(int fd, void* data, size_t size, off64_t offset) {
  if (before_read(fd)) return -1;
  return NEXT(pread64, ssize_t(*)(int, void*, size_t, off64_t))(fd, data, size, offset);
}
ssize_t pread(int fd, void* data, size_t size, off_t offset) { return pread64(fd, data, size, offset); }
ssize_t readv(int fd, const struct iovec* parts, int n) {
  if (before_read(fd)) return -1;
  return NEXT(readv, ssize_t(*)(int, const struct iovec*, int))(fd, parts, n);
}
ssize_t preadv(int fd, const struct iovec* parts, int n, off_t offset) {
  if (before_read(fd)) return -1;
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
  if (changes) BEFORE("openat");
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
  if (mode[0] != 'r' && count("fopen", 0) == fail) return NULL;
  if (mode[0] != 'r') record_line("create", path, "", 0, 0);
  return NEXT(fopen64, FILE * (*)(const char*, const char*))(path, mode);
}
FILE* fopen(const char* path, const char* mode) { return fopen64(path, mode); }

// --- everything else that changes a file or a directory
#define PASS_AND(result, name, parameters, arguments, record)          \
  result name parameters {                                             \
    BEFORE(#name);                                                     \
    const result done = NEXT(name, result(*) parameters) arguments;    \
    if (done >= 0) record;                                             \
    return done;                                                       \
  }
#define PASS(result, name, parameters, arguments) PASS_AND(result, name, parameters, arguments, (void)0)
PASS_AND(int, fsync, (int fd), (fd), record_fd_call("fsync", fd, 0, 0))
PASS_AND(int, fdatasync, (int fd), (fd), record_fd_call("fsync", fd, 0, 0))
PASS(int, msync, (void* data, size_t size, int flags), (data, size, flags))
PASS_AND(int, rename, (const char* from, const char* to), (from, to), record_line("rename", from, to, 0, 0))
PASS(int, renameat, (int a, const char* from, int b, const char* to), (a, from, b, to))
PASS(int, renameat2, (int a, const char* from, int b, const char* to, unsigned flags), (a, from, b, to, flags))
PASS_AND(int, ftruncate, (int fd, off_t size), (fd, size), record_fd_call("truncate", fd, size, 0))
PASS_AND(int, ftruncate64, (int fd, off64_t size), (fd, size), record_fd_call("truncate", fd, size, 0))
PASS(int, fallocate, (int fd, int mode, off_t offset, off_t size), (fd, mode, offset, size))
PASS(int, fallocate64, (int fd, int mode, off64_t offset, off64_t size), (fd, mode, offset, size))
PASS_AND(int, unlink, (const char* path), (path), record_line("unlink", path, "", 0, 0))
PASS(int, unlinkat, (int directory, const char* path, int flags), (directory, path, flags))
PASS(int, remove, (const char* path), (path))
PASS_AND(int, rmdir, (const char* path), (path), record_line("rmdir", path, "", 0, 0))
PASS_AND(int, mkdir, (const char* path, mode_t mode), (path, mode), record_line("mkdir", path, "", 0, 0))
PASS(int, mkdirat, (int directory, const char* path, mode_t mode), (directory, path, mode))
PASS(int, link, (const char* from, const char* to), (from, to))
PASS(int, linkat, (int a, const char* from, int b, const char* to, int flags), (a, from, b, to, flags))
PASS_AND(ssize_t, copy_file_range, (int in, off64_t* at_in, int out, off64_t* at_out, size_t size, unsigned flags),
         (in, at_in, out, at_out, size, flags),
         record_write(out, (at_out ? *at_out : lseek(out, 0, SEEK_CUR)) - done, (size_t)done))
PASS_AND(ssize_t, sendfile64, (int out, int in, off64_t* at, size_t size), (out, in, at, size),
         record_write(out, lseek(out, 0, SEEK_CUR) - done, (size_t)done))
ssize_t sendfile(int out, int in, off_t* at, size_t size) { return sendfile64(out, in, at, size); }

// These two return the error instead of setting errno.
int posix_fallocate64(int fd, off64_t offset, off64_t size) {
  if (count("posix_fallocate", 0) == fail) return fail_errno;
  return NEXT(posix_fallocate64, int (*)(int, off64_t, off64_t))(fd, offset, size);
}
int posix_fallocate(int fd, off_t offset, off_t size) { return posix_fallocate64(fd, offset, size); }
