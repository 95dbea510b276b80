//! What is installed, and where below a prefix: for Debian's `/usr` and for any other. Writes it as a directory. Makes no archive.

use super::{failed, files_in, output, pages, text};
use std::path::{Path, PathBuf};
use std::process::Command;
use xtask::workspace::root;

/// Libraries that programs load.
const PRELOADS: [&str; 2] = ["libmhwrite.so", "libmhprefault.so"];

/// What was built.
pub struct Programs {
    /// The program.
    pub mh: PathBuf,
    /// The library for programs in C.
    pub library: Option<PathBuf>,
    /// The libraries that programs load: those of `mh mtwrite` and `mh vmtasks run`.
    pub preloads: Vec<PathBuf>,
}

impl Programs {
    /// A build for GNU's C library, all of it in one directory.
    pub fn of_gnu(directory: &Path) -> Self {
        let library = Some(directory.join("libmanyhands.a"));
        let preloads = PRELOADS.map(|file| directory.join(file)).to_vec();
        Self { mh: directory.join("mh"), library, preloads }
    }
}

/// A directory that differs between systems, or between kinds of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Manual pages.
    Manual,
    /// Completions of shells.
    Completion,
}

/// Who looks into the prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum System {
    /// `/usr` of Debian and what derives from it: packages have places of their own.
    Debian,
    /// `/usr/local`, `~/.local`, `/opt/manyhands`.
    Any,
}

/// Directories whose files are for users; the other documents are for people who change the program.
const DOCUMENTS: [&str; 4] = ["docs", "docs/commands", "docs/bakeoff", "docs/pictures"];

/// Files, each with its target below the prefix.
pub struct Layout {
    files: Vec<(Source, PathBuf)>,
}

enum Source {
    /// Copied.
    File(PathBuf),
    /// Copied without symbols and debug information.
    Program(PathBuf),
    /// Compressed by gzip, without name and time.
    Compressed(PathBuf),
    /// Written.
    Text(String),
}

impl Layout {
    /// All of it.
    pub fn new(programs: &Programs, system: System) -> Result<Self, String> {
        let mut layout = Self { files: Vec::new() };
        layout.add(Source::Program(programs.mh.clone()), "bin/mh");
        if let Some(library) = &programs.library {
            layout.add(Source::Program(library.clone()), "lib/libmanyhands.a");
            layout.add(Source::File(root().join("bindings/c/include/manyhands.h")), "include/manyhands.h");
        }
        for preload in &programs.preloads {
            layout.add(Source::Program(preload.clone()), &format!("lib/manyhands/{}", name(preload)?));
        }
        for page in pages(Place::Manual)? {
            let section = page.extension().and_then(|section| section.to_str()).ok_or("a page without a section")?;
            let target = format!("share/man/man{section}/{}.gz", name(&page)?);
            layout.add(Source::Compressed(page), &target);
        }
        for page in pages(Place::Completion)? {
            let target = completion(name(&page)?, system)?;
            layout.add(Source::File(page), &target);
        }
        // Off until somebody switches it on: an agent is asked for, not installed with the rest.
        layout.add(
            Source::File(root().join("xtask/src/package/mh-sysstat.service")),
            "lib/systemd/system/mh-sysstat.service",
        );
        for directory in DOCUMENTS {
            for document in files_in(&root().join(directory))? {
                let target = format!("share/doc/manyhands/{directory}/{}", name(&document)?);
                layout.add(Source::File(document), &target);
            }
        }
        layout.add(Source::Text(third_parties()?), "share/doc/manyhands/third-party.txt");
        layout.add(Source::File(root().join("README.md")), "share/doc/manyhands/README.md");
        Ok(layout)
    }

    /// A file that is copied.
    pub fn file(&mut self, source: PathBuf, target: &str) {
        self.add(Source::File(source), target);
    }

    /// A file that is compressed.
    pub fn compressed(&mut self, source: PathBuf, target: &str) {
        self.add(Source::Compressed(source), target);
    }

    /// A file with this text.
    pub fn text(&mut self, text: String, target: &str) {
        self.add(Source::Text(text), target);
    }

    fn add(&mut self, source: Source, target: &str) {
        self.files.push((source, PathBuf::from(target)));
    }

    /// The targets, in order of their names.
    pub fn targets(&self) -> Vec<&Path> {
        let mut targets: Vec<&Path> = self.files.iter().map(|(_, target)| target.as_path()).collect();
        targets.sort();
        targets
    }

    /// Writes everything below `prefix`.
    pub fn write(&self, prefix: &Path) -> Result<(), String> {
        for (source, target) in &self.files {
            source.write(&prefix.join(target))?;
        }
        Ok(())
    }
}

impl Source {
    fn write(&self, target: &Path) -> Result<(), String> {
        if let Some(directory) = target.parent() {
            std::fs::create_dir_all(directory).map_err(|error| failed("create", directory, &error))?;
        }
        let copied = |source: &Path| {
            let copied = std::fs::copy(source, target);
            copied.map(drop).map_err(|error| format!("{} to {}", failed("copy", source, &error), target.display()))
        };
        match self {
            Self::File(source) => copied(source)?,
            Self::Program(source) => {
                copied(source)?;
                // An archive's symbols are what it is linked by.
                output("strip", &["--strip-unneeded", "--remove-section=.comment", text(target)?])?;
            }
            Self::Compressed(source) => compress(source, target)?,
            Self::Text(text) => std::fs::write(target, text).map_err(|error| failed("write", target, &error))?,
        }
        let is_run = matches!(self, Self::Program(_)) && target.extension().is_none();
        set_mode(target, if is_run { 0o755 } else { 0o644 })
    }
}

