//! TLS to real servers: which modes encrypt, which believe, and that requests pass through it as they do without.

use crate::certificates::Certificates;
use crate::{PATIENCE, address, awaited, connected, done, shown};
use testkit::mariadb_server::MariaDbServer;
use testkit::postgres_server::PostgresServer;
use testkit::program::left_out;
use wire::{Connection, ErrorKind, Value, WireError};

fn postgres(certificates: &Certificates, certificate: &str) -> Option<PostgresServer> {
    let server = PostgresServer::start(&[]).map_err(|reason| left_out(&reason)).ok()?;
    for name in [format!("{certificate}.crt"), format!("{certificate}.key"), "ca.crt".to_owned()] {
        server.private_file(&name, &certificates.read(&name));
    }
    let place = server.directory().display();
    let mut own = connected(&format!("host={place} port={} user=postgres dbname=postgres", server.port()));
    for (name, value) in
        [("ssl_cert_file", format!("{certificate}.crt")), ("ssl_key_file", format!("{certificate}.key"))]
    {
        own.execute(&format!("alter system set {name} = '{place}/{value}'")).expect("it is set");
    }
    own.execute(&format!("alter system set ssl_ca_file = '{place}/ca.crt'")).expect("it is set");
    own.execute("alter system set ssl = on").expect("it is set");
    own.execute("create role bound login password 'geheim'; create role client login; select pg_reload_conf()")
        .expect("made");
    server.set_rules(
        "local all all trust\nhost all postgres all trust\nhostssl all bound all scram-sha-256\nhostssl all client all cert\n",
    );
    while !Connection::connect(&address(&by_port(&server, "localhost", "sslmode=require")), PATIENCE)
        .is_ok_and(|it| it.is_encrypted())
    {
        std::thread::yield_now();
    }
    Some(server)
}

fn by_port(server: &PostgresServer, host: &str, settings: &str) -> String {
    format!("postgres://postgres@{host}:{}/postgres?{settings}", server.port())
}

fn mariadb(certificates: &Certificates) -> Option<MariaDbServer> {
    let option = |name: &str, file: &str| format!("--ssl-{name}={}", certificates.path(file).display());
    let options = [option("ca", "ca.crt"), option("cert", "server.crt"), option("key", "server.key")];
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    MariaDbServer::start(&options).map_err(|reason| left_out(&reason)).ok()
}

fn certificates() -> Option<Certificates> {
    let made = Certificates::make();
    if made.is_none() {
        left_out("openssl is not installed");
    }
    made
}

/// Every mode with what it is to do: settings, host, whether it is let in, and then whether it is encrypted.
fn check_modes(certificates: &Certificates, connect: impl Fn(&str, &str) -> Result<Connection, WireError>) {
    let ca = certificates.path("ca.crt").display().to_string();
    let foreign = certificates.path("foreign.crt").display().to_string();
    let own = certificates.path("server.crt").display().to_string();
    let cases = [
        ("", "127.0.0.1", Some(true)),
        ("sslmode=disable", "127.0.0.1", Some(false)),
        ("sslmode=require", "127.0.0.1", Some(true)),
        (&format!("sslmode=verify-ca&sslrootcert={ca}"), "127.0.0.1", Some(true)),
        (&format!("sslmode=verify-ca&sslrootcert={foreign}"), "127.0.0.1", None),
        (&format!("sslmode=verify-full&sslrootcert={ca}"), "localhost", Some(true)),
        (&format!("sslmode=verify-full&sslrootcert={ca}"), "127.0.0.1", None),
        (&format!("sslmode=verify-full&sslrootcert={foreign}"), "localhost", None),
        (&format!("sslmode=verify-full&sslrootcert={own}"), "localhost", Some(true)),
        ("sslmode=verify-ca&sslrootcert=/nonexistent", "localhost", None),
    ];
    for (settings, host, expected) in cases {
        match (connect(host, settings), expected) {
            (Ok(mut connection), Some(is_encrypted)) => {
                assert_eq!(connection.is_encrypted(), is_encrypted, "{settings}");
                assert_eq!(shown(&connection.query("select 1").expect("an answer")), [["1"]]);
            }
            (Err(error), None) => assert!(matches!(error, WireError::Tls(_)), "{settings}: {error}"),
            (outcome, _) => panic!("{settings} to {host}: {outcome:?}"),
        }
    }
}

