/* Runs a command for which some calls fail: failing NUMBER read|write BYTES COMMAND...: whoever reads or writes exactly BYTES at once gets the
   error NUMBER. The kernel's own ways of copying are refused, so that everything is read and written. For tests: a disk that fails for one file. */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOAD(offset) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset)
#define JUMP_IF(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, yes, no)
#define RETURN(value) BPF_STMT(BPF_RET | BPF_K, value)

int main(int count, char **arguments) {
    if (count < 5) return 125;
    unsigned error = atoi(arguments[1]), bytes = atoi(arguments[3]);
    int reads = strcmp(arguments[2], "read") == 0;
    struct sock_filter filter[] = {
        LOAD(offsetof(struct seccomp_data, nr)),
        JUMP_IF(SYS_copy_file_range, 4, 0),
        JUMP_IF(SYS_sendfile, 3, 0),
        JUMP_IF(reads ? SYS_read : SYS_write, 3, 0),
        JUMP_IF(reads ? SYS_pread64 : SYS_pwrite64, 2, 0),
        RETURN(SECCOMP_RET_ALLOW),
        RETURN(SECCOMP_RET_ERRNO | ENOSYS),
        /* The low half of the third argument is enough. */
        LOAD(offsetof(struct seccomp_data, args[2])),
        JUMP_IF(bytes, 0, 1),
        RETURN(SECCOMP_RET_ERRNO | error),
        RETURN(SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) return 126;
    execvp(arguments[4], arguments + 4);
    perror(arguments[4]);
    return 127;
}
