//! `-W`: a new archive is read again and compared with the files, as `-d` does it.

use super::super::chosen::Chosen;
use super::super::selection::SelectionStep;
use super::super::{DIFFERENT, FAILED, TarArgs, archive, compare, could_not, usage};
use mh_kit::context::Context;
use mh_kit::failure::{Failure, Outcome};
use std::path::Path;

/// Refuses before anything is written what could not be compared. COMPAT: GNU tar's words.
pub fn refuse(args: &TarArgs, is_packed: bool) -> Result<(), Failure> {
    if !args.writing.verify {
        return Ok(());
    }
    if is_packed {
        return Err(usage("Cannot verify compressed archives".to_owned()));
    }
    if args.archive().is_none_or(|path| path == Path::new("-")) {
        return Err(usage("Cannot verify stdin/stdout archive".to_owned()));
    }
    // Members do not say which of several directories they are from.
    let steps = &args.selection.steps;
    let first_name = steps.iter().position(|step| matches!(step, SelectionStep::Name(_))).unwrap_or(steps.len());
    if steps[first_name..].iter().any(|step| matches!(step, SelectionStep::Enter(_))) {
        return Err(usage("--verify needs all names in one directory".to_owned()));
    }
    Ok(())
}

/// Compares. What is to be said of the run then.
pub fn run(context: &Context, args: &TarArgs, made: Outcome) -> Result<Outcome, Failure> {
    let opened = archive::open(args)?;
    let name = opened.name.clone();
    super::super::enter_directories(args)?;
    let mut chosen = Chosen::of_all(args);
    let compared = compare::all(context, args, opened, &mut chosen, compare::ComparisonLines::Verified)?;
    let compared = compared.map_err(|error| could_not("verify", Path::new(&name).as_os_str(), &error))?;
    Ok(match (compared.failed, compared.differing, made) {
        (0, 0, made) => made,
        (0, _, Outcome::Done) => DIFFERENT,
        (0, _, made) => made,
        _ => FAILED,
    })
}
