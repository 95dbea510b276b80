//! Divides a script into statements and backslash commands: quotes, comments, parentheses and where variables stand. Knows no command and
//! changes no text but comments, which it leaves out.

use super::parser::ScriptMistake;
use super::token::leading_name;

/// A part of a script, in its order.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ScriptPart<'a> {
    Statement(RawStatement<'a>),
    Command(RawCommand<'a>),
}

/// A statement as it stands there.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RawStatement<'a> {
    pub at: usize,
    pub pieces: Vec<Piece<'a>>,
    /// Whether `\;` joins several.
    pub is_several: bool,
}

/// A piece of a statement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Piece<'a> {
    Text(&'a str),
    /// What may be a variable: its name and where it stands; inside quotes it is one only if there is such a variable.
    Variable {
        name: &'a str,
        at: usize,
        is_quoted: bool,
    },
}

/// A backslash command.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct RawCommand<'a> {
    pub at: usize,
    pub name: &'a str,
    /// Where what follows the name begins, and where it ends.
    pub rest: (usize, usize),
}

/// The parts of a script, and the mistakes that hide others.
pub(super) fn read(text: &str) -> (Vec<ScriptPart<'_>>, Vec<ScriptMistake>) {
    let (mut parts, mut mistakes, mut at) = (Vec::new(), Vec::new(), 0);
    loop {
        at = skip_space_and_comments(text, at);
        match text.as_bytes().get(at) {
            None => return (parts, mistakes),
            Some(b'\\') if !text[at..].starts_with("\\;") => {
                let command = command(text, at);
                at = command.rest.1;
                parts.push(ScriptPart::Command(command));
            }
            Some(_) => match StatementReader::new(text, at).read() {
                Ok((statement, end)) => {
                    at = end;
                    parts.extend(statement.map(ScriptPart::Statement));
                }
                Err(mistake) => {
                    mistakes.push(mistake);
                    return (parts, mistakes);
                }
            },
        }
    }
}

fn skip_space_and_comments(text: &str, mut at: usize) -> usize {
    loop {
        let rest = text[at..].trim_start();
        at = text.len() - rest.len();
        if !rest.starts_with("--") {
            return at;
        }
        at += rest.find('\n').unwrap_or(rest.len());
    }
}

/// The command at a backslash; it goes to the end of the line, unless a backslash there continues it.
fn command(text: &str, at: usize) -> RawCommand<'_> {
    let is_name = |letter: char| !letter.is_whitespace() && letter != '\\';
    let behind = at + 1;
    let name_end = text[behind..].find(|letter| !is_name(letter)).map_or(text.len(), |length| behind + length);
    let mut end = name_end;
    loop {
        let Some(length) = text[end..].find('\n') else {
            end = text.len();
            break;
        };
        let line = text[end..end + length].trim_end_matches('\r');
        end += length;
        if !line.ends_with('\\') {
            break;
        }
        end += 1;
    }
    RawCommand { at, name: &text[behind..name_end], rest: (name_end, end) }
}

struct StatementReader<'a> {
    text: &'a str,
    begin: usize,
    at: usize,
    /// What is read and in no piece yet begins here.
    piece_begin: usize,
    pieces: Vec<Piece<'a>>,
    is_several: bool,
    /// Where parentheses were opened that are not closed yet.
    open: Vec<usize>,
}

impl<'a> StatementReader<'a> {
    fn new(text: &'a str, begin: usize) -> Self {
        Self { text, begin, at: begin, piece_begin: begin, pieces: Vec::new(), is_several: false, open: Vec::new() }
    }

    /// Reads to the end of the statement: none if there is nothing but its end.
    fn read(mut self) -> Result<(Option<RawStatement<'a>>, usize), ScriptMistake> {
        let bytes = self.text.as_bytes();
        while let Some(&byte) = bytes.get(self.at) {
            let following = bytes.get(self.at + 1).copied();
            match (byte, following) {
                (b';', _) if self.open.is_empty() => return Ok(self.ended(1)),
                (b'\\', Some(b';')) => self.join(),
                // A command ends the statement before it; it cannot stand inside parentheses.
                (b'\\', _) => return self.closed(0),
                (b'-', Some(b'-')) => self.leave_out_comment(),
                (b'/', Some(b'*')) => self.skip_comment()?,
                (b'\'', _) => self.skip_quoted(b'\'', self.is_escape_string())?,
                (b'"' | b'`', _) => self.skip_quoted(byte, false)?,
                (b'$', _) => self.skip_dollar_quoted()?,
                (b':', _) => self.variable(false),
                (b'(', _) => {
                    self.open.push(self.at);
                    self.at += 1;
                }
                (b')', _) => {
                    self.open.pop();
                    self.at += 1;
                }
                _ => self.at += 1,
            }
        }
        self.closed(0)
    }

