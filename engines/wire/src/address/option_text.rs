//! An address as an option file of MySQL's own programs, so that a password is in no command line.

use super::{Endpoint, Protocol, ServerAddress, TlsMode};
use std::fmt::Write as _;
use std::path::Path;

/// Whose programs read an option file: they spell TLS differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionDialect {
    /// mariadb, mariadb-dump.
    MariaDb,
    /// mysql, mysqldump.
    MySql,
}

impl ServerAddress {
    /// The text of a file for `--defaults-file`; none for a server of PostgreSQL. `is_encrypted`: whether a connection to it has TLS.
    pub fn option_file(&self, dialect: OptionDialect, is_encrypted: bool) -> Option<String> {
        if self.protocol != Protocol::MySql {
            return None;
        }
        let mut text = "[client]\n".to_owned();
        put(&mut text, "user", &self.user);
        if let Some(password) = &self.password {
            put(&mut text, "password", password);
        }
        match &self.place {
            Endpoint::Unix(path) => put(&mut text, "socket", &path.display().to_string()),
            Endpoint::Tcp { host, ip, port } => {
                put(&mut text, "protocol", "tcp");
                put(&mut text, "host", ip.as_ref().unwrap_or(host));
                put(&mut text, "port", &port.to_string());
            }
        }
        self.put_tls(&mut text, dialect, is_encrypted);
        Some(text)
    }

    /// Options of the command line that say where the server is and who asks; none for a server of PostgreSQL. They go before those of any file.
    pub fn client_options(&self) -> Vec<String> {
        if self.protocol != Protocol::MySql {
            return Vec::new();
        }
        let mut options = vec![format!("--user={}", self.user)];
        match &self.place {
            Endpoint::Unix(path) => {
                let socket = format!("--socket={}", path.display());
                options.extend(["--protocol=socket".to_owned(), "--host=localhost".to_owned(), socket]);
            }
            Endpoint::Tcp { host, ip, port } => {
                let host = ip.as_ref().unwrap_or(host);
                options.extend(["--protocol=tcp".to_owned(), format!("--host={host}"), format!("--port={port}")]);
            }
        }
        options
    }

    fn put_tls(&self, text: &mut String, dialect: OptionDialect, is_encrypted: bool) {
        match (dialect, is_encrypted, self.tls.mode) {
            (OptionDialect::MariaDb, false, _) => text.push_str("skip-ssl\n"),
            (OptionDialect::MariaDb, true, TlsMode::VerifyFull) => text.push_str("ssl\nssl-verify-server-cert\n"),
            // COMPAT: programs of 11.4 and newer verify unless they are told not to.
            (OptionDialect::MariaDb, true, _) => text.push_str("ssl\nskip-ssl-verify-server-cert\n"),
            (OptionDialect::MySql, false, _) => text.push_str("ssl-mode=DISABLED\n"),
            (OptionDialect::MySql, true, TlsMode::VerifyFull) => text.push_str("ssl-mode=VERIFY_IDENTITY\n"),
            (OptionDialect::MySql, true, TlsMode::VerifyCa) => text.push_str("ssl-mode=VERIFY_CA\n"),
            (OptionDialect::MySql, true, _) => text.push_str("ssl-mode=REQUIRED\n"),
        }
        if !is_encrypted {
            return;
        }
        let files = [("ssl-ca", &self.tls.root), ("ssl-cert", &self.tls.certificate), ("ssl-key", &self.tls.key)];
        for (name, path) in files.into_iter().filter_map(|(name, path)| Some((name, path.as_deref()?))) {
            put(text, name, &Path::display(path).to_string());
        }
    }
}

fn put(text: &mut String, name: &str, value: &str) {
    text.push_str(name);
    text.push_str("=\"");
    for letter in value.chars() {
        match letter {
            '\\' => text.push_str("\\\\"),
            '"' => text.push_str("\\\""),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            letter => text.push(letter),
        }
    }
    // Writing into a string does not fail.
    let _written = writeln!(text, "\"");
}

#[cfg(test)]
mod tests {
    use super::super::Environment;
    use super::super::option_files::OptionFiles;
    use super::*;
    use testkit::tree::TempTree;

    #[test]
    fn a_file_is_read_as_it_was_meant() {
        let password = "it's \"#\\n\\ \n\t end ";
        let address =
            ServerAddress::parse("mysql://me@db.example:3307/shop?sslmode=verify-full", &Environment::default());
        let address = address.expect("a good address").with_password(password);
        let tree = TempTree::new();
        tree.file("f", address.option_file(OptionDialect::MySql, true).expect("it is MySQL's"));
        let found = OptionFiles::read(&[tree.path().join("f")]).expect("it can be read").options;
        assert_eq!(found.get("password").map(String::as_str), Some(password));
        assert_eq!(found.get("host").map(String::as_str), Some("db.example"));
        assert_eq!(found.get("port").map(String::as_str), Some("3307"));
        assert_eq!(found.get("ssl-mode").map(String::as_str), Some("VERIFY_IDENTITY"));
        let plain = address.option_file(OptionDialect::MariaDb, false).expect("it is MySQL's");
        assert!(plain.ends_with("skip-ssl\n") && !plain.contains("ssl-ca"), "{plain}");
        let options = address.client_options();
        assert_eq!(options, ["--user=me", "--protocol=tcp", "--host=db.example", "--port=3307"], "and no password");
    }

    #[test]
    fn a_server_of_postgresql_has_none() {
        let address = ServerAddress::parse("postgres://me@h/d", &Environment::default()).expect("a good address");
        assert_eq!(address.option_file(OptionDialect::MariaDb, false), None);
    }
}
