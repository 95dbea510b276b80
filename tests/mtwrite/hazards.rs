//! What a program, or somebody whom it tells something, could notice of the queue: each case is a part of one program, which must find
//! with the library what it finds without.

use super::{build, run, succeeds};
use crate::place::{Place, said};
use testkit::program::{Exit, left_out};

/// `size_now` asks the kernel past the library: it sees what another process would see at this moment.
const HAZARDS: &str = r#"
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>
#define MUST(x) do { if (!(x)) { fprintf(stderr, "%s line %d errno %d\n", how, __LINE__, errno); exit(9); } } while (0)
#define REFUSED(call) MUST((errno = 0, (long)(call)) == -1 && errno == EFAULT)
static const char *how;
static char *volatile nowhere = (char *)8;
static char block[20000];
static long size_now(const char *path) {
    struct stat found;
#ifdef __x86_64__
    long outcome;
    __asm__ volatile("syscall" : "=a"(outcome) : "a"(SYS_stat), "D"(path), "S"(&found) : "rcx", "r11", "memory");
#else
    long outcome = stat(path, &found);
#endif
    return outcome == 0 ? (long)found.st_size : -1;
}
static int make(const char *path) { return open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644); }
static int made(const char *path) {
    int file = make(path);
    MUST(write(file, block, sizeof block) == sizeof block);
    return file;
}
static void *writes(void *which) {
    for (int i = 0; i < 1000; i++) {
        char name[30];
        sprintf(name, "w%ld-%d", (long)which, i);
        int file = make(name);
        for (int k = 0; k < 3; k++) write(file, block, 5000);
        close(file);
    }
    return 0;
}
static int is_locked_for_others(const char *path) {
    int answer, child = fork();
    if (child == 0) {
        struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
        int file = open(path, O_RDWR);
        fcntl(file, F_GETLK, &lock);
        _exit(lock.l_type != F_UNLCK);
    }
    waitpid(child, &answer, 0);
    return WEXITSTATUS(answer);
}
static void lock(int file, int kind) {
    struct flock lock = {.l_type = kind, .l_whence = SEEK_SET};
    MUST(fcntl(file, F_SETLK, &lock) == 0);
}
int main(int count, char **words) {
    how = count > 1 ? words[1] : "";
    memset(block, 'x', sizeof block);
    if (!strcmp(how, "fork")) {
        pthread_t threads[3];
        for (long t = 0; t < 3; t++) pthread_create(&threads[t], 0, writes, (void *)t);
        for (int i = 0; i < 300; i++) {
            int child = fork();
            if (child == 0) {
                char name[30];
                sprintf(name, "child%d", i);
                close(made(name));
                _exit(size_now("w0-0") < 0);
            }
            waitpid(child, 0, 0);
            MUST(size_now("child0") == sizeof block);
        }
        for (int t = 0; t < 3; t++) pthread_join(threads[t], 0);
    } else if (!strcmp(how, "record lock")) {
        int file = make("locked");
        lock(file, F_WRLCK);
        MUST(write(file, "x", 1) == 1);
        fsync(file);
        struct stat found;
        stat("locked", &found);
        close(made("another"));
        MUST(is_locked_for_others("locked"));
        int second = make("twice"), first = open("twice", O_RDWR);
        lock(first, F_WRLCK);
        MUST(write(second, "x", 1) == 1 && dup(second) > 0);
        MUST(is_locked_for_others("twice"));
        int third = made("third");
        MUST(lockf(third, F_TLOCK, 0) == 0 && write(third, "x", 1) == 1 && stat("third", &found) == 0);
        MUST(is_locked_for_others("third"));
    } else if (!strcmp(how, "unlock")) {
        int guard = make("guard"), file = made("a");
        lock(guard, F_WRLCK);
        MUST(size_now("a") == sizeof block);
        write(file, block, 100);
        lock(guard, F_UNLCK);
        MUST(size_now("a") == sizeof block + 100);
        MUST(flock(guard, LOCK_EX) == 0);
        write(file, block, 100);
        MUST(flock(guard, LOCK_UN) == 0 && size_now("a") == sizeof block + 200);
        MUST(flock(guard, LOCK_EX) == 0);
        write(file, block, 100);
        MUST(close(guard) == 0 && size_now("a") == sizeof block + 300);
    } else if (!strcmp(how, "pipe")) {
        int ends[2], file = made("a");
        MUST(pipe(ends) == 0 && close(ends[1]) == 0 && size_now("a") == sizeof block);
        MUST(pipe(ends) == 0 && write(file, block, 100) == 100);
        MUST(dup2(file, ends[1]) >= 0 && size_now("a") == sizeof block + 100);
        int source = open("a", O_RDONLY);
        file = made("c");
        MUST(pipe(ends) == 0 && sendfile(ends[1], source, 0, 10) == 10 && size_now("c") == sizeof block);
        file = made("b");
        MUST(pipe(ends) == 0 && fclose(fdopen(ends[1], "w")) == 0 && size_now("b") == sizeof block);
    } else if (!strcmp(how, "rename")) {
        mkdir("d", 0755); mkdir("e", 0755);
        symlink("e", "link");
        for (int i = 0; i < 50; i++) { char name[20]; sprintf(name, "%s/%d", i % 2 ? "d" : "e", i); close(made(name)); }
        MUST(rename("d", "ready") == 0 && size_now("ready/49") == sizeof block && size_now("ready/1") == sizeof block);
        close(made("e/last"));
        MUST(rename("link", "linked") == 0 && size_now("linked/last") == sizeof block);
    } else if (!strcmp(how, "proc")) {
        char name[20] = "";
        int file = open("/proc/self/comm", O_WRONLY);
        MUST(write(file, "aa", 2) == 2 && write(file, "bb", 2) == 2);
        prctl(PR_GET_NAME, name);
        MUST(!strcmp(name, "bb"));
    } else if (!strcmp(how, "double")) {
        int file = make("a"), second = dup(file), third = fcntl(file, F_DUPFD, 20);
        for (int i = 0; i < 9; i++) MUST(write(file, "1", 1) == 1 && write(second, "2", 1) == 1 && write(third, "3", 1) == 1);
        MUST(size_now("a") == 27 && close(second) == 0 && close(third) == 0);
        MUST(ftruncate(file, 0) == 0 && lseek(file, 0, SEEK_SET) == 0 && (second = dup(file)) > 0);
        MUST(write(second, "2", 1) == 1 && write(file, "1", 1) == 1 && close(second) == 0 && close(file) == 0);
        char both[3] = "";
        MUST(read(open("a", O_RDONLY), both, 2) == 2 && !strcmp(both, "21"));
        int other = make("b"), before = open("b", O_WRONLY);
        MUST(write(other, block, 100) == 100 && fsync(before) == 0 && size_now("b") == 100);
    } else if (!strcmp(how, "streams")) {
        for (int i = 0; i < 9; i++) {
            MUST(write(1, "w", 1) == 1);
            if (count > 2) write(3, "3", 1);
            printf("p"); fflush(stdout);
            fputs("e", stderr);
        }
    } else if (!strcmp(how, "first thread")) {
        pthread_t thread;
        close(made("a"));
        pthread_create(&thread, 0, writes, (void *)7);
        pthread_exit(0);
    } else if (!strcmp(how, "access")) {
        if (getuid() == 0) MUST(setgid(65534) == 0 && setuid(65534) == 0);
        for (int i = 0; i < 300; i++) {
            char name[20];
            struct stat found;
            sprintf(name, "m%d", i);
            int file = made(name);
            MUST(fchmod(file, i % 4 < 2 ? 0 : 0755) == 0 && close(file) == 0);
            if (i % 2) MUST((access(name, X_OK) == 0) == (i % 4 == 3));
            else MUST((file = open(name, O_RDONLY)) >= 0 ? i % 4 == 2 && close(file) == 0 : i % 4 == 0);
            sprintf(name, "n%d", i);
            file = open(name, O_WRONLY | O_CREAT | O_EXCL, 0);
            MUST(write(file, block, 100) == 100 && fchmod(file, 0600) == 0 && close(file) == 0);
            if (i % 2) MUST(stat(name, &found) == 0 && found.st_size == 100 && (found.st_mode & 0777) == 0600);
            else MUST((file = open(name, O_RDONLY)) >= 0 && close(file) == 0);
        }
    } else if (!strcmp(how, "bad pointers")) {
        int file = made("a"), fresh = make("b"), ends[2];
        char *edge = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *words[] = {"true", 0};
        struct iovec pieces[] = {{block, 100}, {nowhere, 100}}, bad_ones[] = {{nowhere, 100}, {block, 100}};
        memset(edge, 'y', 4096);
        MUST(mprotect(edge + 4096, 4096, PROT_NONE) == 0 && pipe(ends) == 0);
        REFUSED(write(file, nowhere, 100));
        REFUSED(write(file, edge + 4096, 100));
        REFUSED(pwrite(file, nowhere, 100, 5));
        REFUSED(writev(file, (struct iovec *)nowhere, 1));
        REFUSED(writev(file, bad_ones, 2));
        REFUSED(write(fresh, nowhere, 100));
        REFUSED(write(ends[1], nowhere, 100));
        // What comes before the hole is written, and where it belongs.
        MUST(writev(file, pieces, 2) == 100 && write(file, edge + 4086, 20) == 10);
        MUST(write(file, block, 100) == 100 && pwrite(file, edge + 4095, 2, 0) == 1 && write(fresh, block, 7) == 7);
        REFUSED(futimens(file, (struct timespec *)nowhere));
        REFUSED(fsetxattr(file, nowhere, "v", 1, 0));
        REFUSED(fsetxattr(file, "user.a", nowhere, 1, 0));
        REFUSED(open(nowhere, O_WRONLY | O_TRUNC));
        REFUSED(truncate(nowhere, 0));
        REFUSED(chmod(nowhere, 0600));
        REFUSED(access(nowhere, R_OK));
        REFUSED(rename(nowhere, "c"));
        REFUSED(link(nowhere, "c"));
        REFUSED(utimensat(AT_FDCWD, nowhere, 0, 0));
        REFUSED(syscall(SYS_openat2, AT_FDCWD, "a", nowhere, 24));
        REFUSED(execve("/bin/true", words, (char **)nowhere));
        MUST(!fopen(nowhere, "w") && errno == EFAULT);
        char found[3] = "";
        int back = open("a", O_RDONLY);
        MUST(close(file) == 0 && close(fresh) == 0 && size_now("a") == sizeof block + 210 && size_now("b") == 7);
        MUST(pread(back, found, 2, 0) == 2 && !strcmp(found, "yx"));
        MUST(pread(back, found, 2, sizeof block + 99) == 2 && !strcmp(found, "xy"));
        MUST(pread(back, found, 2, sizeof block + 109) == 2 && !strcmp(found, "yx"));
    } else if (!strcmp(how, "standard error")) {
        int ends[2], nothing = open("/dev/null", O_WRONLY), old = dup(2);
        struct pollfd end;
        for (int round = 0; round < 2; round++) {
            MUST(pipe(ends) == 0 && dup2(ends[1], 2) == 2 && close(ends[1]) == 0);
            close(made("a"));
            round ? close(2) : dup2(nothing, 2);
            end = (struct pollfd){.fd = ends[0], .events = POLLIN};
            MUST(poll(&end, 1, 0) == 1 && (end.revents & POLLHUP));
            dup2(old, 2);
        }
    }
    return 0;
}
"#;

