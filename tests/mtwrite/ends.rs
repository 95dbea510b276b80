//! How processes end under the library, and what is said where nothing can be gained.

use super::{build, run, succeeds};
use crate::place::{Place, said};
use testkit::program::{Exit, left_out};

/// Writes files of 20 kB and ends in the way that its argument names.
const ENDS: &str = r#"
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void handler(int s) { (void)s; signal(SIGTERM, SIG_DFL); raise(SIGTERM); }
int main(int count, char **words) {
    static char block[20000];
    const char *how = count > 1 ? words[1] : "return";
    struct sigaction old;
    if (!strcmp(how, "handled")) signal(SIGTERM, handler);
    for (int i = 0; i < 100; i++) {
        char name[20];
        sprintf(name, "f%d", i);
        int file = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
        write(file, block, sizeof block);
        if (i < 99) close(file);
    }
    sigaction(SIGTERM, 0, &old);
    if (strcmp(how, "handled") && old.sa_handler != SIG_DFL) return 8;
    if (!strcmp(how, "exit")) exit(3);
    if (!strcmp(how, "_exit")) _exit(3);
    if (!strcmp(how, "quick_exit")) quick_exit(3);
    if (!strcmp(how, "abort")) abort();
    if (!strcmp(how, "exec")) execl("/bin/sh", "sh", "-c", "exit 3", (char *)0);
    if (!strcmp(how, "execv")) { char *shell[] = {"sh", "-c", "exit 3", 0}; execv("/bin/sh", shell); }
    if (!strcmp(how, "term") || !strcmp(how, "handled")) kill(getpid(), SIGTERM);
    if (!strcmp(how, "int")) raise(SIGINT);
    if (!strcmp(how, "alarm")) { alarm(1); for (;;) pause(); }
    return 0;
}
"#;

#[test]
fn nothing_is_lost_however_a_program_ends() {
    let place = Place::new();
    build(&place, "ends", "-Wno-unused-result", ENDS);
    let ends = ["return", "exit", "_exit", "quick_exit", "abort", "exec", "execv", "term", "handled", "int", "alarm"];
    for how in ends {
        let plain = run(&place, &format!("rm -f f*; ./ends {how}; echo $?")).stdout;
        let found = run(&place, &format!("rm -f f*; LD_PRELOAD=$lib ./ends {how}; echo $?"));
        assert_eq!(found.stdout, plain, "{how}: {}", said(&found));
        let sizes = succeeds(&place, "find . -name 'f*' -size 20000c | wc -l").stdout;
        assert_eq!(String::from_utf8_lossy(&sizes).trim(), "100", "{how}");
    }
}

#[test]
fn a_full_file_system_is_told_by_the_exit_code() {
    let place = Place::new();
    if run(&place, "mkdir small && mount -t tmpfs -o size=1M none small").exit != Exit::Code(0) {
        return left_out("mtwrite on a full file system: needs root and mounts");
    }
    place.write("src/a", vec![1; 3 << 20]);
    for index in 0..100 {
        place.write(format!("many/{index}"), vec![2; 16_000]);
    }
    succeeds(&place, "tar -cf a.tar src && tar -cf b.tar many");
    build(&place, "ends", "-Wno-unused-result", ENDS);
    let tried = [
        ("$mh mtwrite -- tar -xf ../a.tar", 2),
        ("$mh mtwrite -- tar -xf ../b.tar", 2),
        // This one asks no call how it went.
        ("$mh mtwrite -- ../ends", 1),
        ("LD_PRELOAD=$lib ../ends _exit", 3),
    ]
    .map(|(script, code)| (run(&place, &format!("cd small && rm -rf * && {script}")), script, code));
    succeeds(&place, "umount small");
    for (outcome, script, code) in tried {
        let said = said(&outcome);
        assert!(said.contains("No space left on device"), "{script}: {said}");
        // tar is told of the last files only at its end, and has no more to say then.
        let is_right = outcome.exit == Exit::Code(code) || (script.contains("tar") && outcome.exit == Exit::Code(1));
        assert!(is_right, "{script}: {:?} {said}", outcome.exit);
    }
}

