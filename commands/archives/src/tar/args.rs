//! The options of `mh tar`: GNU tar's names and letters. Says nothing about what they do together (`super::plan`).

mod incremental;
mod selecting;
mod telling;
mod volumes;
mod writing;

use super::selection::TypedSelection;
use super::totals::TotalsProgress;
use super::warnings::{self, Wish};
use super::words::Quoting;
use clap::{ArgAction, ArgGroup, Args};
pub use incremental::IncrementalArgs;
use mh_kit::shared_args::SharedArgs;
pub use selecting::{ChoiceArgs, ListReadingArgs, MatchingArgs, SelectionArgs, SelectionIds, SignArgs};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
pub use telling::TellingArgs;
pub use volumes::VolumeArgs;
pub use writing::WritingArgs;

/// Make, list and extract tar archives on all cores
///
/// Works as GNU tar does, on one archive: from and to files and pipes, packed or not, in all formats that tar has had.
/// Members are extracted and files read by as many hands as there are cores; the result is the same for any number of them.
#[derive(Args, Debug)]
#[command(group = ArgGroup::new("operation").required(true).args(
    ["create", "extract", "list", "append", "update", "diff", "concatenate", "delete", "test_label",
    "show_defaults"]))]
pub struct TarArgs {
    /// Files to archive; members to extract or list (default: all)
    #[arg(value_name = "NAME")]
    pub names: Vec<OsString>,

    /// What to do.
    #[command(flatten)]
    pub operation: OperationArgs,

    /// The archive; - is standard input or output, also the default
    #[arg(short = 'f', long, value_name = "ARCHIVE", action = ArgAction::Append)]
    pub file: Vec<PathBuf>,

    /// Archives that span volumes.
    #[command(flatten)]
    pub volumes: VolumeArgs,

    /// Print each member; twice: with its metadata
    #[arg(short = 'v', long, action = ArgAction::Count)]
    pub verbose: u8,

    /// How the archive is packed.
    #[command(flatten)]
    pub packing: PackingArgs,

    /// Restore modes exactly, ignoring the umask (default for root)
    #[arg(short = 'p', long, visible_alias = "same-permissions", hide_short_help = true)]
    pub preserve_permissions: bool,

    /// Apply the umask to modes (default for users)
    #[arg(long, overrides_with = "preserve_permissions", hide_short_help = true)]
    pub no_same_permissions: bool,

    /// What becomes of files that have a member's name already.
    #[command(flatten)]
    pub existing: ExistingArgs,

    /// What is archived or extracted, besides names.
    #[command(flatten)]
    pub choice: ChoiceArgs,

    /// The same, but what says it of itself.
    #[command(flatten)]
    pub signs: SignArgs,

    /// Cut N leading names off
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub strip_components: usize,

    /// Rename members, and where links lead, by sed's s/PATTERN/REPLACEMENT/[gix]; flags r s h, R S H choose which
    #[arg(long, visible_alias = "xform", value_name = "EXPRESSION", action = ArgAction::Append, hide_short_help = true)]
    pub transform: Vec<String>,

    /// How names match.
    #[command(flatten)]
    pub matching: MatchingArgs,

    /// How lists of names are read.
    #[command(flatten)]
    pub reading: ListReadingArgs,

    /// Extract to standard output
    #[arg(short = 'O', long, hide_short_help = true)]
    pub to_stdout: bool,

    /// Run COMMAND for each file with its data as input, and with TAR_FILENAME, TAR_SIZE and the like
    #[arg(long, value_name = "COMMAND", hide_short_help = true)]
    pub to_command: Option<OsString>,

    /// Exit codes of --to-command do not count
    #[arg(long, hide_short_help = true)]
    pub ignore_command_error: bool,

    /// They do: the default
    #[arg(long, overrides_with = "ignore_command_error", hide = true)]
    pub no_ignore_command_error: bool,

    /// Pass over members in front of NAME
    #[arg(short = 'K', long, value_name = "NAME", hide_short_help = true)]
    pub starting_file: Option<OsString>,

    /// How directories and links are gone through.
    #[command(flatten)]
    pub walk: WalkArgs,