#[test]
fn modes_mean_what_they_say_with_postgres() {
    let Some(certificates) = certificates() else { return };
    let Some(server) = postgres(&certificates, "server") else { return };
    check_modes(&certificates, |host, settings| {
        Connection::connect(&address(&by_port(&server, host, settings)), PATIENCE)
    });
}

#[test]
fn modes_mean_what_they_say_with_mariadb() {
    let Some(certificates) = certificates() else { return };
    let Some(server) = mariadb(&certificates) else { return };
    check_modes(&certificates, |host, settings| {
        let text = format!("mysql://root@{host}:{}/?{settings}", server.port());
        Connection::connect(&address(&text), PATIENCE)
    });
}

/// SCRAM is bound to the server's certificate, by the hash of its signature; a client may have a certificate of its own.
#[test]
fn logins_are_bound_to_certificates() {
    let Some(certificates) = certificates() else { return };
    for certificate in ["server", "curve"] {
        let Some(server) = postgres(&certificates, certificate) else { return };
        let text = |user: &str, settings: &str| {
            format!("postgres://{user}@localhost:{}/postgres?sslmode=require&{settings}", server.port())
        };
        let connection = Connection::connect(&address(&text("bound:geheim", "")), PATIENCE).expect("it is let in");
        assert!(connection.is_encrypted());
        let refused = Connection::connect(&address(&text("bound:wrong", "")), PATIENCE).expect_err("it is refused");
        assert_eq!(refused.kind(), ErrorKind::Authentication);
        let path = |name: &str| certificates.path(name).display().to_string();
        let with = format!("sslcert={}&sslkey={}", path("client.crt"), path("client.key"));
        assert_eq!(connected(&text("client", &with)).query("select 1").expect("an answer").len(), 1);
        Connection::connect(&address(&text("client", "")), PATIENCE).expect_err("it has no certificate");
    }
}

#[test]
fn a_key_that_others_may_read_is_not_used() {
    use std::os::unix::fs::PermissionsExt;
    let Some(certificates) = certificates() else { return };
    let Some(server) = mariadb(&certificates) else { return };
    let (certificate, key) = (certificates.path("client.crt"), certificates.path("client.key"));
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o644)).expect("it is ours");
    let settings = format!("ssl-mode=required&ssl-cert={}&ssl-key={}", certificate.display(), key.display());
    let text = format!("mysql://root@localhost:{}/?{settings}", server.port());
    let error = Connection::connect(&address(&text), PATIENCE).expect_err("it is refused").to_string();
    assert!(error.ends_with("others may read the key; its mode should be 0600 or less"), "{error}");
}

/// A server without TLS: what is only preferred is done without.
#[test]
fn a_server_without_tls_is_refused_where_it_is_required() {
    let Some(server) = PostgresServer::start(&[]).map_err(|reason| left_out(&reason)).ok() else { return };
    let connect = |settings: &str| Connection::connect(&address(&by_port(&server, "127.0.0.1", settings)), PATIENCE);
    assert!(!connect("sslmode=prefer").expect("it is let in").is_encrypted());
    assert_eq!(connect("sslmode=require").expect_err("it is refused").to_string(), "TLS: the server has none");
}

/// Large and many replies pass through TLS, also without blocking.
#[test]
fn requests_pass_through_tls() {
    let Some(certificates) = certificates() else { return };
    let Some(server) = postgres(&certificates, "server") else { return };
    let Some(other) = mariadb(&certificates) else { return };
    let maria = format!("mysql://root@127.0.0.1:{}/?sslmode=require", other.port());
    let texts = [(by_port(&server, "127.0.0.1", "sslmode=require"), "$1::bigint"), (maria, "?")];
    for (text, parameter) in texts {
        let mut connection = connected(&text);
        let long = "x".repeat(3_000_000);
        let kept = connection.query(&format!("select '{long}'")).expect("an answer");
        assert!(kept[0][0].as_deref() == Some(long.as_bytes()));
        let statement = connection.prepare(&format!("select {parameter}")).expect("it can be prepared");
        connection.set_nonblocking(true).expect("it can be");
        for _ in 0..20 {
            for number in 0..50 {
                connection.queue_prepared(&statement, &[Value::Int(number)]).expect("it is queued");
            }
            connection.queue_text(&format!("select '{long}'")).expect("it is queued");
            for _ in 0..51 {
                assert_eq!(awaited(&mut connection), done(1, 0));
            }
            assert_eq!(connection.next_reply().expect("it lives"), None);
        }
    }
}
