/*
 * Records what a process does to the files under a directory, in the order in which it happens, so that
 * src/power can rebuild every disk that a power cut could have left. Preloaded (LD_PRELOAD).
 *
 *   LAZULI_POWERCUT_DIR    the directory, absolute, without a trailing slash
 *   LAZULI_POWERCUT_TRACE  where to append the records
 *   LAZULI_POWERCUT_ERRORS while there is a directory "armed" in the directory, one in so many writes and syncs fails (EIO)
 *
 * Every change is made and recorded under one mutex, so the order is the true one. Syncs are not: other threads may
 * write while one runs, as on a real machine, so its begin and its end are two records, and it takes a while.
 *
 * A record: kind (1) | inode (8) | a (8) | b (8) | c (8) | length of x (4) | length of y (4) | x | y, little endian.
 * Calls that go round libc are not seen; the replayer compares what it rebuilt with what is there, and so finds out.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { OPEN = 1, WRITE, TRUNCATE, FALLOCATE, RENAME, UNLINK, MKDIR, RMDIR, LINK, SYNC_BEGIN, SYNC_END };
enum { CREATED = 1, TRUNCATED = 2, DIRECTORY = 4 };
#define KNOWN 65536
#define SYNC_MICROSECONDS 1500

static pthread_mutex_t order = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static char root[PATH_MAX];
static size_t root_length;
static int trace = -1;
static uint64_t known[KNOWN]; /* inodes under the root, open addressing; 0 is empty */
static dev_t device;
static uint64_t syncs;
static uint64_t marks;        /* the inode of the workload's marks, which never fail */
static int armed, one_in;
static uint64_t dice = 88172645463325252u;

/* Whether this call is to fail. Under the mutex. */
static int fails(uint64_t inode) {
    if (!armed || !one_in || inode == marks) return 0;
    dice ^= dice << 13;
    dice ^= dice >> 7;
    dice ^= dice << 17;
    if (dice % one_in) return 0;
    errno = EIO;
    return 1;
}

static ssize_t raw_write(int fd, const void *bytes, size_t length) { return syscall(SYS_write, fd, bytes, length); }

