// What file systems do differently, imitated below the fault tests' library (shim.c). Internal to it.
//
// Environment:
//
//   BALE_SHIM_MOUNT=NAME  the whole disk is like one of
//       nfs      an open file that is unlinked or renamed over stays, as ".nfs...", until it is closed; no renameat2
//       lustre   mounted without flock: ENOSYS
//       cifs     no hard links, no rename over a file, no fsync of directories, no renameat2
//       overlay  a directory cannot be renamed: EXDEV
//   None of them has files without a name (O_TMPFILE).
//
//   BALE_SHIM_COARSE_TIMES=1  files have times of 2 s
//   BALE_SHIM_IGNORE_CASE=DIR below DIR, names that differ only by upper and lower case are one
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

struct ways {
  int no_tmpfile, no_hard_links, no_flock, no_directory_fsync, no_rename_over, no_directory_rename, no_renameat2;
  int silly_renames;
  int coarse_times;
};
extern struct ways mount_ways;

/// Reads the environment.
void mount_start(void);

/// `path` from the root on; `out` has PATH_MAX bytes. 0 if it cannot be told.
int mount_absolute(int directory, const char* path, char* out);

/// `path` as the name that is there if case is ignored; `buffer` has PATH_MAX bytes. Returns `path` or `buffer`.
const char* mount_path(int directory, const char* path, char* buffer);

/// Before a file is unlinked or renamed over: one that is open gets another name. Returns 1 if it did.
int mount_keep_open_file(int directory, const char* path);
/// After a file was closed or unmapped: removes what nobody has open any more.
void mount_sweep(void);

/// 0, or the errno with which a rename is refused.
int mount_refuses_rename(int from_directory, const char* from, int to_directory, const char* to);
int mount_refuses_fsync(int fd);
void mount_coarsen(struct stat* info);
