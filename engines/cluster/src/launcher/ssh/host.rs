//! Hosts as they are named on a command line, and as ssh takes them.

use crate::launcher::LauncherFault;
use std::fmt;
use std::str::FromStr;

/// A host by the name that the user gave it: `HOST`, `USER@HOST`, `HOST:PORT`, `[V6]:PORT`, or a name of ssh's own settings.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SshHost(String);

impl SshHost {
    /// Those of `HOST,...`.
    ///
    /// # Errors
    /// When one of them is no host's name.
    pub fn list(text: &str) -> Result<Vec<Self>, LauncherFault> {
        text.split(',').map(str::parse).collect()
    }

    /// As ssh takes it: a port needs the form of an address with `ssh://`.
    pub(super) fn destination(&self) -> String {
        let text = self.0.as_str();
        let host = text.rsplit_once('@').map_or(text, |(_, host)| host);
        let has_port = host.rsplit_once(':').is_some_and(|(name, port)| {
            let is_number = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
            // An address of version 6 has colons of its own, and a port only behind brackets.
            is_number && (!name.contains(':') || name.ends_with(']'))
        });
        match (has_port, host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'))) {
            (true, _) if !text.starts_with("ssh://") => format!("ssh://{text}"),
            // Brackets without a port are not known to ssh.
            (_, Some(address)) => format!("{}{address}", &text[..text.len() - host.len()]),
            _ => text.to_owned(),
        }
    }
}

impl FromStr for SshHost {
    type Err = LauncherFault;

    /// Refuses what ssh would take for an option, and what no host is called.
    fn from_str(text: &str) -> Result<Self, LauncherFault> {
        let is_plain = |letter: char| letter.is_ascii_graphic() && !"\"'\\`$;&|<>(){}*?!,".contains(letter);
        let refused = |reason| Err(LauncherFault::Host { host: text.escape_default().to_string(), reason });
        match () {
            () if text.is_empty() || text.len() > 255 => refused("a name has 1 to 255 letters"),
            () if text.starts_with('-') || text.contains("@-") => {
                refused("ssh takes what begins with '-' for an option")
            }
            () if !text.chars().all(is_plain) => refused("it has letters that no host's name has"),
            () => Ok(Self(text.to_owned())),
        }
    }
}

impl fmt::Display for SshHost {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_become_addresses_and_the_rest_stays() {
        for (host, destination) in [
            ("web1", "web1"),
            ("root@db1.example.org", "root@db1.example.org"),
            ("web1:2222", "ssh://web1:2222"),
            ("me@[::1]:22", "ssh://me@[::1]:22"),
            ("me@[fe80::1%eth0]", "me@fe80::1%eth0"),
            ("::1", "::1"),
            ("fe80::1:22", "fe80::1:22"),
            ("ssh://me@web1:22", "ssh://me@web1:22"),
            ("web1:", "web1:"),
        ] {
            assert_eq!(host.parse::<SshHost>().expect("a host").destination(), destination, "{host}");
        }
    }

    #[test]
    fn options_are_no_hosts() {
        for text in ["-oProxyCommand=x", "a@-b", "", "a,,b", "a b", "a;b", "web\x1b[2J", "$(x)"] {
            assert!(SshHost::list(text).is_err(), "{text}");
        }
        assert_eq!(SshHost::list("a,b@c").expect("hosts").len(), 2);
    }
}
