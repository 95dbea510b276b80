//! The same bytes and the same metadata, with the library and without.

use super::{build, run, succeeds};
use crate::place::{Place, said};
use crate::trees::described::assert_same;
use std::os::unix::fs::symlink;
use testkit::program::{Exit, TestProgram, left_out};

/// A tree with files of many sizes and all that archives keep.
fn tree(place: &Place) {
    for index in 0..300_usize {
        let bytes: Vec<u8> = (0..index * index).map(|at| (at * 31 + index) as u8).collect();
        place.write(format!("src/{}/{}/file {index}", index % 7, index % 3), bytes);
    }
    place.write("src/large", vec![7; 5 << 20]);
    place.write("src/empty", "");
    symlink("large", place.path("src/link")).expect("a link");
    let furnish = "cd src && ln large 'again' && chmod 4755 large && chmod 0400 empty && touch -d '1999-01-02 03:04:05.123456789' 0/0/* && \
        truncate -s 3M sparse && echo end >> sparse && mkfifo pipe && chmod 0555 5";
    succeeds(place, furnish);
    if rustix::process::geteuid().is_root() {
        succeeds(place, "cd src && chown 1234:4321 again 0/0/* 3");
    }
    // COMPAT: rsync lets a time be that is in the same second. The first directory's files have odd ones.
    succeeds(place, "cd src && find . '!' -path './0/0/f*' -exec touch -h -d '2001-01-01 01:01:01.5' '{}' +");
    // A file system without attributes has none that could be lost.
    let _or_none = run(place, "cd src && setfattr -n user.note -v kept large && setfattr -n user.note -v other 1/1/*");
}

/// Unpacks twice, without and with the library, and compares. `$run` stands before the program.
fn compare(place: &Place, program: &str, script: &str) {
    if TestProgram::find(program).is_none() {
        return left_out(&format!("mtwrite with {program}: it is not installed"));
    }
    for (directory, run) in [("without", ""), ("with", "$mh mtwrite -j 3 --"), ("preloaded", "env LD_PRELOAD=$lib")] {
        // Deepest first: directories that may not be written to are in the way of a second round.
        succeeds(place, &format!("mkdir {directory} && cd {directory} && run='{run}' && eval \"{script}\""));
    }
    for directory in ["with", "preloaded"] {
        // Not every archive has times of these.
        succeeds(
            place,
            &format!(
                "find without {directory} -maxdepth 1 '(' -type d -o -type l ')' -exec touch -h -d 2020-01-01 '{{}}' +"
            ),
        );
        assert_same(&place.path("without"), &place.path(directory), &format!("{script} {directory}"));
    }
}

#[test]
fn gnu_tar_makes_the_same_tree() {
    let place = Place::new();
    tree(&place);
    succeeds(&place, "tar --xattrs --format=posix -S -cf a.tar -C src .");
    compare(&place, "tar", "$run tar --xattrs -xpf ../a.tar");
    succeeds(&place, "chmod -R u+w with without preloaded; rm -rf with without preloaded; gzip a.tar");
    compare(&place, "tar", "$run tar -xzf ../a.tar.gz; $run tar --overwrite -xzf ../a.tar.gz");
}

#[test]
fn bsdtar_makes_the_same_tree() {
    let place = Place::new();
    tree(&place);
    succeeds(&place, "tar --xattrs --format=posix -cf a.tar -C src .");
    compare(&place, "bsdtar", "$run bsdtar -xpf ../a.tar");
}

#[test]
fn cpio_makes_the_same_tree() {
    let place = Place::new();
    tree(&place);
    if TestProgram::find("cpio").is_some() {
        succeeds(&place, "cd src && find . -depth | cpio -o -H newc > ../a.cpio");
    }
    compare(&place, "cpio", "$run cpio -idm -I ../a.cpio");
}

#[test]
fn unzip_makes_the_same_tree_though_its_files_are_not_queued() {
    let place = Place::new();
    tree(&place);
    succeeds(&place, "rm src/pipe");
    if TestProgram::find("zip").is_none() {
        return left_out("mtwrite with unzip: zip is not installed");
    }
    succeeds(&place, "cd src && zip -qry ../a.zip .");
    compare(&place, "unzip", "$run unzip -q ../a.zip");
}

#[test]
fn rsync_and_cp_make_the_same_tree() {
    let place = Place::new();
    tree(&place);
    compare(&place, "rsync", "$run rsync -aHX ../src/ .");
    succeeds(&place, "chmod -R u+w with without preloaded; rm -rf with without preloaded");
    compare(&place, "cp", "$run cp -a ../src .");
}

#[test]
fn with_fakeroot_owners_are_what_they_seem() {
    let place = Place::new();
    tree(&place);
    succeeds(&place, "rm -f src/pipe; tar -cf a.tar --owner=:1234 --group=:4321 -C src .");
    if TestProgram::find("fakeroot").is_none() {
        return left_out("mtwrite with fakeroot: it is not installed");
    }
    let list = "find . -mindepth 1 -printf '%P %m %U:%G %s %T@\\n' | sort";
    let script =
        |run: &str| format!("mkdir t && cd t && {run} sh -c \"tar -xpf ../a.tar && {list}\"; cd .. && rm -rf t");
    let expected = succeeds(&place, &script("fakeroot")).stdout;
    assert!(String::from_utf8_lossy(&expected).contains("1234:4321"));
    for run in ["$mh mtwrite -- fakeroot", "fakeroot $mh mtwrite --", "fakeroot env LD_PRELOAD=$lib:$LD_PRELOAD"] {
        assert_eq!(succeeds(&place, &script(run)).stdout, expected, "{run}");
    }
}

