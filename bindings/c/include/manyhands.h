/* manyhands.h: take part in the budget of cores that all runs of `mh` of a user share, and set up large memory on them (C99, C++).
 *
 * A program says once what it is (mh_lease_open). Each of its threads takes a hand before it computes and gives it back
 * afterwards; in between, at its yield points (every few milliseconds of work, where it can stop), it asks whether the hand
 * should go back. Nobody is bound to a CPU, and nobody who does not ask is stopped: the budget is a promise among programs.
 *
 *     while there is work:
 *         mh_take(lease, &hand);
 *         do one piece of work after another until mh_must_return(lease, hand) is not 0;
 *         mh_give_back(lease, hand);
 *
 * Link with: libmanyhands.a -lpthread -ldl -lm. Examples are bindings/c/examples/share.c and memory.c.
 *
 * Where there is no table to share, everything works in the same way within the program, and mh_crew_why_alone says why.
 * All functions but the two that close may be called from any thread at any time. A null pointer in place of a handle or an
 * answer is an error (MH_WRONG_ARGUMENT), never a crash. A handle must not be used after it was closed, nor by a child of
 * fork that has not called exec. A lease keeps one sleeping thread, with all signals blocked.
 */
#ifndef MANYHANDS_H
#define MANYHANDS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What functions that return an int answer: 0 or more when all is well, less when not; then mh_error has the text. */
#define MH_OK 0
/* mh_try_take: no hand can be had now. */
#define MH_NOT_NOW 1
/* A null pointer, or a number outside its range. */
#define MH_WRONG_ARGUMENT (-1)
/* The hand is not this lease's, or was given back before. */
#define MH_WRONG_HAND (-2)
/* A defect of the library. */
#define MH_BROKEN (-3)
/* Memory that cannot be had: a limit is too low, or the kernel refused. */
#define MH_NO_MEMORY (-4)

/* Classes, served in this order from the last to the first. HIGH and NORMAL always get one hand, LOW and IDLE get what is
 * left, and a slice of time now and then. */
#define MH_IDLE 0
#define MH_LOW 1
#define MH_NORMAL 2
#define MH_HIGH 3

/* The budget, opened. */
typedef struct mh_crew mh_crew;
/* One run's share of it: its place in the table. */
typedef struct mh_lease mh_lease;
/* The right to use one core now; 0 is none. Belongs to the lease that it was taken from, not to a thread. */
typedef uint64_t mh_hand;

/* Opens the budget of a directory; NULL is the usual one: that which the variable MH_CREW_DIR names (if it is there and empty,
 * nothing is shared), else /dev/shm/manyhands-UID. A directory that cannot be used is no error: see mh_crew_why_alone. Hands
 * that `mh xjobs` or `mh crew run` hold for this program (the variable MH_LEASE) are the first ones of its first lease. */
int mh_crew_open(const char *directory, mh_crew **crew);

/* Leases that were opened live on. NULL does nothing. */
void mh_crew_close(mh_crew *crew);

/* Hands that this program could hold if it were alone: its CPUs, bounded by its control group's quota. 0: no crew. */
size_t mh_crew_hands(const mh_crew *crew);

/* Why this program shares with nobody, as text that reads after "could not": at most `bytes` bytes of it with the closing
 * zero go to `text`. Returns the length of the whole text; 0: it shares. `text` may be NULL if `bytes` is 0. Opening a lease
 * may find a reason too: the table is full. */
size_t mh_crew_why_alone(const mh_crew *crew, char *text, size_t bytes);

/* Signs a run up. `weight`, 1 to 10000 (what is outside becomes the nearest; 100 is usual), divides a class; beyond
 * `useful_width` hands it would not get faster; `what` says to people what it is doing, in up to 224 bytes of UTF-8. */
int mh_lease_open(const mh_crew *crew, int priority, unsigned weight, size_t useful_width, const char *what,
                  mh_lease **lease);

/* Gives back whatever hands are still out, and leaves the table. No other call on the lease may be in progress. NULL does
 * nothing. */
