/* What a program's own mmap waits for while two threads populate 2 GiB: mmap_stall CHUNK_KIB CALL_KIB. Chunks are taken from a counter, each is
 * populated by calls of CALL_KIB. Prints the milliseconds of populating and of one mmap in the middle, at the 99th percentile and at most.
 * cc -O2 -pthread -o mmap_stall bench/jobs/mmap_stall.c; as root, so that who maps goes before who populates. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { POPULATE_WRITE = 23, TIMES_MAX = 1000000 };

static char *start;
static size_t bytes = (size_t)2 << 30, chunk, call;
static atomic_size_t next;
static atomic_int done;
static uint64_t times[TIMES_MAX];

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void *work(void *unused) {
    for (size_t at; (at = atomic_fetch_add(&next, chunk)) < bytes;)
        for (size_t end = at + chunk < bytes ? at + chunk : bytes; at < end; at += call)
            if (madvise(start + at, call < end - at ? call : end - at, POPULATE_WRITE)) exit(1);
    done++;
    return unused;
}

static int compare(const void *one, const void *other) {
    uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;
    return a < b ? -1 : a > b;
}

int main(int count, char **arguments) {
    struct sched_param low = {1}, high = {5};
    pthread_t threads[2];
    size_t mapped = 0;
    if (count != 3) return 2;
    chunk = strtoull(arguments[1], NULL, 10) << 10;
    call = strtoull(arguments[2], NULL, 10) << 10;
    start = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(start, bytes, MADV_NOHUGEPAGE);
    if (sched_setscheduler(0, SCHED_RR, &low)) return 1;
    uint64_t begin = now();
    for (int i = 0; i < 2; i++) if (pthread_create(&threads[i], NULL, work, NULL)) return 1;
    sched_setscheduler(0, SCHED_RR, &high);
    while (done < 2 && mapped < TIMES_MAX) {
        uint64_t before = now();
        void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        times[mapped++] = now() - before;
        munmap(page, 4096);
        usleep(200);
    }
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    double whole = (double)(now() - begin) / 1e6;
    qsort(times, mapped, sizeof times[0], compare);
    printf("populate %.0f ms; %zu mmaps: p50 %.3f p99 %.3f max %.3f ms\n", whole, mapped, (double)times[mapped / 2] / 1e6,
           (double)times[mapped * 99 / 100] / 1e6, (double)times[mapped - 1] / 1e6);
    return 0;
}
