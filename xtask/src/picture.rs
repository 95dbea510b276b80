//! `cargo xtask picture`: draws the README's picture anew. Commands run in a terminal of tmux, and its screens become one SVG
//! that shows them in turn. It needs tmux and a built `target/release/mh`. Numbers are those of this machine at this moment.

mod svg;

use clap::Args;
use std::path::{Path, PathBuf};
use std::process::Command;
use svg::Screen;
use xtask::workspace::{release_binary, root};

/// What to draw.
#[derive(Args)]
pub struct PictureArguments {
    /// The directory that the commands work on; a copy of it is made in memory
    #[arg(long, value_name = "DIR", default_value = "/usr/share")]
    tree: PathBuf,
    /// Where the picture goes
    #[arg(long, value_name = "FILE", default_value = "docs/pictures/mh.svg")]
    into: PathBuf,
}

/// The size of the terminal.
const COLUMNS: usize = 100;
const ROWS: usize = 13;

/// What each screen shows: commands, one after another. One that ends in `#` is run and not shown.
const SCREENS: &[&[&str]] = &[
    &["mh tamp -3 --report db.tar"],
    &[
        "mh tar cf home.tar.zst --zstd home",
        "mh tar tf home.tar.zst | wc -l",
        "mh cp -a home copy",
        "mh rm -rf copy",
        "mh xjobs -k cksum ::: *.tar *.zst",
    ],
    &["awk 'BEGIN { while (1) n++ }' & sleep 0.2 #", "mh ceiling 3 awk", "mh pstime 3 awk", "kill %1 #"],
    &[
        "mh tamp -19 --priority low db.tar -o low.zst 2>/dev/null & sleep 1 #",
        "mh tamp -19 --priority high db.tar -o high.zst 2>/dev/null & sleep 6 #",
        "mh crew --once",
        "kill %1 %2 #",
    ],
];

/// Prepares, runs and draws.
pub fn run(arguments: &PictureArguments) -> Result<(), String> {
    let program = release_binary()?;
    if !program.is_file() {
        return Err(format!("{} is not there: cargo build --release makes it", program.display()));
    }
    let scratch = tempfile::tempdir_in("/dev/shm").map_err(|error| format!("could not make a directory: {error}"))?;
    let directory = scratch.path();
    prepare(&program, &arguments.tree, directory)?;
    let screens = SCREENS.iter().enumerate().map(|(number, commands)| screen(&program, directory, number, commands));
    let screens = screens.collect::<Result<Vec<_>, _>>()?;
    let into = root().join(&arguments.into);
    let failed = |error| format!("could not write {}: {error}", into.display());
    if let Some(parent) = into.parent() {
        std::fs::create_dir_all(parent).map_err(failed)?;
    }
    std::fs::write(&into, svg::drawn(&screens, COLUMNS, ROWS)).map_err(failed)?;
    println!("{}", into.display());
    Ok(())
}

/// A tree and a large file to work on.
fn prepare(program: &Path, tree: &Path, directory: &Path) -> Result<(), String> {
    done(Command::new("cp").arg("-a").arg("--").arg(tree).arg(directory.join("home")))?;
    done(Command::new(program).args(["tar", "cf", "db.tar", "home"]).current_dir(directory)).map(drop)
}

/// Runs the commands in a terminal of their own and takes its picture.
fn screen(program: &Path, directory: &Path, number: usize, commands: &[&str]) -> Result<Screen, String> {
    // A server of our own: nobody else's sessions are touched, nor its settings read. Its socket goes with the directory.
    let socket = directory.join(format!("tmux-{number}"));
    let tmux = || {
        let mut command = Command::new("tmux");
        command.arg("-S").arg(&socket).args(["-f", "/dev/null"]).current_dir(directory);
        command
    };
    let script = script(program, &socket, commands);
    let size = ["-x", &COLUMNS.to_string(), "-y", &ROWS.to_string()].map(str::to_owned);
    done(tmux().args(["new-session", "-d"]).args(size).arg(script))?;
    let taken = done(tmux().args(["wait-for", "drawn"])).and_then(|_| done(tmux().args(["capture-pane", "-e", "-p"])));
    done(tmux().arg("kill-server"))?;
    Ok(Screen::read(&taken?))
}

/// A shell's script: each command behind a prompt, then the word that the screen is complete.
fn script(program: &Path, socket: &Path, commands: &[&str]) -> String {
    let directory = program.parent().unwrap_or(Path::new(".")).display();
    let mut script = format!("exec bash -c 'PATH={directory}:$PATH; ");
    for command in commands {
        let quoted = command.replace('\'', "'\\''");
        match quoted.strip_suffix(" #") {
            Some(hidden) => script.push_str(&format!("{hidden}\n")),
            None => {
                script.push_str(&format!("printf \"\\033[1;32m$\\033[0;1m %s\\033[0m\\n\" \"{quoted}\"; {quoted};\n"))
            }
        }
    }
    script.push_str(&format!("tmux -S {} wait-for -S drawn; sleep 60'", socket.display()));
    script
}

/// Standard output of a command that must succeed.
fn done(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| format!("could not run {name}: {error}"))?;
    if !output.status.success() {
        return Err(format!("{name}: {}: {}", output.status, String::from_utf8_lossy(&output.stderr).trim()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_commands_have_no_prompt_and_quotes_survive() {
        let script = script(Path::new("/b/mh"), Path::new("/s"), &["mh tamp 'a b'", "kill %1 #"]);
        assert_eq!(script.matches("printf").count(), 1, "{script}");
        assert!(script.contains("mh tamp '\\''a b'\\'';\n"), "{script}");
        assert!(script.contains("\nkill %1\n"), "{script}");
    }

    #[test]
    fn a_command_that_fails_is_an_error_with_its_words() {
        let error = done(Command::new("sh").args(["-c", "echo no >&2; exit 3"])).expect_err("it fails");
        assert!(error.contains('3') && error.ends_with("no"), "{error}");
    }
}