fn compress(source: &Path, target: &Path) -> Result<(), String> {
    let made = std::fs::File::create(target).map_err(|error| failed("create", target, &error))?;
    let status = Command::new("gzip").args(["-9nc"]).arg(source).stdout(made).status();
    let status = status.map_err(|error| format!("could not run gzip: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("gzip of {} ended with {status}", source.display())) }
}

/// Sets permissions, whatever the umask was.
pub fn set_mode(path: &Path, mode: u32) -> Result<(), String> {
    use std::os::unix::fs::PermissionsExt;
    let permissions = std::fs::Permissions::from_mode(mode);
    std::fs::set_permissions(path, permissions).map_err(|error| failed("set the mode of", path, &error))
}

fn name(path: &Path) -> Result<&str, String> {
    path.file_name().and_then(|name| name.to_str()).ok_or(format!("{} has no name", path.display()))
}

/// Where each shell looks by itself.
fn completion(name: &str, system: System) -> Result<String, String> {
    Ok(match (name, system) {
        ("mh.bash", _) => "share/bash-completion/completions/mh".to_owned(),
        ("_mh", System::Debian) => "share/zsh/vendor-completions/_mh".to_owned(),
        ("_mh", System::Any) => "share/zsh/site-functions/_mh".to_owned(),
        ("mh.fish", _) => "share/fish/vendor_completions.d/mh.fish".to_owned(),
        (other, _) => return Err(format!("no shell is known that reads the completion {other}")),
    })
}

/// The crates within the program, each with its licence.
fn third_parties() -> Result<String, String> {
    let listed = output(
        "cargo",
        &["tree", "--package", "manyhands", "--edges", "normal", "--prefix", "none", "--format", "{p}: {l}"],
    )?;
    let ours = |line: &&str| !line.contains(&root().display().to_string()) && !line.is_empty();
    let mut lines: Vec<&str> = listed.lines().filter(ours).map(|line| line.trim_end_matches(" (*)")).collect();
    lines.sort_unstable();
    lines.dedup();
    Ok(format!(
        "Libraries that are part of mh, each with its licence:\n\n{}\nuPlot v1.6.32 (JavaScript): MIT\n",
        lines.join("\n")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(system: System) -> Layout {
        Layout::new(&Programs::of_gnu(Path::new("/none")), system).expect("the project has generated pages")
    }

    #[test]
    fn each_file_has_a_place_of_its_own_where_its_reader_looks() {
        for (system, zsh) in [(System::Debian, "vendor-completions"), (System::Any, "site-functions")] {
            let layout = layout(system);
            let mut targets = layout.targets();
            let all = targets.len();
            targets.dedup();
            assert_eq!(targets.len(), all);
            let zsh = format!("share/zsh/{zsh}/_mh");
            for expected in [
                "bin/mh",
                "share/man/man1/mh.1.gz",
                "lib/manyhands/libmhwrite.so",
                "lib/manyhands/libmhprefault.so",
                &zsh,
            ] {
                assert!(targets.contains(&Path::new(expected)), "{expected}");
            }
        }
        assert!(completion("mh.elv", System::Any).is_err());
    }

    #[test]
    fn links_of_the_readme_to_documents_lead_to_installed_files() {
        let readme = std::fs::read_to_string(root().join("README.md")).expect("the project has one");
        let links: Vec<&str> = readme
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split([')', '#']).next())
            .filter(|link| link.starts_with("docs/"))
            .collect();
        assert!(links.len() > 20, "{links:?}");
        let layout = layout(System::Debian);
        let targets = layout.targets();
        for link in links {
            assert!(targets.contains(&Path::new("share/doc/manyhands").join(link).as_path()), "{link}");
        }
    }

    #[test]
    fn a_static_program_comes_without_libraries() {
        let programs = Programs { mh: "/none/mh".into(), library: None, preloads: Vec::new() };
        let layout = Layout::new(&programs, System::Any).expect("the project has generated pages");
        // The service manager's directory is below lib, too; its unit is no library.
        let is_library = |target: &Path| target.starts_with("lib") && !target.starts_with("lib/systemd");
        assert!(!layout.targets().iter().any(|target| is_library(target) || target.starts_with("include")));
    }

    #[test]
    fn libraries_are_listed_with_their_licences_and_ours_are_not() {
        let text = third_parties().expect("cargo can list them");
        assert!(text.lines().any(|line| line.starts_with("clap v") && line.contains("MIT")), "{text}");
        assert!(!text.contains("manyhands v"), "{text}");
    }

    #[test]
    fn what_is_written_has_its_text_and_mode_and_compressing_is_repeatable() {
        use std::os::unix::fs::MetadataExt;
        let directory = tempfile::tempdir().expect("a directory");
        let at = |name: &str| directory.path().join(name);
        std::fs::write(at("source"), "text").expect("a file");
        let mut layout = Layout { files: Vec::new() };
        layout.file(at("source"), "a/copied");
        layout.compressed(at("source"), "a/one.gz");
        layout.text("new".to_owned(), "text");
        layout.write(&at("x")).expect("written");
        layout.write(&at("y")).expect("written");
        let read = |name: &str| std::fs::read(at(name)).expect("it is there");
        assert_eq!((read("x/a/copied"), read("x/text")), (b"text".to_vec(), b"new".to_vec()));
        assert_eq!(read("x/a/one.gz"), read("y/a/one.gz"));
        assert_eq!(std::fs::metadata(at("x/text")).expect("it is there").mode() & 0o7777, 0o644);
        layout.file(at("nothing"), "b");
        assert!(layout.write(&at("z")).expect_err("no source").starts_with("could not copy"));
    }
}
