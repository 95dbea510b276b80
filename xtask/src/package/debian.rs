//! The Debian package, by `dpkg-deb`: control file, changelog and copyright as Debian's policy asks for them (chapters 5 and 12).

use super::layout::{Layout, Programs, System, set_mode};
use super::{VERSION, architecture, epoch, failed, lay_out, needs, output, text};
use std::path::{Path, PathBuf};
use std::process::Command;
use xtask::workspace::{has_program, root};

const MAINTAINER: &str = "The manyhands authors <manyhands@users.noreply.github.com>";
const COPYRIGHT: &str = include_str!("copyright");
/// They look after the unit: dpkg runs them.
const MAINTAINER_SCRIPTS: [(&str, &str); 3] =
    [("postinst", include_str!("postinst")), ("prerm", include_str!("prerm")), ("postrm", include_str!("postrm"))];
/// Of the package, not of the program.
const REVISION: u32 = 1;

/// LIMIT: what people download, of a release; a dependency that doubles it is to be noticed.
const MOST_BYTES: u64 = 15_000_000;

/// Makes it, compressed by xz at `level` (`-z6`); returns its path.
pub fn package(programs: &Programs, into: &Path, level: &str) -> Result<PathBuf, String> {
    if !has_program("dpkg-deb") {
        return Err("could not make a Debian package: dpkg-deb is not installed (package dpkg)".to_owned());
    }
    let directory = into.join("debian");
    let mut layout = Layout::new(programs, System::Debian)?;
    let documents = "share/doc/manyhands";
    let changelog = into.join("changelog.Debian");
    std::fs::write(&changelog, changelog_text()?).map_err(|error| failed("write", &changelog, &error))?;
    layout.compressed(changelog.clone(), &format!("{documents}/changelog.Debian.gz"));
    layout.compressed(root().join("CHANGELOG.md"), &format!("{documents}/changelog.gz"));
    layout.text(COPYRIGHT.to_owned(), &format!("{documents}/copyright"));
    lay_out(&layout, &directory.join("usr"))?;
    write_control(programs, &layout, &directory)?;
    let (architecture, _) = architecture();
    let made = into.join(format!("manyhands_{VERSION}-{REVISION}_{architecture}.deb"));
    let built = Command::new("dpkg-deb")
        .args(["--root-owner-group", "-Zxz", level, "--build"])
        .args([&directory, &made])
        .env("SOURCE_DATE_EPOCH", epoch()?)
        .output();
    let built = built.map_err(|error| format!("could not run dpkg-deb: {error}"))?;
    if !built.status.success() {
        return Err(format!("dpkg-deb failed: {}", String::from_utf8_lossy(&built.stderr).trim()));
    }
    for used in [directory.as_path(), changelog.as_path()] {
        let removed = if used.is_dir() { std::fs::remove_dir_all(used) } else { std::fs::remove_file(used) };
        removed.map_err(|error| failed("remove", used, &error))?;
    }
    Ok(made)
}

/// An error if a package for a release is larger than people should have to download.
pub fn check_size(package: &Path) -> Result<(), String> {
    let bytes = std::fs::metadata(package).map_err(|error| failed("read", package, &error))?.len();
    if bytes <= MOST_BYTES {
        return Ok(());
    }
    Err(format!(
        "{} has {bytes} bytes, and {MOST_BYTES} is the limit (size -A shows what is in the program)",
        package.display()
    ))
}

fn write_control(programs: &Programs, layout: &Layout, directory: &Path) -> Result<(), String> {
    let control = directory.join("DEBIAN");
    std::fs::create_dir_all(&control).map_err(|error| failed("create", &control, &error))?;
    // An umask of 077 would make directories that nobody else can read.
    for place in output("find", &[text(directory)?, "-type", "d"])?.lines() {
        set_mode(Path::new(place), 0o755)?;
    }
    let mut sums = String::new();
    let mut bytes = 0;
    for target in layout.targets() {
        let file = directory.join("usr").join(target);
        bytes += std::fs::metadata(&file).map_err(|error| failed("read", &file, &error))?.len();
        let sum = output("md5sum", &[text(&file)?])?;
        let sum = sum.split(' ').next().unwrap_or_default();
        sums.push_str(&format!("{sum}  usr/{}\n", target.display()));
    }
    let needed = needs::of_all(programs)?;
    let write = |name: &str, contents: &str, mode| {
        let file = control.join(name);
        std::fs::write(&file, contents).map_err(|error| failed("write", &file, &error))?;
        set_mode(&file, mode)
    };
    write("control", &control_text(bytes.div_ceil(1024), needed), 0o644)?;
    write("md5sums", &sums, 0o644)?;
    MAINTAINER_SCRIPTS.iter().try_for_each(|(name, script)| write(name, script, 0o755))
}

/// The libraries that programs load unwind by that of the C compiler.
fn control_text(installed_kib: u64, (major, minor): needs::Version) -> String {
    let (architecture, _) = architecture();
    format!(
        "Package: manyhands\n\
         Version: {VERSION}-{REVISION}\n\
         Architecture: {architecture}\n\
         Maintainer: {MAINTAINER}\n\
         Installed-Size: {installed_kib}\n\
         Depends: libc6 (>= {major}.{minor}), libgcc-s1\n\
         Section: utils\n\
         Priority: optional\n\
         Homepage: https://github.com/manyhands/manyhands\n\
         Description: everyday Unix utilities on every core\n \
         Parallel gzip, zstd, xz, bzip2 and lz4, tar, cp, mv, rm and a runner for lists\n \
         of jobs, which share the cores of the machine, and instruments that show what\n \
         limits it: busy threads, time in system calls, CPU time of processes. It is\n \
         one program, mh; \"mh links DIR\" makes links under the names of old tools.\n"
    )
}

fn changelog_text() -> Result<String, String> {
    let date = output("date", &["-R", "-u", "-d", &format!("@{}", epoch()?)])?;
    Ok(format!(
        "manyhands ({VERSION}-{REVISION}) unstable; urgency=medium\n\n  \
         * Release {VERSION}. changelog.gz lists the changes.\n\n \
         -- {MAINTAINER}  {}\n",
        date.trim()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_control_file_states_needs_and_size() {
        let text = control_text(1234, (2, 36));
        assert!(
            text.contains("Depends: libc6 (>= 2.36), libgcc-s1\n") && text.contains("Installed-Size: 1234\n"),
            "{text}"
        );
        let (_, description) = text.split_once("Description: ").expect("it has one");
        assert!(description.lines().skip(1).all(|line| line.starts_with(' ') && line.len() <= 80), "{description}");
    }

    #[test]
    fn a_package_above_the_limit_is_refused() {
        let place = tempfile::tempdir().expect("a directory");
        let package = place.path().join("x.deb");
        let of_bytes = |bytes| {
            let file = std::fs::File::create(&package).expect("a file");
            file.set_len(bytes).expect("a length");
            check_size(&package)
        };
        assert_eq!(of_bytes(MOST_BYTES), Ok(()));
        assert!(of_bytes(MOST_BYTES + 1).expect_err("too large").contains("15000001 bytes"));
    }

    #[test]
    fn the_changelog_has_the_form_of_debians_policy() {
        let text = changelog_text().expect("date(1) works");
        assert!(text.starts_with("manyhands (0.") && text.contains("\n -- The manyhands authors <"), "{text}");
        assert!(text.trim_end().ends_with("+0000"), "{text}");
    }
}
