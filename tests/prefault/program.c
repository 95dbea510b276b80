/* A program that maps memory in the ways that are easy to get wrong for whoever stands between it and the kernel.
   Prints "ok" if memory and errors were as they should be. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define SIZE (24UL << 20)

static void fail(const char *why) { printf("%s: %s\n", why, strerror(errno)); exit(1); }

static char *map(size_t bytes)
{
    char *memory = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) fail("mmap");
    return memory;
}

static long count_other(const char *memory, size_t bytes, char expected)
{
    long others = 0;
    for (size_t at = 0; at < bytes; at += 512) others += memory[at] != expected;
    return others;
}

static long resident(char *memory, size_t bytes)
{
    static unsigned char pages[(1UL << 30) / 4096];
    long count = 0;
    if (mincore(memory, bytes, pages)) fail("mincore");
    for (size_t page = 0; page < bytes / 4096; page++) count += pages[page] & 1;
    return count * 4096;
}

static void kinds(void)
{
    char *memory = map(SIZE);
    printf("private %ld\n", resident(memory, SIZE));
    memory = mmap(0, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    printf("shared %ld\n", resident(memory, SIZE));
    int file = memfd_create("x", 0);
    if (ftruncate(file, SIZE)) fail("ftruncate");
    memory = mmap(0, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    printf("file %ld\n", resident(memory, SIZE));
    int segment = shmget(IPC_PRIVATE, SIZE, 0600 | IPC_CREAT);
    memory = shmat(segment, 0, 0);
    shmctl(segment, IPC_RMID, 0);
    printf("segment %ld\n", resident(memory, SIZE));
    memory = mmap(0, 2 * SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    printf("reserved %ld\n", resident(memory, 2 * SIZE));
    if (mprotect(memory, SIZE, PROT_READ | PROT_WRITE)) fail("mprotect");
    printf("committed %ld\n", resident(memory, 2 * SIZE));
    memory = mmap(0, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    printf("sparse %ld\n", resident(memory, SIZE));
    if (mlock(memory, SIZE)) fail("mlock");
    printf("locked %ld\n", resident(memory, SIZE));
    printf("small %ld\n", resident(map(4UL << 20), 4UL << 20));
}

static void locked_file(const char *name)
{
    int file = open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
    if (ftruncate(file, SIZE)) fail("ftruncate");
    struct stat made, then;
    fstat(file, &made);
    char *memory = mmap(0, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (mlock(memory, SIZE)) fail("mlock");
    msync(memory, SIZE, MS_SYNC);
    fstat(file, &then);
    int is_written = made.st_blocks != then.st_blocks || made.st_mtim.tv_nsec != then.st_mtim.tv_nsec;
    printf("locked file %ld, written %d\n", resident(memory, SIZE), is_written);
}

static void given_back(void)
{
    char *memory = map(SIZE);
    memset(memory, 7, SIZE);
    if (madvise(memory, SIZE / 2, MADV_DONTNEED)) fail("MADV_DONTNEED");
    if (count_other(memory, SIZE / 2, 0) || count_other(memory + SIZE / 2, SIZE / 2, 7)) fail("bytes changed");
    memory = mremap(memory, SIZE, 2 * SIZE, MREMAP_MAYMOVE);
    if (memory == MAP_FAILED || count_other(memory + SIZE, SIZE, 0)) fail("mremap");
}

static void named_file(const char *name)
{
    struct stat made, then;
    int file = open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
    if (ftruncate(file, SIZE)) fail("ftruncate");
    fstat(file, &made);
    if (mmap(0, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) == MAP_FAILED) fail("mmap");
    fstat(file, &then);
    if (made.st_mtim.tv_nsec != then.st_mtim.tv_nsec || lseek(file, 0, SEEK_DATA) != -1) fail("the file was written");
    unlink(name);
}

static void faults_served(void)
{
    int faults = syscall(SYS_userfaultfd, O_CLOEXEC);
    struct uffdio_api api = {.api = UFFD_API};
    if (faults < 0) { puts("ok"); exit(0); }
    if (ioctl(faults, UFFDIO_API, &api)) fail("UFFDIO_API");
    char *memory = map(SIZE);
    struct uffdio_register range = {.range = {(unsigned long)memory, SIZE}, .mode = UFFDIO_REGISTER_MODE_MISSING};
    if (ioctl(faults, UFFDIO_REGISTER, &range)) fail("UFFDIO_REGISTER");
    static char page[4096] __attribute__((aligned(4096))) = {9};
    struct uffdio_copy copy = {.dst = (unsigned long)memory, .src = (unsigned long)page, .len = 4096};
    if (ioctl(faults, UFFDIO_COPY, &copy) || memory[0] != 9) fail("UFFDIO_COPY");
}

static void other_user(void)
{
    map(SIZE);
    if (getuid()) return;
    if (setgid(65534) || setuid(65534)) fail("setuid");
    char line[512];
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *task; (task = readdir(tasks));) {
        snprintf(line, sizeof line, "/proc/self/task/%s/status", task->d_name);
        FILE *status = task->d_name[0] == '.' ? 0 : fopen(line, "r");
        unsigned user;
        while (status && fgets(line, sizeof line, status))
            if (sscanf(line, "Uid: %u", &user) == 1 && user != 65534) fail("a thread has root's rights");
    }
}

static void *map_often(void *unused)
{
    for (int round = 0; round < 4; round++) {
        char *memory = map(SIZE);
        if (count_other(memory, SIZE, 0)) fail("not empty");
        memset(memory, 1, SIZE);
        munmap(memory, SIZE);
    }
    return unused;
}

static void in_threads(int forks)
{
    pthread_t threads[4];
    for (int number = 0; number < 4; number++) pthread_create(threads + number, 0, map_often, 0);
    while (forks-- > 0) {
        pid_t child = fork();
        if (!child) {
            char *memory = map(SIZE);
            memory[1] = 1;
            _exit(memory[SIZE / 2]);
        }
        int status;
        waitpid(child, &status, 0);
        if (status) fail("a child");
    }
    for (int number = 0; number < 4; number++) pthread_join(threads[number], 0);
}

static void over_others(void)
{
    char *memory = map(4 * SIZE);
    memset(memory, 7, 4 * SIZE);
    char *middle = mmap(memory + SIZE, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    if (middle != memory + SIZE) fail("MAP_FIXED");
    mprotect(memory, SIZE, PROT_NONE);
    mprotect(memory, SIZE, PROT_READ | PROT_WRITE);
    long others = count_other(memory, SIZE, 7) + count_other(middle, SIZE, 0) + count_other(middle + SIZE, 2 * SIZE, 7);
    if (others) fail("bytes changed");
}

static volatile sig_atomic_t signals;
static sigjmp_buf before;
static void note(int signal) { signals += signal > 0; }
static void jump(int signal) { siglongjmp(before, signal); }

static void interrupted(int jumps)
{
    struct sigaction action = {.sa_handler = jumps ? jump : note};
    sigaction(SIGALRM, &action, 0);
    if (!sigsetjmp(before, 1)) {
        ualarm(2000, 0);
        char *memory = map(1UL << 30);
        while (jumps) pause();
        while (!signals) usleep(100);
        memory[0] = 1;
    }
    if (count_other(map(SIZE), SIZE, 0)) fail("not empty");
}

static void errors(void)
{
    errno = 77;
    map(SIZE);
    if (errno != 77) fail("errno was touched");
    if (mmap(0, 0, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED || errno != EINVAL) fail("mmap of nothing");
    if (mmap(0, 4096, 3, MAP_SHARED, 99, 0) != MAP_FAILED || errno != EBADF) fail("mmap of no file");
    if (mmap(0, SIZE, 3, MAP_SHARED, 99, 0) != MAP_FAILED || errno != EBADF) fail("large mmap of no file");
    if (munmap((void *)1, 4096) != -1 || errno != EINVAL) fail("munmap");
    if (mprotect((void *)4096, SIZE, 3) != -1 || errno != ENOMEM) fail("mprotect");
    if (mremap((void *)4096, 4096, 8192, 0) != MAP_FAILED || errno != EFAULT) fail("mremap");
    if (shmat(-1, 0, 0) != (void *)-1 || errno != EINVAL) fail("shmat");
    if (shmdt((void *)4096) != -1 || errno != EINVAL) fail("shmdt");
    if (mlock((void *)4096, SIZE) != -1 || errno != ENOMEM) fail("mlock");
    if (prctl(PR_SET_NAME, "a name") || prctl(-1) != -1 || errno != EINVAL) fail("prctl");
}

static void unmapped(void)
{
    for (int round = 0; round < 20; round++) {
        char *memory = map(64UL << 20);
        for (size_t at = 0; at < (size_t)round * 3 << 20; at += 4096) memory[at] = 1;
        munmap(memory, 64UL << 20);
        char *file = mmap(memory, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (file != MAP_FAILED) munmap(file, 4096);
        memory = map(SIZE);
        memset(memory, 3, SIZE);
        if (mremap(memory, SIZE, SIZE / 2, 0) != memory || count_other(memory, SIZE / 2, 3)) fail("mremap");
        munmap(memory, SIZE / 2);
    }
}

int main(int count, char **words)
{
    const char *task = count > 1 ? words[1] : "";
    if (!strcmp(task, "kinds")) kinds();
    else if (!strcmp(task, "locked-file")) locked_file(words[2]);
    else if (!strcmp(task, "private")) printf("%ld\n", resident(map(SIZE), SIZE));
    else if (!strcmp(task, "given-back")) given_back();
    else if (!strcmp(task, "named-file")) named_file(words[2]);
    else if (!strcmp(task, "faults-served")) faults_served();
    else if (!strcmp(task, "other-user")) other_user();
    else if (!strcmp(task, "threads")) in_threads(0);
    else if (!strcmp(task, "forks")) in_threads(20);
    else if (!strcmp(task, "fixed")) over_others();
    else if (!strcmp(task, "signal")) interrupted(0);
    else if (!strcmp(task, "jump")) interrupted(1);
    else if (!strcmp(task, "errors")) errors();
    else if (!strcmp(task, "unmapped")) unmapped();
    else if (!strcmp(task, "exec")) {
        map(SIZE);
        if (count > 2) execl(words[0], words[0], "errors", (char *)0);
        pid_t child = fork();
        if (!child) execl(words[0], words[0], "exec", "again", (char *)0);
        int status;
        waitpid(child, &status, 0);
        if (status) fail("a child");
    } else if (!strcmp(task, "closed")) {
        for (int number = 3; number < 256; number++) close(number);
        map(SIZE)[0] = 1;
        if (open("/dev/null", 0) != 3) fail("a descriptor is in the way");
    } else if (!strcmp(task, "many")) {
        for (int number = 0; number < 32000; number++)
            if (mmap(0, 4096, number & 1 ? PROT_READ : PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
                fail("mmap");
        map(SIZE)[0] = 1;
    } else if (!strcmp(task, "filtered")) {
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        struct sock_filter allow = {.code = BPF_RET | BPF_K, .k = SECCOMP_RET_ALLOW};
        struct sock_fprog program = {1, &allow};
        if (count > 2 && !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) execl(words[0], words[0], "private", (char *)0);
        printf("%ld\n", resident(map(SIZE), SIZE));
    } else if (!strcmp(task, "large")) {
        size_t bytes = strtoull(words[2], 0, 10) << 20;
        char *memory = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        printf("%s\n", memory == MAP_FAILED ? strerror(errno) : "mapped");
        fflush(stdout);
        if (count > 3) pause();
    }
    puts("ok");
    return 0;
}
