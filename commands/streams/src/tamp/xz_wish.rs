//! Options that only the old name xz has, on their way to the plan: filters, blocks, limits, lists.
//! Decides nothing: `old_names::xz` fills it, plan and run look into it.

use super::TampArgs;
use codec::filter_chain::{ChainFilter, FilterChain};
use codec::format::BlockOptions;
use codec::reading::StreamReading;
use mh_kit::context::Context;
use mh_kit::failure::{Failure, Outcome};
use std::ffi::OsString;
use std::fs::File;

/// Requests beyond the options of `mh tamp`.
#[derive(Debug, Default)]
pub struct XzWish {
    /// As it was typed.
    pub typed: XzTyped,
    /// Filters and blocks to write.
    pub blocks: BlockOptions,
    /// Whether blocks are written in order, as their bytes come, without their sizes.
    pub is_in_order: bool,
    /// Whether raw streams are written.
    pub is_raw: bool,
    /// The way streams are read.
    pub reading: StreamReading,
    /// Whether limits of xz's kind hold: what filters hold counts against them, and lanes do not share them.
    pub has_limits: bool,
    /// Whether lists are for scripts.
    pub is_for_scripts: bool,
    /// Lists files.
    pub lists: Option<ListFiles>,
    /// The list of files, until it is read.
    pub file_list: Option<FileList>,
    /// Whether a list names files.
    pub has_list_of_files: bool,
    /// Errors so far, in spite of which files can be worked on.
    pub errors: Vec<String>,
}

/// Lists the files of a command line.
pub type ListFiles = fn(&Context, &TampArgs) -> Result<Outcome, Failure>;

/// A list of files: opened where its option stands, read behind all options.
#[derive(Debug)]
pub struct FileList {
    /// None is standard input.
    pub from: Option<File>,
    pub name: OsString,
    /// Ends a name.
    pub end: u8,
}

/// A command line's options before they are compared with each other.
#[derive(Clone, Debug)]
pub struct XzTyped {
    /// The filters of the chain, in order.
    pub filters: Vec<ChainFilter>,
    /// Whether they came all at once.
    pub is_from_string: bool,
    /// The chains that a list of blocks may name, 1 to 9.
    pub numbered: [Option<FilterChain>; 9],
    /// Chain number and size of each block.
    pub list: Vec<(usize, u64)>,
    pub block_bytes: u64,
    /// Milliseconds.
    pub flush_timeout: u64,
    pub limits: XzLimits,
    /// Whether settings may be lowered to fit a limit.
    pub adjusts: bool,
    /// Whether threads are in order: `-T1`, without a plus.
    pub is_single_threaded: bool,
    /// The limits as they were when they were asked for, and whether for scripts.
    pub shown: Option<(XzLimits, bool)>,
}

impl Default for XzTyped {
    fn default() -> Self {
        Self {
            filters: Vec::new(),
            is_from_string: false,
            numbered: [None; 9],
            list: Vec::new(),
            block_bytes: 0,
            flush_timeout: 0,
            limits: XzLimits::default(),
            adjusts: true,
            is_single_threaded: false,
            shown: None,
        }
    }
}

/// Bytes that may be held; 0 means the default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct XzLimits {
    pub compress: u64,
    pub decompress: u64,
    /// Decompressing on several cores.
    pub in_parallel: u64,
}
