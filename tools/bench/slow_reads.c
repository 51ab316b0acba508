// Makes reading one file slow, as a disk far away would: each read of the file that SLOW_FILE names sleeps first, for
// SLOW_NANOSECONDS. For LD_PRELOAD; bottlenecks.py builds it.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

static struct stat slow;
static struct timespec pause_before;
static int is_set;

__attribute__((constructor)) static void begin(void) {
  const char* file = getenv("SLOW_FILE");
  const char* nanoseconds = getenv("SLOW_NANOSECONDS");
  if (!file || !nanoseconds || stat(file, &slow) != 0) return;
  const long all = atol(nanoseconds);
  pause_before.tv_sec = all / 1000000000;
  pause_before.tv_nsec = all % 1000000000;
  is_set = 1;
}

static void wait_if_slow(int fd) {
  struct stat status;
  if (is_set && fstat(fd, &status) == 0 && status.st_dev == slow.st_dev && status.st_ino == slow.st_ino)
    nanosleep(&pause_before, NULL);
}

ssize_t pread(int fd, void* out, size_t count, off_t offset) {
  static ssize_t (*real)(int, void*, size_t, off_t);
  if (!real) real = (ssize_t(*)(int, void*, size_t, off_t))dlsym(RTLD_NEXT, "pread");
  wait_if_slow(fd);
  return real(fd, out, count, offset);
}

ssize_t pread64(int fd, void* out, size_t count, off64_t offset) {
  wait_if_slow(fd);
  static ssize_t (*real)(int, void*, size_t, off64_t);
  if (!real) real = (ssize_t(*)(int, void*, size_t, off64_t))dlsym(RTLD_NEXT, "pread64");
  return real(fd, out, count, offset);
}