fn hazards(place: &Place, cases: &[&str]) {
    build(place, "hazards", "-pthread -Wno-unused-result", HAZARDS);
    for case in cases {
        for run in ["", "LD_PRELOAD=$lib MH_MTWRITE_HANDS=3", "$mh mtwrite -j 1 --"] {
            succeeds(place, &format!("rm -rf t; mkdir -m 777 t; cd t; {run} timeout -s KILL 60 ../hazards '{case}'"));
        }
    }
}

#[test]
fn who_is_told_of_a_file_finds_it_written() {
    hazards(&Place::new(), &["record lock", "unlock", "pipe", "rename", "access"]);
}

#[test]
fn what_is_no_file_of_its_own_is_not_queued() {
    hazards(&Place::new(), &["proc", "double", "standard error"]);
}

#[test]
fn a_bad_pointer_is_an_error_and_no_signal() {
    hazards(&Place::new(), &["bad pointers"]);
}

#[test]
fn beside_a_fork_nothing_is_written_twice() {
    let place = Place::new();
    hazards(&place, &["fork"]);
    let wrong = succeeds(&place, "find t -name 'w*' '!' -size 15000c -o -name 'child*' '!' -size 20000c").stdout;
    assert_eq!(String::from_utf8_lossy(&wrong), "");
}