#[test]
fn a_limit_of_file_size_is_an_error_of_the_write() {
    let place = Place::new();
    place.write("a", vec![1; 3 << 20]);
    succeeds(&place, "tar -cf a.tar a");
    let outcome = run(&place, "mkdir t && cd t && trap '' XFSZ && ulimit -f 1000 && LD_PRELOAD=$lib tar -xf ../a.tar");
    assert!(said(&outcome).contains("File too large"), "{}", said(&outcome));
    assert!(matches!(outcome.exit, Exit::Code(1 | 2)), "{:?}", outcome.exit);
}

#[test]
fn a_failed_write_is_not_told_by_a_call_that_only_moves() {
    const MOVES: &str = r#"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>
int main(void) {
    static char block[65536];
    signal(SIGXFSZ, SIG_IGN);
    int file = open("made", O_WRONLY | O_CREAT, 0644);
    for (int i = 0; i < 20; i++) write(file, block, sizeof block);
    if (fsync(file) == 0 || errno != EFBIG) return 1;
    if (lseek(file, 0, SEEK_SET) != 0) return 2;
    if (write(file, block, 1) != -1 || errno != EFBIG) return 3;
    return 0;
}
"#;
    let place = Place::new();
    build(&place, "moves", "-Wno-unused-result", MOVES);
    succeeds(&place, "ulimit -f 100; MH_MTWRITE_HANDS=2 LD_PRELOAD=$lib ./moves");
}

#[test]
fn a_signal_reaches_the_program_and_its_end_is_ours() {
    let place = Place::new();
    // The shell prints its own process number; the program that it becomes is ended by it.
    let script = "$mh mtwrite -- sh -c 'echo begun > begun; trap \"exit 7\" TERM; while :; do sleep 0.01; done' & \
        until [ -s begun ]; do sleep 0.01; done; kill -TERM $!; wait $!; echo $?";
    assert_eq!(run(&place, script).stdout, b"7\n");
    let outcome = run(&place, "$mh mtwrite -- sh -c 'kill -KILL $$'");
    assert_eq!(outcome.exit, Exit::Code(137), "{}", said(&outcome));
}

/// Writes files of 8 kB until a timer of so many microseconds ends it. With a second argument no other thread than the first gets memory of the
/// program's allocator meanwhile: as when the signal comes in the midst of that.
const IS_ENDED: &str = r#"
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>
extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
extern void __libc_free(void *);
static volatile int is_held;
static __thread int is_first;
static void wait_for_it(void) { while (is_held && !is_first) sched_yield(); }
void *malloc(size_t size) { wait_for_it(); return __libc_malloc(size); }
void *calloc(size_t count, size_t size) { wait_for_it(); return __libc_calloc(count, size); }
void *realloc(void *block, size_t size) { wait_for_it(); return __libc_realloc(block, size); }
void free(void *block) { wait_for_it(); __libc_free(block); }
int main(int count, char **words) {
    static char block[8000];
    struct itimerval once = {{0, 0}, {0, atoi(words[1])}};
    is_first = 1;
    for (int i = 0;; i++) {
        char name[20];
        sprintf(name, "f%d", i);
        int file = open(name, O_WRONLY | O_CREAT, 0644);
        write(file, block, sizeof block);
        close(file);
        if (i == 0) {
            /* Threads take a little memory when they begin. */
            usleep(5000);
            is_held = count > 2;
            setitimer(ITIMER_REAL, &once, 0);
        }
        if (i == 400) pause();
    }
}
"#;

#[test]
fn a_signal_at_any_moment_waits_for_what_was_closed_and_for_nothing_else() {
    let place = Place::new();
    build(&place, "is_ended", "-Wno-unused-result", IS_ENDED);
    place.write("to/.keep", "");
    for (held, step) in [("", 150), ("held", 2000)] {
        let script = format!(
            "cd to; for us in $(seq 300 {step} 10000); do rm -f f*; \
            MH_MTWRITE_HANDS=2 timeout -s KILL 20 env LD_PRELOAD=$lib ../is_ended $us {held}; \
            echo $us $? $(find . -name 'f*' ! -size 8000c | wc -l); done | grep -v ' 142 [01]$'"
        );
        let outcome = run(&place, &script);
        assert_eq!(String::from_utf8_lossy(&outcome.stdout), "", "{held}: {}", said(&outcome));
    }
}

