//! A tarball with an installer, packed by the program itself.

use super::layout::{Layout, Programs, System, set_mode};
use super::{VERSION, architecture, epoch, failed, lay_out, output, text};
use std::path::{Path, PathBuf};
use xtask::workspace::root;

const INSTALLER: &str = include_str!("install.sh");

/// Makes it; returns its path. `system` is the C library's: `linux-gnu`.
pub fn package(programs: &Programs, system: &str, into: &Path) -> Result<PathBuf, String> {
    let (_, architecture) = architecture();
    let name = format!("manyhands-{VERSION}-{architecture}-{system}");
    let directory = into.join(&name);
    let mut layout = Layout::new(programs, System::Any)?;
    for licence in ["LICENSE-MIT", "LICENSE-APACHE"] {
        layout.file(root().join(licence), &format!("share/doc/manyhands/{licence}"));
    }
    lay_out(&layout, &directory)?;
    let files: Vec<String> = layout.targets().iter().map(|target| target.display().to_string()).collect();
    for (file, contents, mode) in
        [("FILES", files.join("\n") + "\n", 0o644), ("install.sh", INSTALLER.to_owned(), 0o755)]
    {
        let path = directory.join(file);
        std::fs::write(&path, contents).map_err(|error| failed("write", &path, &error))?;
        set_mode(&path, mode)?;
    }
    let made = into.join(format!("{name}.tar.gz"));
    let time = format!("--mtime=@{}", epoch()?);
    let (into, target) = (text(into)?, text(&made)?);
    let arguments =
        ["tar", "-czf", target, "--sort=name", "--owner=0", "--group=0", "--numeric-owner", &time, "-C", into, &name];
    output(text(&programs.mh)?, &arguments)?;
    std::fs::remove_dir_all(&directory).map_err(|error| failed("remove", &directory, &error))?;
    Ok(made)
}
