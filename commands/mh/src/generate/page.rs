//! One manual page of section 1. clap_mangen makes name, description and options of it; the synopsis with its values, the list
//! of commands, examples, exit status, environment, files and further reading are made here.

use super::facts::{self, Fact};
use crate::registry;
use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Inline, Roff, bold, italic, roman};
use mh_kit::entry::Group;
use std::io;

/// The page of a command that has been built: its file's name, and its text. If the command has no examples, those of its name in the
/// help `above` are its own.
pub fn page(command: &Command, above: &str, date: &str) -> io::Result<(String, Vec<u8>)> {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name()).to_owned();
    let source = format!("manyhands {}", env!("CARGO_PKG_VERSION"));
    let man = Man::new(command.clone()).date(date).source(source).manual("User Commands");
    let mut text = Vec::new();
    man.render_title(&mut text)?;
    man.render_name_section(&mut text)?;
    let facts = facts::of(&name);
    synopsis(&usage(command, facts.synopsis)).to_writer(&mut text)?;
    man.render_description_section(&mut text)?;
    match command.get_name() {
        "mh" => commands().to_writer(&mut text)?,
        _ if command.has_subcommands() => man.render_subcommands_section(&mut text)?,
        _ => {}
    }
    man.render_options_section(&mut text)?;
    let help = help_behind_options(command);
    let help = if help.contains(EXAMPLES) { help } else { help + &examples_of(command, above) };
    after_help(&help).to_writer(&mut text)?;
    let sections = [("EXIT STATUS", facts.exit_status), ("ENVIRONMENT", facts.environment), ("FILES", facts.files)];
    for (heading, facts) in sections {
        listed(heading, facts).to_writer(&mut text)?;
    }
    see_also(&name, facts.see_also).to_writer(&mut text)?;
    Ok((format!("{name}.1"), with_one_preamble(&text)))
}

/// What every section brings along, once: how an apostrophe is written.
fn with_one_preamble(text: &[u8]) -> Vec<u8> {
    const PREAMBLE: &str = ".ie \\n(.g .ds Aq \\(aq\n.el .ds Aq '\n";
    let sections = String::from_utf8_lossy(text).replace(PREAMBLE, "");
    format!("{PREAMBLE}{sections}").into_bytes()
}

/// How it is called, a form a line.
fn usage(command: &Command, instead: &str) -> String {
    let text = match instead {
        "" => command.clone().render_usage().to_string(),
        instead => instead.to_owned(),
    };
    let forms = text.trim_start_matches("Usage:").lines().map(str::trim).filter(|form| !form.is_empty());
    forms.collect::<Vec<_>>().join("\n")
}

fn synopsis(usage: &str) -> Roff {
    let mut roff = Roff::default();
    roff.control("SH", ["SYNOPSIS"]);
    for (number, form) in usage.lines().enumerate() {
        if number > 0 {
            roff.control("br", []);
        }
        roff.text(styled(form));
    }
    roff
}

/// Words to be typed are bold, those in capitals stand for values.
fn styled(form: &str) -> Vec<Inline> {
    let is_of_word = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
    let mut inlines = Vec::new();
    let mut rest = form;
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|letter| is_of_word(letter) != is_of_word(first)).unwrap_or(rest.len());
        let (run, others) = rest.split_at(end);
        inlines.push(match is_of_word(first) {
            false => roman(run),
            true if first == '-' || run.contains(|letter: char| letter.is_ascii_lowercase()) => bold(run),
            true => italic(run),
        });
        rest = others;
    }
    inlines
}

/// All commands, each once, as the overview groups them.
fn commands() -> Roff {
    let mut roff = Roff::default();
    roff.control("SH", ["COMMANDS"]);
    let groups = [(Group::Do, "Do"), (Group::See, "See"), (Group::Manage, "Manage"), (Group::Learn, "Learn")];
    for (group, heading) in groups {
        roff.control("SS", [heading]);
        for entry in registry::COMMANDS.iter().filter(|entry| entry.group == group) {
            let about = (entry.command)().get_about().map(ToString::to_string).unwrap_or_default();
            roff.control("TP", []);
            roff.text([bold(format!("mh-{}", entry.name)), roman("(1)")]);
            roff.text([roman(about)]);
        }
    }
    roff
}

const EXAMPLES: &str = "Examples:";

/// What stands behind the options in the help.
pub fn help_behind_options(command: &Command) -> String {
    let help = command.get_after_long_help().or(command.get_after_help()).map(ToString::to_string).unwrap_or_default();
    // The overview's list of commands has a section of its own; what stands behind it is for everybody.
    match command.get_name() {
        "mh" => format!("{}\n\n{OVERVIEW_EXAMPLES}", help.rsplit("\n\n").next().unwrap_or_default()),
        _ => help,
    }
}

/// Examples of `mh crew run` in the help of `mh crew`.
fn examples_of(command: &Command, above: &str) -> String {
    let begin = format!("{} ", command.get_bin_name().unwrap_or_default());
    let lines: Vec<_> = above.lines().filter(|line| line.trim().starts_with(&begin)).collect();
    if lines.is_empty() { String::new() } else { format!("\n\n{EXAMPLES}\n{}", lines.join("\n")) }
}

