/* Preloaded, it counts the calls that change files below $FAILING, and lets one of them fail.
 *
 * `arm` says which call (0: none) and how: as on a full disk (that call and all that need room after
 * it), by one error of the disk, or by the end of the process in the middle of it. The counter is shared
 * with forked processes. A sync is counted and not made: nobody pulls the plug here. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum kind { FULL = 1, ERROR = 2, KILL = 3 };
enum room { NONE, ROOM };

static struct shared {
    long fails_at, count;
    int kind, is_counting;
    char call[PATH_MAX + 64];
} *shared;

__attribute__((constructor)) static void make_shared(void) {
    shared = mmap(0, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

void arm(int kind, long fails_at) {
    shared->count = 0;
    shared->kind = kind;
    shared->fails_at = fails_at;
    shared->call[0] = 0;
    shared->is_counting = 1;
}
void disarm(void) { shared->is_counting = 0; }
long call_count(void) { return shared->count; }
const char *failed_call(void) { return shared->call; }

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static int is_below(const char *path) {
    const char *top = getenv("FAILING");
    return top && strncmp(path, top, strlen(top)) == 0;
}

static int path_of(int handle, char *path) {
    char name[64];
    if (handle == AT_FDCWD) snprintf(name, sizeof name, "/proc/self/cwd");
    else snprintf(name, sizeof name, "/proc/self/fd/%d", handle);
    ssize_t length = readlink(name, path, PATH_MAX - 1);
    path[length < 0 ? 0 : length] = 0;
    return length >= 0;
}

/* Whether this call fails, with errno set. */
static int fails_at_path(const char *call, const char *path, enum room room) {
    if (!shared || !shared->is_counting || !is_below(path)) return 0;
    long number = __atomic_add_fetch(&shared->count, 1, __ATOMIC_SEQ_CST);
    int is_full = shared->kind == FULL && shared->fails_at && number > shared->fails_at && room == ROOM;
    if (number != shared->fails_at && !is_full) return 0;
    if (number == shared->fails_at) snprintf(shared->call, sizeof shared->call, "%s %.4000s", call, path);
    errno = shared->kind == FULL ? ENOSPC : EIO;
    return 1;
}

static int fails(const char *call, int at, const char *name, enum room room) {
    char path[2 * PATH_MAX];
    int saved = errno;
    if (!shared || !shared->is_counting) return 0;
    if (!name || !*name) {
        if (!path_of(at, path)) return errno = saved, 0;
    } else if (*name == '/') {
        snprintf(path, sizeof path, "%s", name);
    } else {
        if (!path_of(at, path)) return errno = saved, 0;
        size_t length = strlen(path);
        snprintf(path + length, sizeof path - length, "/%s", name);
    }
    errno = saved;
    if (!fails_at_path(call, path, room)) return 0;
    if (shared->kind == KILL && strncmp(call, "write", 5)) kill(getpid(), SIGKILL);
    return 1;
}

/* Opening counts where it may make or change a file. */
static int is_change(int flags) { return flags & (O_CREAT | O_TRUNC) || (flags & O_ACCMODE) != O_RDONLY; }
#define OPEN(name)                                                                                  \
    int name(const char *path, int flags, ...) {                                                    \
        va_list rest;                                                                               \
        va_start(rest, flags);                                                                      \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;                     \
        va_end(rest);                                                                               \
        if (is_change(flags) && fails("open", AT_FDCWD, path, flags & O_CREAT ? ROOM : NONE)) return -1; \
        return REAL(name)(path, flags, mode);                                                       \
    }
#define OPENAT(name)                                                                                \
    int name(int at, const char *path, int flags, ...) {                                            \
        va_list rest;                                                                               \
        va_start(rest, flags);                                                                      \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;                     \
        va_end(rest);                                                                               \
        if (is_change(flags) && fails("openat", at, path, flags & O_CREAT ? ROOM : NONE)) return -1; \
        return REAL(name)(at, path, flags, mode);                                                   \
    }
OPEN(open) OPEN(open64) OPENAT(openat) OPENAT(openat64)

