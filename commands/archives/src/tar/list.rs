//! `mh tar -t`: what is in an archive: out of its index where it has one that fits, else header by header.

use super::archive;
use super::checkpoints::{CheckpointWay, Checkpoints};
use super::chosen::{Chosen, not_found};
use super::extract::{self, Teller, tell_note};
use super::index;
use super::member_lines::MemberLines;
use super::messages;
use super::words::{BlockNumbers, LongLines, is_plain, with_slash};
use super::{FAILED, TarArgs, could_not, progress, totals};
use ::archive::extract::{Choice, Chooser, Feed};
use ::archive::index::reader::{Search, Unfit};
use ::archive::member::{Kind, Member};
use ::archive::place::listing::{listing_of, records};
use ::archive::read::{Grammar, ReadError, Reader, Rules, Step, Zeros};
use ::archive::source::Source;
use crew::measures::Measures;
use crew::tally::Tally;
use crew::verdict::Circumstances;
use mh_kit::context::Context;
use mh_kit::failure::{Failure, Outcome};
use mh_kit::progress::output_is_piped;
use mh_kit::report::ReportTotals;
use mh_kit::report::{self, Finished, seconds_text};
use mh_kit::shared_args::ReportFormat;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use terminal::{Delivery, StandardStream, TextOutput, quote};

/// How archives are read under these options.
pub fn rules(args: &TarArgs) -> Rules {
    Rules {
        grammar: if args.untrusted { Grammar::Strict } else { Grammar::Lenient },
        zeros: if args.ignore_zeros { Zeros::Ignored } else { Zeros::End },
    }
}

/// Lists.
pub fn run(context: &mut Context, args: &TarArgs) -> Result<Outcome, Failure> {
    let opened = archive::open(args)?;
    let name = opened.name.clone();
    let how_headers_are_found = opened.how_headers_are_found();
    let mut chosen = Chosen::new(args, extract::top_level(args)?)?;
    // COMPAT: nothing is looked for there, but it must be one.
    super::enter_directories(args)?;
    let teller = Teller::new(context, args);
    lines_go_to_file(args)?;
    let mut lines = Lines::new(args, &teller);
    let began = Instant::now();
    let mut way = Way::Index;
    let listed = match by_index(context, args, &opened, &mut chosen, &mut lines) {
        Err(error) => Err(Problem::Output(error)),
        Ok(ByIndex::Whole(listed)) => Ok(listed),
        Ok(ByIndex::UpTo(shown)) => {
            let width = super::width(context, args);
            let (_shared, lease) = super::lease(context, args, width, "list");
            let decoder = Arc::new(Tally::default());
            // What is read at offsets is listed at once.
            let is_long = opened.packed().is_some() && !context.terminals.stdout && !output_is_piped();
            let label = format!("listing {name}");
            let tallies = [&Arc::default(), &decoder];
            let progress_line = is_long.then(|| progress::of_reading(context, label, &opened, tallies));
            let read = |feed| list(context, args, feed, &mut chosen, Rest { lines: &mut lines, shown });
            let (listed, decoding) =
                opened.with_feed(super::memory::room(context, args), lease.as_ref(), width, &decoder, read)?;
            drop(progress_line);
            way = decoding.map_or(Way::Headers(how_headers_are_found), |measures| Way::Decoder(Box::new(measures)));
            listed
        }
    };
    let delivered = lines.output.finish();
    let mut failed = match (listed, delivered) {
        (Err(Problem::Failure(failure)), _) => return Err(failure),
        (Err(Problem::Archive(error)), _) => return Err(could_not("read", Path::new(&name).as_os_str(), &error)),
        (Err(Problem::Output(error)), _) | (Ok(_), Err(error)) => {
            return Err(could_not("write to", "standard output".as_ref(), &error));
        }
        (Ok(Listed::ReaderGone), _) | (_, Ok(Delivery::ReaderGone)) => return Err(Failure::BrokenPipe),
        (Ok(Listed::Whole { failed }), _) => failed || teller.has_failed(),
    };
    for name in not_found(&chosen.wanted) {
        failed = true;
        messages::not_found(context, &name);
    }
    report(context, args, &name, began.elapsed(), &way);
    Ok(if failed { FAILED } else { Outcome::Done })
}

/// Puts the file that `--index-file` names in the place of standard output: the list is all that goes there.
fn lines_go_to_file(args: &TarArgs) -> Result<(), Failure> {
    let Some(path) = &args.telling.index_file else { return Ok(()) };
    let told = |error: io::Error| could_not("create", path.as_os_str(), &error);
    let file = std::fs::File::create(path).map_err(told)?;
    rustix::stdio::dup2_stdout(&file).map_err(|error| told(error.into()))
}

