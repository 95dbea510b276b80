//! Makes a script of its parts: finds places for variables, turns conditions into jumps, and collects every mistake on its way.

use super::expression::{Evaluation, Expression};
use super::parser::{self, ScriptMistake};
use super::pipelines::OpenPipeline;
use super::reader::{self, Piece, RawCommand, RawStatement, ScriptPart};
use super::scalar::Variable;
use super::template::{SqlTemplate, TemplatePiece};
use super::token::leading_name;
use super::{
    Amount, Instruction, LoadScript, SCRIPT_BYTES_MAX, ScriptOptions, ScriptStatement, columns, draws, line_of,
};
use crate::arrivals::RandomSource;
use crate::session::{PARAMETERS_MAX, PreparedText};

/// LIMIT: how deep `\if` may be nested.
const IF_DEPTH_MAX: usize = 100;

/// Makes a script, or tells all that is wrong with it.
pub(super) fn compile(name: &str, text: &str, options: &ScriptOptions) -> Result<LoadScript, Vec<ScriptMistake>> {
    if text.len() > SCRIPT_BYTES_MAX {
        return Err(vec![(0, format!("the script has {} bytes, {SCRIPT_BYTES_MAX} are the most", text.len()))]);
    }
    let (parts, mistakes) = reader::read(text);
    let mut compiler = Compiler::new(text, options);
    compiler.mistakes.extend(mistakes);
    if parts.is_empty() && compiler.mistakes.is_empty() {
        return Err(vec![(0, "the script has no command".to_owned())]);
    }
    compiler.declare(&parts);
    for index in 0..parts.len() {
        if let Err(mistake) = compiler.part(&parts, index) {
            compiler.mistakes.push(mistake);
        }
    }
    compiler.open.truncate(compiler.open.len());
    compiler.close_pipeline();
    for open in &compiler.open {
        compiler.mistakes.push((open.at, "this \\if has no \\endif".to_owned()));
    }
    if !compiler.mistakes.is_empty() {
        return Err(compiler.mistakes);
    }
    let Compiler { statements, instructions, names, initial, pipelines, .. } = compiler;
    Ok(LoadScript { name: name.to_owned(), statements, instructions, names, initial, pipelines })
}

/// An `\if` whose end is still to come.
pub(super) struct OpenIf {
    at: usize,
    /// The jump that the next branch, or the end, is the target of.
    next_branch: Option<usize>,
    /// Jumps from ends of branches to the end of all.
    ends: Vec<usize>,
    has_else: bool,
}

pub(super) struct Compiler<'a> {
    text: &'a str,
    pub options: &'a ScriptOptions,
    names: Vec<String>,
    initial: Vec<Variable>,
    pub statements: Vec<ScriptStatement>,
    pub instructions: Vec<Instruction>,
    pub open: Vec<OpenIf>,
    pub mistakes: Vec<ScriptMistake>,
    pub pipeline: Option<OpenPipeline>,
    /// What is prepared before each pipeline.
    pub pipelines: Vec<Vec<PreparedText>>,
}

impl<'a> Compiler<'a> {
    fn new(text: &'a str, options: &'a ScriptOptions) -> Self {
        let seed = draws::hash_murmur2(options.random_seed, 0);
        let given = [("scale", options.scale), ("random_seed", options.random_seed), ("default_seed", seed)];
        let mut compiler = Self {
            text,
            options,
            names: vec!["client_id".to_owned()],
            initial: vec![Variable::default()],
            statements: Vec::new(),
            instructions: Vec::new(),
            open: Vec::new(),
            mistakes: Vec::new(),
            pipeline: None,
            pipelines: Vec::new(),
        };
        for (name, value) in given {
            let place = compiler.place_or_new(name);
            compiler.initial[place].set(super::scalar::Scalar::Integer(value));
        }
        for (name, value) in &options.definitions {
            let place = compiler.place_or_new(name);
            compiler.initial[place] = Variable::of_text(value);
        }
        compiler
    }

