/* Stands between a program and the C library, as fakeroot's library does, and tells what is opened and removed. Makes the calls itself. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static void tell(const char *what, const char *name) {
    char line[512] = "";
    strcat(strncat(strcat(line, what), name, 400), "\n");
    (void)!write(2, line, strlen(line));
}

int openat(int directory, const char *name, int flags, ...) {
    va_list more;
    va_start(more, flags);
    int mode = flags & O_CREAT ? va_arg(more, int) : 0;
    va_end(more);
    tell(flags & O_CREAT ? "made " : "opened ", name);
    return (int)syscall(SYS_openat, directory, name, flags, mode);
}

/* As NFS answers: it cannot promise to replace nothing. */
int renameat2(int from, const char *name, int to, const char *new_name, unsigned flags) {
    if (flags != 0) {
        errno = EINVAL;
        return -1;
    }
    return (int)syscall(SYS_renameat2, from, name, to, new_name, flags);
}

int unlinkat(int directory, const char *name, int flags) {
    tell("removed ", name);
    return (int)syscall(SYS_unlinkat, directory, name, flags);
}
