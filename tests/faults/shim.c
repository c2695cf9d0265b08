/* Faults in the system calls of one process: the n-th call that matches fails, is cut short or ends the process.

   Loaded with LD_PRELOAD and armed by `fault_arm`; see shim.py. A call matches by its kind, and by the path of
   its file: below `folder`, with `part` somewhere in it. Without locks, because children are forked from threads.
*/
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum kind { WRITE = 1, SYNC = 2, RENAME = 4, OTHER = 8 };
enum action { COUNT, FAIL, SHORT, KILL_BEFORE, KILL_AFTER };

static struct {
    char folder[PATH_MAX];
    char part[PATH_MAX];
    int kinds;
    long nth;
    int action;
    int error;
    int lasts; /* every matching call from the n-th on, not that one alone */
    int report;
} fault;
static atomic_int armed;
static atomic_long seen;

#define REAL(type, name) \
    static type (*real)(); \
    if (!real) real = (type (*)())dlsym(RTLD_NEXT, name)

void fault_arm(const char *folder, const char *part, int kinds, long nth, int action, int error, int lasts,
               int report) {
    atomic_store(&armed, 0);
    snprintf(fault.folder, sizeof fault.folder, "%s", folder);
    snprintf(fault.part, sizeof fault.part, "%s", part);
    fault.kinds = kinds;
    fault.nth = nth;
    fault.action = action;
    fault.error = error;
    fault.lasts = lasts;
    fault.report = report;
    atomic_store(&seen, 0);
    atomic_store(&armed, 1);
}

long fault_disarm(void) {
    atomic_store(&armed, 0);
    return atomic_load(&seen);
}

static void path_of(int descriptor, const char *name, char *path) {
    char link[64];
    path[0] = 0;
    if (name && name[0] == '/') {
        snprintf(path, PATH_MAX, "%s", name);
        return;
    }
    if (descriptor == AT_FDCWD)
        snprintf(link, sizeof link, "/proc/self/cwd");
    else
        snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    if (length < 0)
        length = 0;
    path[length] = 0;
    if (name)
        snprintf(path + length, PATH_MAX - length, "/%s", name);
}

/* What is to happen to this call. */
static enum action meet(enum kind kind, const char *what, int descriptor, const char *name) {
    char path[PATH_MAX], line[PATH_MAX + 64];
    int before = errno;
    if (!atomic_load(&armed) || !(fault.kinds & kind))
        return COUNT;
    path_of(descriptor, name, path);
    size_t length = strlen(fault.folder);
    if (strncmp(path, fault.folder, length) || (fault.part[0] && !strstr(path + length, fault.part))) {
        errno = before;
        return COUNT;
    }
    long number = atomic_fetch_add(&seen, 1) + 1;
    if (fault.report >= 0) {
        int size = snprintf(line, sizeof line, "%s %s\n", what, path + length);
        syscall(SYS_write, fault.report, line, size);
    }
    errno = before;
    if (!fault.nth || !(number == fault.nth || (fault.lasts && number > fault.nth)))
        return COUNT;
    return fault.action;
}

static void die(void) {
    for (;;)
        syscall(SYS_kill, getpid(), SIGKILL);
}

/* The same for every call: die before it, refuse it, or make it and die after it. */
#define WITH_FAULT(kind, what, descriptor, name, call) \
    enum action action = meet(kind, what, descriptor, name); \
    if (action == KILL_BEFORE) \
        die(); \
    if (action == FAIL) { \
        errno = fault.error; \
        return -1; \
    } \
    __auto_type result = call; \
    if (action == KILL_AFTER) \
        die(); \
    return result

#define HALF(size) (action == SHORT && (size) > 1 ? (size) / 2 : (size))

ssize_t write(int descriptor, const void *data, size_t size) {
    REAL(ssize_t, "write");
    WITH_FAULT(WRITE, "write", descriptor, NULL, real(descriptor, data, HALF(size)));
}

ssize_t pwrite(int descriptor, const void *data, size_t size, off_t at) {
    REAL(ssize_t, "pwrite");
    WITH_FAULT(WRITE, "write", descriptor, NULL, real(descriptor, data, HALF(size), at));
}

ssize_t pwrite64(int descriptor, const void *data, size_t size, off64_t at) {
    REAL(ssize_t, "pwrite64");
    WITH_FAULT(WRITE, "write", descriptor, NULL, real(descriptor, data, HALF(size), at));
}

ssize_t writev(int descriptor, const struct iovec *parts, int count) {
    REAL(ssize_t, "writev");
    WITH_FAULT(WRITE, "write", descriptor, NULL, real(descriptor, parts, HALF(count)));
}

int fsync(int descriptor) {
    REAL(int, "fsync");
    WITH_FAULT(SYNC, "fsync", descriptor, NULL, real(descriptor));
}

int fdatasync(int descriptor) {
    REAL(int, "fdatasync");
    WITH_FAULT(SYNC, "fsync", descriptor, NULL, real(descriptor));
}

int rename(const char *from, const char *to) {
    REAL(int, "rename");
    WITH_FAULT(RENAME, "rename", AT_FDCWD, to, real(from, to));
}

int renameat(int old, const char *from, int new, const char *to) {
    REAL(int, "renameat");
    WITH_FAULT(RENAME, "rename", new, to, real(old, from, new, to));
}

int ftruncate(int descriptor, off_t size) {
    REAL(int, "ftruncate");
    WITH_FAULT(OTHER, "truncate", descriptor, NULL, real(descriptor, size));
}

int ftruncate64(int descriptor, off64_t size) {
    REAL(int, "ftruncate64");
    WITH_FAULT(OTHER, "truncate", descriptor, NULL, real(descriptor, size));
}

int unlink(const char *path) {
    REAL(int, "unlink");
    WITH_FAULT(OTHER, "unlink", AT_FDCWD, path, real(path));
}

int unlinkat(int folder, const char *path, int flags) {
    REAL(int, "unlinkat");
    WITH_FAULT(OTHER, "unlink", folder, path, real(folder, path, flags));
}

int rmdir(const char *path) {
    REAL(int, "rmdir");
    WITH_FAULT(OTHER, "rmdir", AT_FDCWD, path, real(path));
}

int mkdir(const char *path, mode_t mode) {
    REAL(int, "mkdir");
    WITH_FAULT(OTHER, "mkdir", AT_FDCWD, path, real(path, mode));
}

int mkdirat(int folder, const char *path, mode_t mode) {
    REAL(int, "mkdirat");
    WITH_FAULT(OTHER, "mkdir", folder, path, real(folder, path, mode));
}

int symlinkat(const char *target, int folder, const char *path) {
    REAL(int, "symlinkat");
    WITH_FAULT(OTHER, "symlink", folder, path, real(target, folder, path));
}

int fchmod(int descriptor, mode_t mode) {
    REAL(int, "fchmod");
    WITH_FAULT(OTHER, "chmod", descriptor, NULL, real(descriptor, mode));
}