    /// Keep leading slashes and .. in names
    #[arg(short = 'P', long, hide_short_help = true)]
    pub absolute_names: bool,

    /// Set modification times to the time of extraction
    #[arg(short = 'm', long, hide_short_help = true)]
    pub touch: bool,

    /// Owners, modes and times.
    #[command(flatten)]
    pub metadata: MetadataArgs,

    /// Order within directories: name (default), inode or none
    #[arg(long, value_name = "ORDER", value_parser = ["name", "inode", "none"], hide_short_help = true)]
    pub sort: Option<String>,

    /// Format to write: pax (default), gnu, oldgnu, ustar or v7
    #[arg(short = 'H', long, value_name = "FORMAT", value_parser = ["pax", "posix", "gnu", "oldgnu", "ustar", "v7"], hide_short_help = true)]
    pub format: Option<String>,

    /// Of extended headers: delete=PATTERN, exthdr.name=TEXT, KEY=VALUE of all members, KEY:=VALUE of each; commas between them
    #[arg(long, value_name = "OPTIONS", hide_short_help = true)]
    pub pax_option: Vec<String>,

    /// Extract into a directory named after the archive, or into DIR
    #[arg(long, value_name = "DIR", num_args = 0..=1, require_equals = true, default_missing_value = "", hide_short_help = true)]
    pub one_top_level: Option<OsString>,

    /// Metadata that not all file systems have.
    #[command(flatten)]
    pub extended: ExtendedArgs,

    /// Look for holes in files
    #[arg(short = 'S', long, hide_short_help = true)]
    pub sparse: bool,

    /// Incremental archives.
    #[command(flatten)]
    pub incremental: IncrementalArgs,

    /// Neither write nor read an index of members
    #[arg(long, hide_short_help = true)]
    pub no_index: bool,

    /// Zero blocks do not end the archive
    #[arg(short = 'i', long, hide_short_help = true)]
    pub ignore_zeros: bool,

    /// Files that cannot be read do not count as failures
    #[arg(long, hide_short_help = true)]
    pub ignore_failed_read: bool,

    /// Of several members of a name take the Nth, or the first
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "1", hide_short_help = true,
        value_parser = clap::value_parser!(u64).range(1..))]
    pub occurrence: Option<u64>,

    /// How files become members.
    #[command(flatten)]
    pub writing: WritingArgs,

    /// Reports of the run.
    #[command(flatten)]
    pub telling: TellingArgs,

    /// Warnings: all, none, KEYWORD or no-KEYWORD, with GNU tar's keywords and `ambiguous`
    #[arg(long, value_name = "KEYWORD", action = ArgAction::Append, value_parser = warnings::parse, hide_short_help = true)]
    pub warning: Vec<Wish>,

    /// Extract an archive you do not trust: strict grammar, no devices, no set-id bits, quotas
    #[arg(long)]
    pub untrusted: bool,

    /// Print what would be extracted, and extract nothing
    #[arg(long)]
    pub dry_run: bool,

    /// How lists look.
    #[command(flatten)]
    pub lists: ListArgs,

    /// Taken for GNU tar's sake.
    #[command(flatten)]
    pub habits: HabitArgs,

    /// Print version
    #[arg(long, action = ArgAction::Version)]
    pub version: Option<bool>,

    /// Print help
    #[arg(long, alias = "usage", short_alias = '?', action = ArgAction::HelpLong)]
    pub help: Option<bool>,

    /// Hands, priority, memory, plan and report.
    #[command(flatten)]
    pub shared: SharedArgs,

    /// No option: what `selection` made of names and the options between them.
    #[arg(skip)]
    pub selection: TypedSelection,

    /// No option: how names are shown.
    #[arg(skip)]
    pub quoting: Quoting,

    /// No option: how far the run is.
    #[arg(skip)]
    pub progress: TotalsProgress,

    /// No option: what `small` found.
    #[arg(skip)]
    pub is_small: bool,
}

impl TarArgs {
    /// The archive, or the first of its volumes; none: standard input or output, unless it is called `-`.
    pub fn archive(&self) -> Option<&Path> {
        self.file.first().map(PathBuf::as_path)
    }

