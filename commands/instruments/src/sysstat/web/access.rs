//! Who may see the pages: a token in the URL's fragment, which no request carries, is exchanged once for a cookie. Both are random, live
//! as long as the program, and are compared in a time that tells nothing.

use std::fmt::Write;

/// Random bytes of a secret.
const SECRET_BYTES: usize = 16;

/// The secrets of a server.
pub struct Secrets {
    token: String,
    session: String,
    /// One for each port: cookies of a host are the same on all its ports.
    cookie: String,
}

impl Secrets {
    /// New ones for a server at `port`.
    pub fn new(port: u16) -> std::io::Result<Self> {
        Ok(Self { token: secret()?, session: secret()?, cookie: format!("mh-{port}") })
    }

    /// What the URL carries.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// The header `Set-Cookie` for who knows the token; none for others.
    pub fn cookie_for(&self, token: &str) -> Option<String> {
        let is_right = are_same(token.trim_ascii(), &self.token);
        is_right.then(|| format!("{}={}; Path=/; HttpOnly; SameSite=Strict", self.cookie, self.session))
    }

    /// Whether a request may see what it asks for: by its cookies, or by `Authorization: Bearer TOKEN` for programs.
    pub fn admit(&self, cookies: &str, authorization: &str) -> bool {
        let is_ours = |cookie: &str| {
            let named = cookie.trim_ascii().split_once('=').filter(|(name, _)| *name == self.cookie);
            named.is_some_and(|(_, value)| are_same(value, &self.session))
        };
        let bearer = authorization.split_once(' ').filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
        cookies.split(';').any(is_ours) || bearer.is_some_and(|(_, token)| are_same(token.trim_ascii(), &self.token))
    }
}

fn secret() -> std::io::Result<String> {
    let mut bytes = [0_u8; SECRET_BYTES];
    let mut filled = 0;
    while filled < SECRET_BYTES {
        filled += rustix::rand::getrandom(&mut bytes[filled..], rustix::rand::GetRandomFlags::empty())?;
    }
    let mut text = String::with_capacity(2 * SECRET_BYTES);
    bytes.iter().for_each(|byte| write!(text, "{byte:02x}").expect("a string takes every write"));
    Ok(text)
}

/// Looks at every byte, wherever the first difference is.
fn are_same(one: &str, other: &str) -> bool {
    let differences = one.bytes().zip(other.bytes()).fold(0_u8, |all, (one, other)| all | (one ^ other));
    one.len() == other.len() && std::hint::black_box(differences) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_token_buys_a_cookie_and_nothing_else_does() {
        let secrets = Secrets::new(7780).expect("random bytes");
        let set = secrets.cookie_for(secrets.token()).expect("the right token");
        assert!(set.starts_with("mh-7780=") && set.ends_with("; Path=/; HttpOnly; SameSite=Strict"));
        let cookie = set.split(';').next().expect("a cookie");
        assert!(!cookie.contains(secrets.token()));
        assert!(secrets.admit(cookie, "") && secrets.admit(&format!("a=b; {cookie}; c"), ""));
        assert!(secrets.admit("", &format!("Bearer {}", secrets.token())));
        let other = Secrets::new(7780).expect("random bytes");
        assert_ne!(other.token(), secrets.token());
        for token in ["", &secrets.token()[1..], other.token(), "0"] {
            assert_eq!(secrets.cookie_for(token), None, "{token}");
            assert!(!secrets.admit(&format!("mh-7780={token}"), &format!("Bearer {token}")));
        }
        assert!(!secrets.admit(&format!("x{cookie}"), "") && !secrets.admit("mh-7780", "Bearer"));
        assert!(!other.admit(cookie, ""), "of an earlier run");
    }
}
