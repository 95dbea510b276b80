/* Runs a command in a sandbox that knows no newer calls: sandbox NUMBER COMMAND...: each of those below gets the error NUMBER, as containers
   answer that were made before the calls: ENOSYS is what glibc expects, EPERM what old seccomp profiles say.
   sandbox NUMBER listing COMMAND...: only those that list extended attributes get it, as from a file system that is broken. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FCHMODAT2 452
#define REFUSED 9
#define REFUSE_IF(at, number) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, REFUSED - (at), 0)

int main(int count, char **arguments) {
    if (count < 3) return 125;
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        REFUSE_IF(0, SYS_openat2),
        REFUSE_IF(1, FCHMODAT2),
        REFUSE_IF(2, SYS_io_uring_setup),
        REFUSE_IF(3, SYS_io_uring_enter),
        REFUSE_IF(4, SYS_io_uring_register),
        REFUSE_IF(5, SYS_unshare),
        REFUSE_IF(6, SYS_copy_file_range),
        REFUSE_IF(7, SYS_close_range),
        REFUSE_IF(8, SYS_pidfd_open),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)atoi(arguments[1])),
    };
    struct sock_filter listing[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_listxattr, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_llistxattr, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_flistxattr, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)atoi(arguments[1])),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    if (!strcmp(arguments[2], "listing")) {
        program = (struct sock_fprog){sizeof listing / sizeof *listing, listing};
        arguments++;
    }
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) return 126;
    execvp(arguments[2], arguments + 2);
    perror(arguments[2]);
    return 127;
}