#[test]
fn what_was_queued_is_told_where_a_signal_ends_the_program() {
    let place = Place::new();
    build(&place, "ends", "-Wno-unused-result", ENDS);
    for how in ["term", "abort", "alarm"] {
        let outcome = run(&place, &format!("$mh mtwrite --report -- ./ends {how}"));
        assert!(said(&outcome).contains("queued: 100 files, 2 MB"), "{how}: {}", said(&outcome));
    }
}

#[test]
fn a_program_gets_all_numbers_of_descriptors_that_it_may_have() {
    let place = Place::new();
    build(&place, "opens", "-Wno-unused-result", OPENS);
    for most in [9, 20, 64, 300, 1024, 1500, 4096] {
        for how in ["open", "fopen", "dup", "pipe", "read"] {
            let script = |lib| format!("rm -f f*; ulimit -n {most}; {lib} ./opens {how}");
            let plain = succeeds(&place, &script("")).stdout;
            let found = succeeds(&place, &script("MH_MTWRITE_HANDS=2 LD_PRELOAD=$lib")).stdout;
            assert_eq!(String::from_utf8_lossy(&found), String::from_utf8_lossy(&plain), "{how}, {most}");
        }
    }
}

/// Writes to as many files as it can have open, every third descriptor being one of the kind that its argument names; then says how many it had.
const OPENS: &str = r#"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
int main(int count, char **words) {
    static char block[3000];
    const char *how = words[1];
    int made = 0, pair[2];
    (void)count;
    for (;; made++) {
        char name[20];
        sprintf(name, "f%d", made);
        if (made % 3 == 2) {
            if (!strcmp(how, "fopen") && !fopen("/dev/null", "r")) break;
            if (!strcmp(how, "dup") && dup(0) < 0) break;
            if (!strcmp(how, "pipe") && pipe(pair)) break;
            if (!strcmp(how, "read") && open("/dev/null", O_RDONLY) < 0) break;
        }
        int file = open(name, O_WRONLY | O_CREAT, 0644);
        if (file < 0) break;
        if (write(file, block, sizeof block) != sizeof block) return 1;
    }
    printf("%d\n", made);
    return 0;
}
"#;

#[test]
fn where_nothing_is_queued_it_says_so() {
    let place = Place::new();
    build(&place, "static", "-static -Wno-unused-result", ENDS);
    let outcome = succeeds(&place, "$mh mtwrite -- ./static");
    assert!(said(&outcome).contains("'./static' did not load the library"), "{}", said(&outcome));
    let outcome = succeeds(&place, "$mh mtwrite -- true");
    assert!(said(&outcome).contains("made no file by open(2) and write(2)"), "{}", said(&outcome));
    let outcome = succeeds(&place, "$mh mtwrite -- tar -cf a.tar static.c");
    assert_eq!(said(&outcome), "", "an archive is a new file, too");
}

#[test]
fn the_program_alone_has_a_copy_of_the_library() {
    let place = Place::new();
    succeeds(&place, "mkdir 'a b' && cp $mh 'a b/mh' && mkdir tree && echo text > tree/file && tar cf a.tar tree");
    let outcome = succeeds(&place, "mkdir out && cd out && '../a b/mh' mtwrite --report -- tar xf ../a.tar");
    assert!(said(&outcome).contains("queued: 1 file"), "{}", said(&outcome));
    succeeds(&place, "cmp tree/file out/tree/file");
    let planned = succeeds(&place, "'a b/mh' mtwrite --explain -- true");
    assert!(String::from_utf8_lossy(&planned.stdout).contains("the copy within this program"));
    succeeds(&place, "mkdir -p usr/bin usr/lib/manyhands && cp $mh usr/bin/mh && cp $lib usr/lib/manyhands/");
    let planned = succeeds(&place, "usr/bin/mh mtwrite --explain -- true");
    assert!(String::from_utf8_lossy(&planned.stdout).contains("usr/lib/manyhands/libmhwrite.so"));
    succeeds(&place, "printf x > 'a b/libmhwrite.so' && 'a b/mh' mtwrite -- true");
}
