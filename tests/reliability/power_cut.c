/*
 * What a power cut leaves behind: preloaded into a process, this keeps a copy of each file below
 * POWER_CUT_WATCHED as it was when the process last waited for the disk to have it. The copies, in
 * the folder POWER_CUT_KEPT, are all that a disk must hold; whatever was written since is not there.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static void must(int holds, const char *what)
{
    if (!holds) {
        perror(what);
        abort();
    }
}

/* Through the descriptor itself: opening and closing the file again would drop SQLite's locks. */
static void copy(int from, const char *to)
{
    char part[1 << 16];
    off_t at = 0;
    ssize_t size;
    int out = open(to, O_CREAT | O_TRUNC | O_WRONLY, 0600);

    must(out >= 0, to);
    while ((size = pread(from, part, sizeof part, at)) > 0) {
        must(write(out, part, size) == size, to);
        at += size;
    }
    must(size == 0, "pread");
    close(out);
}

/* Where the copy of a file is kept, with something after its name; 0: the file is not watched. */
static int place(char *result, const char *path, const char *suffix)
{
    const char *watched = getenv("POWER_CUT_WATCHED"), *kept = getenv("POWER_CUT_KEPT");

    if (!watched || !kept || strncmp(path, watched, strlen(watched)))
        return 0;
    must(snprintf(result, PATH_MAX, "%s%s%s", kept, strrchr(path, '/'), suffix) < PATH_MAX, path);
    return 1;
}

static void keep(int fd)
{
    char link[64], path[PATH_MAX], half[PATH_MAX], whole[PATH_MAX], guard[PATH_MAX];
    struct stat status;
    ssize_t length;
    int lock;

    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    length = readlink(link, path, sizeof path - 1);
    if (length < 0 || fstat(fd, &status) || !S_ISREG(status.st_mode))
        return;
    path[length] = '\0';
    if (!place(whole, path, "") || !place(half, path, ".half") || !place(guard, path, ".guard"))
        return;
    /* One at a time, so that the copy of the last to wait is the one that stays. */
    lock = open(guard, O_CREAT | O_RDWR, 0600);
    must(lock >= 0 && !flock(lock, LOCK_EX), guard);
    copy(fd, half);
    must(!rename(half, whole), whole);
    close(lock);
}

int fsync(int fd)
{
    keep(fd);
    return syscall(SYS_fsync, fd);
}

int fdatasync(int fd)
{
    keep(fd);
    return syscall(SYS_fdatasync, fd);
}

/* Names go at once: file systems keep their changes in order with what is waited for. */
int unlink(const char *path)
{
    char whole[PATH_MAX];

    if (place(whole, path, ""))
        unlinkat(AT_FDCWD, whole, 0);
    return unlinkat(AT_FDCWD, path, 0);
}
