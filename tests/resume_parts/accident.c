/* Preloaded into the command by resume.sh: an accident at an exact place. $ACCIDENT is "KIND NAME N": at the N-th call for a file
 * whose name contains NAME,
 *   half     half of the file is gone and the program dies, as by kill -9 while it writes
 *   before   it dies before the rename
 *   after    it dies after the rename, before anything else
 *   full     the disk is full when the file is synced */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char kind[16], name[64];
static int left = -1;

static int due(const char *wanted, const char *path)
{
    if (left < 0) {
        const char *text = getenv("ACCIDENT");
        if (!text || sscanf(text, "%15s %63s %d", kind, name, &left) != 3)
            left = 0;
    }
    return left > 0 && strcmp(kind, wanted) == 0 && strstr(path, name) && --left == 0;
}

static void die(void)
{
    kill(getpid(), SIGKILL);
    for (;;)
        pause();
}

int fsync(int descriptor)
{
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, sizeof path - 1);
    path[length > 0 ? length : 0] = '\0';
    if (due("half", path)) {
        struct stat status;
        if (fstat(descriptor, &status) != 0 || ftruncate(descriptor, status.st_size / 2) != 0)
            abort();
        die();
    }
    if (due("full", path)) {
        errno = ENOSPC;
        return -1;
    }
    return real(descriptor);
}

int rename(const char *from, const char *to)
{
    int (*real)(const char *, const char *) = (int (*)(const char *, const char *))dlsym(RTLD_NEXT, "rename");
    if (due("before", to))
        die();
    int result = real(from, to);
    if (due("after", to))
        die();
    return result;
}
