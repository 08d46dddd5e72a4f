/*
 * A disk that forgets and fails. Preloaded into a process, this records what the process does to the
 * files of the folder DISK_FOLDER, in order, in the file DISK_RECORD: `tests.reliability.disks` makes of
 * it what a disk may hold after a power cut at any moment. Nothing is really waited for: that would
 * only take time.
 *
 * DISK_FAULT="sync alama.db 3" lets the third sync of that file fail with EIO (or write, truncate, create,
 * link, rename, unlink; "." is the folder), once in all processes: DISK_FAULT_DONE is made then. A sync that
 * failed loses what was to be synced, for good: Linux takes such pages for clean.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int record_fd = -1, record_pid = -1;
static long met; /* how often this process has come to where the fault is to be */

static void must(int holds, const char *what)
{
    if (!holds) {
        perror(what);
        abort();
    }
}

/* One at a time, in all threads and processes: the record has one order. */
static void lock(void)
{
    pthread_mutex_lock(&mutex);
    if (record_pid != getpid()) {
        record_fd = syscall(SYS_openat, AT_FDCWD, getenv("DISK_RECORD"),
                            O_CREAT | O_APPEND | O_WRONLY | O_CLOEXEC, 0600);
        must(record_fd >= 0, "DISK_RECORD");
        record_pid = getpid();
    }
    must(!flock(record_fd, LOCK_EX), "flock");
}

static void unlock(void)
{
    int kept = errno;

    flock(record_fd, LOCK_UN);
    pthread_mutex_unlock(&mutex);
    errno = kept;
}

static void note(char what, const char *name, uint64_t at, const void *data, uint64_t size)
{
    struct { uint64_t what, name_size, at, size; } head = {what, strlen(name), at, size};
    struct iovec parts[] = {
        {&head, sizeof head}, {(void *)name, strlen(name)}, {(void *)data, size}};
    ssize_t all = sizeof head + strlen(name) + size;
    int kept = errno;

    must(syscall(SYS_writev, record_fd, parts, 3) == all, "record");
    errno = kept;
}

/* The name of a file in the folder, "." for the folder itself, NULL for what is not watched. */
static const char *watched(const char *path)
{
    const char *folder = getenv("DISK_FOLDER");
    size_t size = folder ? strlen(folder) : 0;

    if (!size || !getenv("DISK_RECORD") || strncmp(path, folder, size))
        return NULL;
    if (!path[size])
        return ".";
    if (path[size] != '/' || strchr(path + size + 1, '/') || strstr(path, "-shm"))
        return NULL; /* SQLite's shared memory means nothing after a start */
    return path + size + 1;
}

static const char *watched_fd(int fd, char *path)
{
    char link[64];
    ssize_t size;

    if (!getenv("DISK_FOLDER"))
        return NULL;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    size = readlink(link, path, PATH_MAX - 1);
    if (size < 0)
        return NULL;
    path[size] = '\0';
    return watched(path);
}

/* Whether this is where the fault is to be; then errno says so. */
static int fails(const char *what, const char *name)
{
    const char *fault = getenv("DISK_FAULT"), *done = getenv("DISK_FAULT_DONE");
    char wanted[16], file[256];
    long at;
    int flag;

    if (!fault || !done || sscanf(fault, "%15s %255s %ld", wanted, file, &at) != 3)
        return 0;
    if (strcmp(wanted, what) || strcmp(file, name) || ++met < at)
        return 0;
    flag = syscall(SYS_openat, AT_FDCWD, done, O_CREAT | O_EXCL | O_WRONLY, 0600);
    if (flag < 0)
        return 0; /* there was one */
    close(flag);
    note('F', name, 0, NULL, 0);
    errno = EIO;
    return 1;
}

static int synced(int fd, long number)
{
    char path[PATH_MAX];
    const char *name = watched_fd(fd, path);
    int failed;

    if (!name)
        return syscall(number, fd);
    lock();
    failed = fails("sync", name);
    note(failed ? 'D' : 'S', name, 0, NULL, 0);
    unlock();
    return failed ? -1 : 0;
}