    /// Whether one thread does all of it, one file after another.
    pub fn is_serial(&self) -> bool {
        self.is_small || self.telling.interactive
    }

    /// The format, for programs that are run.
    pub fn format_name(&self) -> &str {
        match self.format.as_deref() {
            None | Some("pax") => "posix",
            Some(format) => format,
        }
    }
}

/// What to do.
#[derive(Args, Debug)]
#[group(skip)]
pub struct OperationArgs {
    /// Make an archive
    #[arg(short = 'c', long)]
    pub create: bool,

    /// Extract
    #[arg(short = 'x', long, visible_alias = "get")]
    pub extract: bool,

    /// List
    #[arg(short = 't', long)]
    pub list: bool,

    /// Append files to the end of an archive
    #[arg(short = 'r', long, hide_short_help = true)]
    pub append: bool,

    /// Append files that are newer than their copies in the archive
    #[arg(short = 'u', long, hide_short_help = true)]
    pub update: bool,

    /// Compare the archive with the files
    #[arg(short = 'd', long, visible_alias = "compare", hide_short_help = true)]
    pub diff: bool,

    /// Append archives to an archive
    #[arg(short = 'A', long, visible_alias = "catenate", hide_short_help = true)]
    pub concatenate: bool,

    /// Delete members from an archive
    #[arg(long, hide_short_help = true)]
    pub delete: bool,

    /// Print the archive's label, or end with 1 if it is none of the names
    #[arg(long, hide_short_help = true)]
    pub test_label: bool,

    /// Print the options that are in force without any
    #[arg(long, hide_short_help = true)]
    pub show_defaults: bool,
}

impl OperationArgs {
    /// For programs that are run.
    pub fn letter(&self) -> &'static str {
        match () {
            () if self.create => "-c",
            () if self.extract => "-x",
            () if self.list => "-t",
            () if self.append => "-r",
            () if self.update => "-u",
            () if self.diff => "-d",
            () if self.concatenate => "-A",
            () if self.test_label => "--test-label",
            () => "--delete",
        }
    }
}

/// How the archive is packed.
#[derive(Args, Debug)]
#[group(skip)]
pub struct PackingArgs {
    /// gzip
    #[arg(short = 'z', long, visible_alias = "gunzip", alias = "ungzip", group = "packing")]
    pub gzip: bool,

    /// bzip2
    #[arg(short = 'j', long, group = "packing", hide_short_help = true)]
    pub bzip2: bool,

    /// xz
    #[arg(short = 'J', long, group = "packing", hide_short_help = true)]
    pub xz: bool,

    /// zstd
    #[arg(long, group = "packing")]
    pub zstd: bool,

    /// lz4
    #[arg(long, group = "packing", hide_short_help = true)]
    pub lz4: bool,

    /// lzma, written by the program of that name
    #[arg(long, group = "packing", hide_short_help = true)]
    pub lzma: bool,

    /// lzip, written by the program of that name
    #[arg(long, group = "packing", hide_short_help = true)]
    pub lzip: bool,

    /// lzop, by the program of that name
    #[arg(long, group = "packing", hide_short_help = true)]
    pub lzop: bool,

    /// compress, written by the program of that name
    #[arg(short = 'Z', long, alias = "uncompress", group = "packing", hide_short_help = true)]
    pub compress: bool,

    /// Compress by the suffix of the archive
    #[arg(short = 'a', long, group = "packing", hide_short_help = true)]
    pub auto_compress: bool,

    /// Pack with PROGRAM, unpack with PROGRAM -d
    #[arg(short = 'I', long, value_name = "PROGRAM", group = "packing", hide_short_help = true)]
    pub use_compress_program: Option<String>,

    /// Level of packing, as the format counts; with -g, 0 begins anew
    #[arg(long, value_name = "N", allow_negative_numbers = true, hide_short_help = true)]
    pub level: Option<i32>,
}

/// What becomes of files that have a member's name already.
#[derive(Args, Debug)]
#[group(skip)]
pub struct ExistingArgs {
    /// Keep existing files, and fail
    #[arg(short = 'k', long, group = "existing", hide_short_help = true)]
    pub keep_old_files: bool,

