/* A program that takes part in the budget: counts primes, piece by piece, with THREADS threads. The hands say how many of
 * them work at a time.   share PIECES
 * cc -std=c99 -I bindings/c/include bindings/c/examples/share.c target/release/libmanyhands.a -lpthread -ldl -lm */
#include <manyhands.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 8, PIECE = 10000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static mh_lease *lease;
static long next, pieces, primes;

static long count(long piece) { /* some milliseconds of work */
    long found = 0, divisor;
    for (long number = piece * PIECE; number < (piece + 1) * PIECE; number++) {
        for (divisor = 2; divisor * divisor <= number && number % divisor != 0; divisor++) {}
        found += number > 1 && divisor * divisor > number;
    }
    return found;
}

static long next_piece(long found) { /* adds up what came of the last one; -1: there is no more */
    long piece;
    pthread_mutex_lock(&lock);
    primes += found;
    piece = next < pieces ? next++ : -1;
    pthread_mutex_unlock(&lock);
    return piece;
}

static void *work(void *unused) {
    mh_hand hand = 0;
    for (long piece = next_piece(0); piece >= 0; piece = next_piece(count(piece))) {
        if (hand != 0 && mh_must_return(lease, hand) != 0) { /* a yield point: between two pieces */
            mh_give_back(lease, hand);
            hand = 0;
        }
        if (hand == 0 && mh_take(lease, &hand) != MH_OK) abort();
    }
    if (hand != 0) mh_give_back(lease, hand);
    return unused;
}

int main(int argc, char **argv) {
    pthread_t threads[THREADS];
    mh_crew *crew;
    char why[256];
    pieces = argc > 1 ? atol(argv[1]) : 100;
    if (mh_crew_open(NULL, &crew) != MH_OK) return 1;
    if (mh_crew_why_alone(crew, why, sizeof why) > 0) fprintf(stderr, "alone: could not %s\n", why);
    if (mh_lease_open(crew, MH_NORMAL, 100, THREADS, "share: count primes", &lease) != MH_OK) return 1;
    for (int thread = 0; thread < THREADS; thread++) if (pthread_create(&threads[thread], NULL, work, NULL)) return 1;
    for (int thread = 0; thread < THREADS; thread++) pthread_join(threads[thread], NULL);
    mh_lease_close(lease);
    mh_crew_close(crew);
    printf("%ld primes below %ld\n", primes, pieces * PIECE);
    return 0;
}