static void begin(void) {
    pthread_mutex_lock(&order);
    if (trace >= 0 || root_length) return;
    const char *dir = getenv("LAZULI_POWERCUT_DIR"), *to = getenv("LAZULI_POWERCUT_TRACE");
    if (!dir || !to) {
        root_length = 1; /* nothing matches */
        return;
    }
    root_length = snprintf(root, sizeof root, "%s", dir);
    const char *errors = getenv("LAZULI_POWERCUT_ERRORS");
    one_in = errors ? atoi(errors) : 0;
    dice ^= getpid();
    trace = syscall(SYS_openat, AT_FDCWD, to, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
}

/* No thread is to be ended between a change and its record. */
__attribute__((destructor)) static void last(void) { pthread_mutex_lock(&order); }

static void end(void) { pthread_mutex_unlock(&order); }

static void must_write(const void *bytes, size_t length) {
    const char *at = bytes;
    while (length) {
        ssize_t wrote = raw_write(trace, at, length);
        if (wrote < 0) {
            perror("powercut: the trace cannot be written");
            abort();
        }
        at += wrote;
        length -= wrote;
    }
}

static void record(uint8_t kind, uint64_t inode, uint64_t a, uint64_t b, uint64_t c, const void *x, uint32_t nx,
                   const void *y, uint32_t ny) {
    int saved = errno;
    char head[41];
    head[0] = kind;
    memcpy(head + 1, &inode, 8);
    memcpy(head + 9, &a, 8);
    memcpy(head + 17, &b, 8);
    memcpy(head + 25, &c, 8);
    memcpy(head + 33, &nx, 4);
    memcpy(head + 37, &ny, 4);
    must_write(head, sizeof head);
    must_write(x, nx);
    must_write(y, ny);
    errno = saved;
}

static int is_known(int fd, struct stat *stat) {
    if (trace < 0 || fstat(fd, stat) || stat->st_dev != device) return 0;
    for (size_t at = stat->st_ino % KNOWN;; at = (at + 1) % KNOWN) {
        if (known[at] == stat->st_ino) return 1;
        if (!known[at]) return 0;
    }
}

static void know(const struct stat *stat) {
    device = stat->st_dev;
    size_t at = stat->st_ino % KNOWN;
    while (known[at] && known[at] != stat->st_ino) at = (at + 1) % KNOWN;
    known[at] = stat->st_ino;
}

/* The path below the root, or NULL if it is elsewhere. */
static const char *below(int dir, const char *path, char *room) {
    if (trace < 0 || !path) return NULL;
    if (path[0] == '/') {
        snprintf(room, PATH_MAX, "%s", path);
    } else {
        char link[64], base[PATH_MAX];
        if (dir == AT_FDCWD) snprintf(link, sizeof link, "/proc/self/cwd");
        else snprintf(link, sizeof link, "/proc/self/fd/%d", dir);
        ssize_t length = readlink(link, base, sizeof base - 1);
        if (length < 0) return NULL;
        base[length] = 0;
        snprintf(room, PATH_MAX, "%.2000s/%.2000s", base, path);
    }
    if (strncmp(room, root, root_length) || (room[root_length] != '/' && room[root_length] != 0)) return NULL;
    return room[root_length] ? room + root_length + 1 : room + root_length;
}

static int do_open(int dir, const char *path, int flags, mode_t mode) {
    char room[PATH_MAX];
    begin();
    const char *name = below(dir, path, room);
    struct stat before, after;
    int existed = name && !fstatat(dir, path, &before, 0);
    int fd = syscall(SYS_openat, dir, path, flags, mode);
    if (fd >= 0 && name && !fstat(fd, &after)) {
        know(&after);
        if (!strcmp(name, "marks")) marks = after.st_ino;
        uint64_t how = (existed ? 0 : CREATED) | (flags & O_TRUNC && existed && before.st_size ? TRUNCATED : 0) |
                       (S_ISDIR(after.st_mode) ? DIRECTORY : 0);
        record(OPEN, after.st_ino, how, 0, 0, name, strlen(name), "", 0);
    }
    end();
    return fd;
}

#define OPENER(name)                                                                                                   \
    int name(const char *path, int flags, ...) {                                                                       \
        va_list list;                                                                                                  \
        va_start(list, flags);                                                                                         \
        mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(list, mode_t) : 0;                                      \
        va_end(list);                                                                                                  \
        return do_open(AT_FDCWD, path, flags, mode);                                                                   \
    }
#define OPENER_AT(name)                                                                                                \
    int name(int dir, const char *path, int flags, ...) {                                                              \
        va_list list;                                                                                                  \
        va_start(list, flags);                                                                                         \
        mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(list, mode_t) : 0;                                      \
        va_end(list);                                                                                                  \
        return do_open(dir, path, flags, mode);                                                                        \
    }
OPENER(open)
OPENER(open64)
OPENER_AT(openat)
OPENER_AT(openat64)

ssize_t write(int fd, const void *bytes, size_t length) {
    struct stat stat;
    begin();
    int failed = is_known(fd, &stat) && fails(stat.st_ino);
    ssize_t wrote = failed ? -1 : raw_write(fd, bytes, length);
    if (wrote > 0 && is_known(fd, &stat))
        record(WRITE, stat.st_ino, lseek(fd, 0, SEEK_CUR) - wrote, 0, 0, bytes, wrote, "", 0);
    end();
    return wrote;
}

static ssize_t do_pwrite(int fd, const void *bytes, size_t length, off_t at) {
    struct stat stat;
    begin();
    int failed = is_known(fd, &stat) && fails(stat.st_ino);
    ssize_t wrote = failed ? -1 : syscall(SYS_pwrite64, fd, bytes, length, at);
    if (wrote > 0 && is_known(fd, &stat)) record(WRITE, stat.st_ino, at, 0, 0, bytes, wrote, "", 0);
    end();
    return wrote;
}
ssize_t pwrite(int fd, const void *bytes, size_t length, off_t at) { return do_pwrite(fd, bytes, length, at); }
ssize_t pwrite64(int fd, const void *bytes, size_t length, off_t at) { return do_pwrite(fd, bytes, length, at); }

static void record_vector(int fd, const struct iovec *parts, int count, off_t at, ssize_t wrote) {
    struct stat stat;
    if (wrote <= 0 || !is_known(fd, &stat)) return;
    for (int part = 0; part < count && wrote > 0; part++) {
        ssize_t length = (ssize_t)parts[part].iov_len < wrote ? (ssize_t)parts[part].iov_len : wrote;
        if (length) record(WRITE, stat.st_ino, at, 0, 0, parts[part].iov_base, length, "", 0);
        at += length;
        wrote -= length;
    }
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
    begin();
    ssize_t wrote = syscall(SYS_writev, fd, parts, count);
    if (wrote > 0) record_vector(fd, parts, count, lseek(fd, 0, SEEK_CUR) - wrote, wrote);
    end();
    return wrote;
}

static ssize_t do_pwritev(int fd, const struct iovec *parts, int count, off_t at) {
    begin();
    ssize_t wrote = syscall(SYS_pwritev, fd, parts, count, at, 0);
    record_vector(fd, parts, count, at, wrote);
    end();
    return wrote;
}
ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t at) { return do_pwritev(fd, parts, count, at); }
ssize_t pwritev64(int fd, const struct iovec *parts, int count, off_t at) { return do_pwritev(fd, parts, count, at); }