/// Looks at its files, while they are queued, in all ways that there are.
const LOOKS: &str = r#"
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
#define MUST(x) do { if (!(x)) { fprintf(stderr, "line %d round %d\n", __LINE__, i); exit(9); } } while (0)
int main(void) {
    static char block[10000], back[200000];
    memset(block, 'b', sizeof block);
    for (int i = 0; i < 60; i++) {
        char name[20]; struct stat found; int status;
        sprintf(name, "f%d", i);
        int file = open(name, O_WRONLY | O_CREAT | O_EXCL, 0644);
        int length = 0, first = file;
        for (int k = 0; k <= i % 9; k++) { MUST(write(file, block, sizeof block) == sizeof block); length += sizeof block; }
        struct iovec two[2] = {{"ab", 2}, {"cde", 3}};
        MUST(writev(file, two, 2) == 5); length += 5;
        MUST(pwrite(file, "X", 1, 3) == 1);
        switch (i % 12) {
        case 0: MUST(fstat(file, &found) == 0 && found.st_size == length); break;
        case 1: MUST(stat(name, &found) == 0 && found.st_size == length); break;
        case 2: MUST(lseek(file, 0, SEEK_CUR) == length && lseek(file, 0, SEEK_END) == length); break;
        case 3: { int other = open(name, O_RDONLY); MUST(read(other, back, sizeof back) == length && back[3] == 'X');
                  MUST(write(file, "more", 4) == 4 && read(other, back, 10) == 4); close(other); length += 4; break; }
        case 4: { int other = open(name, O_RDONLY); char *seen = mmap(0, length, PROT_READ, MAP_SHARED, other, 0);
                  MUST(seen[length - 1] == 'e' && seen[3] == 'X'); munmap(seen, length); close(other); break; }
        case 5: { int other = dup(file); MUST(write(other, "d", 1) == 1 && write(file, "e", 1) == 1); close(other); length += 2; break; }
        case 6: if (fork() == 0) { MUST(write(file, "child", 5) == 5); exit(0); }
                wait(&status); MUST(status == 0 && write(file, "p", 1) == 1); length += 6; break;
        case 7: { char line[60]; sprintf(line, "test $(wc -c < %s) = %d", name, length); MUST(system(line) == 0); break; }
        case 8: if (vfork() == 0) { execlp("test", "test", "-s", name, (char *)0); _exit(1); }
                wait(&status); MUST(status == 0); break;
        case 9: MUST(ftruncate(file, 4) == 0); length = 4; MUST(fsync(file) == 0); lseek(file, 0, SEEK_END); break;
        case 10: { FILE *stream = fdopen(file, "w"); fputs("stream", stream); fclose(stream); length += 6; file = -1; break; }
        case 11: { int pipes[2]; pipe(pipes); if (fork() == 0) { char c; read(pipes[0], &c, 1);
                   MUST(stat(name, &found) == 0 && found.st_size == length); exit(0); }
                   MUST(write(pipes[1], "!", 1) == 1); wait(&status); MUST(status == 0); close(pipes[0]); close(pipes[1]); break; }
        }
        if (file >= 0) { MUST(fchmod(file, 0600 | (i & 7)) == 0); MUST(close(file) == 0); }
        MUST(close(file) == -1);
        int again = open(name, O_RDONLY);
        MUST(again == first && read(again, back, sizeof back) == length && close(again) == 0);
        if (i % 4 == 0) { char other[20]; sprintf(other, "g%d", i); MUST(rename(name, other) == 0 && stat(other, &found) == 0 && found.st_size == length); }
    }
    return 0;
}
"#;

#[test]
fn a_program_that_looks_finds_what_it_has_written() {
    let place = Place::new();
    build(&place, "looks", "-Wno-unused-result", LOOKS);
    for run in ["", "$mh mtwrite -j 1 --", "$mh mtwrite -j 4 --memory 1M --", "env LD_PRELOAD=$lib"] {
        succeeds(&place, &format!("rm -rf t && mkdir t && cd t && {run} ../looks"));
        let outcome = run_quietly(&place, "cd t && cat * | cksum && stat -c '%n %a %s' *");
        place.write(format!("told {run}").replace('/', "_"), &outcome);
        assert_eq!(outcome, place.read("told "), "{run}");
    }
}

fn run_quietly(place: &Place, script: &str) -> Vec<u8> {
    succeeds(place, script).stdout
}

#[test]
fn with_another_allocator_it_works_too() {
    let place = Place::new();
    tree(&place);
    let jemalloc = run(&place, "ls /usr/lib/*/libjemalloc.so.2").stdout;
    let jemalloc = String::from_utf8_lossy(&jemalloc).trim().to_owned();
    if jemalloc.is_empty() {
        return left_out("mtwrite with jemalloc: it is not installed");
    }
    succeeds(&place, "tar -cf a.tar -C src .");
    succeeds(&place, "mkdir without with && tar -xf a.tar -C without");
    let outcome = succeeds(&place, &format!("LD_PRELOAD={jemalloc} $mh mtwrite --report -- tar -xf a.tar -C with"));
    assert!(said(&outcome).contains("301 files"), "{}", said(&outcome));
    assert_same(&place.path("without"), &place.path("with"), "jemalloc");
    assert_eq!(outcome.exit, Exit::Code(0));
}