/// Examples as they are, the rest as notes.
fn after_help(help: &str) -> Roff {
    let mut roff = Roff::default();
    let (examples, notes): (Vec<_>, Vec<_>) =
        help.split("\n\n").filter(|part| !part.trim().is_empty()).partition(|part| part.trim().starts_with(EXAMPLES));
    if !notes.is_empty() {
        roff.control("SH", ["NOTES"]);
    }
    for (number, note) in notes.iter().enumerate() {
        if number > 0 {
            roff.control("PP", []);
        }
        roff.text([roman(note.split_whitespace().collect::<Vec<_>>().join(" "))]);
    }
    if !examples.is_empty() {
        roff.control("SH", ["EXAMPLES"]);
    }
    for part in examples {
        roff.control("EX", []);
        for line in part.trim().trim_start_matches(EXAMPLES).lines().filter(|line| !line.trim().is_empty()) {
            roff.text([roman(line.trim())]);
        }
        roff.control("EE", []);
    }
    roff
}

const OVERVIEW_EXAMPLES: &str = "Examples:
  mh tar cf home.tar.zst --zstd home    archive and compress on all cores
  pg_dump db | mh tamp -3 > db.zst      compress at the end of a pipe
  mh cp -a --resume /srv/data /backup   copy a tree; go on where a copy stopped
  ls *.wav | mh xjobs -1 flac --silent  a job for each line
  mh ceiling 10                         is this machine maxed out, by which threads?
  mh tour                               the commands, step by step";

fn listed(heading: &str, facts: &[Fact]) -> Roff {
    let mut roff = Roff::default();
    roff.control("SH", [heading]);
    for (term, meaning) in facts {
        roff.control("TP", []);
        roff.text([bold(*term)]);
        roff.text([roman(*meaning)]);
    }
    roff
}

/// The page above, the settings, then other programs.
fn see_also(name: &str, others: &[&str]) -> Roff {
    let above = name.rsplit_once('-').map(|(above, _)| above).filter(|above| *above != "mh");
    let own = [above, Some("mh").filter(|own| *own != name)].into_iter().flatten().map(|page| format!("{page}(1)"));
    let pages = own.chain(["mh-settings(5)".to_owned()]).chain(others.iter().map(ToString::to_string));
    let mut roff = Roff::default();
    roff.control("SH", ["SEE ALSO"]);
    roff.text([roman(pages.collect::<Vec<_>>().join(", "))]);
    roff
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::{built, pages};

    fn text_of(name: &str) -> String {
        let (_, text) = pages("2026-01-02").expect("pages").into_iter().find(|(file, _)| file == name).expect(name);
        String::from_utf8(text).expect("text")
    }

    #[test]
    fn words_to_type_are_bold_and_values_are_not() {
        let expected = [bold("mh"), roman(" "), bold("tamp"), roman(" ["), italic("OPTIONS"), roman("] ["), bold("-f")];
        assert_eq!(styled("mh tamp [OPTIONS] [-f"), expected);
    }

    #[test]
    fn a_synopsis_has_values_and_dots() {
        let tamp = built().find_subcommand("tamp").expect("it is there").clone();
        assert_eq!(usage(&tamp, ""), "mh tamp [OPTIONS] [FILE]...");
        let pstime = built().find_subcommand("pstime").expect("it is there").clone();
        assert!(usage(&pstime, "").lines().count() > 1, "each form has its line");
    }

    #[test]
    fn every_page_says_how_it_ends_and_where_to_read_on() {
        let pages = pages("2026-01-02").expect("pages");
        assert!(pages.len() > registry::COMMANDS.len(), "one for each command, and for mh");
        for (name, text) in pages.iter().filter(|(name, _)| name.ends_with(".1")) {
            let text = String::from_utf8_lossy(text);
            for heading in ["SYNOPSIS", "EXAMPLES", "EXIT STATUS", "ENVIRONMENT", "FILES", "SEE ALSO"] {
                assert!(
                    text.contains(&format!(".SH \"{heading}\"")) || text.contains(&format!(".SH {heading}")),
                    "{name}"
                );
            }
            assert_eq!(text.matches(".ds Aq '").count(), 1, "{name}");
            assert!(text.contains("2026\\-01\\-02") || text.contains("2026-01-02"), "{name} has its date");
        }
    }

    #[test]
    fn examples_come_from_the_help() {
        let (page, help) =
            (text_of("mh-cp.1"), built().find_subcommand("cp").expect("cp").get_after_help().map(ToString::to_string));
        let last = help.expect("it has examples").lines().last().expect("a line").trim().replace('-', "\\-");
        assert!(page.contains(&last), "{last} in {page}");
        assert!(!page.contains("Examples:"), "{page}");
    }

    #[test]
    fn facts_are_about_pages_that_there_are() {
        let pages = pages("2026-01-02").expect("pages");
        for name in facts::names().filter(|name| cfg!(feature = "mtwrite") || *name != "mh-mtwrite") {
            assert!(pages.iter().any(|(file, _)| *file == format!("{name}.1")), "{name}");
        }
    }

    #[test]
    fn the_overview_lists_each_command_once() {
        let page = text_of("mh.1");
        for entry in registry::COMMANDS.iter().filter(|entry| entry.group != Group::Hidden) {
            let listed = format!("\\fBmh\\-{}\\fR(1)", entry.name);
            assert_eq!(page.matches(&listed).count(), 1, "{listed} in {page}");
        }
        assert!(page.contains("mh help COMMAND shows"), "the overview's last lines: {page}");
    }
}