int fsync(int fd) { return synced(fd, SYS_fsync); }
int fdatasync(int fd) { return synced(fd, SYS_fdatasync); }

static ssize_t written(int fd, const void *data, size_t size, off_t at)
{
    char path[PATH_MAX];
    const char *name = watched_fd(fd, path);
    ssize_t done = -1;
    off_t place = at;

    if (name) {
        lock();
        if (at < 0)
            place = lseek(fd, 0, fcntl(fd, F_GETFL) & O_APPEND ? SEEK_END : SEEK_CUR);
        if (fails("write", name)) {
            unlock();
            return -1;
        }
    }
    done = at < 0 ? syscall(SYS_write, fd, data, size) : syscall(SYS_pwrite64, fd, data, size, at);
    if (name) {
        if (done > 0)
            note('W', name, place, data, done);
        unlock();
    }
    return done;
}

ssize_t write(int fd, const void *data, size_t size) { return written(fd, data, size, -1); }
ssize_t pwrite(int fd, const void *data, size_t size, off_t at) { return written(fd, data, size, at); }
ssize_t pwrite64(int fd, const void *data, size_t size, off_t at) { return written(fd, data, size, at); }

static int cut(int fd, off_t size)
{
    char path[PATH_MAX];
    const char *name = watched_fd(fd, path);
    int done;

    if (!name)
        return syscall(SYS_ftruncate, fd, size);
    lock();
    done = fails("truncate", name) ? -1 : syscall(SYS_ftruncate, fd, size);
    if (!done)
        note('T', name, size, NULL, 0);
    unlock();
    return done;
}

int ftruncate(int fd, off_t size) { return cut(fd, size); }
int ftruncate64(int fd, off_t size) { return cut(fd, size); }

static int opened(int folder, const char *path, int flags, mode_t mode)
{
    const char *name = flags & O_CREAT ? watched(path) : NULL;
    int fd, is_new;

    if (!name)
        return syscall(SYS_openat, folder, path, flags, mode);
    lock();
    is_new = faccessat(folder, path, F_OK, AT_SYMLINK_NOFOLLOW);
    fd = is_new && fails("create", name) ? -1 : syscall(SYS_openat, folder, path, flags, mode);
    if (fd >= 0 && is_new)
        note('C', name, 0, NULL, 0);
    else if (fd >= 0 && flags & O_TRUNC)
        note('T', name, 0, NULL, 0);
    unlock();
    return fd;
}

#define MODE(last) \
    mode_t mode = 0; \
    va_list rest; \
    va_start(rest, last); \
    if (flags & (O_CREAT | O_TMPFILE)) \
        mode = va_arg(rest, mode_t); \
    va_end(rest)

int open(const char *path, int flags, ...) { MODE(flags); return opened(AT_FDCWD, path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE(flags); return opened(AT_FDCWD, path, flags, mode); }
int openat(int folder, const char *path, int flags, ...) { MODE(flags); return opened(folder, path, flags, mode); }
int openat64(int folder, const char *path, int flags, ...) { MODE(flags); return opened(folder, path, flags, mode); }

int unlink(const char *path)
{
    const char *name = watched(path);
    int done;

    if (!name)
        return syscall(SYS_unlinkat, AT_FDCWD, path, 0);
    lock();
    done = fails("unlink", name) ? -1 : syscall(SYS_unlinkat, AT_FDCWD, path, 0);
    if (!done)
        note('U', name, 0, NULL, 0);
    unlock();
    return done;
}

static int named(char what, const char *kind, const char *from, const char *to)
{
    const char *before = watched(from), *after = watched(to);
    int done, is_link = what == 'L';

    if (!after)
        return is_link ? syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0)
                       : syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
    must(before != NULL, "into the folder from elsewhere");
    lock();
    done = fails(kind, after) ? -1
           : is_link          ? syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0)
                              : syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
    if (!done)
        note(what, before, 0, after, strlen(after));
    unlock();
    return done;
}

int link(const char *from, const char *to) { return named('L', "link", from, to); }
int rename(const char *from, const char *to) { return named('R', "rename", from, to); }
