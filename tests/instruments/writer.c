/* Waits for a disk nearly all of its time: writes the same 16 MiB of the file named first, 4 MiB at a time, past the page cache and to
 * the medium. A disk of memory's speed takes milliseconds for that. Ends with who started it. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { PIECE = 4 << 20, PIECES = 4 };

int main(int count, char **words)
{
    void *bytes;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (count != 2 || posix_memalign(&bytes, 4096, PIECE) != 0)
        return 2;
    int file = open(words[1], O_WRONLY | O_CREAT | O_TRUNC | O_DIRECT | O_SYNC, 0600);
    for (long piece = 0; file >= 0; piece = (piece + 1) % PIECES)
        if (pwrite(file, bytes, PIECE, piece * PIECE) != PIECE)
            return 1;
    return 1;
}