/// Where a list came from.
enum Way {
    /// The archive's index.
    Index,
    /// Its headers; how the next one is found.
    Headers(String),
    /// As above, behind a decoder, which did nearly all of the work.
    Decoder(Box<Measures>),
}

/// `--report`. There is something to be shared among hands only where a decoder was at work.
fn report(context: &Context, args: &TarArgs, name: &str, took: Duration, way: &Way) {
    let Some(format) = args.shared.report else { return };
    let (from, why) = match way {
        Way::Index => ("its index", "nothing else is read of the archive".to_owned()),
        Way::Headers(how) => ("its headers", format!("{how}: one hand reads them")),
        Way::Decoder(measures) => {
            let totals =
                ReportTotals { bytes_in: measures.bytes_in, bytes_out: measures.bytes_out, ..ReportTotals::default() };
            let circumstances = Circumstances {
                hands_allowed: context.machine.hands_allowed(),
                hands_asked: args.shared.hands_asked(),
                ..Circumstances::default()
            };
            let finished = Finished {
                subject: name,
                totals,
                failed: None,
                is_compression: false,
                measures,
                kept_up: None,
                hands_from: None,
                width_why: None,
                index: None,
                members: None,
                made: None,
                circumstances,
            };
            return report::show_report(context, &finished, format);
        }
    };
    let text = match format {
        ReportFormat::Text => format!("{name}: listed out of {from} in {}; {why}\n", seconds_text(took.as_secs_f64())),
        ReportFormat::Json => {
            let wall_ns = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
            format!("{}\n", serde_json::json!({ "subject": name, "listed_from": from, "wall_ns": wall_ns }))
        }
    };
    context.messages.report(&text);
}

/// A name of bytes in quotes.
pub fn quoted(name: &[u8]) -> String {
    use std::os::unix::ffi::OsStrExt;
    quote(std::ffi::OsStr::from_bytes(name))
}

enum Listed {
    Whole { failed: bool },
    ReaderGone,
}

enum Problem {
    Archive(ReadError),
    Output(io::Error),
    Failure(Failure),
}

/// Lines of a list.
struct Lines<'a> {
    args: &'a TarArgs,
    output: TextOutput<StandardStream>,
    long: LongLines,
    /// Tells what extraction would refuse.
    teller: &'a Teller<'a>,
}

/// What became of a member's line.
enum Line {
    /// It is out, or there is none.
    Done,
    /// Nobody reads on.
    ReaderGone,
    /// Extraction would read no further.
    Last,
}

impl<'a> Lines<'a> {
    fn new(args: &'a TarArgs, teller: &'a Teller<'a>) -> Self {
        let long = LongLines::new(args);
        Self { args, output: TextOutput::standard(), long, teller }
    }

    /// The line of a member, if it is meant.
    fn line(&mut self, member: &Member, chosen: &mut Chosen) -> io::Result<Line> {
        if self.args.dry_run {
            return self.line_of_extraction(member, chosen);
        }
        if chosen.is_over() {
            return Ok(Line::Last);
        }
        if member.kind != Kind::VolumeLabel && !chosen.takes(member) {
            return Ok(Line::Done);
        }
        let shown = self.args.lists.show_transformed_names.then(|| chosen.shown(member));
        let member = shown.as_ref().unwrap_or(member);
        let name = with_slash(&member.path, member.kind);
        let line = match self.args.verbose {
            0 if is_plain(&name) && self.args.quoting.is_plain() => name,
            0 => self.args.quoting.shown(&name),
            _ => self.long.line(&name, member).into(),
        };
        let delivered = self.output.line(BlockNumbers::new(self.args).listed(member, line));
        match Line::from(delivered?) {
            Line::Done => self.listing(member),
            gone => Ok(gone),
        }
    }

    /// What was in a directory of an incremental archive, where it is asked for.
    fn listing(&mut self, member: &Member) -> io::Result<Line> {
        let is_wanted = self.args.verbose > 1 && super::incremental::is_wanted(self.args);
        let Some(listing) = listing_of(member).filter(|_| is_wanted) else { return Ok(Line::Done) };
        let shown = |(letter, name)| [&[letter, b' '], &*self.args.quoting.shown(name), b"\n"].concat();
        let lines: Vec<u8> = records(listing).flat_map(shown).collect();
        self.output.line(lines).map(Line::from)
    }

    /// The line of a member that would be extracted: extraction's own chooser decides, and says what it refuses.
    fn line_of_extraction(&mut self, member: &Member, chosen: &mut Chosen) -> io::Result<Line> {
        match chosen.choose(&mut member.clone(), &mut |event| self.teller.tell(event)) {
            Choice::PassOver => return Ok(Line::Done),
            Choice::Stop => return Ok(Line::Last),
            Choice::Take => {}
        }
        let member = chosen.shown(member);
        let name = with_slash(&member.path, member.kind);
        let delivered = match self.args.verbose {
            0 | 1 => self.output.line([b"would extract ", &*self.args.quoting.shown(&name)].concat()),
            _ => self.output.line(self.long.line(&name, &member)),
        };
        delivered.map(Line::from)
    }
}

