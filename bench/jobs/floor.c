/* The floor: posix_spawn and wait, nothing else. `floor WIDTH COUNT PROGRAM` runs PROGRAM with 1, 2 .. COUNT as its argument,
   WIDTH at once, its three streams /dev/null. What a runner of jobs takes longer than this is its own doing. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>

extern char **environ;

static int failures;

static void wait_for_one(void) {
    int status;
    struct rusage usage;
    if (wait4(-1, &status, 0, &usage) < 0 || status != 0) failures++;
}

int main(int argc, char **argv) {
    if (argc != 4) return 2;
    int width = atoi(argv[1]), count = atoi(argv[2]), running = 0;
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (nothing < 0) return 1;
    posix_spawn_file_actions_t actions;
    if (posix_spawn_file_actions_init(&actions)) return 1;
    for (int stream = 0; stream < 3; stream++)
        if (posix_spawn_file_actions_adddup2(&actions, nothing, stream)) return 1;
    for (int number = 1; number <= count; number++) {
        char text[16];
        char *words[] = {argv[3], text, NULL};
        pid_t pid;
        snprintf(text, sizeof text, "%d", number);
        if (running == width) {
            wait_for_one();
            running--;
        }
        if (posix_spawn(&pid, argv[3], &actions, NULL, words, environ)) return 1;
        running++;
    }
    for (; running > 0; running--) wait_for_one();
    return failures > 0;
}
