/* Preloaded, it makes the folder $ODD behave like a file system without links and permissions, as vfat is. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int odd(const char *path) {
    const char *prefix = getenv("ODD");
    return prefix && path && strncmp(path, prefix, strlen(prefix)) == 0;
}

static int odd_handle(int handle) {
    char name[64], path[PATH_MAX];
    snprintf(name, sizeof name, "/proc/self/fd/%d", handle);
    ssize_t length = readlink(name, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return odd(path);
}

static int refuse(void) {
    errno = EPERM;
    return -1;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

int link(const char *from, const char *to) { return odd(to) ? refuse() : REAL(link)(from, to); }
int linkat(int at, const char *from, int to_at, const char *to, int flags) {
    return odd(to) ? refuse() : REAL(linkat)(at, from, to_at, to, flags);
}
int symlink(const char *to, const char *path) { return odd(path) ? refuse() : REAL(symlink)(to, path); }
int chmod(const char *path, mode_t mode) { return odd(path) ? refuse() : REAL(chmod)(path, mode); }
int fchmod(int handle, mode_t mode) { return odd_handle(handle) ? refuse() : REAL(fchmod)(handle, mode); }
