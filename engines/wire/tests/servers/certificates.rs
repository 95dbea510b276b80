//! Certificates for the tests, made by openssl: an authority, a server's for `localhost`, a client's, and a foreign authority.

use std::fs;
use std::path::PathBuf;
use testkit::program::TestProgram;
use testkit::tree::TempDir;

pub struct Certificates {
    place: TempDir,
}

impl Certificates {
    /// Made anew; none without openssl.
    pub fn make() -> Option<Self> {
        let place = TempDir::new().expect("a directory");
        let openssl = TestProgram::find("openssl")?.in_directory(place.path());
        let run = |line: &str| drop(openssl.run(line.split(' '), b"").expect("it starts").stdout_of_success());
        fs::write(place.path().join("names"), "subjectAltName=DNS:localhost\n").expect("it can be written");
        for authority in ["ca", "foreign"] {
            run(&format!(
                "req -x509 -newkey rsa:2048 -nodes -keyout {authority}.key -out {authority}.crt -days 2 -subj /CN={authority}"
            ));
        }
        // Another hash in the signature binds logins by another hash.
        for (name, key, hash) in
            [("server", "rsa:2048", "sha256"), ("curve", "ec", "sha384"), ("client", "rsa:2048", "sha256")]
        {
            let kind = if key == "ec" { "ec -pkeyopt ec_paramgen_curve:prime256v1" } else { key };
            run(&format!("req -newkey {kind} -nodes -keyout {name}.key -out {name}.req -subj /CN={name}"));
            run(&format!(
                "x509 -req -in {name}.req -CA ca.crt -CAkey ca.key -CAcreateserial -out {name}.crt -days 2 -{hash} -extfile names"
            ));
        }
        Some(Self { place })
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    pub fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).expect("it was made")
    }
}
