//! What manual pages say that options do not: exit status, environment, files, and which pages to read next.
//! One line a fact, in one place. Examples are not here: they come from each command's help.

/// What a page says besides options.
#[derive(Clone, Copy)]
pub struct PageFacts {
    /// In place of the usage that clap makes; empty: clap's.
    pub synopsis: &'static str,
    /// Exit codes and their meaning.
    pub exit_status: &'static [Fact],
    /// Environment variables and what they do.
    pub environment: &'static [Fact],
    /// Files that are read or written besides those that are named.
    pub files: &'static [Fact],
    /// Other programs' pages.
    pub see_also: &'static [&'static str],
}

/// A term and what it means.
pub type Fact = (&'static str, &'static str);

/// The facts about the page of this name.
pub fn of(page: &str) -> PageFacts {
    PAGES.iter().find(|(name, _)| *name == page).map_or(SHARING, |(_, facts)| *facts)
}

/// Pages that have facts of their own.
#[cfg(test)]
pub fn names() -> impl Iterator<Item = &'static str> {
    PAGES.iter().map(|(name, _)| *name)
}

/// Pages that differ from [`SHARING`].
const PAGES: &[(&str, PageFacts)] = &[
    (
        "mh",
        PageFacts { synopsis: "mh COMMAND [OPTIONS] [ARGUMENT]...\nmh COMMAND --help\nmh", files: OF_MH, ..SHARING },
    ),
    ("mh-tamp", PageFacts { environment: UNDER_MAKE, see_also: COMPRESSORS, ..SHARING }),
    (
        "mh-tar",
        PageFacts {
            synopsis: TAR_SYNOPSIS,
            exit_status: TAR_EXITS,
            environment: OF_TAR,
            see_also: &["tar(1)"],
            ..SHARING
        },
    ),
    ("mh-xjobs", PageFacts { exit_status: XJOBS_EXITS, environment: OF_XJOBS, see_also: RUNNERS, ..SHARING }),
    ("mh-cp", PageFacts { environment: WITH_BACKUPS, exit_status: TREE_EXITS, see_also: &["cp(1)"], ..SHARING }),
    ("mh-mv", PageFacts { environment: WITH_BACKUPS, exit_status: TREE_EXITS, see_also: &["mv(1)"], ..SHARING }),
    ("mh-rm", PageFacts { exit_status: TREE_EXITS, see_also: &["rm(1)"], ..SHARING }),
    ("mh-sum", PageFacts { exit_status: SUM_EXITS, see_also: SUMS, ..SHARING }),
    ("mh-db", PageFacts { exit_status: DB_EXITS, ..SHARING }),
    ("mh-db-load", PageFacts { exit_status: DB_EXITS, see_also: LOADERS, ..SHARING }),
    ("mh-innodb", PageFacts { exit_status: INNODB_EXITS, see_also: &["innochecksum(1)"], ..SHARING }),
    (
        "mh-mtwrite",
        PageFacts {
            exit_status: MTWRITE_EXITS,
            environment: OF_MTWRITE,
            files: LIBRARY,
            see_also: &["tar(1)", "ld.so(8)"],
            ..SHARING
        },
    ),
    ("mh-vmtasks", PageFacts { see_also: &["mlock(2)", "madvise(2)"], ..LOOKING }),
    ("mh-vmtasks-bench", PageFacts { see_also: &["numactl(8)", "memfd_create(2)"], ..SHARING }),
    ("mh-vmtasks-check", PageFacts { exit_status: RESIDENCY_EXITS, see_also: &["pmap(1)"], ..LOOKING }),
    ("mh-numa", PageFacts { see_also: &["numactl(8)", "numa(7)"], ..LOOKING }),
    ("mh-numa-check", PageFacts { exit_status: PLACEMENT_EXITS, see_also: &["numastat(8)"], ..LOOKING }),
    ("mh-pstime", PageFacts { exit_status: PSTIME_EXITS, see_also: &["top(1)", "pidstat(1)"], ..LOOKING }),
    ("mh-ceiling", PageFacts { exit_status: CEILING_EXITS, see_also: &["top(1)"], ..LOOKING }),
    ("mh-systime", PageFacts { exit_status: STARTING_EXITS, see_also: &["strace(1)", "capabilities(7)"], ..LOOKING }),
    ("mh-fit", PageFacts { exit_status: FIT_EXITS, see_also: &["free(1)", "smem(8)"], ..LOOKING }),
    ("mh-locks", PageFacts { see_also: &["futex(2)", "pthread_mutex_lock(3)"], ..LOOKING }),
    ("mh-timers", PageFacts { see_also: &["prctl(2)", "cyclictest(8)"], ..LOOKING }),
    ("mh-timers-run", PageFacts { exit_status: STARTING_EXITS, ..LOOKING }),
    ("mh-timers-log-writer", LOOKING),
    ("mh-crew", PageFacts { see_also: &["nice(1)", "taskset(1)"], ..SHARING }),
    (
        "mh-crew-run",
        PageFacts {
            exit_status: STARTING_EXITS,
            environment: UNDER_MAKE,
            see_also: &["nice(1)", "taskset(1)"],
            ..SHARING
        },
    ),
    ("mh-crew-wait", PageFacts { exit_status: WAIT_EXITS, ..SHARING }),
    ("mh-links", PageFacts { environment: OF_OLD_NAMES, see_also: COMPRESSORS, ..LOOKING }),
    ("mh-tour", LOOKING),
];