    fn closed(self, end_bytes: usize) -> Result<(Option<RawStatement<'a>>, usize), ScriptMistake> {
        match self.open.last() {
            Some(&at) => Err((at, "this parenthesis is not closed".to_owned())),
            None => Ok(self.ended(end_bytes)),
        }
    }

    fn ended(mut self, end_bytes: usize) -> (Option<RawStatement<'a>>, usize) {
        self.finish_piece(self.at);
        if let Some(Piece::Text(last)) = self.pieces.last_mut() {
            *last = last.trim_end();
        }
        self.pieces.retain(|piece| !matches!(piece, Piece::Text(text) if text.is_empty()));
        let statement = RawStatement { at: self.begin, pieces: self.pieces, is_several: self.is_several };
        ((!statement.pieces.is_empty()).then_some(statement), self.at + end_bytes)
    }

    fn finish_piece(&mut self, end: usize) {
        if self.piece_begin < end {
            self.pieces.push(Piece::Text(&self.text[self.piece_begin..end]));
        }
    }

    /// `\;` is a semicolon that does not end what is sent.
    fn join(&mut self) {
        self.finish_piece(self.at);
        self.is_several = true;
        self.piece_begin = self.at + 1;
        self.at += 2;
    }

    fn leave_out_comment(&mut self) {
        self.finish_piece(self.at);
        self.at += self.text[self.at..].find('\n').unwrap_or(self.text.len() - self.at);
        self.piece_begin = self.at;
    }

    /// `/* */` stays, as servers take hints from it; such comments may be nested.
    fn skip_comment(&mut self) -> Result<(), ScriptMistake> {
        let (begin, bytes, mut depth) = (self.at, self.text.as_bytes(), 0_usize);
        while self.at < bytes.len() {
            match &bytes[self.at..] {
                [b'/', b'*', ..] => (depth, self.at) = (depth + 1, self.at + 2),
                [b'*', b'/', ..] => (depth, self.at) = (depth - 1, self.at + 2),
                _ => self.at += 1,
            }
            if depth == 0 {
                return Ok(());
            }
        }
        Err((begin, "this comment has no end".to_owned()))
    }

    /// Whether the quote here begins a string with escapes, E'...'.
    fn is_escape_string(&self) -> bool {
        let before = &self.text.as_bytes()[self.begin..self.at];
        let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || *byte >= 0x80;
        match before {
            [.., earlier, b'e' | b'E'] => !is_word(earlier),
            [b'e' | b'E'] => true,
            _ => false,
        }
    }

    fn skip_quoted(&mut self, quote: u8, has_escapes: bool) -> Result<(), ScriptMistake> {
        let (begin, bytes) = (self.at, self.text.as_bytes());
        self.at += 1;
        while let Some(&byte) = bytes.get(self.at) {
            match byte {
                b'\\' if has_escapes => self.at = next_letter(self.text, self.at + 1),
                b':' => self.variable(true),
                // A doubled quote is one that belongs to the text: it closes here and opens again.
                _ if byte == quote => {
                    self.at += 1;
                    return Ok(());
                }
                _ => self.at += 1,
            }
        }
        Err((begin, format!("this {} has no end", if quote == b'\'' { "string" } else { "quoted name" })))
    }

    /// `$tag$ ... $tag$`, without variables inside.
    fn skip_dollar_quoted(&mut self) -> Result<(), ScriptMistake> {
        let begin = self.at;
        let is_inside_name = self.text[self.begin..begin]
            .chars()
            .next_back()
            .is_some_and(|letter| letter.is_alphanumeric() || letter == '_' || letter == '$');
        let rest = &self.text[begin + 1..];
        let tag = leading_name(rest).unwrap_or("");
        if is_inside_name || !rest[tag.len()..].starts_with('$') {
            self.at += 1;
            return Ok(());
        }
        let mark = &self.text[begin..begin + tag.len() + 2];
        match self.text[begin + mark.len()..].find(mark) {
            Some(length) => {
                self.at = begin + mark.len() + length + mark.len();
                Ok(())
            }
            None => Err((begin, format!("this string has no end: {mark}"))),
        }
    }

