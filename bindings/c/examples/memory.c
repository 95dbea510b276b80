/* Creates MEGABYTES of memory by all threads, fills it, proves that it is resident, and gives it back.   memory MEGABYTES
 * cc -std=c99 -I bindings/c/include bindings/c/examples/memory.c target/release/libmanyhands.a -lpthread -ldl -lm */
#include <manyhands.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failed(const char *what) {
    char why[256];
    mh_error(why, sizeof why);
    fprintf(stderr, "%s: could not %s\n", what, why);
    return 1;
}

int main(int argc, char **argv) {
    size_t bytes = (size_t)(argc > 1 ? atol(argv[1]) : 64) << 20;
    mh_crew *crew;
    mh_pool *pool;
    mh_memory *memory;
    if (mh_crew_open(NULL, &crew) != MH_OK || mh_pool_open(crew, 0, &pool) != MH_OK) return failed("pool");
    if (mh_memory_create(pool, bytes, MH_MEMORY_ANON, 0, &memory) != MH_OK) return failed("create");
    memset(mh_memory_address(memory), 1, bytes);
    printf("%lu of %lu bytes are resident\n", (unsigned long)mh_memory_resident(pool, memory), (unsigned long)bytes);
    if (mh_memory_destroy(pool, memory) != MH_OK) return failed("destroy");
    mh_pool_close(pool);
    mh_crew_close(crew);
    return 0;
}