#[test]
fn a_process_whose_first_thread_ends_ends_with_its_last() {
    let place = Place::new();
    hazards(&place, &["first thread"]);
    let sizes = succeeds(&place, "find t -size 15000c | wc -l; find t -size 20000c | wc -l").stdout;
    assert_eq!(String::from_utf8_lossy(&sizes), "1000\n1\n");
}

#[test]
fn standard_streams_keep_their_order() {
    let place = Place::new();
    build(&place, "hazards", "-pthread -Wno-unused-result", HAZARDS);
    for streams in ["> f 2>&1", "3> f >&3 2>&1"] {
        let more = if streams.starts_with('3') { "more" } else { "" };
        let of = |run: &str| succeeds(&place, &format!("{run} ./hazards streams {more} {streams}; cat f")).stdout;
        assert_eq!(of("LD_PRELOAD=$lib"), of(""), "{streams}");
    }
}

/// Writes more than it may, looks at no answer, and lets its file go in the way that its argument names.
const CARELESS: &str = r#"
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int count, char **words) {
    static char block[200000];
    const char *how = count > 1 ? words[1] : "";
    int other = open("other", O_WRONLY | O_CREAT, 0644), file = open("file", O_WRONLY | O_CREAT, 0644);
    write(file, block, sizeof block);
    if (!strcmp(how, "dup2")) dup2(other, file);
    if (!strcmp(how, "fclose")) fclose(fdopen(file, "w"));
    if (!strcmp(how, "fdopen")) fputs("x", fdopen(file, "w"));
    if (!strcmp(how, "close")) { lseek(file, 0, SEEK_CUR); close(file); }
    if (!strcmp(how, "execl")) execl("/bin/true", "true", (char *)0);
    char *words2[] = {"true", 0}, *variables[] = {getenv("PRELOADED"), 0};
    if (!strcmp(how, "execve")) execve("/bin/true", words2, variables);
    if (!strcmp(how, "syscall")) syscall(SYS_exit_group, 0);
    if (!strcmp(how, "quick_exit")) quick_exit(0);
    if (!strcmp(how, "fork")) {
        int answer;
        close(file);
        if (fork() == 0) return 0;
        wait(&answer);
        if (answer != 0) return 8;
    }
    return 0;
}
"#;