    /// Keep existing files, silently
    #[arg(long, group = "existing", hide_short_help = true)]
    pub skip_old_files: bool,

    /// Keep existing files that are newer than the member
    #[arg(long, group = "existing", hide_short_help = true)]
    pub keep_newer_files: bool,

    /// Overwrite files in place
    #[arg(long, group = "existing", hide_short_help = true)]
    pub overwrite: bool,

    /// Keep the metadata of existing directories
    #[arg(long, group = "existing", hide_short_help = true)]
    pub no_overwrite_dir: bool,

    /// Overwrite the metadata of directories that exist: the default
    #[arg(long, hide = true)]
    pub overwrite_dir: bool,

    /// Remove each file before it is extracted
    #[arg(short = 'U', long, group = "existing", hide_short_help = true)]
    pub unlink_first: bool,

    /// Rename what has a member's name: to NAME~, or as CONTROL says (none, simple, numbered, existing)
    #[arg(long, value_name = "CONTROL", num_args = 0..=1, require_equals = true, default_missing_value = "", hide_short_help = true)]
    pub backup: Option<String>,

    /// Suffix of simple backups in place of ~
    #[arg(long, value_name = "SUFFIX", hide_short_help = true)]
    pub suffix: Option<OsString>,

    /// Remove directories with all that is in them where a member of another kind is to be
    #[arg(long, hide_short_help = true)]
    pub recursive_unlink: bool,

    /// Follow symbolic links to directories
    #[arg(long, hide_short_help = true)]
    pub keep_directory_symlink: bool,
}

/// How directories and links are gone through.
#[derive(Args, Debug)]
#[group(skip)]
pub struct WalkArgs {
    /// Stay on one file system
    #[arg(long, hide_short_help = true)]
    pub one_file_system: bool,

    /// Archive the targets of symbolic links
    #[arg(short = 'h', long, hide_short_help = true)]
    pub dereference: bool,

    /// Archive every name of a file with its data
    #[arg(long, hide_short_help = true)]
    pub hard_dereference: bool,
}

/// Owners, modes and times.
#[derive(Args, Debug)]
#[group(skip)]
pub struct MetadataArgs {
    /// Restore owners (default for root)
    #[arg(long, overrides_with = "no_same_owner", hide_short_help = true)]
    pub same_owner: bool,

    /// Make the user the owner of extracted files
    #[arg(long, overrides_with = "same_owner", hide_short_help = true)]
    pub no_same_owner: bool,

    /// Extracting, the same; while archives are made, --format=v7
    #[arg(short = 'o', hide_short_help = true)]
    pub old: bool,

    /// Store and show owners by UID and GID, not by name
    #[arg(long, hide_short_help = true)]
    pub numeric_owner: bool,

    /// Owner to write into the archive: NAME, NAME:NUMBER or NUMBER
    #[arg(long, value_name = "OWNER", hide_short_help = true)]
    pub owner: Option<String>,

    /// Group to write into the archive
    #[arg(long, value_name = "GROUP", hide_short_help = true)]
    pub group: Option<String>,

    /// Mode to write into the archive, as chmod takes it: 644, go-w, a+rX
    #[arg(long, value_name = "MODE", hide_short_help = true)]
    pub mode: Option<String>,

    /// Time to write into the archive: a date as `date -d` takes it, or that of a file
    #[arg(long, value_name = "TIME", overrides_with = "set_mtime_command", hide_short_help = true)]
    pub mtime: Option<OsString>,

    /// Apply --mtime only to files that are newer
    #[arg(long, hide_short_help = true)]
    pub clamp_mtime: bool,

    /// Write the time that COMMAND prints for each file, whose name is its last argument
    #[arg(long, value_name = "COMMAND", overrides_with = "mtime", hide_short_help = true)]
    pub set_mtime_command: Option<OsString>,

    /// How that time is written, as strptime(3) takes it
    #[arg(long, value_name = "FORMAT", hide_short_help = true)]
    pub set_mtime_format: Option<String>,
}

