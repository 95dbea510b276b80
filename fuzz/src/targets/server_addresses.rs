//! An address of a server, or one of the files that complete it: the first byte chooses which. No panic, and no password is shown.

use testkit::tree::TempTree;
use wire::{Environment, ServerAddress};

/// Runs one input.
pub fn run(input: &[u8]) {
    let Some((choice, rest)) = input.split_first() else { return };
    let text = String::from_utf8_lossy(rest);
    let tree = TempTree::new();
    let mut environment = Environment::read(|_| None);
    environment.user = Some("me".to_owned());
    environment.home = Some(tree.path().to_owned());
    let (file, address) = match choice % 4 {
        0 => return look(&text, &environment),
        1 => (".pgpass", "postgres://u@h:1/d"),
        2 => (".pg_service.conf", "service=s"),
        _ => (".my.cnf", "mysql://"),
    };
    tree.file(file, rest).mode(file, 0o600);
    look(address, &environment);
}

fn look(text: &str, environment: &Environment) {
    let Ok(address) = ServerAddress::parse(text, environment) else { return };
    let shown = format!("{address} {address:?}");
    let with_password = address.with_password("a password of nobody else");
    assert_eq!(format!("{with_password} {with_password:?}"), shown);
}

/// Each with what it may hold.
pub fn seeds() -> Vec<Vec<u8>> {
    let seeds: [(u8, &str); 9] = [
        (0, "postgres://u:p%40@[::1]:5433/d?sslmode=verify-full&sslrootcert=system"),
        (0, "postgresql:///d?host=/run/postgresql&application_name=x"),
        (0, r"host=h dbname='a b' password=it\'s port=1"),
        (0, "mysql://u:p@localhost:3306/d?ssl-mode=VERIFY_CA&ssl-ca=/x"),
        (0, "mariadb:///d?socket=/run/mysqld/mysqld.sock"),
        (1, "# all\nh:1:d:u:p\\:q\n*:*:*:*:other\n"),
        (2, "[other]\nhost=x\n[s]\nhost=h\nport=7\ndbname=d\n"),
        (3, "[client]\nuser = u # who\npassword=\"a#b\\\"\\s'\"\nskip-ssl\n[mysqld]\nport=1\n[mysql]\nloose_ssl_ca\n"),
        (3, "!include /nonexistent\n!includedir /nonexistent\n[client-mariadb]\nhost=h\n"),
    ];
    seeds.iter().map(|(choice, text)| [&[*choice], text.as_bytes()].concat()).collect()
}