static int do_ftruncate(int fd, off_t length) {
    struct stat stat;
    begin();
    int result = syscall(SYS_ftruncate, fd, length);
    if (!result && is_known(fd, &stat)) record(TRUNCATE, stat.st_ino, length, 0, 0, "", 0, "", 0);
    end();
    return result;
}
int ftruncate(int fd, off_t length) { return do_ftruncate(fd, length); }
int ftruncate64(int fd, off_t length) { return do_ftruncate(fd, length); }

static int do_fallocate(int fd, int mode, off_t at, off_t length) {
    struct stat stat;
    begin();
    int result = syscall(SYS_fallocate, fd, mode, at, length);
    if (!result && is_known(fd, &stat)) record(FALLOCATE, stat.st_ino, at, length, mode, "", 0, "", 0);
    end();
    return result;
}
int fallocate(int fd, int mode, off_t at, off_t length) { return do_fallocate(fd, mode, at, length); }
int fallocate64(int fd, int mode, off_t at, off_t length) { return do_fallocate(fd, mode, at, length); }
int posix_fallocate(int fd, off_t at, off_t length) { return do_fallocate(fd, 0, at, length) ? errno : 0; }
int posix_fallocate64(int fd, off_t at, off_t length) { return do_fallocate(fd, 0, at, length) ? errno : 0; }

static int do_two(uint8_t kind, long number, int from_dir, const char *from, int to_dir, const char *to, int flags) {
    char room[PATH_MAX], other[PATH_MAX];
    begin();
    const char *x = below(from_dir, from, room), *y = below(to_dir, to, other);
    int result = syscall(number, from_dir, from, to_dir, to, flags);
    if (!result && x && y) record(kind, 0, flags, 0, 0, x, strlen(x), y, strlen(y));
    end();
    return result;
}
int rename(const char *from, const char *to) { return do_two(RENAME, SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0); }
int renameat(int a, const char *from, int b, const char *to) { return do_two(RENAME, SYS_renameat2, a, from, b, to, 0); }
int renameat2(int a, const char *from, int b, const char *to, unsigned flags) {
    return do_two(RENAME, SYS_renameat2, a, from, b, to, flags);
}
int link(const char *from, const char *to) { return do_two(LINK, SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0); }
int linkat(int a, const char *from, int b, const char *to, int flags) {
    return do_two(LINK, SYS_linkat, a, from, b, to, flags);
}

static int do_unlink(int dir, const char *path, int flags) {
    char room[PATH_MAX];
    begin();
    const char *name = below(dir, path, room);
    int result = syscall(SYS_unlinkat, dir, path, flags);
    if (!result && name && !strcmp(name, "armed")) armed = 0;
    if (!result && name) record(flags & AT_REMOVEDIR ? RMDIR : UNLINK, 0, 0, 0, 0, name, strlen(name), "", 0);
    end();
    return result;
}
int unlink(const char *path) { return do_unlink(AT_FDCWD, path, 0); }
int unlinkat(int dir, const char *path, int flags) { return do_unlink(dir, path, flags); }
int rmdir(const char *path) { return do_unlink(AT_FDCWD, path, AT_REMOVEDIR); }

static int do_mkdir(int dir, const char *path, mode_t mode) {
    char room[PATH_MAX];
    struct stat stat;
    begin();
    const char *name = below(dir, path, room);
    int result = syscall(SYS_mkdirat, dir, path, mode);
    if (!result && name && !strcmp(name, "armed")) armed = 1;
    if (!result && name && !fstatat(dir, path, &stat, 0)) {
        know(&stat);
        record(MKDIR, stat.st_ino, 0, 0, 0, name, strlen(name), "", 0);
    }
    end();
    return result;
}
int mkdir(const char *path, mode_t mode) { return do_mkdir(AT_FDCWD, path, mode); }
int mkdirat(int dir, const char *path, mode_t mode) { return do_mkdir(dir, path, mode); }

static int do_sync(int fd, long number) {
    struct stat stat;
    begin();
    int ours = is_known(fd, &stat);
    if (ours && fails(stat.st_ino)) {
        end();
        return -1;
    }
    uint64_t id = ++syncs;
    if (ours) record(SYNC_BEGIN, stat.st_ino, id, getpid(), 0, "", 0, "", 0);
    end();
    if (ours) usleep(SYNC_MICROSECONDS);
    int result = syscall(number, fd);
    begin();
    if (ours && !result) record(SYNC_END, stat.st_ino, id, getpid(), 0, "", 0, "", 0);
    end();
    return result;
}
int fsync(int fd) { return do_sync(fd, SYS_fsync); }
int fdatasync(int fd) { return do_sync(fd, SYS_fdatasync); }
