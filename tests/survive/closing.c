/* Runs a command for which close(2) fails: closing NUMBER BYTES COMMAND...: whoever closes a regular file of exactly BYTES that is open for
   writing gets the error NUMBER, as NFS and quotas answer when data were only promised before. Each call is judged by this process. For tests. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int listener = -1;

static int start(void *arguments) {
    char **command = arguments;
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_close, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) _exit(126);
    listener = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
    if (listener < 0) _exit(126);
    execvp(command[0], command);
    _exit(127);
}

/* Whether this descriptor of that thread writes to a regular file of so many bytes. */
static int is_bad(unsigned thread, unsigned descriptor, off_t bytes) {
    char path[64];
    struct stat link, file;
    snprintf(path, sizeof path, "/proc/%u/fd/%u", thread, descriptor);
    return lstat(path, &link) == 0 && (link.st_mode & 0200) && stat(path, &file) == 0 && S_ISREG(file.st_mode) && file.st_size == bytes;
}

int main(int count, char **arguments) {
    static char stack[1 << 16] __attribute__((aligned(16)));
    if (count < 4) return 125;
    int error = atoi(arguments[1]);
    off_t bytes = atol(arguments[2]);
    /* Memory and descriptors are shared until the command runs: so the listener is ours too. */
    pid_t child = clone(start, stack + sizeof stack, CLONE_VM | CLONE_VFORK | CLONE_FILES | SIGCHLD, arguments + 3);
    if (child < 0) return 126;
    int status;
    if (listener < 0) return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : 126;
    for (;;) {
        struct pollfd waits = {listener, POLLIN, 0};
        if (poll(&waits, 1, -1) < 0 && errno != EINTR) return 126;
        if (!(waits.revents & POLLIN)) break;
        struct seccomp_notif call = {0};
        if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &call)) continue;
        struct seccomp_notif_resp answer = {.id = call.id};
        if (is_bad(call.pid, call.data.args[0], bytes)) answer.error = -error;
        else answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
        /* Who was killed meanwhile needs no answer. */
        ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
    }
    if (waitpid(child, &status, 0) != child) return 126;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
