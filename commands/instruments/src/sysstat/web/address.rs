//! Where to listen, as typed, and which names of this host requests may use: a page of somebody else whose name was made to point here
//! (DNS rebinding) is refused by its name.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs};

/// Where to listen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListenAddress {
    /// The name or address as typed; this host alone where none was.
    pub host: String,
    /// The port.
    pub port: u16,
}

impl ListenAddress {
    /// Reads `PORT`, `:PORT`, `HOST`, `HOST:PORT`, `[IPV6]:PORT`; `port` where none is given.
    pub fn parse(text: &str, port: u16) -> Result<Self, String> {
        let bad = |what: &str| format!("{} is no {what}", terminal::quote_text(text));
        let number = |digits: &str| digits.parse::<u16>().ok().ok_or_else(|| bad("port from 0 to 65535"));
        let loopback = || Ipv4Addr::LOCALHOST.to_string();
        if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
            return Ok(Self { host: loopback(), port: number(text)? });
        }
        if let Ok(IpAddr::V6(address)) = text.trim_matches(['[', ']']).parse() {
            return Ok(Self { host: address.to_string(), port });
        }
        let (host, port) = match text.rsplit_once(':') {
            Some((host, digits)) => (host, number(digits)?),
            None => (text, port),
        };
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        let is_host = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '-' | '_' | ':');
        if !host.chars().all(is_host) || host.contains(':') && host.parse::<IpAddr>().is_err() {
            return Err(bad("address: HOST:PORT is needed"));
        }
        Ok(Self { host: if host.is_empty() { loopback() } else { host.to_ascii_lowercase() }, port })
    }

    /// The addresses that it stands for.
    pub fn resolve(&self) -> std::io::Result<Vec<SocketAddr>> {
        Ok((self.host.as_str(), self.port).to_socket_addrs()?.collect())
    }
}

/// Names under which this host is asked for.
#[derive(Clone, Debug, Default)]
pub struct OwnNames {
    names: Vec<String>,
}

impl OwnNames {
    /// Of a host that calls itself `node_name` and listens at `typed`.
    pub fn new(node_name: &str, typed: &str) -> Self {
        let names = ["localhost", node_name, typed].map(str::to_ascii_lowercase);
        Self { names: names.into_iter().filter(|name| !name.is_empty()).collect() }
    }

    /// Whether a header `Host` means this host. An address is no name, so nobody can make it point elsewhere. The port is not looked at:
    /// behind `ssh -L` it is another one.
    pub fn include(&self, host: &str) -> bool {
        let name = match host.strip_prefix('[') {
            Some(rest) => match rest.split_once(']') {
                Some((address, port)) if port.is_empty() || is_port(port) => address,
                _ => return false,
            },
            None => match host.split_once(':') {
                Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
                Some(_) => return false,
                None => host,
            },
        };
        name.parse::<IpAddr>().is_ok() || self.names.iter().any(|own| own.eq_ignore_ascii_case(name))
    }

    /// Whether a header `Origin` is a page of the host that the header `Host` names.
    pub fn is_same_origin(origin: &str, host: &str) -> bool {
        let authority = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        authority.is_some_and(|authority| authority.eq_ignore_ascii_case(host))
    }
}

fn is_port(text: &str) -> bool {
    text.strip_prefix(':').is_some_and(|port| port.bytes().all(|byte| byte.is_ascii_digit()))
}

/// How an address is written in a URL; one that means all of them by the loopback address.
pub fn in_url(address: SocketAddr) -> String {
    match address.ip() {
        ip if ip.is_unspecified() && address.is_ipv6() => format!("[::1]:{}", address.port()),
        ip if ip.is_unspecified() => format!("127.0.0.1:{}", address.port()),
        _ => address.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_port_a_host_or_both() {
        let parse = |text| ListenAddress::parse(text, 7780).ok().map(|address| (address.host, address.port));
        let expect = |host: &str, port| Some((host.to_owned(), port));
        assert_eq!(parse("8080"), expect("127.0.0.1", 8080));
        assert_eq!(parse(":8080"), expect("127.0.0.1", 8080));
        assert_eq!(parse("0.0.0.0"), expect("0.0.0.0", 7780));
        assert_eq!(parse("Web7.example.com:81"), expect("web7.example.com", 81));
        assert_eq!(
            (parse("::1"), parse("[::1]:9"), parse("[::]")),
            (expect("::1", 7780), expect("::1", 9), expect("::", 7780))
        );
        for bad in ["70000", "a:b", "a:70000", "a b:1", "x/y", "http://a:1", "a:b:1"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn names_that_point_here_by_force_are_refused() {
        let own = OwnNames::new("web7", "web7.example.com");
        for host in [
            "localhost",
            "LOCALHOST:7780",
            "127.0.0.1:1",
            "[::1]:7780",
            "[::1]",
            "10.0.0.7",
            "web7",
            "Web7.Example.com:80",
        ] {
            assert!(own.include(host), "{host}");
        }
        for host in [
            "",
            "evil.example",
            "web7.evil.example",
            "localhost.evil:7780",
            "127.0.0.1.evil",
            "[::1]x",
            "[::1",
            "a:b",
            "localhost:80@evil",
        ] {
            assert!(!own.include(host), "{host}");
        }
    }

    #[test]
    fn another_page_is_another_origin() {
        assert!(OwnNames::is_same_origin("http://127.0.0.1:7780", "127.0.0.1:7780"));
        for origin in ["null", "http://127.0.0.1:8080", "http://evil.example", "file://", "http://127.0.0.1:7780.evil"]
        {
            assert!(!OwnNames::is_same_origin(origin, "127.0.0.1:7780"), "{origin}");
        }
    }

    #[test]
    fn a_url_never_holds_the_address_of_all() {
        let url = |text: &str| in_url(text.parse().expect("an address"));
        assert_eq!([url("0.0.0.0:1"), url("[::]:1"), url("10.1.2.3:4")], ["127.0.0.1:1", "[::1]:1", "10.1.2.3:4"]);
    }
}