impl From<Delivery> for Line {
    fn from(delivery: Delivery) -> Self {
        match delivery {
            Delivery::Taken => Self::Done,
            Delivery::ReaderGone => Self::ReaderGone,
        }
    }
}

/// What an index gave.
enum ByIndex {
    /// The list.
    Whole(Listed),
    /// So many of the archive's members, before it turned out to be none; none where there is none.
    UpTo(u64),
}

/// Lists what the archive's index says.
fn by_index(
    context: &Context,
    args: &TarArgs,
    opened: &archive::Opened,
    chosen: &mut Chosen,
    lines: &mut Lines<'_>,
) -> io::Result<ByIndex> {
    // What was read is told in the end: so it is read.
    let Some(found) =
        index::find(args, opened).filter(|_| !totals::are_wanted(args) && args.telling.checkpoint.is_none())
    else {
        return Ok(ByIndex::UpTo(0));
    };
    // Few that are named are gathered first. One look tells another archive's index, or one that was made up.
    let looked = found.and_then(|found| {
        let few = index::few_named(&found, chosen)?;
        let is_true = match &few {
            Some(few) => index::is_true_of(&found, &few[few.len().saturating_sub(1)..]),
            None => index::ends_truly(&found),
        };
        if is_true { Ok((found, few)) } else { Err(Unfit::Untrue) }
    });
    let (mut listed, mut shown) = (Listed::Whole { failed: false }, 0);
    let mut show = |member: &Member| {
        shown += 1;
        Ok(match lines.line(member, chosen)? {
            Line::Done => Search::On,
            Line::Last => Search::Done,
            Line::ReaderGone => {
                listed = Listed::ReaderGone;
                Search::Done
            }
        })
    };
    let used = match looked {
        Err(unfit) => Err(unfit),
        Ok((_, Some(few))) => {
            for entry in &few {
                if show(&entry.member)? == Search::Done {
                    break;
                }
            }
            Ok(())
        }
        Ok((found, None)) => found.all(|entry| show(&entry.member))?,
    };
    index::report(context, args, Some(&used));
    Ok(match used {
        Ok(()) => ByIndex::Whole(listed),
        Err(_) => ByIndex::UpTo(shown),
    })
}

/// What is still to be listed.
struct Rest<'a, 'b> {
    lines: &'a mut Lines<'b>,
    /// Members whose lines are out, or that were not meant.
    shown: u64,
}

fn list(
    context: &Context,
    args: &TarArgs,
    mut feed: Feed,
    chosen: &mut Chosen,
    rest: Rest<'_, '_>,
) -> Result<Listed, Problem> {
    let Rest { lines, shown } = rest;
    let mut reader = Reader::new(rules(args), &feed);
    let (mut failed, mut members) = (false, 0);
    let mut checkpoints = Checkpoints::new(args, CheckpointWay::Read).map_err(Problem::Failure)?;
    let mut reached = |bytes, lines: &mut Lines<'_>| {
        args.progress.reach(bytes);
        match &mut checkpoints {
            Some(checkpoints) => {
                // What was listed so far stands in front of it.
                let flushed = lines.output.flush();
                checkpoints.reach(bytes, context, &mut MemberLines::on_stdout());
                flushed.map(drop)
            }
            None => Ok(()),
        }
    };
    loop {
        match reader.next(&mut feed).map_err(Problem::Archive)? {
            Step::Member(member) => {
                members += 1;
                reached(member.header_offset, lines).map_err(Problem::Output)?;
                let line = if members > shown { lines.line(&member, chosen) } else { Ok(Line::Done) };
                match line.map_err(Problem::Output)? {
                    Line::Done => {}
                    Line::Last => return Ok(Listed::Whole { failed }),
                    Line::ReaderGone => return Ok(Listed::ReaderGone),
                }
            }
            Step::Note(note) => failed |= tell_note(context, args, &note),
            Step::End => break,
        }
    }
    reached(totals::read(&reader, &feed), lines).map_err(Problem::Output)?;
    let end = BlockNumbers::new(args).end(reader.end_offset(), feed.position() > reader.end_offset());
    if let Some(line) = end
        && lines.output.line(line).map_err(Problem::Output)? == Delivery::ReaderGone
    {
        return Ok(Listed::ReaderGone);
    }
    if lines.output.flush().map_err(Problem::Output)? == Delivery::ReaderGone {
        return Ok(Listed::ReaderGone);
    }
    totals::show_read(context, args, &reader, &feed);
    feed.drain().map_err(Problem::Archive)?;
    Ok(Listed::Whole { failed })
}
