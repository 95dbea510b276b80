//! What the screen says of its keys.

/// The last line, the longest that fits.
pub const LAST_LINES: [&str; 4] = [
    "1cpu 3disk,net 5proc 6cgroup e all v verdicts x metrics  / find \\ only t tree u user k signal r nice  space hold [ ] { } b back in time  ? help q quit",
    "1cpu 3dev 5proc 6cgroup v verdicts x  / find \\ only t tree k signal  space hold [ ] back  ? help q quit",
    "1cpu 3dev 5proc 6cgrp v x / \\ t k  space hold [ ] back  ? help q quit",
    "? help  q quit",
];

/// What `?` shows.
pub const KEYS: &[&str] = &[
    "",
    "arrows        choose a process; page up, page down, home, end       Enter  all that is known of it",
    "P M T N       order by CPU, memory, age, number     D W  by transfer, waiting    < > left right  by the next column",
    "/ F3          find a process, n the next            \\ F4  only those with a text     u  only of a user     Esc  all again",
    "t F5          tree of parents and children          H  threads that did something, in place of processes",
    "k F9          send a signal to the chosen process   r F7 F8  another nice value; both ask first",
    "space Z       hold what is shown; again: go on      [ ]  a moment back and on    { }  a minute    b  to a time",
    "+ -           look less often, more often",
    "1 3 6         every CPU; every disk, interface and file system; every control group        e  all three",
    "5             processes alone                       v  all verdicts and what would help",
    "x             every metric, its meaning and raw value                          w  write this view as JSON",
    "q             leave",
    "",
    "^ v     far above or below what is usual: more than six times the usual spread and a quarter of the median of the last 15 minutes,",
    "        and more than matters (10 points of CPU, 20 of a disk ...). Known after three minutes; such disks and interfaces come first.",
    "yellow, red  at a limit; magenta  far from what is usual.",
    "cpu     share of all CPUs, then parts of it: programs, kernel, interrupts, stolen by the hypervisor, idle with a disk awaited.",
    "        (±) how far the parts may be off: they are counted by ticks. runq: threads that run or could. psi: share of the time in",
    "        which some thread waited.",
    "mem     used of all; used: all but what is free for use, which programs can have without swapping; app: programs' own; file: cache.",
    "disk    util: share of the time with a request under way; await: mean time of a request; queue: mean number under way.",
    "%core   of one core; ± how far that may be off; %host: of all CPUs; wait%: could run and had no CPU; rss: resident memory;",
    "        from 120 columns on nice value, virt: addresses, mem%: rss of all memory, cpu time: since it began.",
    "        MB/s: from and to storage, a million bytes (of your processes, or of all as root). Elsewhere 1K is 1024 bytes.",
];