/// Metadata that not all file systems have.
#[derive(Args, Debug)]
#[group(skip)]
pub struct ExtendedArgs {
    /// Keep, or restore, extended attributes
    #[arg(long, overrides_with = "no_xattrs", hide_short_help = true)]
    pub xattrs: bool,

    /// Leave out extended attributes: the default
    #[arg(long, overrides_with = "xattrs", hide_short_help = true)]
    pub no_xattrs: bool,

    /// Of the extended attributes, these (all where it is not given)
    #[arg(long, value_name = "PATTERN", action = ArgAction::Append, hide_short_help = true)]
    pub xattrs_include: Vec<OsString>,

    /// Of the extended attributes, not these
    #[arg(long, value_name = "PATTERN", action = ArgAction::Append, hide_short_help = true)]
    pub xattrs_exclude: Vec<OsString>,

    /// Keep, or restore, access control lists
    #[arg(long, overrides_with = "no_acls", hide_short_help = true)]
    pub acls: bool,

    /// Leave out access control lists: the default
    #[arg(long, overrides_with = "acls", hide_short_help = true)]
    pub no_acls: bool,

    /// Keep, or restore, labels of SELinux
    #[arg(long, overrides_with = "no_selinux", hide_short_help = true)]
    pub selinux: bool,

    /// Leave out labels of SELinux: the default
    #[arg(long, overrides_with = "selinux", hide_short_help = true)]
    pub no_selinux: bool,
}

/// How lists look.
#[derive(Args, Debug)]
#[group(skip)]
pub struct ListArgs {
    /// List times with all digits of the second
    #[arg(long, hide_short_help = true)]
    pub full_time: bool,

    /// Lists show times of UTC
    #[arg(long, hide_short_help = true)]
    pub utc: bool,

    /// Lists show names as --transform and --strip-components make them
    #[arg(long, visible_alias = "show-stored-names", hide_short_help = true)]
    pub show_transformed_names: bool,
}

/// Taken for GNU tar's sake.
#[derive(Args, Debug)]
#[group(skip)]
pub struct HabitArgs {
    /// Taken for GNU tar's sake; records are 20 blocks, and pipes take any
    #[arg(short = 'b', long, hide = true)]
    pub blocking_factor: Option<u32>,

    /// The same, in bytes
    #[arg(long, hide = true)]
    pub record_size: Option<OsString>,

    /// Taken for GNU tar's sake: what it asks for is so in any case
    #[arg(short = 'B', long, hide = true)]
    pub read_full_records: bool,

    /// As above
    #[arg(short = 's', long, alias = "same-order", hide = true)]
    pub preserve_order: bool,

    /// As above
    #[arg(short = 'n', long, alias = "no-seek", hide = true)]
    pub seek: bool,

    /// A colon in the archive's name does not make it one on another machine
    #[arg(long, hide_short_help = true)]
    pub force_local: bool,

    /// Taken for GNU tar's sake: no archive is on another machine
    #[arg(long, value_name = "COMMAND", hide = true)]
    pub rmt_command: Option<OsString>,

    /// As above
    #[arg(long, value_name = "COMMAND", hide = true)]
    pub rsh_command: Option<OsString>,

    /// Taken for GNU tar's sake: reading changes no times that are archived
    #[arg(long, value_name = "METHOD", num_args = 0..=1, require_equals = true, default_missing_value = "replace",
        value_parser = ["replace", "system"], hide_short_help = true)]
    pub atime_preserve: Option<String>,

    /// Taken for GNU tar's sake: lists have what is chosen
    #[arg(long, hide = true)]
    pub show_omitted_dirs: bool,

    /// As above
    #[arg(long, alias = "no-delay-directory-restore", hide = true)]
    pub delay_directory_restore: bool,

    /// As above
    #[arg(long, hide = true)]
    pub no_auto_compress: bool,

    /// Taken for GNU tar's sake: nobody is offered a shell
    #[arg(long, hide = true)]
    pub restrict: bool,

    /// As --format=posix
    #[arg(long, hide = true)]
    pub posix: bool,

    /// As --format=v7
    #[arg(long, alias = "portability", hide = true)]
    pub old_archive: bool,
}