    fn place(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|known| known == name)
    }

    fn place_or_new(&mut self, name: &str) -> usize {
        self.place(name).unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.initial.push(Variable::default());
            self.names.len() - 1
        })
    }

    /// Gives places to all variables that the script sets somewhere, so that one that it never sets is found.
    fn declare(&mut self, parts: &[ScriptPart<'_>]) {
        for (index, part) in parts.iter().enumerate() {
            let ScriptPart::Command(command) = part else { continue };
            if is(command, "set") {
                let begin = super::token::skip_space(self.text, command.rest.0);
                if let Some(name) = self.text.get(begin..command.rest.1).and_then(leading_name) {
                    self.place_or_new(name);
                }
            } else if is(command, "gset")
                && let Ok(names) = self.row_names(parts, index)
            {
                names.iter().for_each(|name| {
                    self.place_or_new(name);
                });
            }
        }
    }

    fn part(&mut self, parts: &[ScriptPart<'_>], index: usize) -> Result<(), ScriptMistake> {
        match &parts[index] {
            ScriptPart::Statement(statement) => self.statement(statement),
            ScriptPart::Command(command) if is(command, "gset") => {
                if self.pipeline.is_some() {
                    return Err((command.at, "\\gset cannot be inside a pipeline".to_owned()));
                }
                let names = self.row_names(parts, index)?;
                let places = names.iter().map(|name| self.place_or_new(name)).collect();
                if let Some(statement) = self.statements.last_mut() {
                    statement.row_to = Some(places);
                }
                Ok(())
            }
            ScriptPart::Command(command) => self.command(command),
        }
    }

    fn statement(&mut self, raw: &RawStatement<'_>) -> Result<(), ScriptMistake> {
        let (mut pieces, mut variables) = (Vec::new(), 0);
        for piece in &raw.pieces {
            pieces.push(match *piece {
                Piece::Text(text) => TemplatePiece::Text(text.to_owned()),
                Piece::Variable { name, at, is_quoted } => match self.place(name) {
                    Some(place) => {
                        variables += 1;
                        TemplatePiece::Variable { place, is_quoted }
                    }
                    // In quotes a colon is text, unless a variable of that name makes it more.
                    None if is_quoted => TemplatePiece::Text(format!(":{name}")),
                    None => {
                        self.mistakes.push((at, unknown_variable(name)));
                        continue;
                    }
                },
            });
        }
        let prepare_for = (self.options.is_prepared && !raw.is_several).then_some(self.options.dialect);
        if prepare_for.is_some() && variables > PARAMETERS_MAX {
            return Err((
                raw.at,
                format!("the statement has {variables} variables, {PARAMETERS_MAX} are the most if it is prepared"),
            ));
        }
        let template = SqlTemplate::new(pieces, &self.names, prepare_for);
        self.instructions.push(Instruction::Statement(self.statements.len()));
        self.statements.push(ScriptStatement { line: line_of(self.text, raw.at), template, row_to: None });
        self.check_pipelined(raw.at)
    }

    /// Names of the variables that a `\gset` sets.
    fn row_names(&self, parts: &[ScriptPart<'_>], index: usize) -> Result<Vec<String>, ScriptMistake> {
        let ScriptPart::Command(command) = &parts[index] else { return Ok(Vec::new()) };
        let Some(ScriptPart::Statement(statement)) = index.checked_sub(1).map(|before| &parts[before]) else {
            return Err((command.at, "\\gset needs a statement right before it".to_owned()));
        };
        let words = self.words(command);
        if let Some((at, _)) = words.get(1) {
            return Err((*at, "\\gset takes a prefix and nothing else".to_owned()));
        }
        let prefix = words.first().map_or("", |(_, word)| *word);
        if let Some((at, word)) = words.first().filter(|(_, word)| leading_name(word) != Some(*word)) {
            return Err((*at, format!("'{word}' cannot begin the name of a variable")));
        }
        let text = |piece: &Piece<'_>| match *piece {
            Piece::Text(text) => text.to_owned(),
            // A value as any other.
            Piece::Variable { is_quoted: false, .. } => " 0 ".to_owned(),
            Piece::Variable { name, .. } => format!(":{name}"),
        };
        let sql: String = statement.pieces.iter().map(text).collect();
        let names = columns::names(&sql).map_err(|cause| (command.at, format!("\\gset: {cause}")))?;
        let names: Vec<String> = names.into_iter().map(|name| format!("{prefix}{name}")).collect();
        match names.iter().find(|name| leading_name(name) != Some(name.as_str())) {
            Some(name) => Err((command.at, format!("\\gset: '{name}' cannot be the name of a variable"))),
            None => Ok(names),
        }
    }

    fn command(&mut self, command: &RawCommand<'_>) -> Result<(), ScriptMistake> {
        match command.name.to_ascii_lowercase().as_str() {
            "set" => self.set(command),
            "sleep" => self.sleep(command),
            "if" => self.begin_if(command),
            "elif" => self.elif(command),
            "else" => self.begin_else(command),
            "endif" => self.end_if(command),
            "startpipeline" => self.begin_pipeline(command),
            "syncpipeline" => self.sync_pipeline(command),
            "endpipeline" => self.end_pipeline(command),
            _ => Err((command.at, unknown_command(command.name))),
        }
    }

    /// The rest of a command's line as words, with their places.
    fn words(&self, command: &RawCommand<'_>) -> Vec<(usize, &'a str)> {
        let (begin, end) = command.rest;
        let line = &self.text[begin..end];
        let words = line.split_whitespace().filter(|word| *word != "\\");
        words.map(|word| (begin + (word.as_ptr().addr() - line.as_ptr().addr()), word)).collect()
    }

    pub(super) fn takes_nothing(&self, command: &RawCommand<'_>) -> Result<(), ScriptMistake> {
        match self.words(command).first() {
            Some((at, word)) => Err((*at, format!("\\{} takes nothing, not '{word}'", command.name))),
            None => Ok(()),
        }
    }

    /// The expression that begins at `from` and ends with the command.
    fn expression(&mut self, command: &RawCommand<'_>, from: usize) -> Result<Expression, ScriptMistake> {
        let begin = super::token::skip_space(&self.text[..command.rest.1], from);
        let names = &self.names;
        let mut place_of = |name: &str, at: usize| {
            names.iter().position(|known| known == name).ok_or_else(|| (at, unknown_variable(name)))
        };
        let expression = parser::parse(&self.text[..command.rest.1], begin, &mut place_of)?;
        // What fails today without any variable fails always.
        if expression.has_no_variable() {
            let mut random = RandomSource::new(1, 0);
            let mut with = Evaluation { variables: &[], names: &[], random: &mut random };
            expression.evaluate(&mut with).map_err(|cause| (begin, cause))?;
        }
        Ok(expression)
    }

    fn set(&mut self, command: &RawCommand<'_>) -> Result<(), ScriptMistake> {
        let begin = super::token::skip_space(&self.text[..command.rest.1], command.rest.0);
        let rest = &self.text[begin..command.rest.1];
        let word = &rest[..rest.find(char::is_whitespace).unwrap_or(rest.len())];
        if word.is_empty() {
            return Err((command.at, "\\set needs a name and an expression".to_owned()));
        }
        if leading_name(word) != Some(word) {
            return Err((begin, format!("'{word}' cannot be the name of a variable")));
        }
        let value = self.expression(command, begin + word.len())?;
        let place = self.place_or_new(word);
        self.instructions.push(Instruction::Set { line: line_of(self.text, command.at), place, value });
        Ok(())
    }

    fn sleep(&mut self, command: &RawCommand<'_>) -> Result<(), ScriptMistake> {
        let words = self.words(command);
        let Some((at, amount)) = words.first() else {
            return Err((command.at, "\\sleep needs a time".to_owned()));
        };
        // `\sleep 10ms` and `\sleep 10 ms` are the same.
        let (amount, joined) = match amount.find(|letter: char| !letter.is_ascii_digit()) {
            Some(digits) if digits > 0 => amount.split_at(digits),
            _ => (*amount, ""),
        };
        let unit = if joined.is_empty() { words.get(1).map_or("s", |(_, unit)| *unit) } else { joined };
        if let Some((at, word)) = words.get(if joined.is_empty() { 2 } else { 1 }) {
            return Err((*at, format!("\\sleep takes a time and a unit, not '{word}' besides")));
        }
        let unit_ns = match unit.to_ascii_lowercase().as_str() {
            "us" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            _ => return Err((*at, format!("'{unit}' is no unit of time: us, ms or s"))),
        };
        let amount = match amount.strip_prefix(':') {
            Some(name) => Amount::Variable(self.place(name).ok_or_else(|| (*at, unknown_variable(name)))?),
            None => {
                let number = amount.parse().map_err(|error| (*at, format!("'{amount}' is no time: {error}")))?;
                Amount::Fixed(number)
            }
        };
        self.instructions.push(Instruction::Sleep { line: line_of(self.text, command.at), amount, unit_ns });
        Ok(())
    }

    fn begin_if(&mut self, command: &RawCommand<'_>) -> Result<(), ScriptMistake> {
        if self.open.len() == IF_DEPTH_MAX {
            return Err((command.at, format!("\\if may be nested {IF_DEPTH_MAX} deep")));
        }
        // Opened even if its condition is wrong, so that its \endif is not a second mistake.
        self.open.push(OpenIf { at: command.at, next_branch: None, ends: Vec::new(), has_else: false });
        let jump = self.condition(command)?;
        self.innermost(command)?.next_branch = Some(jump);
        Ok(())
    }

    fn condition(&mut self, command: &RawCommand<'_>) -> Result<usize, ScriptMistake> {
        let condition = self.expression(command, command.rest.0)?;
        self.instructions.push(Instruction::JumpUnless { line: line_of(self.text, command.at), condition, to: 0 });
        Ok(self.instructions.len() - 1)
    }

    fn innermost(&mut self, command: &RawCommand<'_>) -> Result<&mut OpenIf, ScriptMistake> {
        self.open.last_mut().ok_or_else(|| (command.at, format!("\\{} without an \\if before it", command.name)))
    }

    /// Ends a branch with a jump to the end of all, and lets the next one begin here.
    fn begin_branch(&mut self, command: &RawCommand<'_>) -> Result<(), ScriptMistake> {
        let jump = self.instructions.len();
        let innermost = self.innermost(command)?;
        if innermost.has_else {
            return Err((command.at, format!("\\{} behind the \\else of this \\if", command.name)));
        }
        innermost.ends.push(jump);
        let before = innermost.next_branch.take();
        self.close_pipeline();
        self.instructions.push(Instruction::Jump { to: 0 });
        self.lead_here(before);
        Ok(())
    }

    fn lead_here(&mut self, jumps: impl IntoIterator<Item = usize>) {
        let here = self.instructions.len();
        for jump in jumps {
            if let Some(Instruction::Jump { to } | Instruction::JumpUnless { to, .. }) = self.instructions.get_mut(jump)
            {
                *to = here;
            }
        }
    }

    fn elif(&mut self, command: &RawCommand<'_>) -> Result<(), ScriptMistake> {
        self.begin_branch(command)?;
        let jump = self.condition(command)?;
        self.innermost(command)?.next_branch = Some(jump);
        Ok(())
    }

    fn begin_else(&mut self, command: &RawCommand<'_>) -> Result<(), ScriptMistake> {
        self.takes_nothing(command)?;
        self.begin_branch(command)?;
        self.innermost(command)?.has_else = true;
        Ok(())
    }

    fn end_if(&mut self, command: &RawCommand<'_>) -> Result<(), ScriptMistake> {
        self.innermost(command)?;
        self.close_pipeline();
        if let Some(closed) = self.open.pop() {
            self.lead_here(closed.next_branch.into_iter().chain(closed.ends));
        }
        self.takes_nothing(command)
    }
}

fn is(command: &RawCommand<'_>, name: &str) -> bool {
    command.name.eq_ignore_ascii_case(name)
}

fn unknown_variable(name: &str) -> String {
    format!("nothing sets the variable '{name}'")
}

fn unknown_command(name: &str) -> String {
    const UNSUPPORTED: &[(&str, &str)] = &[
        ("aset", "use \\gset behind single statements"),
        ("setshell", "a script starts no program"),
        ("shell", "a script starts no program"),
    ];
    match UNSUPPORTED.iter().find(|(unsupported, _)| unsupported.eq_ignore_ascii_case(name)) {
        Some((name, instead)) => format!("\\{name} is not supported: {instead}"),
        None => format!(
            "unknown command \\{name}; there are \\set, \\gset, \\sleep, \\if, \\elif, \\else, \\endif, \\startpipeline, \\syncpipeline and \\endpipeline"
        ),
    }
}
