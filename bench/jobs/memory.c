/* How others set up large memory, for `cargo xtask bench memory`: rivals WAY BYTES THREADS KIND. Prints nanoseconds to create, nanoseconds to
 * destroy and bytes that are resident.
 *
 * Ways: populate (MAP_POPULATE, one thread), touch (one write a page, one thread), qemu (a MADV_POPULATE_WRITE for each thread, equal
 * parts, as QEMU and Cloud Hypervisor do), mlock (mlock by one thread). All destroy with munmap, by one thread.
 * Kinds: anon, shm, memfd. As with ours, one range is created and destroyed before, uncounted. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t opens = PTHREAD_COND_INITIALIZER;
static int is_open;

struct part { char *start; size_t bytes; };

static void fail(const char *what) { perror(what); exit(1); }

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void *populate(void *argument) {
    struct part *part = argument;
    pthread_mutex_lock(&gate);
    while (!is_open) pthread_cond_wait(&opens, &gate);
    pthread_mutex_unlock(&gate);
    if (madvise(part->start, part->bytes, MADV_POPULATE_WRITE)) fail("madvise");
    return NULL;
}

static void open_gate(void) {
    pthread_mutex_lock(&gate);
    is_open = 1;
    pthread_cond_broadcast(&opens);
    pthread_mutex_unlock(&gate);
}

static void equal_parts(char *start, size_t bytes, size_t threads) {
    pthread_t *ids = calloc(threads, sizeof *ids);
    struct part *parts = calloc(threads, sizeof *parts);
    size_t each = bytes / threads / 4096 * 4096;
    is_open = 0;
    for (size_t i = 0; i < threads; i++) {
        parts[i].start = start + i * each;
        parts[i].bytes = i + 1 == threads ? bytes - i * each : each;
        if (pthread_create(&ids[i], NULL, populate, &parts[i])) fail("pthread_create");
    }
    open_gate();
    for (size_t i = 0; i < threads; i++) pthread_join(ids[i], NULL);
    free(ids);
    free(parts);
}

static size_t resident(char *start, size_t bytes) {
    size_t count = 0;
    unsigned char flags[4096];
    for (size_t at = 0; at < bytes; at += sizeof flags * 4096) {
        size_t pages = (bytes - at) / 4096 < sizeof flags ? (bytes - at) / 4096 : sizeof flags;
        if (mincore(start + at, pages * 4096, flags)) fail("mincore");
        for (size_t i = 0; i < pages; i++) count += flags[i] & 1;
    }
    return count * 4096;
}

static void once(const char *way, size_t bytes, size_t threads, const char *kind, int is_shown) {
    int is_anon = !strcmp(kind, "anon"), is_file = !strcmp(kind, "memfd");
    int flags = is_anon ? MAP_PRIVATE | MAP_ANONYMOUS : is_file ? MAP_SHARED : MAP_SHARED | MAP_ANONYMOUS;
    uint64_t begin = now();
    int file = is_file ? memfd_create("rival", 0) : -1;
    if (is_file && ftruncate(file, (off_t)bytes)) fail("ftruncate");
    if (!strcmp(way, "populate")) flags |= MAP_POPULATE;
    char *start = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, file, 0);
    if (start == MAP_FAILED) fail("mmap");
    if (!strcmp(way, "qemu")) equal_parts(start, bytes, threads);
    if (!strcmp(way, "touch"))
        for (size_t at = 0; at < bytes; at += 4096) ((volatile char *)start)[at] = 0;
    if (!strcmp(way, "mlock") && mlock(start, bytes)) fail("mlock");
    uint64_t created = now();
    size_t there = resident(start, bytes);
    uint64_t before = now();
    if (munmap(start, bytes)) fail("munmap");
    if (is_file) close(file);
    uint64_t destroyed = now();
    if (is_shown)
        printf("%llu %llu %zu\n", (unsigned long long)(created - begin), (unsigned long long)(destroyed - before), there);
}

int main(int count, char **arguments) {
    if (count != 5) return 2;
    size_t bytes = strtoull(arguments[2], NULL, 10), threads = strtoull(arguments[3], NULL, 10);
    once(arguments[1], bytes, threads, arguments[4], 0);
    once(arguments[1], bytes, threads, arguments[4], 1);
    return 0;
}
