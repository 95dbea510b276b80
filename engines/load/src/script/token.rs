//! The words of an expression.

/// A word, and where it begins in the script.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Token<'a> {
    pub at: usize,
    pub kind: TokenKind<'a>,
}

/// What a word is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum TokenKind<'a> {
    Integer(u64),
    Double(f64),
    /// `:name`, without its colon.
    Variable(&'a str),
    /// A keyword or a function's name.
    Name(&'a str),
    Symbol(&'static str),
    End,
}

/// Symbols, the longer ones first.
const SYMBOLS: &[&str] =
    &["<=", ">=", "<>", "!=", "<<", ">>", "+", "-", "*", "/", "%", "(", ")", ",", "<", ">", "=", "&", "|", "#", "~"];

/// The next word behind `at`, and where the one behind it can be looked for; the text ends with the command.
pub(super) fn next(text: &str, at: usize) -> Result<(Token<'_>, usize), (usize, String)> {
    let at = skip_space(text, at);
    let rest = &text[at..];
    let Some(first) = rest.chars().next() else { return Ok((Token { at, kind: TokenKind::End }, at)) };
    if first.is_ascii_digit() || (first == '.' && rest[1..].starts_with(|next: char| next.is_ascii_digit())) {
        return number(text, at);
    }
    if let Some(name) = rest.strip_prefix(':').and_then(leading_name) {
        return Ok((Token { at, kind: TokenKind::Variable(name) }, at + 1 + name.len()));
    }
    if let Some(name) = leading_name(rest) {
        return Ok((Token { at, kind: TokenKind::Name(name) }, at + name.len()));
    }
    match SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) {
        Some(symbol) => Ok((Token { at, kind: TokenKind::Symbol(symbol) }, at + symbol.len())),
        None => Err((at, format!("unexpected character '{}'", first.escape_default()))),
    }
}

fn number(text: &str, at: usize) -> Result<(Token<'_>, usize), (usize, String)> {
    let digits = |from: usize| text[from..].bytes().take_while(u8::is_ascii_digit).count();
    let whole_end = at + digits(at);
    let mut end = whole_end;
    if text[end..].starts_with('.') {
        end += 1 + digits(end + 1);
    }
    if let Some(exponent) = text[end..].strip_prefix(['e', 'E']) {
        let sign = usize::from(exponent.starts_with(['+', '-']));
        let exponent_digits = digits(end + 1 + sign);
        if exponent_digits > 0 {
            end += 1 + sign + exponent_digits;
        }
    }
    let written = &text[at..end];
    let kind = if end == whole_end {
        TokenKind::Integer(written.parse().map_err(|error| (at, format!("'{written}' is no number: {error}")))?)
    } else {
        TokenKind::Double(written.parse().map_err(|error| (at, format!("'{written}' is no number: {error}")))?)
    };
    Ok((Token { at, kind }, end))
}

/// Behind blanks and continued lines.
pub(super) fn skip_space(text: &str, at: usize) -> usize {
    let mut rest = &text[at..];
    loop {
        let trimmed = rest.trim_start_matches([' ', '\t', '\r', '\x0b', '\x0c', '\n']);
        match trimmed.strip_prefix("\\\n").or_else(|| trimmed.strip_prefix("\\\r\n")) {
            Some(behind) => rest = behind,
            None => return text.len() - trimmed.len(),
        }
    }
}

/// The name of a variable or function at the beginning of a text: letters, digits and underscores, no digit first.
pub(super) fn leading_name(text: &str) -> Option<&str> {
    let is_letter = |letter: char| match letter {
        'a'..='z' | 'A'..='Z' | '_' => true,
        letter => !letter.is_ascii() && !letter.is_control() && !letter.is_whitespace(),
    };
    let end = text.find(|letter: char| !is_letter(letter) && !letter.is_ascii_digit()).unwrap_or(text.len());
    (end > 0 && text.starts_with(is_letter)).then(|| &text[..end])
}