/// A command that shares the cores with others.
const SHARING: PageFacts = PageFacts {
    synopsis: "",
    exit_status: &[DONE, FAILED, USAGE],
    environment: &[CONFIG, CREW_DIR, LEASE, TERM],
    files: &[OWN_SETTINGS, SETTINGS, TABLE],
    see_also: &[],
};

/// A command that does not.
const LOOKING: PageFacts = PageFacts { environment: &[CONFIG, TERM], files: &[OWN_SETTINGS, SETTINGS], ..SHARING };

const TAR_SYNOPSIS: &str = "mh tar -c|-x|-t|-r|-u|-d|-A|--delete [OPTIONS] [-f ARCHIVE] [NAME]...";
const COMPRESSORS: &[&str] = &["gzip(1)", "zstd(1)", "xz(1)", "bzip2(1)", "lz4(1)"];
const RUNNERS: &[&str] = &["xargs(1)", "parallel(1)", "make(1)"];

const DONE: Fact = ("0", "Everything was done.");
const FAILED: Fact = ("1", "Something failed. Each failure has been reported on standard error.");
const USAGE: Fact = ("2", "The command line was wrong; nothing was done.");
const NOT_RUNNABLE: Fact = ("126", "The program could not be run.");
const NOT_FOUND: Fact = ("127", "The program was not found.");

const TAR_EXITS: &[Fact] = &[
    ("0", "Everything was done."),
    ("1", "Files changed while they were read, or --diff found differences."),
    ("2", "Something failed, or the command line was wrong."),
];
const XJOBS_EXITS: &[Fact] = &[
    ("0", "All jobs succeeded, or as many as --halt asks for."),
    ("1", "Some jobs failed, or the list could not be read to its end."),
    USAGE,
];
const TREE_EXITS: &[Fact] =
    &[DONE, FAILED, ("2", "The command line was wrong; nothing was done. Under the old tool's name it is 1.")];
const SUM_EXITS: &[Fact] = &[
    ("0", "Every digest was computed, or every line checked agrees."),
    ("1", "A file could not be read, or is not as its line says; with --exact also a file that no line names."),
    USAGE,
];
const DB_EXITS: &[Fact] = &[
    ("0", "All rows are in the table."),
    ("1", "Rows are missing: what is kept is printed."),
    ("2", "Wrong command line, no connection, no right; nothing was begun."),
    ("130", "Interrupted: what is kept is printed."),
];
const LOADERS: &[&str] = &["psql(1)", "mariadb-import(1)", "sqlite3(1)"];
const INNODB_EXITS: &[Fact] = &[
    ("0", "No page is corrupt. How many are not checkable is printed."),
    ("1", "A page is corrupt."),
    ("2", "Nothing is corrupt, but a file or page could not be read, or the command line was wrong."),
];
const SUMS: &[&str] = &["md5sum(1)", "sha256sum(1)", "cksum(1)", "b2sum(1)", "xxhsum(1)"];
const STARTING_EXITS: &[Fact] = &[
    ("N", "That of the program that was started; 128 and the signal's number if a signal ended it."),
    FAILED,
    USAGE,
    NOT_RUNNABLE,
    NOT_FOUND,
];
const MTWRITE_EXITS: &[Fact] = &[
    ("N", "That of the program; 128 and the signal's number if a signal ended it."),
    ("1", "The program ended with 0, but something could not be written; or there is no library to load."),
    USAGE,
    NOT_RUNNABLE,
    NOT_FOUND,
];
const RESIDENCY_EXITS: &[Fact] = &[
    ("0", "All large mappings are resident as a whole; with --locked, locked as a whole, too."),
    ("1", "One is not, or there is none, or a process could not be checked."),
    USAGE,
];
const PLACEMENT_EXITS: &[Fact] = &[
    ("0", "All processes were checked, and no swapping beside free memory is ahead."),
    ("1", "A node is full and holds more than its share, while another has room; or a process could not be checked."),
    USAGE,
];
const PSTIME_EXITS: &[Fact] = &[
    ("0", "Everything was measured. After --, the exit code is the program's."),
    ("1", "A listed process does not exist."),
    USAGE,
    NOT_RUNNABLE,
    NOT_FOUND,
];
const CEILING_EXITS: &[Fact] = &[
    ("0", "No thread is held back."),
    ("1", "No thread is held back, but a listed process does not exist."),
    USAGE,
    ("3", "Ceiling: a thread used one whole core all the time."),
    ("4", "Starved: a thread could run, and others had the CPUs."),
    ("5", "Throttled: the quota of its control group was used up."),
    ("6", "Stolen: the hypervisor ran another guest."),
    ("7", "I/O-bound: a thread waited for a disk for more than half of the time."),
];
const FIT_EXITS: &[Fact] = &[
    ("0", "An answer was given. With --add: so many fit."),
    ("1", "There was nothing to learn from."),
    USAGE,
    ("3", "With --add: so many do not fit."),
];
const WAIT_EXITS: &[Fact] = &[
    ("0", "The runs have ended, or a core is free."),
    ("1", "The time given by --timeout was over before."),
    USAGE,
    ("3", "The table of runs could not be read."),
];

