/* A job for benches: `job NUMBER`. What it does stands in its environment, so that every runner can run the same list.
   BENCH_MARKS=FILE     appends its number to FILE, so that one can see that each job has run once
   BENCH_PRINT=BYTES    prints so many bytes, in lines of 1000 that hold its number
   BENCH_LAST=NUMBER    that job looks at its runner: CPU time (ns) and peak size (KiB) of all processes between it and the
                        bench, BENCH_ROOT, go into the file BENCH_ACCOUNT. So every runner is measured in the same way. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int mark(const char *path, const char *number) {
    char line[32];
    int file = open(path, O_WRONLY | O_APPEND | O_CREAT, 0666);
    int length = snprintf(line, sizeof line, "%s\n", number);
    return file < 0 || write(file, line, length) != length;
}

static int print(long bytes, const char *number) {
    char line[1001];
    memset(line, '.', 999);
    line[999] = '\n';
    memcpy(line, number, strlen(number));
    for (; bytes >= 1000; bytes -= 1000)
        if (fwrite(line, 1, 1000, stdout) != 1000) return 1;
    return fflush(stdout) != 0;
}

/* The first number of a process's `schedstat`s is its time on a CPU. */
static unsigned long long cpu_ns(int pid) {
    char path[400];
    unsigned long long all = 0, one;
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR *tasks = opendir(path);
    if (!tasks) return 0;
    for (struct dirent *task; (task = readdir(tasks));) {
        snprintf(path, sizeof path, "/proc/%d/task/%s/schedstat", pid, task->d_name);
        FILE *file = task->d_name[0] == '.' ? NULL : fopen(path, "r");
        if (!file) continue;
        if (fscanf(file, "%llu", &one) == 1) all += one;
        fclose(file);
    }
    closedir(tasks);
    return all;
}

static long status_field(int pid, const char *name) {
    char path[64], line[256];
    long value = 0;
    snprintf(path, sizeof path, "/proc/%d/status", pid);
    FILE *file = fopen(path, "r");
    if (!file) return 0;
    while (fgets(line, sizeof line, file))
        if (!strncmp(line, name, strlen(name))) value = atol(line + strlen(name));
    fclose(file);
    return value;
}

static int account(const char *path, int root) {
    unsigned long long all_ns = 0;
    long peak_kib = 0;
    for (int pid = getppid(); pid > 1 && pid != root; pid = (int)status_field(pid, "PPid:")) {
        long size = status_field(pid, "VmHWM:");
        all_ns += cpu_ns(pid);
        if (size > peak_kib) peak_kib = size;
    }
    FILE *file = fopen(path, "w");
    return !file || fprintf(file, "%llu %ld\n", all_ns, peak_kib) < 0 || fclose(file) != 0;
}

int main(int argc, char **argv) {
    if (argc < 2 || strlen(argv[1]) > 20) return 2;
    const char *marks = getenv("BENCH_MARKS"), *bytes = getenv("BENCH_PRINT"), *last = getenv("BENCH_LAST");
    if (marks && mark(marks, argv[1])) return 1;
    if (bytes && print(atol(bytes), argv[1])) return 1;
    if (last && !strcmp(last, argv[1])) return account(getenv("BENCH_ACCOUNT"), atoi(getenv("BENCH_ROOT")));
    return 0;
}
