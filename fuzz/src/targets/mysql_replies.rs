//! What a MySQL or MariaDB says to a login and to requests: an error or a reply, the same in any pieces.

use crate::server_talk::{self, Prologue};

/// Runs one input.
pub fn run(input: &[u8]) {
    server_talk::run(&prologue(), input);
}

fn prologue() -> Prologue {
    let address = "mysql://u:geheim@h/d?ssl-mode=disabled";
    let prepared = [packet(1, b"\0\x01\0\0\0\x02\0\0\0\0\0\0"), column(2, 3), column(3, 253)].concat();
    Prologue { address, login: [greeting("mysql_native_password"), ok(2)].concat(), prepared }
}

fn packet(sequence: u8, payload: &[u8]) -> Vec<u8> {
    [&(payload.len() as u32).to_le_bytes()[..3], &[sequence], payload].concat()
}

/// MariaDB's, with its further flags.
fn greeting(plugin: &str) -> Vec<u8> {
    let head = b"\x0a5.5.5-10.11.9-MariaDB\0\x07\0\0\0abcdefgh\0\xfe\xf7\x2d\x02\0\xff\x81\x15\0\0\0\0\0\0\x1d\0\0\0ijklmnopqrst\0";
    packet(0, &[&head[..], plugin.as_bytes(), b"\0"].concat())
}

fn ok(sequence: u8) -> Vec<u8> {
    packet(sequence, b"\0\x05\0\x02\0\0\0")
}

fn column(sequence: u8, kind: u8) -> Vec<u8> {
    packet(
        sequence,
        &[b"\x03def\x01d\x01t\x01t\x01a\x01a\x0c\x3f\0\x0b\0\0\0", &[kind][..], b"\x03\x50\0\0\0"].concat(),
    )
}

/// Logins of every kind, and replies to four requests.
pub fn seeds() -> Vec<Vec<u8>> {
    let native = || greeting("mysql_native_password");
    let sha2 = || greeting("caching_sha2_password");
    let key = include_bytes!("mysql_replies/key.pem");
    let logins = [
        [native(), ok(2)].concat(),
        [sha2(), packet(2, b"\x01\x03"), ok(3)].concat(),
        [sha2(), packet(2, b"\x01\x04"), packet(4, &[b"\x01", &key[..]].concat()), ok(6)].concat(),
        [native(), packet(2, b"\xfecaching_sha2_password\0abcdefghijklmnopqrst\0"), packet(4, b"\x01\x03"), ok(5)]
            .concat(),
        [native(), packet(2, b"\xfeclient_ed25519\0abcdefghijklmnopqrstuvwxyz012345"), ok(4)].concat(),
        [native(), packet(2, b"\xff\x15\x04#28000Access denied")].concat(),
        packet(0, b"\xff\x10\x04Too many connections"),
    ];
    let end = |sequence| packet(sequence, b"\xfe\0\0\x02\0\0\0");
    let text = [packet(1, b"\x02\x01"), column(2, 3), column(3, 253), packet(4, b"\x011\xfb"), end(5)].concat();
    let binary =
        [packet(1, b"\x02\0"), packet(2, b"\0\x08\x07\0\0\0"), packet(3, b"\0\0\x07\0\0\0\x01a"), end(4)].concat();
    let several = [packet(1, b"\0\x01\0\x0a\0\0\0"), packet(2, b"\xff\x10\x04#HY000no")].concat();
    let changed =
        [packet(1, b"\x02\x01"), column(2, 12), column(3, 11), packet(4, b"\0\0\x04\xea\x07\x0b\x1d\0"), end(5)];
    let replies = [text, binary, several, changed.concat()].concat();
    let file = packet(1, b"\xfb/etc/passwd");
    let of_login = logins.into_iter().map(|said| [&[0], &said[..]].concat());
    let of_replies = [0b11, 0b01, 0b1_0111].map(|choice| [&[choice], &replies[..]].concat());
    of_login.chain(of_replies).chain([[&[0b11], &file[..]].concat()]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is mutated begins as four replies, and not as an error.
    #[test]
    fn the_seed_answers_four_requests() {
        let seed = seeds().into_iter().find(|seed| seed[0] == 0b11).expect("there is one");
        let outcomes = server_talk::replies(&prologue(), &seed[1..], 1, true);
        assert_eq!((outcomes.len(), outcomes[4].as_str()), (5, "the server closed the connection"), "{outcomes:#?}");
        assert_eq!(outcomes.iter().filter(|outcome| outcome.starts_with("Done")).count(), 3, "{outcomes:#?}");
    }
}