    /// At a colon: a variable, a cast, or nothing of the kind.
    fn variable(&mut self, is_quoted: bool) {
        let at = self.at;
        let Some(name) = leading_name(&self.text[at + 1..]) else {
            let colons = self.text[at..].bytes().take_while(|&byte| byte == b':').count();
            self.at += colons;
            // `::name` is a cast.
            if colons > 1 {
                self.at += leading_name(&self.text[self.at..]).map_or(0, str::len);
            }
            return;
        };
        self.finish_piece(at);
        self.pieces.push(Piece::Variable { name, at, is_quoted });
        self.at += 1 + name.len();
        self.piece_begin = self.at;
    }
}

/// Behind the letter at `at`.
fn next_letter(text: &str, at: usize) -> usize {
    at + text[at..].chars().next().map_or(0, char::len_utf8)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Statements as `<text>`, variables as `{name}` or, in quotes, `[name]`, commands as `\name(rest)`.
    fn parts(text: &str) -> String {
        let (parts, mistakes) = read(text);
        let piece = |piece: &Piece<'_>| match piece {
            Piece::Text(text) => (*text).to_owned(),
            Piece::Variable { name, is_quoted: false, .. } => format!("{{{name}}}"),
            Piece::Variable { name, .. } => format!("[{name}]"),
        };
        let part = |part: &ScriptPart<'_>| match part {
            ScriptPart::Statement(statement) => format!("<{}>", statement.pieces.iter().map(piece).collect::<String>()),
            ScriptPart::Command(command) => {
                format!("\\{}({})", command.name, text[command.rest.0..command.rest.1].trim())
            }
        };
        let mut shown: Vec<String> = parts.iter().map(part).collect();
        shown.extend(mistakes.iter().map(|(at, cause)| format!("{at}: {cause}")));
        shown.join(" ")
    }

    #[test]
    fn statements_end_at_semicolons_and_at_the_end() {
        assert_eq!(parts("SELECT 1;\n SELECT\n 2 ;;\nSELECT 3"), "<SELECT 1> <SELECT\n 2> <SELECT 3>");
        assert_eq!(parts(""), "");
        assert_eq!(parts(" -- nothing\n ; "), "");
    }

    #[test]
    fn quotes_and_parentheses_hide_semicolons() {
        assert_eq!(parts("SELECT ';''', \"a;\", `b;`; X"), "<SELECT ';''', \"a;\", `b;`> <X>");
        assert_eq!(parts(r"SELECT E'\';', 'a\'; X"), r"<SELECT E'\';', 'a\'> <X>");
        assert_eq!(parts("SELECT $$;'$$, $x$;$$;$x$; X"), "<SELECT $$;'$$, $x$;$$;$x$> <X>");
        assert_eq!(parts("SELECT a$b$c; X$d$"), "<SELECT a$b$c> <X$d$>");
        assert_eq!(parts("RULE (a; b); c"), "<RULE (a; b)> <c>");
    }

    #[test]
    fn comments_are_left_out_and_hints_are_kept() {
        assert_eq!(parts("SELECT -- all;\n1 /* a; /* b */ c; */; X--y"), "<SELECT \n1 /* a; /* b */ c; */> <X>");
    }

    #[test]
    fn commands_take_a_line_or_more() {
        assert_eq!(
            parts("\\set a 1\nSELECT 1 \\gset p_\n\\sleep 1 ms"),
            "\\set(a 1) <SELECT 1> \\gset(p_) \\sleep(1 ms)"
        );
        assert_eq!(parts("\\set a \\\n 1\r\n\\if x"), "\\set(a \\\n 1) \\if(x)");
        assert_eq!(parts("SELECT 1 \\; SELECT 2; X"), "<SELECT 1 ; SELECT 2> <X>");
    }

    #[test]
    fn variables_are_found_and_casts_are_not() {
        assert_eq!(
            parts("SELECT :a::int, :b+:c, '12:30:00 :d', x := 1"),
            "<SELECT {a}::int, {b}+{c}, '12:30:00 [d]', x := 1>"
        );
        assert_eq!(parts("SELECT a[1:2], :é"), "<SELECT a[1:2], {é}>");
    }

    #[test]
    fn what_has_no_end_is_a_mistake_where_it_begins() {
        assert_eq!(parts("SELECT 'a"), "7: this string has no end");
        assert_eq!(parts("SELECT \"a"), "7: this quoted name has no end");
        assert_eq!(parts("SELECT /* a"), "7: this comment has no end");
        assert_eq!(parts("SELECT $a$ $$"), "7: this string has no end: $a$");
        assert_eq!(parts("SELECT (1, (2)"), "7: this parenthesis is not closed");
    }
}