/* A write that fails has written half. */
#define WRITE(name, rest, ...)                                                                      \
    ssize_t name(int handle, const void *data, size_t size rest) {                                  \
        if (fails("write", handle, 0, ROOM)) {                                                      \
            int why = errno, is_first = size > 1 && shared->count == shared->fails_at;              \
            ssize_t done = is_first ? REAL(name)(handle, data, size / 2 __VA_ARGS__) : -1;          \
            if (shared->kind == KILL) kill(getpid(), SIGKILL);                                      \
            errno = why;                                                                            \
            return shared->kind == FULL ? done : -1;                                                \
        }                                                                                           \
        return REAL(name)(handle, data, size __VA_ARGS__);                                          \
    }
#define COMMA ,
WRITE(write, )
WRITE(pwrite, COMMA off_t at, , at)
WRITE(pwrite64, COMMA off64_t at, , at)

#define SIMPLE(type, name, parameters, arguments, at, path, room)                                   \
    type name parameters { return fails(#name, at, path, room) ? -1 : REAL(name) arguments; }
SIMPLE(ssize_t, writev, (int f, const struct iovec *v, int n), (f, v, n), f, 0, ROOM)
SIMPLE(ssize_t, copy_file_range, (int i, off64_t *a, int f, off64_t *b, size_t n, unsigned k), (i, a, f, b, n, k), f, 0, ROOM)
SIMPLE(ssize_t, sendfile, (int f, int i, off_t *o, size_t n), (f, i, o, n), f, 0, ROOM)
SIMPLE(ssize_t, sendfile64, (int f, int i, off64_t *o, size_t n), (f, i, o, n), f, 0, ROOM)
SIMPLE(int, ftruncate, (int f, off_t n), (f, n), f, 0, NONE)
SIMPLE(int, ftruncate64, (int f, off64_t n), (f, n), f, 0, NONE)
SIMPLE(int, posix_fallocate, (int f, off_t a, off_t n), (f, a, n), f, 0, ROOM)
SIMPLE(int, fchmod, (int f, mode_t m), (f, m), f, 0, NONE)
SIMPLE(int, fchown, (int f, uid_t u, gid_t g), (f, u, g), f, 0, NONE)
SIMPLE(int, flock, (int f, int how), (f, how), f, 0, NONE)
SIMPLE(int, chmod, (const char *p, mode_t m), (p, m), AT_FDCWD, p, NONE)
SIMPLE(int, chown, (const char *p, uid_t u, gid_t g), (p, u, g), AT_FDCWD, p, NONE)
SIMPLE(int, truncate, (const char *p, off_t n), (p, n), AT_FDCWD, p, NONE)
SIMPLE(int, unlink, (const char *p), (p), AT_FDCWD, p, NONE)
SIMPLE(int, unlinkat, (int d, const char *p, int k), (d, p, k), d, p, NONE)
SIMPLE(int, rmdir, (const char *p), (p), AT_FDCWD, p, NONE)
SIMPLE(int, remove, (const char *p), (p), AT_FDCWD, p, NONE)
SIMPLE(int, mkdir, (const char *p, mode_t m), (p, m), AT_FDCWD, p, ROOM)
SIMPLE(int, mkdirat, (int d, const char *p, mode_t m), (d, p, m), d, p, ROOM)
SIMPLE(int, rename, (const char *a, const char *b), (a, b), AT_FDCWD, b, NONE)
SIMPLE(int, renameat, (int c, const char *a, int d, const char *b), (c, a, d, b), d, b, NONE)
SIMPLE(int, link, (const char *a, const char *b), (a, b), AT_FDCWD, b, ROOM)
SIMPLE(int, linkat, (int c, const char *a, int d, const char *b, int k), (c, a, d, b, k), d, b, ROOM)
SIMPLE(int, symlink, (const char *a, const char *b), (a, b), AT_FDCWD, b, ROOM)
SIMPLE(int, symlinkat, (const char *a, int d, const char *b), (a, d, b), d, b, ROOM)

#define SYNC(name)                                                                                  \
    int name(int handle) { return fails(#name, handle, 0, NONE) ? -1 : 0; }
SYNC(fsync) SYNC(fdatasync)
