# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_mh_global_optspecs
    string join \n h/help V/version
end

function __fish_mh_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_mh_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_mh_using_subcommand
    set -l cmd (__fish_mh_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c mh -n "__fish_mh_needs_command" -s h -l help -d 'Print help'
complete -c mh -n "__fish_mh_needs_command" -s V -l version -d 'Print version'
complete -c mh -n "__fish_mh_needs_command" -f -a "tamp" -d 'Compress or decompress files and streams on all cores'
complete -c mh -n "__fish_mh_needs_command" -f -a "tar" -d 'Make, list and extract tar archives on all cores'
complete -c mh -n "__fish_mh_needs_command" -f -a "xjobs" -d 'Run the jobs of a list, N at once'
complete -c mh -n "__fish_mh_needs_command" -f -a "cp" -d 'Copy files and trees on all cores, as cp does'
complete -c mh -n "__fish_mh_needs_command" -f -a "mv" -d 'Rename files and trees, or move them on all cores, as mv does'
complete -c mh -n "__fish_mh_needs_command" -f -a "rm" -d 'Remove files and trees on all cores, as rm does'
complete -c mh -n "__fish_mh_needs_command" -f -a "sum" -d 'Compute and check digests on all cores, several in one read'
complete -c mh -n "__fish_mh_needs_command" -f -a "mtwrite" -d 'Run a program whose new files are written by other threads'
complete -c mh -n "__fish_mh_needs_command" -f -a "vmtasks" -d 'Set up large memory on every core, and prove that it is resident'
complete -c mh -n "__fish_mh_needs_command" -f -a "numa" -d 'Place large memory on NUMA nodes, and show where it is'
complete -c mh -n "__fish_mh_needs_command" -f -a "innodb" -d 'Check the pages of InnoDB tablespaces on all cores'
complete -c mh -n "__fish_mh_needs_command" -f -a "db" -d 'Move data between files and databases over many connections'
complete -c mh -n "__fish_mh_needs_command" -f -a "sysstat" -d 'Show every metric of this host, and what is wrong with it'
complete -c mh -n "__fish_mh_needs_command" -f -a "pstime" -d 'Show the CPU time of processes over an interval, with its error'
complete -c mh -n "__fish_mh_needs_command" -f -a "ceiling" -d 'Show whether the machine is maxed out, and by which threads'
complete -c mh -n "__fish_mh_needs_command" -f -a "systime" -d 'Show where the time of system calls goes'
complete -c mh -n "__fish_mh_needs_command" -f -a "fit" -d 'Show how many more processes fit, and which limit is met first'
complete -c mh -n "__fish_mh_needs_command" -f -a "locks" -d 'Compare locks that spin, queue or sleep, on this machine'
complete -c mh -n "__fish_mh_needs_command" -f -a "timers" -d 'Show the real cost of timed waits, for every call'
complete -c mh -n "__fish_mh_needs_command" -f -a "load" -d 'Load a database at planned times, and show who was late'
complete -c mh -n "__fish_mh_needs_command" -f -a "bakeoff" -d 'Compare servers, settings or commands fairly, with intervals'
complete -c mh -n "__fish_mh_needs_command" -f -a "crew" -d 'Show which runs hold the cores, and control them'
complete -c mh -n "__fish_mh_needs_command" -f -a "tour" -d 'Try the commands on a real file, step by step'
complete -c mh -n "__fish_mh_needs_command" -f -a "links" -d 'Make links under the old names: gzip, zstd, sha256sum and others'
complete -c mh -n "__fish_mh_using_subcommand tamp" -s o -l output -d 'Write to FILE' -r -F
complete -c mh -n "__fish_mh_using_subcommand tamp" -l level -d 'Level, as -0 to -19: fast and large to slow and small (gz 0 to 9, zst 1 to 19, bz2 1 to 9, lz4 1 to 12, xz 0 to 9)' -r
complete -c mh -n "__fish_mh_using_subcommand tamp" -l keep-up -d 'Keep up with the producer: each chunk\'s level as high as the pipe allows, between MIN and MAX' -r
complete -c mh -n "__fish_mh_using_subcommand tamp" -l fast -d 'Fastest; for zst and lz4 N makes it faster still' -r
complete -c mh -n "__fish_mh_using_subcommand tamp" -s F -l format -d 'Format to write: zst, gz, bz2, lz4, xz or lzma (default: zst, or as the suffix in -o or -S)' -r -f -a "zst\t''
zstd\t''
gz\t''
gzip\t''
bz2\t''
bzip2\t''
lz4\t''
xz\t''
lzma\t''"
complete -c mh -n "__fish_mh_using_subcommand tamp" -s S -l suffix -d 'Suffix to use' -r
complete -c mh -n "__fish_mh_using_subcommand tamp" -l long -d 'zst: look for matches up to 2^LOG bytes back (default 27), in one frame; when decompressing, allow such windows' -r
complete -c mh -n "__fish_mh_using_subcommand tamp" -l digest -d 'Print digests of the uncompressed data, computed in the same pass: sha256, or several (crc32,blake3)' -r
complete -c mh -n "__fish_mh_using_subcommand tamp" -s D -l dictionary -d 'zst, lz4: use FILE as a dictionary; decompression needs the same FILE' -r -F
complete -c mh -n "__fish_mh_using_subcommand tamp" -l on -d 'Divide the work over machines: slurm[:PARTITION], ssh:HOST,HOST..., or local:N (workers on this one)' -r
complete -c mh -n "__fish_mh_using_subcommand tamp" -l nodes -d 'Workers (default: as mh xjobs --on has it)' -r
complete -c mh -n "__fish_mh_using_subcommand tamp" -l cores -d 'Cores for each worker' -r
complete -c mh -n "__fish_mh_using_subcommand tamp" -l time -d 'How long a worker may run' -r
complete -c mh -n "__fish_mh_using_subcommand tamp" -l engine-args -d 'More words for the engine\'s command' -r
complete -c mh -n "__fish_mh_using_subcommand tamp" -l spool -d 'Keep the plan in DIR, which all machines see: the same command resumes there (default: a new directory here, removed at the end)' -r -F
complete -c mh -n "__fish_mh_using_subcommand tamp" -l range -d 'With --on: compress files in ranges of SIZE (default: eight for each worker, of 32M to 1G)' -r
complete -c mh -n "__fish_mh_using_subcommand tamp" -s j -l hands -d 'Use at most N cores (default, and 0: all that this process may use)' -r
complete -c mh -n "__fish_mh_using_subcommand tamp" -l priority -d 'Priority among runs that share the machine (default: the runner\'s, else the settings file\'s, else normal)' -r -f -a "high\t'Served first'
normal\t'Everyday work'
low\t'Gives way to normal work'
idle\t'Gets cores that no other run wants'"
complete -c mh -n "__fish_mh_using_subcommand tamp" -l weight -d 'This run\'s share among the runs of its class: one of 200 gets twice what one of 100 gets (usual: 100)' -r
complete -c mh -n "__fish_mh_using_subcommand tamp" -l memory -d 'Hold at most SIZE in memory; fewer cores are used where it is tight (64M, 1.5GiB)' -r
complete -c mh -n "__fish_mh_using_subcommand tamp" -l report -d 'After the run, print its limit and the gain of more cores' -r -f -a "text\t'For people'
json\t'For programs: one JSON object on one line'"
complete -c mh -n "__fish_mh_using_subcommand tamp" -s z -l compress -d 'Compress: the default'
complete -c mh -n "__fish_mh_using_subcommand tamp" -s d -l decompress -l uncompress -d 'Decompress'
complete -c mh -n "__fish_mh_using_subcommand tamp" -s t -l test -d 'Test: decompress, verify every checksum, write nothing'
complete -c mh -n "__fish_mh_using_subcommand tamp" -s l -l list -d 'List sizes, ratio, check and blocks, and whether the file can be decoded in parallel'
complete -c mh -n "__fish_mh_using_subcommand tamp" -s c -l stdout -l to-stdout -d 'Write to standard output, keep the files'
complete -c mh -n "__fish_mh_using_subcommand tamp" -s f -l force -d 'Replace existing files; allow compressed data on a terminal'
complete -c mh -n "__fish_mh_using_subcommand tamp" -s k -l keep -d 'Keep the sources: the default'
complete -c mh -n "__fish_mh_using_subcommand tamp" -l rm -d 'Remove each source once its output is complete'
complete -c mh -n "__fish_mh_using_subcommand tamp" -l keep-good -d 'Write the sound part of a damaged file, as far as checksums confirm it'
complete -c mh -n "__fish_mh_using_subcommand tamp" -l fsync -d 'Wait until the output, and its name, are on the disk'
complete -c mh -n "__fish_mh_using_subcommand tamp" -l sparse -d 'When decompressing, make holes for zeros also if standard output is a file (default for named files)'
complete -c mh -n "__fish_mh_using_subcommand tamp" -l no-sparse -d 'Write zeros, make no holes'
complete -c mh -n "__fish_mh_using_subcommand tamp" -s r -l recursive -d 'Descend into directories'
complete -c mh -n "__fish_mh_using_subcommand tamp" -l best -d 'Smallest without --ultra'
complete -c mh -n "__fish_mh_using_subcommand tamp" -s e -l extreme -d 'xz: search longer for slightly smaller output'
complete -c mh -n "__fish_mh_using_subcommand tamp" -l ultra -d 'Allow levels that need much time and memory (gz 10 to 12, zst 20 to 22)'
complete -c mh -n "__fish_mh_using_subcommand tamp" -l single-frame -d 'zst: write one frame instead of frames that can be decoded in parallel'
complete -c mh -n "__fish_mh_using_subcommand tamp" -l rsyncable -d 'Cut by content, so that a small change of the input stays a small change of the output'
complete -c mh -n "__fish_mh_using_subcommand tamp" -l bgzf -d 'gz: write BGZF blocks, for genome tools'
complete -c mh -n "__fish_mh_using_subcommand tamp" -l json -d 'Print the list as JSON'
complete -c mh -n "__fish_mh_using_subcommand tamp" -s q -l quiet -d 'Print only errors; twice: nothing'
complete -c mh -n "__fish_mh_using_subcommand tamp" -s v -l verbose -d 'Print the result for each file'
complete -c mh -n "__fish_mh_using_subcommand tamp" -l plan-only -d 'Print the list of jobs and leave the plan for any runner of jobs'
complete -c mh -n "__fish_mh_using_subcommand tamp" -l explain -d 'Print the plan with its reasons and do nothing'
complete -c mh -n "__fish_mh_using_subcommand tamp" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c mh -n "__fish_mh_using_subcommand tamp" -s V -l version -d 'Print version'
complete -c mh -n "__fish_mh_using_subcommand tar" -s f -l file -d 'The archive; - is standard input or output, also the default' -r -F
complete -c mh -n "__fish_mh_using_subcommand tar" -s L -l tape-length -d 'Volumes have N KiB, with a suffix bytes (c), KiB (k), MiB (M), GiB (G) or TiB (T); it implies -M' -r
complete -c mh -n "__fish_mh_using_subcommand tar" -s F -l info-script -l new-volume-script -d 'Run COMMAND at the end of each volume; it implies -M' -r
complete -c mh -n "__fish_mh_using_subcommand tar" -l volno-file -d 'Keep the number of the volume in FILE' -r -F
complete -c mh -n "__fish_mh_using_subcommand tar" -s I -l use-compress-program -d 'Pack with PROGRAM, unpack with PROGRAM -d' -r
complete -c mh -n "__fish_mh_using_subcommand tar" -l level -d 'Level of packing, as the format counts; with -g, 0 begins anew' -r
complete -c mh -n "__fish_mh_using_subcommand tar" -l backup -d 'Rename what has a member\'s name: to NAME~, or as CONTROL says (none, simple, numbered, existing)' -r
complete -c mh -n "__fish_mh_using_subcommand tar" -l suffix -d 'Suffix of simple backups in place of ~' -r
complete -c mh -n "__fish_mh_using_subcommand tar" -s C -l directory -d 'Work in DIR; what follows is there' -r -F
complete -c mh -n "__fish_mh_using_subcommand tar" -l add-file -d 'Archive FILE, even if its name begins with a dash' -r
complete -c mh -n "__fish_mh_using_subcommand tar" -s T -l files-from -d 'Take names from FILE, one a line, and options from lines that begin with a dash; - is standard input' -r -F
complete -c mh -n "__fish_mh_using_subcommand tar" -l exclude -d 'Leave out names that match PATTERN' -r
complete -c mh -n "__fish_mh_using_subcommand tar" -s X -l exclude-from -d 'Leave out names that match a line of FILE' -r -F
complete -c mh -n "__fish_mh_using_subcommand tar" -s N -l newer -l after-date -d 'Only files that have changed since TIME, or since FILE, in any way' -r
complete -c mh -n "__fish_mh_using_subcommand tar" -l newer-mtime -d 'Only files whose bytes have changed since TIME, or since FILE' -r
complete -c mh -n "__fish_mh_using_subcommand tar" -l exclude-tag -d 'Leave out the contents of directories with a file called NAME, but keep that file' -r
complete -c mh -n "__fish_mh_using_subcommand tar" -l exclude-tag-under -d 'The same with that file' -r
complete -c mh -n "__fish_mh_using_subcommand tar" -l exclude-tag-all -d 'The same, but leave out file and directory too' -r
complete -c mh -n "__fish_mh_using_subcommand tar" -l exclude-ignore -d 'Leave out what matches a line of the file called NAME in its directory' -r
complete -c mh -n "__fish_mh_using_subcommand tar" -l exclude-ignore-recursive -d 'The same in all directories beneath' -r
complete -c mh -n "__fish_mh_using_subcommand tar" -l strip-components -d 'Cut N leading names off' -r
complete -c mh -n "__fish_mh_using_subcommand tar" -l transform -l xform -d 'Rename members, and where links lead, by sed\'s s/PATTERN/REPLACEMENT/[gix]; flags r s h, R S H choose which' -r
complete -c mh -n "__fish_mh_using_subcommand tar" -l to-command -d 'Run COMMAND for each file with its data as input, and with TAR_FILENAME, TAR_SIZE and the like' -r
complete -c mh -n "__fish_mh_using_subcommand tar" -s K -l starting-file -d 'Pass over members in front of NAME' -r
complete -c mh -n "__fish_mh_using_subcommand tar" -l owner -d 'Owner to write into the archive: NAME, NAME:NUMBER or NUMBER' -r
complete -c mh -n "__fish_mh_using_subcommand tar" -l group -d 'Group to write into the archive' -r
complete -c mh -n "__fish_mh_using_subcommand tar" -l mode -d 'Mode to write into the archive, as chmod takes it: 644, go-w, a+rX' -r
complete -c mh -n "__fish_mh_using_subcommand tar" -l mtime -d 'Time to write into the archive: a date as `date -d` takes it, or that of a file' -r
complete -c mh -n "__fish_mh_using_subcommand tar" -l set-mtime-command -d 'Write the time that COMMAND prints for each file, whose name is its last argument' -r
complete -c mh -n "__fish_mh_using_subcommand tar" -l set-mtime-format -d 'How that time is written, as strptime(3) takes it' -r
complete -c mh -n "__fish_mh_using_subcommand tar" -l sort -d 'Order within directories: name (default), inode or none' -r -f -a "name\t''
inode\t''
none\t''"
complete -c mh -n "__fish_mh_using_subcommand tar" -s H -l format -d 'Format to write: pax (default), gnu, oldgnu, ustar or v7' -r -f -a "pax\t''
posix\t''
gnu\t''
oldgnu\t''
ustar\t''
v7\t''"
complete -c mh -n "__fish_mh_using_subcommand tar" -l pax-option -d 'Of extended headers: delete=PATTERN, exthdr.name=TEXT, KEY=VALUE of all members, KEY:=VALUE of each; commas between them' -r
complete -c mh -n "__fish_mh_using_subcommand tar" -l one-top-level -d 'Extract into a directory named after the archive, or into DIR' -r
complete -c mh -n "__fish_mh_using_subcommand tar" -l xattrs-include -d 'Of the extended attributes, these (all where it is not given)' -r
complete -c mh -n "__fish_mh_using_subcommand tar" -l xattrs-exclude -d 'Of the extended attributes, not these' -r
complete -c mh -n "__fish_mh_using_subcommand tar" -s g -l listed-incremental -d 'Archive what has changed since the state in FILE was written, and write the new state; extracting, remove what went' -r -F
complete -c mh -n "__fish_mh_using_subcommand tar" -l occurrence -d 'Of several members of a name take the Nth, or the first' -r
complete -c mh -n "__fish_mh_using_subcommand tar" -s V -l label -d 'Label of the archive; of one that is read, the pattern that its label must match' -r
complete -c mh -n "__fish_mh_using_subcommand tar" -l hole-detection -d 'How holes are found: seek (the file system is asked) or raw (zeros are looked for)' -r -f -a "seek\t''
raw\t''"
complete -c mh -n "__fish_mh_using_subcommand tar" -l sparse-version -d 'How pax archives hold sparse files: 1.0 (default), 0.1 or 0.0; with it, --sparse is on' -r -f -a "0.0\t''
0.1\t''
1.0\t''
0\t''
1\t''"
complete -c mh -n "__fish_mh_using_subcommand tar" -l owner-map -d 'Owners to write instead of others: lines of FILE are OLD NEW[:UID], with + in front of numbers' -r -F
complete -c mh -n "__fish_mh_using_subcommand tar" -l group-map -d 'The same for groups' -r -F
complete -c mh -n "__fish_mh_using_subcommand tar" -l totals -d 'Print the size of the archive at the end; with a signal, whenever that arrives: HUP, QUIT, INT, USR1 or USR2' -r
complete -c mh -n "__fish_mh_using_subcommand tar" -l checkpoint -d 'Act at every Nth record of 10,240 bytes, or every 10th' -r
complete -c mh -n "__fish_mh_using_subcommand tar" -l checkpoint-action -d 'What to do at checkpoints: echo[=TEXT] (default), dot, ttyout=TEXT, bell, totals, sleep=SECONDS, exec=COMMAND, wait=SIGNAL' -r
complete -c mh -n "__fish_mh_using_subcommand tar" -l index-file -d 'Print the lines of -v and -t to FILE' -r -F
complete -c mh -n "__fish_mh_using_subcommand tar" -l quoting-style -d 'Show names as escape (default), literal, shell, shell-always, c, c-maybe, locale or clocale does' -r -f -a "literal\t''
shell\t''
shell-always\t''
c\t''
c-maybe\t''
escape\t''
locale\t''
clocale\t''"
complete -c mh -n "__fish_mh_using_subcommand tar" -l quote-chars -d 'Put a backslash in front of these characters too' -r
complete -c mh -n "__fish_mh_using_subcommand tar" -l no-quote-chars -d 'Show these characters as they are' -r
complete -c mh -n "__fish_mh_using_subcommand tar" -l warning -d 'Warnings: all, none, KEYWORD or no-KEYWORD, with GNU tar\'s keywords and `ambiguous`' -r
complete -c mh -n "__fish_mh_using_subcommand tar" -l atime-preserve -d 'Taken for GNU tar\'s sake: reading changes no times that are archived' -r -f -a "replace\t''
system\t''"
complete -c mh -n "__fish_mh_using_subcommand tar" -l priority -d 'Priority among runs that share the machine (default: the runner\'s, else the settings file\'s, else normal)' -r -f -a "high\t'Served first'
normal\t'Everyday work'
low\t'Gives way to normal work'
idle\t'Gets cores that no other run wants'"
complete -c mh -n "__fish_mh_using_subcommand tar" -l weight -d 'This run\'s share among the runs of its class: one of 200 gets twice what one of 100 gets (usual: 100)' -r
complete -c mh -n "__fish_mh_using_subcommand tar" -l memory -d 'Hold at most SIZE in memory; fewer cores are used where it is tight (64M, 1.5GiB)' -r
complete -c mh -n "__fish_mh_using_subcommand tar" -l report -d 'After the run, print its limit and the gain of more cores' -r -f -a "text\t'For people'
json\t'For programs: one JSON object on one line'"
complete -c mh -n "__fish_mh_using_subcommand tar" -l hands -d 'Use at most N cores (default, and 0: all that this process may use)' -r
complete -c mh -n "__fish_mh_using_subcommand tar" -s c -l create -d 'Make an archive'
complete -c mh -n "__fish_mh_using_subcommand tar" -s x -l extract -l get -d 'Extract'
complete -c mh -n "__fish_mh_using_subcommand tar" -s t -l list -d 'List'
complete -c mh -n "__fish_mh_using_subcommand tar" -s r -l append -d 'Append files to the end of an archive'
complete -c mh -n "__fish_mh_using_subcommand tar" -s u -l update -d 'Append files that are newer than their copies in the archive'
complete -c mh -n "__fish_mh_using_subcommand tar" -s d -l diff -l compare -d 'Compare the archive with the files'
complete -c mh -n "__fish_mh_using_subcommand tar" -s A -l concatenate -l catenate -d 'Append archives to an archive'
complete -c mh -n "__fish_mh_using_subcommand tar" -l delete -d 'Delete members from an archive'
complete -c mh -n "__fish_mh_using_subcommand tar" -l test-label -d 'Print the archive\'s label, or end with 1 if it is none of the names'
complete -c mh -n "__fish_mh_using_subcommand tar" -l show-defaults -d 'Print the options that are in force without any'
complete -c mh -n "__fish_mh_using_subcommand tar" -s M -l multi-volume -d 'The archive spans volumes: those that -f names one after the other, and then what a person, or --info-script, says'
complete -c mh -n "__fish_mh_using_subcommand tar" -s v -l verbose -d 'Print each member; twice: with its metadata'
complete -c mh -n "__fish_mh_using_subcommand tar" -s z -l gzip -l gunzip -d 'gzip'
complete -c mh -n "__fish_mh_using_subcommand tar" -s j -l bzip2 -d 'bzip2'
complete -c mh -n "__fish_mh_using_subcommand tar" -s J -l xz -d 'xz'
complete -c mh -n "__fish_mh_using_subcommand tar" -l zstd -d 'zstd'
complete -c mh -n "__fish_mh_using_subcommand tar" -l lz4 -d 'lz4'
complete -c mh -n "__fish_mh_using_subcommand tar" -l lzma -d 'lzma, written by the program of that name'
complete -c mh -n "__fish_mh_using_subcommand tar" -l lzip -d 'lzip, written by the program of that name'
complete -c mh -n "__fish_mh_using_subcommand tar" -l lzop -d 'lzop, by the program of that name'
complete -c mh -n "__fish_mh_using_subcommand tar" -s Z -l compress -d 'compress, written by the program of that name'
complete -c mh -n "__fish_mh_using_subcommand tar" -s a -l auto-compress -d 'Compress by the suffix of the archive'
complete -c mh -n "__fish_mh_using_subcommand tar" -s p -l preserve-permissions -l same-permissions -d 'Restore modes exactly, ignoring the umask (default for root)'
complete -c mh -n "__fish_mh_using_subcommand tar" -l no-same-permissions -d 'Apply the umask to modes (default for users)'
complete -c mh -n "__fish_mh_using_subcommand tar" -s k -l keep-old-files -d 'Keep existing files, and fail'
complete -c mh -n "__fish_mh_using_subcommand tar" -l skip-old-files -d 'Keep existing files, silently'
complete -c mh -n "__fish_mh_using_subcommand tar" -l keep-newer-files -d 'Keep existing files that are newer than the member'
complete -c mh -n "__fish_mh_using_subcommand tar" -l overwrite -d 'Overwrite files in place'
complete -c mh -n "__fish_mh_using_subcommand tar" -l no-overwrite-dir -d 'Keep the metadata of existing directories'
complete -c mh -n "__fish_mh_using_subcommand tar" -s U -l unlink-first -d 'Remove each file before it is extracted'
complete -c mh -n "__fish_mh_using_subcommand tar" -l recursive-unlink -d 'Remove directories with all that is in them where a member of another kind is to be'
complete -c mh -n "__fish_mh_using_subcommand tar" -l keep-directory-symlink -d 'Follow symbolic links to directories'
complete -c mh -n "__fish_mh_using_subcommand tar" -l exclude-vcs -d 'Leave out directories of version control systems'
complete -c mh -n "__fish_mh_using_subcommand tar" -l exclude-backups -d 'Leave out backups and locks of editors: .#*, *~ and #*#'
complete -c mh -n "__fish_mh_using_subcommand tar" -l recursion -d 'Descend into directories that are named behind it: the default'
complete -c mh -n "__fish_mh_using_subcommand tar" -l no-recursion -d 'Do not descend into directories that are named behind it'
complete -c mh -n "__fish_mh_using_subcommand tar" -l exclude-caches -d 'Leave out the contents of directories with a CACHEDIR.TAG, but keep the tag'
complete -c mh -n "__fish_mh_using_subcommand tar" -l exclude-caches-under -d 'The same, but leave out the tag too'
complete -c mh -n "__fish_mh_using_subcommand tar" -l exclude-caches-all -d 'The same, but leave out tag and directory too'
complete -c mh -n "__fish_mh_using_subcommand tar" -l exclude-vcs-ignores -d 'Leave out what .gitignore, .cvsignore, .bzrignore and .hgignore say'
complete -c mh -n "__fish_mh_using_subcommand tar" -l wildcards -d 'Treat members\' names behind it as patterns'
complete -c mh -n "__fish_mh_using_subcommand tar" -l no-wildcards -d 'Treat patterns behind it as plain names'
complete -c mh -n "__fish_mh_using_subcommand tar" -l anchored -d 'Patterns behind it match from the front'
complete -c mh -n "__fish_mh_using_subcommand tar" -l no-anchored -d 'Patterns behind it match behind any slash'
complete -c mh -n "__fish_mh_using_subcommand tar" -l ignore-case -d 'Patterns behind it ignore case'
complete -c mh -n "__fish_mh_using_subcommand tar" -l no-ignore-case -d 'Patterns behind it do not ignore case: the default'
complete -c mh -n "__fish_mh_using_subcommand tar" -l wildcards-match-slash -d 'Wildcards behind it match slashes: the default'
complete -c mh -n "__fish_mh_using_subcommand tar" -l no-wildcards-match-slash -d 'Wildcards behind it stop at slashes'
complete -c mh -n "__fish_mh_using_subcommand tar" -s 0 -l null -d 'Names of -T end in NUL bytes, and are names whatever they begin with'
complete -c mh -n "__fish_mh_using_subcommand tar" -l no-null -d 'Names of -T are lines: the default'
complete -c mh -n "__fish_mh_using_subcommand tar" -l verbatim-files-from -d 'Lines of -T are names, whatever they begin with'
complete -c mh -n "__fish_mh_using_subcommand tar" -l no-verbatim-files-from -d 'Lines of -T that begin with a dash are options: the default'
complete -c mh -n "__fish_mh_using_subcommand tar" -l unquote -d 'Read escapes in names, such as \\n and \\303: the default'
complete -c mh -n "__fish_mh_using_subcommand tar" -l no-unquote -d 'Backslashes in names are backslashes'
complete -c mh -n "__fish_mh_using_subcommand tar" -s O -l to-stdout -d 'Extract to standard output'
complete -c mh -n "__fish_mh_using_subcommand tar" -l ignore-command-error -d 'Exit codes of --to-command do not count'
complete -c mh -n "__fish_mh_using_subcommand tar" -l one-file-system -d 'Stay on one file system'
complete -c mh -n "__fish_mh_using_subcommand tar" -s h -l dereference -d 'Archive the targets of symbolic links'
complete -c mh -n "__fish_mh_using_subcommand tar" -l hard-dereference -d 'Archive every name of a file with its data'
complete -c mh -n "__fish_mh_using_subcommand tar" -s P -l absolute-names -d 'Keep leading slashes and .. in names'
complete -c mh -n "__fish_mh_using_subcommand tar" -s m -l touch -d 'Set modification times to the time of extraction'
complete -c mh -n "__fish_mh_using_subcommand tar" -l same-owner -d 'Restore owners (default for root)'
complete -c mh -n "__fish_mh_using_subcommand tar" -l no-same-owner -d 'Make the user the owner of extracted files'
complete -c mh -n "__fish_mh_using_subcommand tar" -s o -d 'Extracting, the same; while archives are made, --format=v7'
complete -c mh -n "__fish_mh_using_subcommand tar" -l numeric-owner -d 'Store and show owners by UID and GID, not by name'
complete -c mh -n "__fish_mh_using_subcommand tar" -l clamp-mtime -d 'Apply --mtime only to files that are newer'
complete -c mh -n "__fish_mh_using_subcommand tar" -l xattrs -d 'Keep, or restore, extended attributes'
complete -c mh -n "__fish_mh_using_subcommand tar" -l no-xattrs -d 'Leave out extended attributes: the default'
complete -c mh -n "__fish_mh_using_subcommand tar" -l acls -d 'Keep, or restore, access control lists'
complete -c mh -n "__fish_mh_using_subcommand tar" -l no-acls -d 'Leave out access control lists: the default'
complete -c mh -n "__fish_mh_using_subcommand tar" -l selinux -d 'Keep, or restore, labels of SELinux'
complete -c mh -n "__fish_mh_using_subcommand tar" -l no-selinux -d 'Leave out labels of SELinux: the default'
complete -c mh -n "__fish_mh_using_subcommand tar" -s S -l sparse -d 'Look for holes in files'
complete -c mh -n "__fish_mh_using_subcommand tar" -s G -l incremental -d 'The same without a state: all files, and what is in each directory'
complete -c mh -n "__fish_mh_using_subcommand tar" -l check-device -d 'Directories on another device are others: the default'
complete -c mh -n "__fish_mh_using_subcommand tar" -l no-check-device -d 'The numbers of devices say nothing'
complete -c mh -n "__fish_mh_using_subcommand tar" -l no-index -d 'Neither write nor read an index of members'
complete -c mh -n "__fish_mh_using_subcommand tar" -s i -l ignore-zeros -d 'Zero blocks do not end the archive'
complete -c mh -n "__fish_mh_using_subcommand tar" -l ignore-failed-read -d 'Files that cannot be read do not count as failures'
complete -c mh -n "__fish_mh_using_subcommand tar" -l remove-files -d 'Remove files when the archive that they are in is complete'
complete -c mh -n "__fish_mh_using_subcommand tar" -s W -l verify -d 'Compare the archive with the files when it is complete'
complete -c mh -n "__fish_mh_using_subcommand tar" -s l -l check-links -d 'Report files of which not all names are archived'
complete -c mh -n "__fish_mh_using_subcommand tar" -s w -l interactive -l confirmation -d 'Ask before each file is archived, or extracted'
complete -c mh -n "__fish_mh_using_subcommand tar" -s R -l block-number -d 'Print the number of the archive\'s block in front of lines of -v and -t'
complete -c mh -n "__fish_mh_using_subcommand tar" -l untrusted -d 'Extract an archive you do not trust: strict grammar, no devices, no set-id bits, quotas'
complete -c mh -n "__fish_mh_using_subcommand tar" -l dry-run -d 'Print what would be extracted, and extract nothing'
complete -c mh -n "__fish_mh_using_subcommand tar" -l full-time -d 'List times with all digits of the second'
complete -c mh -n "__fish_mh_using_subcommand tar" -l utc -d 'Lists show times of UTC'
complete -c mh -n "__fish_mh_using_subcommand tar" -l show-transformed-names -l show-stored-names -d 'Lists show names as --transform and --strip-components make them'
complete -c mh -n "__fish_mh_using_subcommand tar" -l force-local -d 'A colon in the archive\'s name does not make it one on another machine'
complete -c mh -n "__fish_mh_using_subcommand tar" -l version -d 'Print version'
complete -c mh -n "__fish_mh_using_subcommand tar" -l help -d 'Print help'
complete -c mh -n "__fish_mh_using_subcommand tar" -l explain -d 'Print the plan with its reasons and do nothing'
complete -c mh -n "__fish_mh_using_subcommand xjobs" -s j -s P -l jobs -l hands -l max-procs -d 'Run N jobs at once (default: the cores this process may use); 2.5x and 150% are multiples, +1 and -1 more and fewer' -r
complete -c mh -n "__fish_mh_using_subcommand xjobs" -s s -s a -l script -l arg-file -d 'Read jobs from FILE; a named pipe makes a server that any number of programs feed' -r -F
complete -c mh -n "__fish_mh_using_subcommand xjobs" -s l -l max-args -l max-replace-args -d 'Make one job of N lines (with --pipe: one block of N records, and so do -N N and -n N)' -r
complete -c mh -n "__fish_mh_using_subcommand xjobs" -s q -d 'Read at most N jobs ahead' -r
complete -c mh -n "__fish_mh_using_subcommand xjobs" -s v -d 'Verbosity: 0 nothing, 1 errors, 2 warnings, 3 each start and end, 4 details' -r
complete -c mh -n "__fish_mh_using_subcommand xjobs" -l results -l res -d 'Keep outputs in DIR/1/VALUE/stdout and stderr, and print none (with placeholders: in NAME and NAME.err)' -r
complete -c mh -n "__fish_mh_using_subcommand xjobs" -l journal -d 'Append a JSON line about each job to FILE' -r -F
complete -c mh -n "__fish_mh_using_subcommand xjobs" -l retries -d 'Run a job that fails again, N times in all at most (0: until it succeeds); in a record, "retries" are those after the first' -r
complete -c mh -n "__fish_mh_using_subcommand xjobs" -l timeout -d 'End jobs that take longer (90, 1.5m, 2h; 300% is of the median so far)' -r
complete -c mh -n "__fish_mh_using_subcommand xjobs" -l term-seq -d 'How jobs are ended: signals and milliseconds between them' -r
complete -c mh -n "__fish_mh_using_subcommand xjobs" -l halt -l halt-on-error -d 'Stop early: now or soon, then fail, success or done, then =N or =N%' -r
complete -c mh -n "__fish_mh_using_subcommand xjobs" -l delay -d 'Time between two starts' -r
complete -c mh -n "__fish_mh_using_subcommand xjobs" -l load -d 'Start jobs only while fewer than N threads can run on the machine; 80% is of the cores' -r
complete -c mh -n "__fish_mh_using_subcommand xjobs" -l memory -d 'Start jobs only while their expected memory fits into SIZE (default: most of the available memory)' -r
complete -c mh -n "__fish_mh_using_subcommand xjobs" -l memfree -l mem-free -d 'Start jobs only while SIZE of memory is available' -r
complete -c mh -n "__fish_mh_using_subcommand xjobs" -s I -d 'Use TEXT in place of {}' -r
complete -c mh -n "__fish_mh_using_subcommand xjobs" -s C -l colsep -l col-sep -d 'Split lines into arguments at matches of REGEXP and strip blanks; {1}, {2} are the parts' -r
complete -c mh -n "__fish_mh_using_subcommand xjobs" -l on -d 'Run the jobs on other machines: slurm[:PARTITION], ssh:HOST,HOST..., local:N (workers on this one), or auto' -r
complete -c mh -n "__fish_mh_using_subcommand xjobs" -l nodes -d 'With --on: workers, one a node or a part of one (slurm: nodes of the partition, at most 16; ssh: the hosts)' -r
complete -c mh -n "__fish_mh_using_subcommand xjobs" -l cores -d 'With --on: cores for each worker (slurm: --cpus-per-task; ssh: all of the host; local: an equal part)' -r
complete -c mh -n "__fish_mh_using_subcommand xjobs" -l time -d 'With --on: how long a worker may run; it takes no more jobs shortly before, and another one goes on' -r
complete -c mh -n "__fish_mh_using_subcommand xjobs" -l engine-args -d 'With --on: more words for the engine\'s command, as a shell would divide them' -r
complete -c mh -n "__fish_mh_using_subcommand xjobs" -l spool -d 'With --on: keep the run\'s files in DIR, which all nodes see (default: a new directory here, removed at the end)' -r -F
complete -c mh -n "__fish_mh_using_subcommand xjobs" -l attach -d 'Watch, gather and finish the run whose spool is DIR, after whoever submitted it has gone' -r -F
complete -c mh -n "__fish_mh_using_subcommand xjobs" -l lease -d 'With --on: a worker without a sign of life for so long counts as dead' -r
complete -c mh -n "__fish_mh_using_subcommand xjobs" -l listen -d 'Be a server: accept jobs from clients of the Unix socket PATH' -r -F
complete -c mh -n "__fish_mh_using_subcommand xjobs" -l send -d 'Send UTILITY, or the lines of standard input, to the server at PATH, a socket or a named pipe' -r -F
complete -c mh -n "__fish_mh_using_subcommand xjobs" -l block -l block-size -d 'With --pipe: bytes of a block' -r
complete -c mh -n "__fish_mh_using_subcommand xjobs" -s L -l max-lines -d 'N lines make one job; with --pipe, one record' -r
complete -c mh -n "__fish_mh_using_subcommand xjobs" -l recstart -d 'With --pipe: start of a record' -r
complete -c mh -n "__fish_mh_using_subcommand xjobs" -l recend -d 'With --pipe: end of a record (default: a line end; empty and without --recstart: cut anywhere)' -r
complete -c mh -n "__fish_mh_using_subcommand xjobs" -l header -d 'With --pipe: lines at the beginning that each block gets (: is 1)' -r
complete -c mh -n "__fish_mh_using_subcommand xjobs" -l joblog -l jl -d 'Write GNU parallel\'s job log to FILE, a line with tabs a job; anew, unless +FILE or --resume adds to it' -r
complete -c mh -n "__fish_mh_using_subcommand xjobs" -l tagstring -d 'Put TEXT, filled in, before each line of output' -r
complete -c mh -n "__fish_mh_using_subcommand xjobs" -l delimiter -d 'Lines end with TEXT, one byte' -r
complete -c mh -n "__fish_mh_using_subcommand xjobs" -l nice -d 'Lower the priority of all jobs by N' -r
complete -c mh -n "__fish_mh_using_subcommand xjobs" -l priority -d 'Priority among runs that share the machine (default: the runner\'s, else the settings file\'s, else normal)' -r -f -a "high\t'Served first'
normal\t'Everyday work'
low\t'Gives way to normal work'
idle\t'Gets cores that no other run wants'"
complete -c mh -n "__fish_mh_using_subcommand xjobs" -l weight -d 'Share among runs of the same class; 100 is usual' -r
complete -c mh -n "__fish_mh_using_subcommand xjobs" -l jobserver -d 'How make, ninja and cargo in jobs get the cores that no job needs: two descriptors, a named pipe (make from 4.4 on), or not' -r -f -a "fds\t'Two descriptors that they inherit'
fifo\t'A named pipe'
off\t'Not at all'"
complete -c mh -n "__fish_mh_using_subcommand xjobs" -l report -d 'After the run, print its limit and the gain of one more core' -r -f -a "text\t'For people'
json\t'For programs: one JSON object on one line'"
complete -c mh -n "__fish_mh_using_subcommand xjobs" -s 1 -d 'Each line is one argument, as it is'
complete -c mh -n "__fish_mh_using_subcommand xjobs" -s 0 -l null -d 'The same, ended by NUL instead of line ends'
complete -c mh -n "__fish_mh_using_subcommand xjobs" -s n -d 'Discard standard output of jobs'
complete -c mh -n "__fish_mh_using_subcommand xjobs" -s N -d 'Discard standard output and standard error of jobs'
complete -c mh -n "__fish_mh_using_subcommand xjobs" -s u -s d -l ungroup -d 'Jobs write directly, mixed as it comes'
complete -c mh -n "__fish_mh_using_subcommand xjobs" -s p -l interactive -d 'Ask before each job, on the terminal'
complete -c mh -n "__fish_mh_using_subcommand xjobs" -s e -d 'Stop when a job fails, as --halt soon,fail=1'
complete -c mh -n "__fish_mh_using_subcommand xjobs" -s t -d 'Print the number of jobs and the total time at the end'
complete -c mh -n "__fish_mh_using_subcommand xjobs" -s r -d 'Leave out resource usage when the end of each job is printed (-v 3)'
complete -c mh -n "__fish_mh_using_subcommand xjobs" -s V -l version -d 'Print the version'
complete -c mh -n "__fish_mh_using_subcommand xjobs" -s k -l keep-order -d 'Pass outputs on in the order of the list'
complete -c mh -n "__fish_mh_using_subcommand xjobs" -l line-buffer -l lb -d 'Pass outputs on line by line, as they come; with -k those of one job at a time, in the order of the list'
complete -c mh -n "__fish_mh_using_subcommand xjobs" -l tag -d 'Prefix each line of output with the command of its job'
complete -c mh -n "__fish_mh_using_subcommand xjobs" -l resume -d 'Leave out jobs that have ended by the journal (or --joblog), whatever their place in the list'
complete -c mh -n "__fish_mh_using_subcommand xjobs" -l resume-failed -d 'The same, but run those again that failed'
complete -c mh -n "__fish_mh_using_subcommand xjobs" -l shell -d 'A shell runs the jobs; values reach it as parameters and are never read as commands'
complete -c mh -n "__fish_mh_using_subcommand xjobs" -s X -d 'Put as many lines into one job as a command line holds'
complete -c mh -n "__fish_mh_using_subcommand xjobs" -l bar -l eta -l progress -d 'Show one line of progress on a terminal, without the jobs that run'
complete -c mh -n "__fish_mh_using_subcommand xjobs" -l plain -d 'Show no progress on a terminal'
complete -c mh -n "__fish_mh_using_subcommand xjobs" -l dry-run -d 'Print the commands and run none'
complete -c mh -n "__fish_mh_using_subcommand xjobs" -l until-idle -d 'With --listen: end when no job is left after the first one and no client is connected'
complete -c mh -n "__fish_mh_using_subcommand xjobs" -l wait -d 'With --send: wait until the jobs have ended; exit code 1 when any failed'
complete -c mh -n "__fish_mh_using_subcommand xjobs" -l finish -d 'With --send: the server takes no more jobs and ends with those it has'
complete -c mh -n "__fish_mh_using_subcommand xjobs" -l pipe -l pipepart -l pipe-part -l spreadstdin -d 'Cut standard input, or -s FILE, into blocks at line ends; each is the standard input of a job. -l N: N records a block'
complete -c mh -n "__fish_mh_using_subcommand xjobs" -l link -l xapply -d 'Pair the values of several ::: lists, as :::+ does'
complete -c mh -n "__fish_mh_using_subcommand xjobs" -l explain -d 'Print the plan with its reasons and do nothing'
complete -c mh -n "__fish_mh_using_subcommand xjobs" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c mh -n "__fish_mh_using_subcommand cp" -l preserve -d 'Keep these: mode, ownership, timestamps, links, xattr, context, all' -r
complete -c mh -n "__fish_mh_using_subcommand cp" -l no-preserve -d 'Do not keep these' -r
complete -c mh -n "__fish_mh_using_subcommand cp" -s t -l target-directory -d 'Copy into this directory' -r
complete -c mh -n "__fish_mh_using_subcommand cp" -l reflink -d 'Share blocks: auto, always or never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c mh -n "__fish_mh_using_subcommand cp" -l sparse -d 'Make holes: auto (as in the source), always (for zeros) or never' -r -f -a "never\t''
auto\t''
always\t''"
complete -c mh -n "__fish_mh_using_subcommand cp" -l backup -d 'Keep files that would be written over: none, numbered, existing or simple' -r
complete -c mh -n "__fish_mh_using_subcommand cp" -s S -l suffix -d 'Put this behind the names of backups' -r
complete -c mh -n "__fish_mh_using_subcommand cp" -l verify -d 'Read each copy back and compare: byte by byte, or by BLAKE3' -r -f -a "bytes\t''
blake3\t''"
complete -c mh -n "__fish_mh_using_subcommand cp" -l digest -d 'Print digests of the copied data from the same pass, as lines of `mh sum --tag` with the names of the copies' -r
complete -c mh -n "__fish_mh_using_subcommand cp" -l skip-same -d 'Skip files that are the same already: by length and time, or by BLAKE3' -r -f -a "time\t''
blake3\t''"
complete -c mh -n "__fish_mh_using_subcommand cp" -l on -d 'Divide the work over machines: slurm[:PARTITION], ssh:HOST,HOST..., or local:N (workers on this one)' -r
complete -c mh -n "__fish_mh_using_subcommand cp" -l nodes -d 'Workers (default: as mh xjobs --on has it)' -r
complete -c mh -n "__fish_mh_using_subcommand cp" -l cores -d 'Cores for each worker' -r
complete -c mh -n "__fish_mh_using_subcommand cp" -l time -d 'How long a worker may run' -r
complete -c mh -n "__fish_mh_using_subcommand cp" -l engine-args -d 'More words for the engine\'s command' -r
complete -c mh -n "__fish_mh_using_subcommand cp" -l spool -d 'Keep the plan in DIR, which all machines see: the same command resumes there (default: a new directory here, removed at the end)' -r -F
complete -c mh -n "__fish_mh_using_subcommand cp" -l range -d 'With --on: copy files larger than SIZE in ranges of SIZE (default: 256M)' -r
complete -c mh -n "__fish_mh_using_subcommand cp" -l priority -d 'Priority among runs that share the machine (default: the runner\'s, else the settings file\'s, else normal)' -r -f -a "high\t'Served first'
normal\t'Everyday work'
low\t'Gives way to normal work'
idle\t'Gets cores that no other run wants'"
complete -c mh -n "__fish_mh_using_subcommand cp" -l weight -d 'This run\'s share among the runs of its class: one of 200 gets twice what one of 100 gets (usual: 100)' -r
complete -c mh -n "__fish_mh_using_subcommand cp" -l report -d 'After the run, print its limit and the gain of more cores' -r -f -a "text\t'For people'
json\t'For programs: one JSON object on one line'"
complete -c mh -n "__fish_mh_using_subcommand cp" -s j -l hands -d 'Use at most N cores (default, and 0: all that this process may use)' -r
complete -c mh -n "__fish_mh_using_subcommand cp" -s a -l archive -d 'Copy trees and keep everything: -d -R --preserve=all'
complete -c mh -n "__fish_mh_using_subcommand cp" -s r -l recursive -d 'Copy directories recursively'
complete -c mh -n "__fish_mh_using_subcommand cp" -s d -d 'Links stay links, several names of one file stay so: -P --preserve=links'
complete -c mh -n "__fish_mh_using_subcommand cp" -s p -d 'Keep mode, owner and times'
complete -c mh -n "__fish_mh_using_subcommand cp" -s P -l no-dereference -d 'Copy links as links'
complete -c mh -n "__fish_mh_using_subcommand cp" -s L -l dereference -d 'Follow all links'
complete -c mh -n "__fish_mh_using_subcommand cp" -s H -d 'Follow links among the arguments'
complete -c mh -n "__fish_mh_using_subcommand cp" -s f -l force -d 'If a file cannot be overwritten, remove it and try again'
complete -c mh -n "__fish_mh_using_subcommand cp" -s i -l interactive -d 'Ask before overwriting; one core then copies in order'
complete -c mh -n "__fish_mh_using_subcommand cp" -s n -l no-clobber -d 'Overwrite nothing'
complete -c mh -n "__fish_mh_using_subcommand cp" -s u -l update -d 'Overwrite only older files'
complete -c mh -n "__fish_mh_using_subcommand cp" -s v -l verbose -d 'Print each file that is copied'
complete -c mh -n "__fish_mh_using_subcommand cp" -l debug -d 'Print for each file how its data was copied, and why'
complete -c mh -n "__fish_mh_using_subcommand cp" -s x -l one-file-system -d 'Stay on the file system of each argument'
complete -c mh -n "__fish_mh_using_subcommand cp" -s T -l no-target-directory -d 'Treat the target as the copy\'s name, even if it is a directory'
complete -c mh -n "__fish_mh_using_subcommand cp" -s l -l link -d 'Make hard links instead of copies'
complete -c mh -n "__fish_mh_using_subcommand cp" -s s -l symbolic-link -d 'Make symbolic links instead of copies'
complete -c mh -n "__fish_mh_using_subcommand cp" -l attributes-only -d 'Copy metadata and no bytes'
complete -c mh -n "__fish_mh_using_subcommand cp" -l copy-contents -d 'Copy the contents of FIFOs and devices, also with -r'
complete -c mh -n "__fish_mh_using_subcommand cp" -l parents -d 'Recreate the whole path of each FILE below the target directory'
complete -c mh -n "__fish_mh_using_subcommand cp" -s b -d 'The same, with the kind of backup taken from the environment'
complete -c mh -n "__fish_mh_using_subcommand cp" -l remove-destination -d 'Remove files that have the name instead of writing over them'
complete -c mh -n "__fish_mh_using_subcommand cp" -l strip-trailing-slashes -d 'Remove trailing slashes from each FILE'
complete -c mh -n "__fish_mh_using_subcommand cp" -s Z -d 'Set the default security context: without SELinux there is none'
complete -c mh -n "__fish_mh_using_subcommand cp" -l resume -d 'Resume an interrupted copy: skip complete files (recognised by their times, which are kept)'
complete -c mh -n "__fish_mh_using_subcommand cp" -l fsync -d 'Wait until all data is on the disk'
complete -c mh -n "__fish_mh_using_subcommand cp" -l dry-run -d 'Print what would be copied, and copy nothing'
complete -c mh -n "__fish_mh_using_subcommand cp" -l plan-only -d 'Print the list of jobs and leave the plan for any runner of jobs'
complete -c mh -n "__fish_mh_using_subcommand cp" -l no-verify -d 'With --on: do not read the copies back'
complete -c mh -n "__fish_mh_using_subcommand cp" -l explain -d 'Print the plan with its reasons and do nothing'
complete -c mh -n "__fish_mh_using_subcommand cp" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c mh -n "__fish_mh_using_subcommand cp" -s V -l version -d 'Print version'
complete -c mh -n "__fish_mh_using_subcommand mv" -s t -l target-directory -d 'Move into this directory' -r
complete -c mh -n "__fish_mh_using_subcommand mv" -l backup -d 'Keep files that would be replaced: none, numbered, existing or simple' -r
complete -c mh -n "__fish_mh_using_subcommand mv" -s S -l suffix -d 'Put this behind the names of backups' -r
complete -c mh -n "__fish_mh_using_subcommand mv" -l verify -d 'Between file systems, verify the copy before the source is removed' -r -f -a "bytes\t''
blake3\t''"
complete -c mh -n "__fish_mh_using_subcommand mv" -l priority -d 'Priority among runs that share the machine (default: the runner\'s, else the settings file\'s, else normal)' -r -f -a "high\t'Served first'
normal\t'Everyday work'
low\t'Gives way to normal work'
idle\t'Gets cores that no other run wants'"
complete -c mh -n "__fish_mh_using_subcommand mv" -l weight -d 'This run\'s share among the runs of its class: one of 200 gets twice what one of 100 gets (usual: 100)' -r
complete -c mh -n "__fish_mh_using_subcommand mv" -l report -d 'After the run, print its limit and the gain of more cores' -r -f -a "text\t'For people'
json\t'For programs: one JSON object on one line'"
complete -c mh -n "__fish_mh_using_subcommand mv" -s j -l hands -d 'Use at most N cores (default, and 0: all that this process may use)' -r
complete -c mh -n "__fish_mh_using_subcommand mv" -s f -l force -d 'Do not ask before replacing'
complete -c mh -n "__fish_mh_using_subcommand mv" -s i -l interactive -d 'Ask before replacing'
complete -c mh -n "__fish_mh_using_subcommand mv" -s n -l no-clobber -d 'Replace nothing'
complete -c mh -n "__fish_mh_using_subcommand mv" -s u -l update -d 'Replace only older files'
complete -c mh -n "__fish_mh_using_subcommand mv" -s v -l verbose -d 'Print each file that is moved'
complete -c mh -n "__fish_mh_using_subcommand mv" -s T -l no-target-directory -d 'Treat the target as the new name, even if it is a directory'
complete -c mh -n "__fish_mh_using_subcommand mv" -s b -d 'The same, with the kind of backup taken from the environment'
complete -c mh -n "__fish_mh_using_subcommand mv" -l strip-trailing-slashes -d 'Remove trailing slashes from each FILE'
complete -c mh -n "__fish_mh_using_subcommand mv" -l dry-run -d 'Print what would be moved, and move nothing'
complete -c mh -n "__fish_mh_using_subcommand mv" -l explain -d 'Print the plan with its reasons and do nothing'
complete -c mh -n "__fish_mh_using_subcommand mv" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c mh -n "__fish_mh_using_subcommand mv" -s V -l version -d 'Print version'
complete -c mh -n "__fish_mh_using_subcommand rm" -l interactive -d 'Ask never, once (-I) or always (-i)' -r -f -a "never\t'As with -f, but what is not there is complained about without it'
once\t'As with -I'
always\t'As with -i'"
complete -c mh -n "__fish_mh_using_subcommand rm" -l preserve-root -d 'Do not remove /: the default; with all, nor an argument on another device than its parent' -r -f -a "\t''
all\t''"
complete -c mh -n "__fish_mh_using_subcommand rm" -l priority -d 'Priority among runs that share the machine (default: the runner\'s, else the settings file\'s, else normal)' -r -f -a "high\t'Served first'
normal\t'Everyday work'
low\t'Gives way to normal work'
idle\t'Gets cores that no other run wants'"
complete -c mh -n "__fish_mh_using_subcommand rm" -l weight -d 'This run\'s share among the runs of its class: one of 200 gets twice what one of 100 gets (usual: 100)' -r
complete -c mh -n "__fish_mh_using_subcommand rm" -l report -d 'After the run, print its limit and the gain of more cores' -r -f -a "text\t'For people'
json\t'For programs: one JSON object on one line'"
complete -c mh -n "__fish_mh_using_subcommand rm" -s j -l hands -d 'Use at most N cores (default, and 0: all that this process may use)' -r
complete -c mh -n "__fish_mh_using_subcommand rm" -s r -l recursive -d 'Remove directories recursively'
complete -c mh -n "__fish_mh_using_subcommand rm" -s f -l force -d 'Ignore missing files, and never ask'
complete -c mh -n "__fish_mh_using_subcommand rm" -s i -d 'Ask before every removal; one core then removes in order'
complete -c mh -n "__fish_mh_using_subcommand rm" -s I -d 'Ask once before more than three removals, or before a recursive one'
complete -c mh -n "__fish_mh_using_subcommand rm" -s d -l dir -d 'Remove empty directories'
complete -c mh -n "__fish_mh_using_subcommand rm" -s v -l verbose -d 'Print each file that is removed'
complete -c mh -n "__fish_mh_using_subcommand rm" -l one-file-system -d 'Stay on the file system of each argument'
complete -c mh -n "__fish_mh_using_subcommand rm" -l no-preserve-root -d 'Treat / like any other directory'
complete -c mh -n "__fish_mh_using_subcommand rm" -l dry-run -d 'Print what would be removed, and remove nothing'
complete -c mh -n "__fish_mh_using_subcommand rm" -l explain -d 'Print the plan with its reasons and do nothing'
complete -c mh -n "__fish_mh_using_subcommand rm" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c mh -n "__fish_mh_using_subcommand rm" -s V -l version -d 'Print version'
complete -c mh -n "__fish_mh_using_subcommand sum" -s a -l algorithm -d 'Algorithms (default: sha256): crc32, crc32c, crc64, crc64nvme, cksum, xxh32, xxh64, xxh3, xxh128, blake3, md5, sha1, sha224 to sha512, sha3-224 to sha3-512, blake2b, blake2b-256, sm3' -r
complete -c mh -n "__fish_mh_using_subcommand sum" -l exact -d 'With -c: report files that no line names, below DIR or the directory that all names share' -r
complete -c mh -n "__fish_mh_using_subcommand sum" -l on -d 'Divide the work over machines: slurm[:PARTITION], ssh:HOST,HOST..., or local:N (workers on this one)' -r
complete -c mh -n "__fish_mh_using_subcommand sum" -l nodes -d 'Workers (default: as mh xjobs --on has it)' -r
complete -c mh -n "__fish_mh_using_subcommand sum" -l cores -d 'Cores for each worker' -r
complete -c mh -n "__fish_mh_using_subcommand sum" -l time -d 'How long a worker may run' -r
complete -c mh -n "__fish_mh_using_subcommand sum" -l engine-args -d 'More words for the engine\'s command' -r
complete -c mh -n "__fish_mh_using_subcommand sum" -l spool -d 'Keep the plan in DIR, which all machines see: the same command resumes there (default: a new directory here, removed at the end)' -r -F
complete -c mh -n "__fish_mh_using_subcommand sum" -s j -l hands -d 'Use at most N cores (default, and 0: all that this process may use)' -r
complete -c mh -n "__fish_mh_using_subcommand sum" -l priority -d 'Priority among runs that share the machine (default: the runner\'s, else the settings file\'s, else normal)' -r -f -a "high\t'Served first'
normal\t'Everyday work'
low\t'Gives way to normal work'
idle\t'Gets cores that no other run wants'"
complete -c mh -n "__fish_mh_using_subcommand sum" -l weight -d 'This run\'s share among the runs of its class: one of 200 gets twice what one of 100 gets (usual: 100)' -r
complete -c mh -n "__fish_mh_using_subcommand sum" -l memory -d 'Hold at most SIZE in memory; fewer cores are used where it is tight (64M, 1.5GiB)' -r
complete -c mh -n "__fish_mh_using_subcommand sum" -l report -d 'After the run, print its limit and the gain of more cores' -r -f -a "text\t'For people'
json\t'For programs: one JSON object on one line'"
complete -c mh -n "__fish_mh_using_subcommand sum" -s c -l check -d 'Check the files that manifests name: of md5sum, sha256sum, cksum, b3sum, xxhsum, or this program'
complete -c mh -n "__fish_mh_using_subcommand sum" -l tag -d 'Write lines with the algorithm\'s name: SHA256 (FILE) = VALUE; the default for several algorithms, and for one that a value\'s length does not show'
complete -c mh -n "__fish_mh_using_subcommand sum" -l untagged -d 'Write lines without the algorithm\'s name; -c then needs -a, unless the value\'s length shows it'
complete -c mh -n "__fish_mh_using_subcommand sum" -s z -l zero -d 'End lines with a zero byte, and do not escape names'
complete -c mh -n "__fish_mh_using_subcommand sum" -s r -l recursive -d 'Digest all files below directories, in the order of their names'
complete -c mh -n "__fish_mh_using_subcommand sum" -l quiet -d 'With -c: print only files that failed'
complete -c mh -n "__fish_mh_using_subcommand sum" -l status -d 'With -c: print nothing; the exit code shows the result'
complete -c mh -n "__fish_mh_using_subcommand sum" -l strict -d 'With -c: fail if a line is misformatted'
complete -c mh -n "__fish_mh_using_subcommand sum" -s w -l warn -d 'With -c: report each misformatted line'
complete -c mh -n "__fish_mh_using_subcommand sum" -l ignore-missing -d 'With -c: pass over missing files'
complete -c mh -n "__fish_mh_using_subcommand sum" -l json -d 'Print one JSON object a file'
complete -c mh -n "__fish_mh_using_subcommand sum" -l plan-only -d 'Print the list of jobs and leave the plan for any runner of jobs'
complete -c mh -n "__fish_mh_using_subcommand sum" -l explain -d 'Print the plan with its reasons and do nothing'
complete -c mh -n "__fish_mh_using_subcommand sum" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c mh -n "__fish_mh_using_subcommand sum" -s V -l version -d 'Print version'
complete -c mh -n "__fish_mh_using_subcommand mtwrite" -s j -l hands -d 'Use at most N cores (default, and 0: all that this process may use)' -r
complete -c mh -n "__fish_mh_using_subcommand mtwrite" -l priority -d 'Priority among runs that share the machine (default: the runner\'s, else the settings file\'s, else normal)' -r -f -a "high\t'Served first'
normal\t'Everyday work'
low\t'Gives way to normal work'
idle\t'Gets cores that no other run wants'"
complete -c mh -n "__fish_mh_using_subcommand mtwrite" -l weight -d 'This run\'s share among the runs of its class: one of 200 gets twice what one of 100 gets (usual: 100)' -r
complete -c mh -n "__fish_mh_using_subcommand mtwrite" -l memory -d 'Hold at most SIZE in memory; fewer cores are used where it is tight (64M, 1.5GiB)' -r
complete -c mh -n "__fish_mh_using_subcommand mtwrite" -l report -d 'After the run, print its limit and the gain of more cores' -r -f -a "text\t'For people'
json\t'For programs: one JSON object on one line'"
complete -c mh -n "__fish_mh_using_subcommand mtwrite" -l explain -d 'Print the plan with its reasons and do nothing'
complete -c mh -n "__fish_mh_using_subcommand mtwrite" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c mh -n "__fish_mh_using_subcommand vmtasks; and not __fish_seen_subcommand_from run bench check" -s h -l help -d 'Print help'
complete -c mh -n "__fish_mh_using_subcommand vmtasks; and not __fish_seen_subcommand_from run bench check" -f -a "run" -d 'Run an unmodified program whose large mappings are populated by several threads'
complete -c mh -n "__fish_mh_using_subcommand vmtasks; and not __fish_seen_subcommand_from run bench check" -f -a "bench" -d 'Measure what it takes here to create, lock and destroy memory, by one thread and by more'
complete -c mh -n "__fish_mh_using_subcommand vmtasks; and not __fish_seen_subcommand_from run bench check" -f -a "check" -d 'Check that the large memory of running programs is resident'
complete -c mh -n "__fish_mh_using_subcommand vmtasks; and __fish_seen_subcommand_from run" -l min-size -d 'Leave smaller mappings alone' -r
complete -c mh -n "__fish_mh_using_subcommand vmtasks; and __fish_seen_subcommand_from run" -l window -d 'How far --ahead goes in front of the program' -r
complete -c mh -n "__fish_mh_using_subcommand vmtasks; and __fish_seen_subcommand_from run" -s j -l hands -d 'Use at most N threads for a mapping, the program\'s own among them (default, and 0: all that this process may use, 17 at most)' -r
complete -c mh -n "__fish_mh_using_subcommand vmtasks; and __fish_seen_subcommand_from run" -l priority -d 'Priority among runs that share the machine (default: the runner\'s, else the settings file\'s, else normal)' -r -f -a "high\t'Served first'
normal\t'Everyday work'
low\t'Gives way to normal work'
idle\t'Gets cores that no other run wants'"
complete -c mh -n "__fish_mh_using_subcommand vmtasks; and __fish_seen_subcommand_from run" -l weight -d 'This run\'s share among the runs of its class: one of 200 gets twice what one of 100 gets (usual: 100)' -r
complete -c mh -n "__fish_mh_using_subcommand vmtasks; and __fish_seen_subcommand_from run" -l report -d 'At the end, print each mapping and the time that was saved' -r -f -a "text\t'For people'
json\t'For programs: one JSON object on one line'"
complete -c mh -n "__fish_mh_using_subcommand vmtasks; and __fish_seen_subcommand_from run" -l lock -d 'Lock what is populated (mlock2), as far as RLIMIT_MEMLOCK allows; given back by the program, it is unlocked'
complete -c mh -n "__fish_mh_using_subcommand vmtasks; and __fish_seen_subcommand_from run" -l huge -d 'Ask for transparent huge pages first'
complete -c mh -n "__fish_mh_using_subcommand vmtasks; and __fish_seen_subcommand_from run" -l ahead -d 'Populate behind the program, with one thread of low priority, and stay in front of it; -j does not matter then'
complete -c mh -n "__fish_mh_using_subcommand vmtasks; and __fish_seen_subcommand_from run" -l strict -d 'Refuse a mapping that does not fit into free memory (ENOMEM), instead of leaving it to the kernel'
complete -c mh -n "__fish_mh_using_subcommand vmtasks; and __fish_seen_subcommand_from run" -l explain -d 'Print the plan with its reasons and do nothing'
complete -c mh -n "__fish_mh_using_subcommand vmtasks; and __fish_seen_subcommand_from run" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c mh -n "__fish_mh_using_subcommand vmtasks; and __fish_seen_subcommand_from bench" -l size -d 'Size of each range [default: 4G, or a quarter of the available memory if that is less]' -r
complete -c mh -n "__fish_mh_using_subcommand vmtasks; and __fish_seen_subcommand_from bench" -l kind -d 'Kind of memory' -r -f -a "anon\t'Memory of one process, in the smallest pages'
shm\t'Shared memory without a file, as PostgreSQL has it'
memfd\t'Files in memory (memfd), side by side'
sysv\t'A segment of System V'
huge\t'Huge pages of the pool, or transparent ones if it has too few'
file\t'A file of a directory, mapped'"
complete -c mh -n "__fish_mh_using_subcommand vmtasks; and __fish_seen_subcommand_from bench" -s j -l hands -d 'The most threads [default: all CPUs that this process may use]' -r
complete -c mh -n "__fish_mh_using_subcommand vmtasks; and __fish_seen_subcommand_from bench" -l rounds -d 'How often each number of threads is measured; medians are shown' -r
complete -c mh -n "__fish_mh_using_subcommand vmtasks; and __fish_seen_subcommand_from bench" -l directory -d 'Directory of the file of --kind file [default: TMPDIR, or /tmp]' -r -F
complete -c mh -n "__fish_mh_using_subcommand vmtasks; and __fish_seen_subcommand_from bench" -l color -l colour -d 'Colour: on a terminal unless NO_COLOR is set, always, or never' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c mh -n "__fish_mh_using_subcommand vmtasks; and __fish_seen_subcommand_from bench" -l lock -d 'Measure ranges that are locked, too'
complete -c mh -n "__fish_mh_using_subcommand vmtasks; and __fish_seen_subcommand_from bench" -l json -d 'Print one JSON object'
complete -c mh -n "__fish_mh_using_subcommand vmtasks; and __fish_seen_subcommand_from bench" -s l -l long -d 'Whole command lines; on a terminal they are otherwise cut at its width'
complete -c mh -n "__fish_mh_using_subcommand vmtasks; and __fish_seen_subcommand_from bench" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c mh -n "__fish_mh_using_subcommand vmtasks; and __fish_seen_subcommand_from check" -l min-size -d 'Smallest mapping to check' -r
complete -c mh -n "__fish_mh_using_subcommand vmtasks; and __fish_seen_subcommand_from check" -l color -l colour -d 'Colour: on a terminal unless NO_COLOR is set, always, or never' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c mh -n "__fish_mh_using_subcommand vmtasks; and __fish_seen_subcommand_from check" -l all -d 'Check files that are mapped for reading, too'
complete -c mh -n "__fish_mh_using_subcommand vmtasks; and __fish_seen_subcommand_from check" -l json -d 'Print one JSON object'
complete -c mh -n "__fish_mh_using_subcommand vmtasks; and __fish_seen_subcommand_from check" -s l -l long -d 'Whole command lines; on a terminal they are otherwise cut at its width'
complete -c mh -n "__fish_mh_using_subcommand vmtasks; and __fish_seen_subcommand_from check" -l locked -d 'Demand that all of it is locked, too'
complete -c mh -n "__fish_mh_using_subcommand vmtasks; and __fish_seen_subcommand_from check" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c mh -n "__fish_mh_using_subcommand numa; and not __fish_seen_subcommand_from run check" -s h -l help -d 'Print help'
complete -c mh -n "__fish_mh_using_subcommand numa; and not __fish_seen_subcommand_from run check" -f -a "run" -d 'Run an unmodified program with a memory policy for its large mappings'
complete -c mh -n "__fish_mh_using_subcommand numa; and not __fish_seen_subcommand_from run check" -f -a "check" -d 'Show on which nodes the large memory of running programs is, and judge it'
complete -c mh -n "__fish_mh_using_subcommand numa; and __fish_seen_subcommand_from run" -l startup -d 'Policy of mappings that are made during the start-up' -r
complete -c mh -n "__fish_mh_using_subcommand numa; and __fish_seen_subcommand_from run" -l then -d 'Policy of mappings that are made later (default: none, as the process has it)' -r
complete -c mh -n "__fish_mh_using_subcommand numa; and __fish_seen_subcommand_from run" -l startup-time -d 'How long the start-up is' -r
complete -c mh -n "__fish_mh_using_subcommand numa; and __fish_seen_subcommand_from run" -l min-size -d 'Leave smaller mappings alone' -r
complete -c mh -n "__fish_mh_using_subcommand numa; and __fish_seen_subcommand_from run" -l report -d 'At the end, print each mapping and its policy' -r -f -a "text\t'For people'
json\t'For programs: one JSON object on one line'"
complete -c mh -n "__fish_mh_using_subcommand numa; and __fish_seen_subcommand_from run" -l explain -d 'Print the plan with its reasons and do nothing'
complete -c mh -n "__fish_mh_using_subcommand numa; and __fish_seen_subcommand_from run" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c mh -n "__fish_mh_using_subcommand numa; and __fish_seen_subcommand_from check" -l min-size -d 'Smallest mapping to check' -r
complete -c mh -n "__fish_mh_using_subcommand numa; and __fish_seen_subcommand_from check" -l color -l colour -d 'Colour: on a terminal unless NO_COLOR is set, always, or never' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c mh -n "__fish_mh_using_subcommand numa; and __fish_seen_subcommand_from check" -l all -d 'Check files that are mapped for reading, too'
complete -c mh -n "__fish_mh_using_subcommand numa; and __fish_seen_subcommand_from check" -l json -d 'Print one JSON object'
complete -c mh -n "__fish_mh_using_subcommand numa; and __fish_seen_subcommand_from check" -s l -l long -d 'Whole command lines; on a terminal they are otherwise cut at its width'
complete -c mh -n "__fish_mh_using_subcommand numa; and __fish_seen_subcommand_from check" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c mh -n "__fish_mh_using_subcommand innodb" -l dump -d 'Print page number PAGE of FILE, field by field and byte by byte' -r
complete -c mh -n "__fish_mh_using_subcommand innodb" -s j -l hands -d 'Use at most N cores (default, and 0: all that this process may use)' -r
complete -c mh -n "__fish_mh_using_subcommand innodb" -l priority -d 'Priority among runs that share the machine (default: the runner\'s, else the settings file\'s, else normal)' -r -f -a "high\t'Served first'
normal\t'Everyday work'
low\t'Gives way to normal work'
idle\t'Gets cores that no other run wants'"
complete -c mh -n "__fish_mh_using_subcommand innodb" -l weight -d 'This run\'s share among the runs of its class: one of 200 gets twice what one of 100 gets (usual: 100)' -r
complete -c mh -n "__fish_mh_using_subcommand innodb" -l memory -d 'Hold at most SIZE in memory; fewer cores are used where it is tight (64M, 1.5GiB)' -r
complete -c mh -n "__fish_mh_using_subcommand innodb" -l report -d 'After the run, print its limit and the gain of more cores' -r -f -a "text\t'For people'
json\t'For programs: one JSON object on one line'"
complete -c mh -n "__fish_mh_using_subcommand innodb" -s S -l summary -d 'Print page types and indexes of each file'
complete -c mh -n "__fish_mh_using_subcommand innodb" -l json -d 'Print one JSON object a file, and one for all of them'
complete -c mh -n "__fish_mh_using_subcommand innodb" -s q -l quiet -d 'Print only corrupt pages and errors'
complete -c mh -n "__fish_mh_using_subcommand innodb" -s v -l verbose -d 'Print a line for each file'
complete -c mh -n "__fish_mh_using_subcommand innodb" -l explain -d 'Print the plan with its reasons and do nothing'
complete -c mh -n "__fish_mh_using_subcommand innodb" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c mh -n "__fish_mh_using_subcommand innodb" -s V -l version -d 'Print version'
complete -c mh -n "__fish_mh_using_subcommand db; and not __fish_seen_subcommand_from load dump restore index verify" -s h -l help -d 'Print help'
complete -c mh -n "__fish_mh_using_subcommand db; and not __fish_seen_subcommand_from load dump restore index verify" -f -a "load" -d 'Load CSV or tab-separated files into a table over many connections'
complete -c mh -n "__fish_mh_using_subcommand db; and not __fish_seen_subcommand_from load dump restore index verify" -f -a "dump" -d 'Dump a database of PostgreSQL, MariaDB or MySQL over many connections'
complete -c mh -n "__fish_mh_using_subcommand db; and not __fish_seen_subcommand_from load dump restore index verify" -f -a "restore" -d 'Restore an archive of pg_dump over many connections'
complete -c mh -n "__fish_mh_using_subcommand db; and not __fish_seen_subcommand_from load dump restore index verify" -f -a "index" -d 'Build indexes and keys, several at once'
complete -c mh -n "__fish_mh_using_subcommand db; and not __fish_seen_subcommand_from load dump restore index verify" -f -a "verify" -d 'Compare the rows of a server with an archive or with another server'
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from load" -l columns -d 'Columns that values are for, in their order (default: those of the table)' -r
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from load" -l reject -d 'Write refused rows to FILE as they are, and their places and causes to FILE.log; load the others' -r -F
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from load" -l reject-limit -d 'End the load when more rows are refused' -r
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from load" -s j -l jobs -l connections -d 'Load over at most N connections (default, and 0: a connection for each core)' -r
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from load" -l priority -d 'Priority among runs that share the machine (default: the runner\'s, else the settings file\'s, else normal)' -r -f -a "high\t'Served first'
normal\t'Everyday work'
low\t'Gives way to normal work'
idle\t'Gets cores that no other run wants'"
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from load" -l weight -d 'This run\'s share among the runs of its class: one of 200 gets twice what one of 100 gets (usual: 100)' -r
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from load" -l memory -d 'Hold at most SIZE of rows in memory, unless one row is longer (64M)' -r
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from load" -l report -d 'After the run, print what bound it: server, client or disk' -r -f -a "text\t'For people'
json\t'For programs: one JSON object on one line'"
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from load" -s d -l dbname -l database -d 'The database: postgres://USER@HOST/DATABASE, mysql://..., mariadb://..., libpq\'s keywords, sqlite:FILE, or a name' -r
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from load" -l host -d 'Host of the server, or the directory of its socket' -r
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from load" -s p -l port -d 'Port of the server' -r
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from load" -s U -l username -l user -d 'User to connect as' -r
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from load" -l header -d 'The first row of each file is no data; match: it must name the columns; names: it says which columns' -r -f -a "check\t'Pass over it, unless it has the columns in another order'
skip\t'Pass over it'
match\t'It must name the columns in their order'
names\t'It says which columns values are for'"
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from load" -l delimiter -d 'Between values: one byte, or \\t (default: comma, of text a tab)' -r
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from load" -l quote -d 'Around values of CSV (default: ")' -r
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from load" -l escape -d 'Before a quote within quotes (default: the quote)' -r
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from load" -l null -d 'What stands for NULL without quotes (default: nothing, of text \\N)' -r
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from load" -l encoding -d 'Encoding of the files, as the server calls it (default: UTF-8)' -r
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from load" -l truncate -d 'Empty the table first; with one connection in the same transaction'
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from load" -l ordered -d 'Load in the order of the file, over one connection'
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from load" -l resume -d 'Note in the table mh_load_TABLE what is done, and pass over what an interrupted run has noted'
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from load" -l explain -d 'Print the plan with its reasons and do nothing'
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from load" -s q -l quiet -d 'Print errors only'
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from load" -l pg -d 'A name given by -d is PostgreSQL\'s (default: by PGHOST and its relatives, or by my.cnf)'
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from load" -l mariadb -l mysql -d 'A name given by -d is MariaDB\'s or MySQL\'s'
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from load" -s W -l password -d 'Ask for a password (default: PGPASSWORD, .pgpass, service files, my.cnf)'
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from load" -s w -l no-password -d 'Never ask for a password; nothing else is done without -W'
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from load" -l csv -d 'Rows are CSV (default: by the file\'s name)'
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from load" -l text -l tsv -d 'Rows are COPY\'s text format: tabs between values, \\N for NULL'
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from load" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from dump" -s f -l file -d 'Write the archive to the new directory DIR, or a script for psql to standard output (-)' -r -F
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from dump" -s F -l format -d 'Format: directory, or plain with -f -' -r
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from dump" -s Z -l compress -d 'Compress rows with zstd, gzip, lz4 (and :LEVEL) or none (default: zstd:1 if pg_restore reads it, else gzip:1)' -r
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from dump" -s j -l jobs -l connections -d 'Read rows over at most N connections (default, and 0: a connection for each core)' -r
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from dump" -l report -d 'After the run, print what bound it: server, compression, pg_dump or cores' -r -f -a "text\t'For people'
json\t'For programs: one JSON object on one line'"
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from dump" -l priority -d 'Priority among runs that share the machine (default: the runner\'s, else the settings file\'s, else normal)' -r -f -a "high\t'Served first'
normal\t'Everyday work'
low\t'Gives way to normal work'
idle\t'Gets cores that no other run wants'"
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from dump" -l weight -d 'This run\'s share among the runs of its class: one of 200 gets twice what one of 100 gets (usual: 100)' -r
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from dump" -s n -l schema -d 'Dump these schemas only' -r
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from dump" -s N -l exclude-schema -d 'Leave these schemas out' -r
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from dump" -s t -l table -d 'Dump these tables only' -r
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from dump" -s T -l exclude-table -d 'Leave these tables out' -r
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from dump" -l table-and-children -d 'Dump these tables and their children only' -r
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from dump" -l exclude-table-and-children -d 'Leave these tables and their children out' -r
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from dump" -l exclude-table-data -d 'Leave the rows of these tables out' -r
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from dump" -l exclude-table-data-and-children -d 'Leave the rows of these tables and of their children out' -r
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from dump" -s e -l extension -d 'Dump these extensions only' -r
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from dump" -l section -d 'Dump this section only' -r -f -a "pre-data\t''
data\t''
post-data\t''"
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from dump" -l role -d 'Use the rights of this role' -r
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from dump" -l lock-wait-timeout -d 'Fail if a table\'s lock is not had within TIME: milliseconds, or 5s (default: wait)' -r
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from dump" -l lock -d 'Lock of the moment that all connections see: auto, flush (FLUSH TABLES WITH READ LOCK) or none (default: auto)' -r -f -a "auto\t'BACKUP STAGE if the server has it, else FLUSH TABLES WITH READ LOCK'
flush\t'FLUSH TABLES WITH READ LOCK'
none\t'None: one connection sees one moment, several do not'"
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from dump" -s d -l dbname -l database -d 'The database: postgres://USER@HOST/DATABASE, mysql://..., mariadb://..., libpq\'s keywords, sqlite:FILE, or a name' -r
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from dump" -l host -d 'Host of the server, or the directory of its socket' -r
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from dump" -s p -l port -d 'Port of the server' -r
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from dump" -s U -l username -l user -d 'User to connect as' -r
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from dump" -l verify -d 'Read the archive back and compare its rows with those that came, before it gets its name'
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from dump" -l explain -d 'Print the plan with its reasons and do nothing'
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from dump" -s q -l quiet -d 'Print errors only'
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from dump" -l strict-names -d 'Each pattern must match something'
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from dump" -s s -l schema-only -d 'Dump the schema only, no rows'
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from dump" -s a -l data-only -d 'Dump rows only, no schema'
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from dump" -s b -l large-objects -l blobs -d 'Dump large objects with a selection, too'
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from dump" -s B -l no-large-objects -l no-blobs -d 'Leave large objects out'
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from dump" -l no-comments -d 'Leave comments out'
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from dump" -l no-publications -d 'Leave publications out'
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from dump" -l no-security-labels -d 'Leave security labels out'
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from dump" -l no-subscriptions -d 'Leave subscriptions out'
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from dump" -l no-tablespaces -d 'Leave tablespaces out'
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from dump" -l no-toast-compression -d 'Leave compression methods of columns out'
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from dump" -l no-unlogged-table-data -d 'Leave the rows of unlogged tables out'
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from dump" -s C -l create -d 'Have the restore create the database'
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from dump" -s c -l clean -d 'Have the restore drop objects first'
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from dump" -l if-exists -d 'Have these drops pass over objects that are not there'
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from dump" -s O -l no-owner -d 'Leave owners out'
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from dump" -s x -l no-privileges -l no-acl -d 'Leave privileges out'
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from dump" -l load-via-partition-root -d 'Have rows of partitions restored through their root'
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from dump" -l disable-triggers -d 'Have a restore of rows alone disable triggers'
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from dump" -l enable-row-security -d 'Leave rows out that row security hides (default: such a table fails the dump)'
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from dump" -l serializable-deferrable -d 'Wait for a snapshot without anomalies of serializable transactions'
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from dump" -l skip-definer -d 'Have views, routines, triggers and events belong to the user that restores them'
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from dump" -l skip-triggers -d 'Leave triggers out'
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from dump" -l skip-routines -d 'Leave procedures and functions out'
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from dump" -l skip-events -d 'Leave events out'
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from dump" -l pg -d 'A name given by -d is PostgreSQL\'s (default: by PGHOST and its relatives, or by my.cnf)'
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from dump" -l mariadb -l mysql -d 'A name given by -d is MariaDB\'s or MySQL\'s'
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from dump" -s W -l password -d 'Ask for a password (default: PGPASSWORD, .pgpass, service files, my.cnf)'
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from dump" -s w -l no-password -d 'Never ask for a password; nothing else is done without -W'
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from dump" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from restore" -s j -l jobs -l connections -d 'Restore over at most N connections (default, and 0: two for each core)' -r
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from restore" -l memory -d 'Memory that sorts of indexes share (default: an eighth of what is free, if the server is on this host)' -r
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from restore" -l report -d 'After the run, print what bound it: server, disk, cores or this program' -r -f -a "text\t'For people'
json\t'For programs: one JSON object on one line'"
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from restore" -l priority -d 'Priority among runs that share the machine (default: the runner\'s, else the settings file\'s, else normal)' -r -f -a "high\t'Served first'
normal\t'Everyday work'
low\t'Gives way to normal work'
idle\t'Gets cores that no other run wants'"
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from restore" -l weight -d 'This run\'s share among the runs of its class: one of 200 gets twice what one of 100 gets (usual: 100)' -r
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from restore" -s n -l schema -d 'Restore this schema only' -r
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from restore" -s N -l exclude-schema -d 'Leave this schema out' -r
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from restore" -s t -l table -d 'Restore this table, view or sequence only; no pattern, and without its indexes, as pg_restore has it' -r
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from restore" -s I -l index -d 'Restore this index only' -r
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from restore" -s P -l function -d 'Restore this function only' -r
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from restore" -s T -l trigger -d 'Restore this trigger only' -r
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from restore" -l section -d 'Restore this section only' -r -f -a "pre-data\t''
data\t''
post-data\t''"
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from restore" -s L -l use-list -d 'Restore what FILE lists, in its order (pg_restore --list)' -r -F
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from restore" -l role -d 'Use the rights of this role' -r
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from restore" -s d -l dbname -l database -d 'The database: postgres://USER@HOST/DATABASE, mysql://..., mariadb://..., libpq\'s keywords, sqlite:FILE, or a name' -r
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from restore" -l host -d 'Host of the server, or the directory of its socket' -r
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from restore" -s p -l port -d 'Port of the server' -r
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from restore" -s U -l username -l user -d 'User to connect as' -r
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from restore" -s c -l clean -d 'Drop what is to be restored first'
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from restore" -l if-exists -d 'Have --clean pass over objects that are not there'
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from restore" -l into-existing -d 'Restore into a database that is not empty'
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from restore" -l resume -d 'Go on with a restore of this archive that was interrupted'
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from restore" -s e -l exit-on-error -d 'End with the first statement that the server refuses (default: go on, exit code 1)'
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from restore" -l vacuum -d 'Vacuum and analyse restored tables at the end'
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from restore" -l verify -d 'Read all rows again at the end and compare them with what mh db dump has noted; costs about 0.7 of a dump'
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from restore" -l explain -d 'Print the plan with its reasons and do nothing'
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from restore" -s q -l quiet -d 'Print errors only'
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from restore" -s s -l schema-only -d 'Restore the schema only, no rows'
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from restore" -s a -l data-only -d 'Restore rows only, into tables that are there'
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from restore" -l strict-names -d 'Each name must match something'
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from restore" -s O -l no-owner -d 'Leave owners out'
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from restore" -s x -l no-privileges -l no-acl -d 'Leave privileges out'
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from restore" -l no-comments -d 'Leave comments out'
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from restore" -l no-publications -d 'Leave publications out'
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from restore" -l no-security-labels -d 'Leave security labels out'
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from restore" -l no-subscriptions -d 'Leave subscriptions out'
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from restore" -l no-tablespaces -d 'Leave tablespaces out'
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from restore" -l no-table-access-method -d 'Leave table access methods out'
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from restore" -l enable-row-security -d 'Restore rows under the policies of row security'
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from restore" -l pg -d 'A name given by -d is PostgreSQL\'s (default: by PGHOST and its relatives, or by my.cnf)'
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from restore" -l mariadb -l mysql -d 'A name given by -d is MariaDB\'s or MySQL\'s'
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from restore" -s W -l password -d 'Ask for a password (default: PGPASSWORD, .pgpass, service files, my.cnf)'
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from restore" -s w -l no-password -d 'Never ask for a password; nothing else is done without -W'
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from restore" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from index" -s t -l table -d 'With --rebuild: of this table, as SQL has its name, only' -r
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from index" -s j -l jobs -l connections -d 'Use at most N cores of the server, for lanes and their workers (default, and 0: those of this host)' -r
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from index" -l memory -d 'Memory of the server for all sorts together (default: an eighth of this host\'s if the server is on it)' -r
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from index" -l report -d 'After the run, print how long each build took, and what bound the run' -r -f -a "text\t'For people'
json\t'For programs: one JSON object on one line'"
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from index" -l priority -d 'Priority among runs that share the machine (default: the runner\'s, else the settings file\'s, else normal)' -r -f -a "high\t'Served first'
normal\t'Everyday work'
low\t'Gives way to normal work'
idle\t'Gets cores that no other run wants'"
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from index" -l weight -d 'This run\'s share among the runs of its class: one of 200 gets twice what one of 100 gets (usual: 100)' -r
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from index" -s d -l dbname -l database -d 'The database: postgres://USER@HOST/DATABASE, mysql://..., mariadb://..., libpq\'s keywords, sqlite:FILE, or a name' -r
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from index" -l host -d 'Host of the server, or the directory of its socket' -r
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from index" -s p -l port -d 'Port of the server' -r
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from index" -s U -l username -l user -d 'User to connect as' -r
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from index" -l rebuild -d 'Build the indexes anew that are there'
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from index" -l concurrently -d 'With --rebuild: let others write meanwhile, which takes longer (PostgreSQL)'
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from index" -l resume -d 'Pass over indexes and constraints that are there by their names'
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from index" -s e -l exit-on-error -d 'End the run when a statement fails (default: carry out the others)'
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from index" -l explain -d 'Print the plan with its reasons and do nothing'
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from index" -s q -l quiet -d 'Print errors only'
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from index" -l pg -d 'A name given by -d is PostgreSQL\'s (default: by PGHOST and its relatives, or by my.cnf)'
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from index" -l mariadb -l mysql -d 'A name given by -d is MariaDB\'s or MySQL\'s'
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from index" -s W -l password -d 'Ask for a password (default: PGPASSWORD, .pgpass, service files, my.cnf)'
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from index" -s w -l no-password -d 'Never ask for a password; nothing else is done without -W'
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from index" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from verify" -l other -d 'The other server' -r -F
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from verify" -s t -l table -d 'Compare this table only, with its schema or without it' -r
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from verify" -s j -l jobs -l connections -d 'Read rows over at most N connections a server (default, and 0: a connection for each core)' -r
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from verify" -l lock -d 'MariaDB and MySQL: lock of the moment that all connections see: auto, flush (FLUSH TABLES WITH READ LOCK) or none (default: auto)' -r -f -a "auto\t'BACKUP STAGE if the server has it, else FLUSH TABLES WITH READ LOCK'
flush\t'FLUSH TABLES WITH READ LOCK'
none\t'None: one connection sees one moment, several do not'"
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from verify" -l report -d 'After the run, print what bound it' -r -f -a "text\t'For people'
json\t'For programs: one JSON object on one line'"
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from verify" -l priority -d 'Priority among runs that share the machine (default: the runner\'s, else the settings file\'s, else normal)' -r -f -a "high\t'Served first'
normal\t'Everyday work'
low\t'Gives way to normal work'
idle\t'Gets cores that no other run wants'"
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from verify" -l weight -d 'This run\'s share among the runs of its class: one of 200 gets twice what one of 100 gets (usual: 100)' -r
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from verify" -s d -l dbname -l database -d 'The database: postgres://USER@HOST/DATABASE, mysql://..., mariadb://..., libpq\'s keywords, sqlite:FILE, or a name' -r
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from verify" -l host -d 'Host of the server, or the directory of its socket' -r
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from verify" -s p -l port -d 'Port of the server' -r
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from verify" -s U -l username -l user -d 'User to connect as' -r
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from verify" -l explain -d 'Print the plan with its cost and do nothing'
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from verify" -l json -d 'Print a JSON object for each table'
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from verify" -s q -l quiet -d 'Print tables that differ and errors only'
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from verify" -l pg -d 'A name given by -d is PostgreSQL\'s (default: by PGHOST and its relatives, or by my.cnf)'
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from verify" -l mariadb -l mysql -d 'A name given by -d is MariaDB\'s or MySQL\'s'
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from verify" -s W -l password -d 'Ask for a password (default: PGPASSWORD, .pgpass, service files, my.cnf)'
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from verify" -s w -l no-password -d 'Never ask for a password; nothing else is done without -W'
complete -c mh -n "__fish_mh_using_subcommand db; and __fish_seen_subcommand_from verify" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c mh -n "__fish_mh_using_subcommand sysstat; and not __fish_seen_subcommand_from key enroll pair" -s n -l count -d 'Look COUNT times and end, as with COUNT behind INTERVAL; 0 goes on until Ctrl-C' -r
complete -c mh -n "__fish_mh_using_subcommand sysstat; and not __fish_seen_subcommand_from key enroll pair" -l record -d 'Write every look to FILE, or to a file a day in the directory DIR; one that is there is gone on with' -r -F
complete -c mh -n "__fish_mh_using_subcommand sysstat; and not __fish_seen_subcommand_from key enroll pair" -l keep -d 'Remove files of a --record DIR that are older than so many days' -r
complete -c mh -n "__fish_mh_using_subcommand sysstat; and not __fish_seen_subcommand_from key enroll pair" -l replay -d 'Show a recording, with the same keys' -r -F
complete -c mh -n "__fish_mh_using_subcommand sysstat; and not __fish_seen_subcommand_from key enroll pair" -l hosts -d 'Read hosts from FILE, one a line (may be given again)' -r -F
complete -c mh -n "__fish_mh_using_subcommand sysstat; and not __fish_seen_subcommand_from key enroll pair" -l port -d 'The agents\' port' -r
complete -c mh -n "__fish_mh_using_subcommand sysstat; and not __fish_seen_subcommand_from key enroll pair" -l interface -d 'Only this network interface (may be given again)' -r
complete -c mh -n "__fish_mh_using_subcommand sysstat; and not __fish_seen_subcommand_from key enroll pair" -l program -d 'How mh is called on hosts that ssh reaches' -r
complete -c mh -n "__fish_mh_using_subcommand sysstat; and not __fish_seen_subcommand_from key enroll pair" -l web -d 'Serve this host, or many, to browsers, at the URL that is printed [default ADDR: 127.0.0.1:7780]' -r
complete -c mh -n "__fish_mh_using_subcommand sysstat; and not __fish_seen_subcommand_from key enroll pair" -l metrics -d 'Serve metrics to Prometheus, without a password [default ADDR: 127.0.0.1:9101]' -r
complete -c mh -n "__fish_mh_using_subcommand sysstat; and not __fish_seen_subcommand_from key enroll pair" -l color -l colour -d 'Colour: on a terminal unless NO_COLOR is set, always, or never' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c mh -n "__fish_mh_using_subcommand sysstat; and not __fish_seen_subcommand_from key enroll pair" -l plain -d 'A line an interval, also on a terminal'
complete -c mh -n "__fish_mh_using_subcommand sysstat; and not __fish_seen_subcommand_from key enroll pair" -l once -d 'The screen\'s text once, after one interval: the first 40 processes, or all with --long'
complete -c mh -n "__fish_mh_using_subcommand sysstat; and not __fish_seen_subcommand_from key enroll pair" -l header -d 'Without processes'
complete -c mh -n "__fish_mh_using_subcommand sysstat; and not __fish_seen_subcommand_from key enroll pair" -l fleet -d 'All hosts of this user\'s fleet, also without a screen'
complete -c mh -n "__fish_mh_using_subcommand sysstat; and not __fish_seen_subcommand_from key enroll pair" -l alone -d 'Look at this host alone, though this user has the key of a fleet'
complete -c mh -n "__fish_mh_using_subcommand sysstat; and not __fish_seen_subcommand_from key enroll pair" -s d -l daemon -d 'Be this host\'s agent: silent until a viewer of a fleet asks that it trusts (see mh sysstat key)'
complete -c mh -n "__fish_mh_using_subcommand sysstat; and not __fish_seen_subcommand_from key enroll pair" -l no-answer -d 'Show a screen without answering viewers of the fleets that this host trusts'
complete -c mh -n "__fish_mh_using_subcommand sysstat; and not __fish_seen_subcommand_from key enroll pair" -l json -d 'Print one JSON object an interval'
complete -c mh -n "__fish_mh_using_subcommand sysstat; and not __fish_seen_subcommand_from key enroll pair" -l csv -d 'Print comma-separated values'
complete -c mh -n "__fish_mh_using_subcommand sysstat; and not __fish_seen_subcommand_from key enroll pair" -s l -l long -d 'Whole command lines; on a terminal they are otherwise cut at its width'
complete -c mh -n "__fish_mh_using_subcommand sysstat; and not __fish_seen_subcommand_from key enroll pair" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c mh -n "__fish_mh_using_subcommand sysstat; and not __fish_seen_subcommand_from key enroll pair" -a "key" -d 'Show, make, rotate or trust keys of a fleet'
complete -c mh -n "__fish_mh_using_subcommand sysstat; and not __fish_seen_subcommand_from key enroll pair" -a "enroll" -d 'Make hosts known to your fleet by ssh, each in one go'
complete -c mh -n "__fish_mh_using_subcommand sysstat; and not __fish_seen_subcommand_from key enroll pair" -a "pair" -d 'Make one host known to your fleet by a code, where there is no ssh'
complete -c mh -n "__fish_mh_using_subcommand sysstat; and __fish_seen_subcommand_from key" -l new -d 'Make the key of a new fleet with this name' -r
complete -c mh -n "__fish_mh_using_subcommand sysstat; and __fish_seen_subcommand_from key" -l role -d 'What the line allows: processes and command lines too, or figures of hosts alone' -r -f -a "full\t''
numbers\t''"
complete -c mh -n "__fish_mh_using_subcommand sysstat; and __fish_seen_subcommand_from key" -l grace -d 'How long hosts still take the old one' -r
complete -c mh -n "__fish_mh_using_subcommand sysstat; and __fish_seen_subcommand_from key" -l trust -d 'Let this fleet look at this host (may be given again)' -r
complete -c mh -n "__fish_mh_using_subcommand sysstat; and __fish_seen_subcommand_from key" -l ticket -d 'Keep what a fleet has signed for this host' -r
complete -c mh -n "__fish_mh_using_subcommand sysstat; and __fish_seen_subcommand_from key" -l public -d 'Print the public line alone, which hosts are to trust'
complete -c mh -n "__fish_mh_using_subcommand sysstat; and __fish_seen_subcommand_from key" -l rotate -d 'Put a new pair in the old one\'s place; hosts follow when they are looked at next'
complete -c mh -n "__fish_mh_using_subcommand sysstat; and __fish_seen_subcommand_from key" -l host -d 'Print this host\'s public key alone'
complete -c mh -n "__fish_mh_using_subcommand sysstat; and __fish_seen_subcommand_from key" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c mh -n "__fish_mh_using_subcommand sysstat; and __fish_seen_subcommand_from enroll" -l role -d 'What the line allows there' -r -f -a "full\t''
numbers\t''"
complete -c mh -n "__fish_mh_using_subcommand sysstat; and __fish_seen_subcommand_from enroll" -l program -d 'How mh is called on the hosts' -r
complete -c mh -n "__fish_mh_using_subcommand sysstat; and __fish_seen_subcommand_from enroll" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c mh -n "__fish_mh_using_subcommand sysstat; and __fish_seen_subcommand_from pair" -l role -d 'What the viewer asks for, or the host allows: processes and command lines too, or figures of the host alone; the less of both counts, and a line that is there is not made to allow more' -r -f -a "full\t''
numbers\t''"
complete -c mh -n "__fish_mh_using_subcommand sysstat; and __fish_seen_subcommand_from pair" -l within -d 'How long the code is good' -r
complete -c mh -n "__fish_mh_using_subcommand sysstat; and __fish_seen_subcommand_from pair" -l port -d 'The port at which the viewer waits [default: 7765]' -r
complete -c mh -n "__fish_mh_using_subcommand sysstat; and __fish_seen_subcommand_from pair" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c mh -n "__fish_mh_using_subcommand pstime" -s p -l pid -d 'This process (may be given again)' -r
complete -c mh -n "__fish_mh_using_subcommand pstime" -s n -l count -d 'Repeat COUNT times, then print averages; 0 goes on until Ctrl-C' -r
complete -c mh -n "__fish_mh_using_subcommand pstime" -s C -l name -d 'Processes of this name (may be given again)' -r
complete -c mh -n "__fish_mh_using_subcommand pstime" -s u -l user -d 'Processes of this user only, by name or number (may be given again)' -r
complete -c mh -n "__fish_mh_using_subcommand pstime" -l by -d 'One row for all processes that have this in common' -r -f -a "user\t'The effective user'
cgroup\t'The control group'
unit\t'The service or container'
name\t'The name'"
complete -c mh -n "__fish_mh_using_subcommand pstime" -l of -d 'Meaning of 100 % [default: machine; with -m one core, so that each thread\'s states sum to 100 %]' -r -f -a "machine\t'All CPUs that are switched on'
core\t'One core: two busy threads are 200 %'
quota\t'What the control groups\' quota allows, or all CPUs where there is none'"
complete -c mh -n "__fish_mh_using_subcommand pstime" -s o -l columns -d 'Columns, joined by commas' -r -f -a "uid\t'The effective user'
pid\t'The process'
tid\t'The thread'
usr\t'User time'
sys\t'System time'
error\t'How far %USR and %SYS may be off, with 98 % confidence'
cpu\t'User and system time'
stale\t'How far %CPU may be off'
core\t'User and system time as a share of one core, whatever the base'
secs\t'CPU seconds'
wait\t'Time its threads could run and had no CPU'
block\t'Time its threads waited for block devices (needs kernel.task_delayacct)'
sleep\t'Time a thread waited for anything else'
members\t'Processes, or threads, in the row'
cgroup\t'The control group'
unit\t'The service or container'
name\t'The short name'
command\t'The command line'"
complete -c mh -n "__fish_mh_using_subcommand pstime" -l sort -d 'Sort rows by this column' -r -f -a "cpu\t'CPU time'
usr\t'User time'
sys\t'System time'
wait\t'Time without a CPU'
pid\t'Number'
name\t'Name'"
complete -c mh -n "__fish_mh_using_subcommand pstime" -l min -d 'Leave out rows below PERCENT' -r
complete -c mh -n "__fish_mh_using_subcommand pstime" -l top -d 'At most COUNT rows' -r
complete -c mh -n "__fish_mh_using_subcommand pstime" -l color -l colour -d 'Colour: on a terminal unless NO_COLOR is set, always, or never' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c mh -n "__fish_mh_using_subcommand pstime" -l record -d 'Write every sample to a new file, for --replay' -r -F
complete -c mh -n "__fish_mh_using_subcommand pstime" -l replay -d 'Take the samples from a recording' -r -F
complete -c mh -n "__fish_mh_using_subcommand pstime" -s s -l seconds -d 'Seconds of CPU time instead of percentages'
complete -c mh -n "__fish_mh_using_subcommand pstime" -s t -l threads -d 'A row for each thread'
complete -c mh -n "__fish_mh_using_subcommand pstime" -s m -l microstates -d 'Show how each thread spent its time: running, waiting for a CPU, a device or something else (implies -t)'
complete -c mh -n "__fish_mh_using_subcommand pstime" -l exact -d 'Divide user from system time by measuring every system call, not by ticks; each call costs a little more (needs CAP_BPF and CAP_PERFMON)'
complete -c mh -n "__fish_mh_using_subcommand pstime" -s c -l children -d 'Add to each listed process all its descendants, ended ones too'
complete -c mh -n "__fish_mh_using_subcommand pstime" -s a -l all -d 'Processes that used nothing, too'
complete -c mh -n "__fish_mh_using_subcommand pstime" -l json -d 'Print one JSON object an interval, or one when the program ends'
complete -c mh -n "__fish_mh_using_subcommand pstime" -l csv -d 'Comma-separated values'
complete -c mh -n "__fish_mh_using_subcommand pstime" -s l -l long -d 'Whole command lines; on a terminal they are otherwise cut at its width'
complete -c mh -n "__fish_mh_using_subcommand pstime" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c mh -n "__fish_mh_using_subcommand ceiling" -s p -l pid -d 'This process (may be given again)' -r
complete -c mh -n "__fish_mh_using_subcommand ceiling" -s n -l count -d 'Repeat the verdict COUNT times, with the time since when it holds; 0 goes on until Ctrl-C' -r
complete -c mh -n "__fish_mh_using_subcommand ceiling" -l ignore -d 'Leave out processes and threads of this name (may be given again)' -r
complete -c mh -n "__fish_mh_using_subcommand ceiling" -l color -l colour -d 'Colour: on a terminal unless NO_COLOR is set, always, or never' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c mh -n "__fish_mh_using_subcommand ceiling" -l record -d 'Write every sample to a new file, for --replay' -r -F
complete -c mh -n "__fish_mh_using_subcommand ceiling" -l replay -d 'Take the samples from a recording' -r -F
complete -c mh -n "__fish_mh_using_subcommand ceiling" -l json -d 'Print one JSON object a verdict'
complete -c mh -n "__fish_mh_using_subcommand ceiling" -l csv -d 'Comma-separated values, a line a thread'
complete -c mh -n "__fish_mh_using_subcommand ceiling" -s l -l long -d 'Whole command lines; on a terminal they are otherwise cut at its width'
complete -c mh -n "__fish_mh_using_subcommand ceiling" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c mh -n "__fish_mh_using_subcommand systime" -s p -l pid -d 'This process and its descendants' -r
complete -c mh -n "__fish_mh_using_subcommand systime" -l by -d 'One table of everything, or rows by command name, process, thread or control group' -r -f -a "all\t'Everything together'
comm\t'By the name of the program'
pid\t'By process'
thread\t'By thread'
cgroup\t'By control group'"
complete -c mh -n "__fish_mh_using_subcommand systime" -s e -l call -d 'Only these calls (close,openat); the rest counts as time between calls' -r
complete -c mh -n "__fish_mh_using_subcommand systime" -l count -d 'Measure for COUNT times INTERVAL, and print what there is by then at the end of each; 0 goes on until Ctrl-C' -r
complete -c mh -n "__fish_mh_using_subcommand systime" -s i -l every -d 'Print intermediate results every TIME' -r
complete -c mh -n "__fish_mh_using_subcommand systime" -l top -d 'Print at most ROWS rows of each table; 0 prints all' -r
complete -c mh -n "__fish_mh_using_subcommand systime" -l color -l colour -d 'Colour: on a terminal unless NO_COLOR is set, always, or never' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c mh -n "__fish_mh_using_subcommand systime" -s o -l output -d 'Write the result to FILE instead of standard output' -r -F
complete -c mh -n "__fish_mh_using_subcommand systime" -l exact -d 'Count and time every call in the kernel; each call costs a little more'
complete -c mh -n "__fish_mh_using_subcommand systime" -l trace -d 'Without privileges: stop the command at each call, many times slower; an estimate is printed first'
complete -c mh -n "__fish_mh_using_subcommand systime" -s a -l all -d 'A row for each call in which threads only waited for something to do, too'
complete -c mh -n "__fish_mh_using_subcommand systime" -l histogram -d 'Show how the durations of each call are spread (needs --exact or --trace)'
complete -c mh -n "__fish_mh_using_subcommand systime" -l json -d 'Print one JSON object'
complete -c mh -n "__fish_mh_using_subcommand systime" -l csv -d 'Print comma-separated values'
complete -c mh -n "__fish_mh_using_subcommand systime" -s l -l long -d 'Whole command lines; on a terminal they are otherwise cut at its width'
complete -c mh -n "__fish_mh_using_subcommand systime" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c mh -n "__fish_mh_using_subcommand fit" -s p -l pid -d 'How many more processes called as this one is' -r
complete -c mh -n "__fish_mh_using_subcommand fit" -l user -d 'How many more users like this one (without any choice: like the middle one of all)' -r
complete -c mh -n "__fish_mh_using_subcommand fit" -l comm -d 'How many more processes of this name' -r
complete -c mh -n "__fish_mh_using_subcommand fit" -l args -d 'Of these processes, only those with TEXT in their command line' -r
complete -c mh -n "__fish_mh_using_subcommand fit" -l cgroup -d 'How many more control groups like this one, all its processes together' -r
complete -c mh -n "__fish_mh_using_subcommand fit" -l with -d 'Suppose that the machine had this much memory (32G)' -r
complete -c mh -n "__fish_mh_using_subcommand fit" -l add -d 'Say whether this many more fit; exit code 3 when they do not' -r
complete -c mh -n "__fish_mh_using_subcommand fit" -l reserve -d 'Leave this much memory alone [default: a twentieth of it]' -r
complete -c mh -n "__fish_mh_using_subcommand fit" -l color -l colour -d 'Colour: on a terminal unless NO_COLOR is set, always, or never' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c mh -n "__fish_mh_using_subcommand fit" -l json -d 'Print one JSON object'
complete -c mh -n "__fish_mh_using_subcommand fit" -l csv -d 'Print the instances as comma-separated values'
complete -c mh -n "__fish_mh_using_subcommand fit" -s l -l long -d 'Whole command lines; on a terminal they are otherwise cut at its width'
complete -c mh -n "__fish_mh_using_subcommand fit" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c mh -n "__fish_mh_using_subcommand locks" -s t -l threads -d 'Threads; several make several tables [default: each situation\'s own]' -r
complete -c mh -n "__fish_mh_using_subcommand locks" -l hold -d 'Time for which the lock is held' -r
complete -c mh -n "__fish_mh_using_subcommand locks" -l think -d 'Time without the lock between two holds' -r
complete -c mh -n "__fish_mh_using_subcommand locks" -s w -l waiters -d 'Only sleeping locks that wake: one, all or handoff' -r -f -a "one\t'One waiter, which may lose the race for the lock'
all\t'All waiters: the thundering herd'
handoff\t'The next in line, which has the lock then'"
complete -c mh -n "__fish_mh_using_subcommand locks" -l locks -d 'Only these locks; --help lists them' -r -f -a "tas\t''
tas-pause\t''
backoff\t''
ticket\t''
mcs\t''
clh\t''
adaptive\t''
spin-sleep\t''
futex\t''
futex-all\t''
handoff\t''
pthread\t''
pthread-spin\t''
std\t''
parking_lot\t''
pthread-rw\t''
pthread-rw-w\t''
std-rw\t''
parking_lot-rw\t''
innodb\t''"
complete -c mh -n "__fish_mh_using_subcommand locks" -s s -l scenario -d 'Only these situations; --help lists them' -r -f -a "uncontended\t''
short\t''
long\t''
burst\t''
hog\t''
oversubscribed\t''
herd\t''
preempted\t''
readers\t''"
complete -c mh -n "__fish_mh_using_subcommand locks" -s n -l rounds -d 'Rounds of each row; the middle one counts' -r
complete -c mh -n "__fish_mh_using_subcommand locks" -l seconds -d 'Time for everything [default: 16 ms a row and round]' -r
complete -c mh -n "__fish_mh_using_subcommand locks" -l color -l colour -d 'Colour: on a terminal unless NO_COLOR is set, always, or never' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c mh -n "__fish_mh_using_subcommand locks" -l no-pin -d 'Let the scheduler place threads that would each have a CPU'
complete -c mh -n "__fish_mh_using_subcommand locks" -l json -d 'Print one JSON object'
complete -c mh -n "__fish_mh_using_subcommand locks" -l csv -d 'Print the rows as comma-separated values'
complete -c mh -n "__fish_mh_using_subcommand locks" -s l -l long -d 'Whole command lines; on a terminal they are otherwise cut at its width'
complete -c mh -n "__fish_mh_using_subcommand locks" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c mh -n "__fish_mh_using_subcommand timers; and not __fish_seen_subcommand_from run log-writer" -s c -l call -d 'Only this call; may be given again' -r -f -a "poll\t''
ppoll\t''
select\t''
pselect\t''
nanosleep\t''
usleep\t''
sleep\t''
clock_nanosleep\t''
clock_nanosleep abs\t''
cond_timedwait\t''
mutex_timedlock\t''
rwlock_timedrdlock\t''
rwlock_timedwrlock\t''
sem_timedwait\t''
semtimedop\t''
mq_timedreceive\t''
mq_timedsend\t''
sigtimedwait\t''
aio_suspend\t''
setitimer real\t''
alarm\t''
timer_settime\t''
recv SO_RCVTIMEO\t''
epoll_wait\t''
epoll_pwait2\t''
timerfd\t''
futex\t''
futex_waitv\t''
io_uring timeout\t''
io_uring_enter\t''"
complete -c mh -n "__fish_mh_using_subcommand timers; and not __fish_seen_subcommand_from run log-writer" -l wait -d 'Purpose of the waits' -r
complete -c mh -n "__fish_mh_using_subcommand timers; and not __fish_seen_subcommand_from run log-writer" -l slack -d 'Measure under this timer slack, too; may be given again [default: 1ns]' -r
complete -c mh -n "__fish_mh_using_subcommand timers; and not __fish_seen_subcommand_from run log-writer" -s n -l count -d 'Waits in each row; a row ends early after half a second' -r
complete -c mh -n "__fish_mh_using_subcommand timers; and not __fish_seen_subcommand_from run log-writer" -l color -l colour -d 'Colour: on a terminal unless NO_COLOR is set, always, or never' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c mh -n "__fish_mh_using_subcommand timers; and not __fish_seen_subcommand_from run log-writer" -l load -d 'Measure again with a spinning thread on every CPU'
complete -c mh -n "__fish_mh_using_subcommand timers; and not __fish_seen_subcommand_from run log-writer" -l per-cpu -d 'Measure on each CPU that this process may use (poll and clock_nanosleep, unless -c names others)'
complete -c mh -n "__fish_mh_using_subcommand timers; and not __fish_seen_subcommand_from run log-writer" -l json -d 'Print one JSON object'
complete -c mh -n "__fish_mh_using_subcommand timers; and not __fish_seen_subcommand_from run log-writer" -l csv -d 'Print the waits as comma-separated values'
complete -c mh -n "__fish_mh_using_subcommand timers; and not __fish_seen_subcommand_from run log-writer" -s l -l long -d 'Whole command lines; on a terminal they are otherwise cut at its width'
complete -c mh -n "__fish_mh_using_subcommand timers; and not __fish_seen_subcommand_from run log-writer" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c mh -n "__fish_mh_using_subcommand timers; and not __fish_seen_subcommand_from run log-writer" -f -a "run" -d 'Run a program with another timer slack'
complete -c mh -n "__fish_mh_using_subcommand timers; and not __fish_seen_subcommand_from run log-writer" -f -a "log-writer" -d 'Compare polling with waking: many threads wait for an event of one thread'
complete -c mh -n "__fish_mh_using_subcommand timers; and __fish_seen_subcommand_from run" -l slack -d 'The slack: 1ns for waits that end as exactly as the machine can' -r
complete -c mh -n "__fish_mh_using_subcommand timers; and __fish_seen_subcommand_from run" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c mh -n "__fish_mh_using_subcommand timers; and __fish_seen_subcommand_from log-writer" -l waiters -d 'Threads that wait' -r
complete -c mh -n "__fish_mh_using_subcommand timers; and __fish_seen_subcommand_from log-writer" -l every -d 'Time between two announcements' -r
complete -c mh -n "__fish_mh_using_subcommand timers; and __fish_seen_subcommand_from log-writer" -l time -d 'For how long each way is tried' -r
complete -c mh -n "__fish_mh_using_subcommand timers; and __fish_seen_subcommand_from log-writer" -l json -d 'Print one JSON object'
complete -c mh -n "__fish_mh_using_subcommand timers; and __fish_seen_subcommand_from log-writer" -s h -l help -d 'Print help'
complete -c mh -n "__fish_mh_using_subcommand load" -s f -l file -d 'Scripts in pgbench\'s language instead of a workload, each with its weight: FILE or FILE@WEIGHT; may be given again' -r
complete -c mh -n "__fish_mh_using_subcommand load" -l tables -d 'How many of sysbench\'s tables' -r
complete -c mh -n "__fish_mh_using_subcommand load" -l table-size -l table_size -d 'Rows of each of them' -r
complete -c mh -n "__fish_mh_using_subcommand load" -s s -l scale -d 'pgbench\'s scale: 100,000 accounts each' -r
complete -c mh -n "__fish_mh_using_subcommand load" -l keys -l rand-type -d 'Which rows sysbench\'s statements take: all alike, or some more often' -r -f -a "uniform\t'Each as often as any other'
gaussian\t'Those in the middle more often'
special\t'Some in the middle much more often: one in a hundred gets three of four'
pareto\t'The first ones more often: 80 and 20'
zipfian\t'Row k by 1/k^0.8'"
complete -c mh -n "__fish_mh_using_subcommand load" -s c -l connections -l threads -d 'How many connections' -r
complete -c mh -n "__fish_mh_using_subcommand load" -s j -l generators -d 'Threads of the generator, which share the connections' -r
complete -c mh -n "__fish_mh_using_subcommand load" -s M -l protocol -d 'How statements are sent: prepared once a connection, or as text each time' -r -f -a "simple\t'As text each time'
prepared\t'Prepared once a connection'"
complete -c mh -n "__fish_mh_using_subcommand load" -l pipeline -d 'Send so many of the workload\'s statements before a reply is waited for; a transaction is all of them (scripts have \\startpipeline)' -r
complete -c mh -n "__fish_mh_using_subcommand load" -s T -l time -d 'How long it is measured' -r
complete -c mh -n "__fish_mh_using_subcommand load" -l warmup -l warmup-time -d 'How long it runs before it is measured' -r
complete -c mh -n "__fish_mh_using_subcommand load" -l events -d 'No more transactions than this' -r
complete -c mh -n "__fish_mh_using_subcommand load" -s R -l rate -d 'Transactions a second, whatever the server does: 500, or over time 100@30s,200..1000@60s,1000 (,repeat: from the beginning again)' -r
complete -c mh -n "__fish_mh_using_subcommand load" -l arrivals -d 'How transactions of --rate lie beside each other' -r -f -a "poisson\t'As users come who do not know each other'
fixed\t'All gaps alike'"
complete -c mh -n "__fish_mh_using_subcommand load" -l tx-rate -d 'Transactions a second of all connections, each by a clock of its own; 0 is flat out' -r
complete -c mh -n "__fish_mh_using_subcommand load" -l tx-jitter -d 'How far a transaction of --tx-rate may lie from its place, in microseconds [default: 10 % of a connection\'s period]' -r
complete -c mh -n "__fish_mh_using_subcommand load" -l think -d 'How long a connection\'s user thinks between two transactions' -r
complete -c mh -n "__fish_mh_using_subcommand load" -l find-max -d 'Find the highest rate that meets a goal for response times: p99<10ms, or several as in p50<1ms,p99.9<20ms (also mean and max)' -r
complete -c mh -n "__fish_mh_using_subcommand load" -l find-within -d 'Search until the rates that meet and miss the goal differ by this many per cent at most' -r
complete -c mh -n "__fish_mh_using_subcommand load" -l sweep -d 'One run for each value: connections=1..2048 (doubled), 1..64@8 (in steps), 1,2,4,8 (a list), or rate=...; with --think it is the study of users' -r
complete -c mh -n "__fish_mh_using_subcommand load" -l rounds -d 'Go over all values of --sweep so often, forward and backward by turns' -r
complete -c mh -n "__fish_mh_using_subcommand load" -l point-selects -d 'Rows that a transaction reads by their key' -r
complete -c mh -n "__fish_mh_using_subcommand load" -l simple-ranges -d 'Ranges that it reads' -r
complete -c mh -n "__fish_mh_using_subcommand load" -l sum-ranges -d 'Sums over ranges' -r
complete -c mh -n "__fish_mh_using_subcommand load" -l order-ranges -d 'Ranges that it reads sorted' -r
complete -c mh -n "__fish_mh_using_subcommand load" -l distinct-ranges -d 'Ranges that it reads sorted and without duplicates' -r
complete -c mh -n "__fish_mh_using_subcommand load" -l range-selects -d 'Whether it reads ranges at all' -r
complete -c mh -n "__fish_mh_using_subcommand load" -l range-size -d 'Rows of a range' -r
complete -c mh -n "__fish_mh_using_subcommand load" -l index-updates -d 'Updates of the indexed column' -r
complete -c mh -n "__fish_mh_using_subcommand load" -l non-index-updates -d 'Updates of a column without an index' -r
complete -c mh -n "__fish_mh_using_subcommand load" -l delete-inserts -d 'Rows that it deletes and inserts again' -r
complete -c mh -n "__fish_mh_using_subcommand load" -l skip-trx -d 'Leave out BEGIN and COMMIT, so that each statement is a transaction' -r
complete -c mh -n "__fish_mh_using_subcommand load" -l create-secondary -d 'prepare: make an index on the column k' -r
complete -c mh -n "__fish_mh_using_subcommand load" -l auto-inc -d 'prepare and insert: let the server give keys, or make them here (the tables of insert then begin empty)' -r
complete -c mh -n "__fish_mh_using_subcommand load" -l mysql-storage-engine -d 'prepare: the storage engine of MySQL\'s tables' -r
complete -c mh -n "__fish_mh_using_subcommand load" -l rand-spec-iter -d 'gaussian, special: draws whose mean is taken' -r
complete -c mh -n "__fish_mh_using_subcommand load" -l rand-spec-pct -d 'special: per cent of the rows that are taken more often' -r
complete -c mh -n "__fish_mh_using_subcommand load" -l rand-spec-res -d 'special: per cent of the draws that take them' -r
complete -c mh -n "__fish_mh_using_subcommand load" -l rand-pareto-h -d 'pareto: the share of rows that has all draws but this share' -r
complete -c mh -n "__fish_mh_using_subcommand load" -l rand-zipfian-exp -d 'zipfian: row k by 1/k^EXPONENT' -r
complete -c mh -n "__fish_mh_using_subcommand load" -l overload -d 'What becomes of transactions that are due while every connection is busy: queue, queue:COUNT, drop' -r
complete -c mh -n "__fish_mh_using_subcommand load" -s P -l report-interval -l progress -d 'Report so often' -r
complete -c mh -n "__fish_mh_using_subcommand load" -l retries -d 'Begin a transaction again so often after a deadlock or a serialization failure' -r
complete -c mh -n "__fish_mh_using_subcommand load" -l seed -l rand-seed -d 'For all random numbers: the same seed makes the same load' -r
complete -c mh -n "__fish_mh_using_subcommand load" -l server-pid -d 'The server\'s first process, if it is not found by its address' -r
complete -c mh -n "__fish_mh_using_subcommand load" -l echo-service -d 'What the echo server does with requests, in turn: wait TIME, work TIME, COUNTx of it; as in 99xwait:1ms,wait:100ms' -r
complete -c mh -n "__fish_mh_using_subcommand load" -l echo-scheduler -d 'Who serves the echo server\'s connections: each a thread of its own, or pool:COUNT' -r
complete -c mh -n "__fish_mh_using_subcommand load" -l hgrm -d 'Write the response times into FILE as percentiles, as HdrHistogram\'s tools read them' -r -F
complete -c mh -n "__fish_mh_using_subcommand load" -l html -d 'Write a page with plots of the run into FILE, for a browser without a network' -r -F
complete -c mh -n "__fish_mh_using_subcommand load" -l think-varies -d 'Let the time of thought vary exponentially'
complete -c mh -n "__fish_mh_using_subcommand load" -l keep-going -d 'Go on when a statement fails or a connection is lost, and count it'
complete -c mh -n "__fish_mh_using_subcommand load" -l json -d 'Print a JSON object for each interval and one at the end'
complete -c mh -n "__fish_mh_using_subcommand load" -l live -d 'Show the run on a screen of its own while it goes on; its report is printed behind it'
complete -c mh -n "__fish_mh_using_subcommand load" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c mh -n "__fish_mh_using_subcommand bakeoff" -l results -d 'Where each measurement is kept [default: FILE with .results.jsonl, in this directory; for commands nowhere]' -r -F
complete -c mh -n "__fish_mh_using_subcommand bakeoff" -l directory -d 'Where servers have their data and sockets [default: a temporary directory]' -r -F
complete -c mh -n "__fish_mh_using_subcommand bakeoff" -l html -d 'Write the report as one page with plots' -r -F
complete -c mh -n "__fish_mh_using_subcommand bakeoff" -l at-least -d 'Rounds before it may end [default: 10 for commands, the file\'s for servers]' -r
complete -c mh -n "__fish_mh_using_subcommand bakeoff" -l at-most -l runs -d 'Rounds after which it ends [default: 1000 for commands, the file\'s for servers]' -r
complete -c mh -n "__fish_mh_using_subcommand bakeoff" -l budget -d 'No round begins that would not end within this time [default: 1m for commands, the file\'s for servers]' -r
complete -c mh -n "__fish_mh_using_subcommand bakeoff" -l width -d 'It ends once each multiple is known within so many per cent [default: 2, the file\'s for servers]' -r
complete -c mh -n "__fish_mh_using_subcommand bakeoff" -s w -l warmup -d 'Rounds that are not counted' -r
complete -c mh -n "__fish_mh_using_subcommand bakeoff" -s p -l prepare -d 'A shell command before each run, which is not measured: to drop caches, to remove what the last run made' -r
complete -c mh -n "__fish_mh_using_subcommand bakeoff" -s S -l shell -d 'The shell for the commands' -r
complete -c mh -n "__fish_mh_using_subcommand bakeoff" -l input -d 'A file as standard input of each run [default: nothing]' -r -F
complete -c mh -n "__fish_mh_using_subcommand bakeoff" -l command -d 'Compare shell commands instead: mh bakeoff --command \'sleep 1\' \'sleep 1.1\''
complete -c mh -n "__fish_mh_using_subcommand bakeoff" -l resume -d 'Go on with a comparison that was interrupted, or measure more: with what is in the file of results already'
complete -c mh -n "__fish_mh_using_subcommand bakeoff" -s a -l all -d 'Show every figure, not only the first ones'
complete -c mh -n "__fish_mh_using_subcommand bakeoff" -l json -d 'Print one JSON object instead of tables'
complete -c mh -n "__fish_mh_using_subcommand bakeoff" -s N -l no-shell -d 'No shell: the words of each command are a program and its arguments'
complete -c mh -n "__fish_mh_using_subcommand bakeoff" -s i -l ignore-failure -d 'Count runs that end with an exit code other than 0, too'
complete -c mh -n "__fish_mh_using_subcommand bakeoff" -l show-output -d 'Show what the commands print'
complete -c mh -n "__fish_mh_using_subcommand bakeoff" -s h -l help -d 'Print help'
complete -c mh -n "__fish_mh_using_subcommand crew; and not __fish_seen_subcommand_from set pause resume wait run" -s n -l count -d 'Print the list COUNT times; 0 goes on until Ctrl-C. On a terminal the default is a live view, elsewhere 1' -r
complete -c mh -n "__fish_mh_using_subcommand crew; and not __fish_seen_subcommand_from set pause resume wait run" -l color -l colour -d 'Colour: on a terminal unless NO_COLOR is set, always, or never' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c mh -n "__fish_mh_using_subcommand crew; and not __fish_seen_subcommand_from set pause resume wait run" -l json -d 'Print one JSON object'
complete -c mh -n "__fish_mh_using_subcommand crew; and not __fish_seen_subcommand_from set pause resume wait run" -l once -d 'Print which run holds which cores now, and exit: the same as -n 1'
complete -c mh -n "__fish_mh_using_subcommand crew; and not __fish_seen_subcommand_from set pause resume wait run" -s l -l long -d 'Whole command lines; on a terminal they are otherwise cut at its width'
complete -c mh -n "__fish_mh_using_subcommand crew; and not __fish_seen_subcommand_from set pause resume wait run" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c mh -n "__fish_mh_using_subcommand crew; and not __fish_seen_subcommand_from set pause resume wait run" -a "set" -d 'Change a run\'s class or weight'
complete -c mh -n "__fish_mh_using_subcommand crew; and not __fish_seen_subcommand_from set pause resume wait run" -a "pause" -d 'Make a run give back all its cores; it keeps its memory'
complete -c mh -n "__fish_mh_using_subcommand crew; and not __fish_seen_subcommand_from set pause resume wait run" -a "resume" -d 'Resume a paused run'
complete -c mh -n "__fish_mh_using_subcommand crew; and not __fish_seen_subcommand_from set pause resume wait run" -a "wait" -d 'Wait until runs have ended'
complete -c mh -n "__fish_mh_using_subcommand crew; and not __fish_seen_subcommand_from set pause resume wait run" -a "run" -d 'Run a program with a share of the cores'
complete -c mh -n "__fish_mh_using_subcommand crew; and __fish_seen_subcommand_from set" -l priority -d 'Its new class' -r -f -a "high\t'Served first'
normal\t'Everyday work'
low\t'Gives way to normal work'
idle\t'Gets cores that no other run wants'"
complete -c mh -n "__fish_mh_using_subcommand crew; and __fish_seen_subcommand_from set" -l weight -d 'Its new share within the class; 100 is usual' -r
complete -c mh -n "__fish_mh_using_subcommand crew; and __fish_seen_subcommand_from set" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c mh -n "__fish_mh_using_subcommand crew; and __fish_seen_subcommand_from pause" -s h -l help -d 'Print help'
complete -c mh -n "__fish_mh_using_subcommand crew; and __fish_seen_subcommand_from resume" -s h -l help -d 'Print help'
complete -c mh -n "__fish_mh_using_subcommand crew; and __fish_seen_subcommand_from wait" -l timeout -d 'Wait at most so long (90, 1.5m, 2h)' -r
complete -c mh -n "__fish_mh_using_subcommand crew; and __fish_seen_subcommand_from wait" -l idle -d 'Wait until a core is free that no run waits for, instead; job slots that no program has read count as free'
complete -c mh -n "__fish_mh_using_subcommand crew; and __fish_seen_subcommand_from wait" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c mh -n "__fish_mh_using_subcommand crew; and __fish_seen_subcommand_from run" -l priority -d 'Its class (default: the runner\'s, else the settings file\'s, else normal)' -r -f -a "high\t'Served first'
normal\t'Everyday work'
low\t'Gives way to normal work'
idle\t'Gets cores that no other run wants'"
complete -c mh -n "__fish_mh_using_subcommand crew; and __fish_seen_subcommand_from run" -l weight -d 'Its share among the runs of its class (usual: 100)' -r
complete -c mh -n "__fish_mh_using_subcommand crew; and __fish_seen_subcommand_from run" -s j -l hands -d 'It can use N cores at most (default, and 0: all that this process may use)' -r
complete -c mh -n "__fish_mh_using_subcommand crew; and __fish_seen_subcommand_from run" -l what -d 'Description in mh crew (default: its command line)' -r
complete -c mh -n "__fish_mh_using_subcommand crew; and __fish_seen_subcommand_from run" -l jobserver -d 'How make, ninja and cargo in the program get job slots, one for each core beyond the first' -r -f -a "fds\t'Two descriptors that they inherit'
fifo\t'A named pipe'
off\t'Not at all'"
complete -c mh -n "__fish_mh_using_subcommand crew; and __fish_seen_subcommand_from run" -l explain -d 'Print the plan with its reasons and do nothing'
complete -c mh -n "__fish_mh_using_subcommand crew; and __fish_seen_subcommand_from run" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c mh -n "__fish_mh_using_subcommand tour" -s h -l help -d 'Print help'
complete -c mh -n "__fish_mh_using_subcommand links" -l only -d 'Make only these' -r
complete -c mh -n "__fish_mh_using_subcommand links" -l hard -d 'Make hard links instead of symbolic ones'
complete -c mh -n "__fish_mh_using_subcommand links" -s f -l force -d 'Replace links that were made for another copy of this program'
complete -c mh -n "__fish_mh_using_subcommand links" -s h -l help -d 'Print help'