void mh_lease_close(mh_lease *lease);

/* Takes a hand; sleeps until one can be had. Signals do not end the sleep. */
int mh_take(const mh_lease *lease, mh_hand *hand);

/* Takes a hand if one can be had now: MH_OK, else MH_NOT_NOW, with 0 as the hand. Asking again and again is no waiting:
 * nobody gives a hand back for its sake. */
int mh_try_take(const mh_lease *lease, mh_hand *hand);

/* 1 if the hand should go back at this yield point: others are entitled to it, or the run was paused, or narrowed, or had
 * been stopped. 0 if not. */
int mh_must_return(const mh_lease *lease, mh_hand hand);

/* Gives a hand back. */
int mh_give_back(const mh_lease *lease, mh_hand hand);

/* Says that from now on the run would not get faster by more than `width` hands. */
int mh_set_useful_width(const mh_lease *lease, size_t width);

/* What went wrong in the last call of this thread that failed, as mh_crew_why_alone tells it; 0: none has. */
size_t mh_error(char *text, size_t bytes);

/* Large memory: created, and destroyed, by several threads at once. The threads of a pool are started once and wait; while they work,
 * each has a hand of the budget. Calls on one pool wait for each other. All but mh_pool_close may be called from any thread.
 *
 *     mh_pool_open(crew, 0, &pool);
 *     mh_memory_create(pool, bytes, MH_MEMORY_ANON, MH_MEMORY_LOCKED, &memory);
 *     use mh_memory_address(memory);
 *     mh_memory_destroy(pool, memory);
 */
typedef struct mh_pool mh_pool;
typedef struct mh_memory mh_memory;

/* Kinds: memory of this process; memory that its children share; files in memory (memfd), side by side; a segment of System V; huge
 * pages of 2 MiB that an administrator reserved (vm.nr_hugepages). */
#define MH_MEMORY_ANON 0
#define MH_MEMORY_SHARED 1
#define MH_MEMORY_FILES 2
#define MH_MEMORY_SYSV 3
#define MH_MEMORY_HUGE 4

/* Flags: the kernel may not take its pages (mlock2); ask for transparent huge pages; what can be had is enough. */
#define MH_MEMORY_LOCKED 1
#define MH_MEMORY_HUGE_PAGES 2
#define MH_MEMORY_BEST_EFFORT 4

/* Starts threads, so that `threads` work at once, the caller's among them. 0: as many as there are hands, at most 16. */
int mh_pool_open(const mh_crew *crew, size_t threads, mh_pool **pool);

/* Ends the threads. No other call on the pool may be in progress; memory lives on. NULL does nothing. */
void mh_pool_close(mh_pool *pool);

/* Creates a range, rounded up to whole pages: all of its pages are resident when it returns, counted one by one. Limits are looked at
 * before (MemAvailable, the control group's, RLIMIT_MEMLOCK, free huge pages), so that it fails with MH_NO_MEMORY and not by a signal. */
int mh_memory_create(const mh_pool *pool, size_t bytes, int kind, unsigned flags, mh_memory **memory);

/* Where it begins: a multiple of 2 MiB. NULL: no memory. */
void *mh_memory_address(const mh_memory *memory);

/* Counts how many bytes of it are resident now. 0: it cannot be counted. */
size_t mh_memory_resident(const mh_pool *pool, const mh_memory *memory);

/* Locks it, if it was created without MH_MEMORY_LOCKED. One thread does that: the flag is faster. */
int mh_memory_lock(const mh_memory *memory);

/* Gives it back, whatever it answers. Nobody may use its bytes any more. NULL as the memory does nothing. */
int mh_memory_destroy(const mh_pool *pool, mh_memory *memory);

/* Makes all pages of memory that the program mapped itself (Linux 5.14). What was written there stays. */
int mh_memory_populate(const mh_pool *pool, void *address, size_t bytes);

#ifdef __cplusplus
}
#endif

#endif
