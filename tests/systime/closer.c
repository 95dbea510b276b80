/* The program that systime was made for: before each child executes its command it closes every descriptor that there could
 * be, one by one. The first argument says how many children, one after the other. */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int count, char **words)
{
    int children = count > 1 ? atoi(words[1]) : 1;
    for (int child = 0; child < children; child++) {
        if (fork() == 0) {
            for (int descriptor = 3; descriptor < 65536; descriptor++)
                close(descriptor);
            execl("/bin/true", "true", (char *)0);
            _exit(1);
        }
        wait(0);
    }
    return 0;
}
