//! `user:password@host:port/database?name=value&...`, with percent-encoding, into settings by their names.
//! The scheme is taken off before; what names and values mean is not known here.

use super::{AddressError, AddressSettings};

/// Reads what stands behind `scheme://`.
pub(super) fn parse(text: &str, database: &str) -> Result<AddressSettings, AddressError> {
    let mut settings = AddressSettings::new();
    let (text, query) = text.split_once('?').unwrap_or((text, ""));
    let (authority, path) = text.split_once('/').unwrap_or((text, ""));
    // A password may hold an unencoded '@'; a host never does.
    let (user, place) = authority.rsplit_once('@').unwrap_or(("", authority));
    let (user, password) = user.split_once(':').unwrap_or((user, ""));
    let (host, port) = host_and_port(place)?;
    for (name, value) in [("user", user), ("password", password), ("host", host), ("port", port), (database, path)] {
        if !value.is_empty() {
            settings.insert(name.to_owned(), decoded(value)?);
        }
    }
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair
            .split_once('=')
            .ok_or_else(|| AddressError::Syntax(format!("a setting behind '?' is NAME=VALUE, not '{pair}'")))?;
        settings.insert(decoded(name)?, decoded(value)?);
    }
    Ok(settings)
}

fn host_and_port(place: &str) -> Result<(&str, &str), AddressError> {
    if place.contains(',') {
        return Err(AddressError::Syntax("an address names one host, not several".to_owned()));
    }
    if let Some(rest) = place.strip_prefix('[') {
        let syntax = || AddressError::Syntax("an IPv6 address ends with ']', and ':' and a port may follow".to_owned());
        let (host, rest) = rest.split_once(']').ok_or_else(syntax)?;
        let port = if rest.is_empty() { "" } else { rest.strip_prefix(':').ok_or_else(syntax)? };
        return Ok((host, port));
    }
    Ok(place.split_once(':').unwrap_or((place, "")))
}

fn decoded(text: &str) -> Result<String, AddressError> {
    let wrong = || AddressError::Syntax("'%' is followed by two hexadecimal digits".to_owned());
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        if *byte != b'%' {
            bytes.push(*byte);
            continue;
        }
        let (digits, after) = rest.split_first_chunk::<2>().ok_or_else(wrong)?;
        let digit = |byte: u8| char::from(byte).to_digit(16).ok_or_else(wrong);
        bytes.push((digit(digits[0])? * 16 + digit(digits[1])?) as u8);
        rest = after;
    }
    if bytes.contains(&0) {
        return Err(AddressError::Syntax("an address holds no zero byte".to_owned()));
    }
    let text = String::from_utf8(bytes);
    text.ok().ok_or_else(|| AddressError::Syntax("an address is UTF-8, also behind '%'".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        match parse(text, "dbname") {
            Ok(settings) => settings.iter().map(|(name, value)| format!("{name}={value} ")).collect(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn parts_come_apart() {
        assert_eq!(shown("u:p@h:1/d?sslmode=require"), "dbname=d host=h password=p port=1 sslmode=require user=u ");
        assert_eq!(shown("/d?host=/run/postgresql"), "dbname=d host=/run/postgresql ");
        assert_eq!(shown("%2Frun%2Fpg:5433"), "host=/run/pg port=5433 ");
        assert_eq!(shown("[::1]:5433/"), "host=::1 port=5433 ");
        assert_eq!(shown("u:p@ss@h"), "host=h password=p@ss user=u ");
        assert_eq!(shown(""), "");
    }

    #[test]
    fn mistakes_are_named() {
        assert_eq!(shown("h/%2"), "'%' is followed by two hexadecimal digits");
        assert_eq!(shown("h/%+1"), "'%' is followed by two hexadecimal digits");
        assert_eq!(shown("a,b/d"), "an address names one host, not several");
        assert_eq!(shown("[::1/d"), "an IPv6 address ends with ']', and ':' and a port may follow");
        assert_eq!(shown("h/?x"), "a setting behind '?' is NAME=VALUE, not 'x'");
        assert_eq!(shown("h/%00"), "an address holds no zero byte");
        assert_eq!(shown("h/%ff"), "an address is UTF-8, also behind '%'");
    }
}
