//! Job slots for make, ninja and cargo below a run: which kind of pipe they lie in, and the variable that leads to it.

use crew::jobserver::{Pool, flags};
use jobs::Variables;
use std::io;
use std::path::Path;

/// How such programs find their slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum SlotStyle {
    /// Two descriptors that they inherit
    Fds,
    /// A named pipe
    Fifo,
    /// Not at all
    Off,
}

/// What the variable is called.
const MAKEFLAGS: &[u8] = b"MAKEFLAGS=";

/// The pipe; a named one lies in `directory`.
pub fn pool(style: SlotStyle, directory: &Path) -> io::Result<Pool> {
    match style {
        SlotStyle::Fifo => Pool::named(directory.join(format!("mh-{}-slots", std::process::id()))),
        SlotStyle::Fds | SlotStyle::Off => Pool::of_descriptors(),
    }
}

/// `environment` with the way to `pool`, for up to `most` jobs at once, among the user's own flags for make.
pub fn with_pool(environment: &Variables, most: usize, pool: &Pool) -> Variables {
    let old = environment.iter().find_map(|variable| variable.strip_prefix(MAKEFLAGS)).unwrap_or_default();
    let own = [MAKEFLAGS, &flags(old, most - 1, &pool.auth())].concat();
    let mut words = Variables::default();
    let others = environment.iter().filter(|variable| !variable.starts_with(MAKEFLAGS));
    for variable in others.chain([own.as_slice()]) {
        // They came from the kernel, and a path of ours has no NUL.
        let _never_refused = words.push(variable);
    }
    words
}