#[test]
fn a_failed_write_is_told_however_its_file_is_let_go() {
    let place = Place::new();
    build(&place, "careless", "-Wno-unused-result", CARELESS);
    let ends =
        ["dup2", "fclose", "fdopen", "close", "execl", "execve", "syscall", "quick_exit", "fork", "open to the end"];
    for how in ends {
        let script = format!(
            "rm -f file other; trap '' XFSZ; ulimit -f 100; PRELOADED=LD_PRELOAD=$lib LD_PRELOAD=$lib ./careless '{how}'"
        );
        let outcome = run(&place, &script);
        let said = said(&outcome);
        assert_eq!(said.matches("could not write").count(), 1, "{how}: {said}");
        assert!(said.contains("/file': File too large"), "{how}: {said}");
        assert_eq!(outcome.exit, Exit::Code(1), "{how}: {said}");
    }
}

/// As if no thread could be had: the library finds this function before libc's.
const ALONE: &str = r#"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
int pthread_create(void *thread, const void *how, void *(*work)(void *), void *argument) { return EAGAIN; }
int main(void) {
    static char block[300000];
    struct stat found;
    for (int i = 0; i < 50; i++) {
        char name[20];
        sprintf(name, "s%d", i);
        int file = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
        write(file, block, sizeof block);
        fstat(file, &found);
        close(file);
    }
    int file = open("a", O_WRONLY | O_CREAT | O_TRUNC, 0644), other = open("b", O_WRONLY | O_CREAT | O_TRUNC, 0644);
    for (int i = 0; i < 300; i++) {
        write(file, block, 30000);
        write(other, block, 30000);
    }
    return 0;
}
"#;

#[test]
fn without_threads_the_program_does_the_work() {
    let place = Place::new();
    build(&place, "alone", "-rdynamic -Wno-unused-result -Wno-builtin-declaration-mismatch", ALONE);
    succeeds(&place, "LD_PRELOAD=$lib MH_MTWRITE_MEMORY=1 timeout -s KILL 20 ./alone");
    let sizes = succeeds(&place, "stat -c %s a b s49").stdout;
    assert_eq!(String::from_utf8_lossy(&sizes), "9000000\n9000000\n300000\n");
}

#[test]
fn root_among_few_users_makes_the_same_tree() {
    let place = Place::new();
    place.write("src/a", "x");
    place.write("src/b", "y");
    succeeds(&place, "chmod 0755 src/a && chmod 4711 src/b && tar --owner=:1234 --group=:4321 -cf a.tar -C src .");
    if run(&place, "unshare -r true").exit != Exit::Code(0) {
        return left_out("mtwrite in a user namespace: none can be made");
    }
    let of = |run_with: &str| {
        let script = format!("rm -rf t && mkdir t && cd t && unshare -r env {run_with} tar -xpf ../a.tar");
        let outcome = run(&place, &script);
        (outcome.exit, said(&outcome), succeeds(&place, "cd t && stat -c '%n %a %u %s' a b").stdout)
    };
    assert_eq!(of("LD_PRELOAD=$lib"), of("A=b"));
}

#[test]
fn a_program_that_becomes_another_has_queued_something() {
    let place = Place::new();
    build(&place, "careless", "-Wno-unused-result", CARELESS);
    let outcome = succeeds(&place, "$mh mtwrite --report -- ./careless execl");
    let told = said(&outcome);
    assert!(told.contains("queued: 1 file,") && !told.contains("nothing was queued"), "{told}");
    // It says so, too, where a program that queued nothing has failed, but not where none was started.
    for (program, code, says_so) in [("false", 1, true), ("./nowhere", 127, false)] {
        let outcome = run(&place, &format!("$mh mtwrite -- {program}"));
        assert_eq!(
            (outcome.exit, said(&outcome).contains("nothing was queued")),
            (Exit::Code(code), says_so),
            "{program}"
        );
    }
    let explained = succeeds(&place, "$mh mtwrite --memory 1000 --explain -- true").stdout;
    let explained = String::from_utf8_lossy(&explained);
    assert!(explained.contains("1.05 MB"), "{explained}");
}