const CONFIG: Fact = ("MH_CONFIG", "The settings file, see mh-settings(5). If it is empty, no file is read.");
const CREW_DIR: Fact = (
    "MH_CREW_DIR",
    "The directory of the table in which runs share their cores, instead of /dev/shm. If it is empty, the run shares with no other.",
);
const LEASE: Fact =
    ("MH_LEASE", "Set by mh-xjobs(1) and mh-crew-run(1) for programs that they start: the cores that those may use.");
const TERM: Fact = ("TERM", "If it is dumb or not set, nothing is drawn that moves the cursor.");
const MAKEFLAGS: Fact =
    ("MAKEFLAGS", "The job slots of a make above, which are used; for programs that are started it is set.");
const TMPDIR: Fact = ("TMPDIR", "The directory for large outputs of jobs, /tmp if it is not set.");
const PATH: Fact = ("PATH", "The directories in which programs are looked for.");

const UNDER_MAKE: &[Fact] = &[CONFIG, CREW_DIR, LEASE, MAKEFLAGS, TERM];
const OF_XJOBS: &[Fact] = &[CONFIG, CREW_DIR, LEASE, MAKEFLAGS, PATH, TMPDIR, TERM];
const WITH_BACKUPS: &[Fact] = &[
    CONFIG,
    CREW_DIR,
    LEASE,
    ("VERSION_CONTROL", "The kind of backups, as for --backup."),
    ("SIMPLE_BACKUP_SUFFIX", "The suffix of simple backups, as for --suffix."),
    TERM,
];
const OF_TAR: &[Fact] = &[
    CONFIG,
    CREW_DIR,
    LEASE,
    ("TAR_OPTIONS", "Options in front of those on the command line; quotes keep blanks in them."),
    ("VERSION_CONTROL", "The kind of backups, as for --backup."),
    ("SIMPLE_BACKUP_SUFFIX", "The suffix of simple backups, as for --suffix."),
    TERM,
];
const OF_MTWRITE: &[Fact] = &[
    CONFIG,
    CREW_DIR,
    LEASE,
    ("LD_PRELOAD", "Set for the program: the library, before those that it has already."),
    ("MH_MTWRITE_HANDS", "If the library is used without this command: the cores, the program's own among them."),
    ("MH_MTWRITE_MEMORY", "The same: bytes that may wait to be written."),
    ("MH_MTWRITE_TELL", "The same: - prints statistics on standard error at the end of each process."),
];
const OF_OLD_NAMES: &[Fact] = &[
    CONFIG,
    CREW_DIR,
    ("GZIP, PIGZ", "Options of gzip and pigz."),
    ("ZSTD_CLEVEL, ZSTD_NBTHREADS", "Level and threads of zstd."),
    ("BZIP2, BZIP, LBZIP2", "Options of bzip2 and lbzip2."),
    ("XZ_DEFAULTS, XZ_OPT", "Options of xz."),
];

const OWN_SETTINGS: Fact = (
    "~/.config/manyhands/config.toml",
    "Your settings, see mh-settings(5). $XDG_CONFIG_HOME takes the place of ~/.config.",
);
const SETTINGS: Fact = ("/etc/manyhands/config.toml", "The machine's settings, read if you have none.");
const TABLE: Fact = ("/dev/shm/manyhands-UID", "The table in which all runs of a user share the cores.");
const OF_MH: &[Fact] = &[
    OWN_SETTINGS,
    SETTINGS,
    TABLE,
    (
        "/usr/share/doc/manyhands/docs",
        "The documents, if mh is in /usr/bin: which-command.md lists the command for each question, commands has a page for each.",
    ),
];
const LIBRARY: &[Fact] = &[
    (
        "libmhwrite.so",
        "The library that is loaded into the program: beside mh, in ../lib/manyhands, or the copy within mh.",
    ),
    OWN_SETTINGS,
    SETTINGS,
    TABLE,
];
