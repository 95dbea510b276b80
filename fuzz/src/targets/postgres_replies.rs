//! What a PostgreSQL says to a login and to requests: an error or a reply, the same in any pieces.

use crate::server_talk::{self, Prologue};

/// Runs one input.
pub fn run(input: &[u8]) {
    server_talk::run(&prologue(), input);
}

fn prologue() -> Prologue {
    let address = "postgres://u:geheim@h/d?sslmode=disable";
    let prepared = [message(b'1', b""), message(b't', b"\0\0"), message(b'n', b""), ready()].concat();
    Prologue { address, login: welcome(), prepared }
}

fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    [&[kind], &(body.len() as u32 + 4).to_be_bytes()[..], body].concat()
}

fn ready() -> Vec<u8> {
    message(b'Z', b"I")
}

fn welcome() -> Vec<u8> {
    let parameter = message(b'S', b"server_version\x0017.0\0");
    [message(b'R', b"\0\0\0\0"), parameter, message(b'K', b"\0\0\0\x07\0\0\0\x09"), ready()].concat()
}

/// Logins of every kind, and replies to four requests.
pub fn seeds() -> Vec<Vec<u8>> {
    let sasl = message(b'R', b"\0\0\0\x0aSCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0");
    let challenge = message(b'R', b"\0\0\0\x0br=abc,s=QSXCR+Q6sek8bf92,i=4096");
    let error = || message(b'E', b"SFATAL\0VFATAL\0C28P01\0Mno\0Dreally not\0Htry again\0\0");
    let logins = [
        welcome(),
        [message(b'R', b"\0\0\0\x03"), welcome()].concat(),
        [message(b'R', b"\0\0\0\x05salt"), welcome()].concat(),
        [sasl, challenge, message(b'R', b"\0\0\0\x0cv=abc")].concat(),
        [message(b'N', b"SNOTICE\0C00000\0Mhear\0\0"), error()].concat(),
    ];
    let description = message(b'T', b"\0\x01a\0\0\0\0\0\0\0\0\0\0\x17\0\x04\xff\xff\xff\xff\0\0");
    let row = |value: &[u8]| message(b'D', &[b"\0\x02\0\0\0\x01", value, b"\xff\xff\xff\xff"].concat());
    let text = [description, row(b"1"), row(b"2"), message(b'C', b"SELECT 2\0"), ready()].concat();
    let bound = [message(b'2', b""), row(b"3"), message(b'C', b"INSERT 0 5\0"), ready()].concat();
    let refused = [error(), ready()].concat();
    let copied =
        [message(b'H', b"\0\0\0"), message(b'd', b"1\n"), message(b'c', b""), message(b'C', b"COPY 1\0"), ready()];
    let replies = [text, bound, copied.concat(), [message(b'2', b""), refused].concat()].concat();
    let of_login = logins.into_iter().map(|said| [&[0], &said[..]].concat());
    let of_replies = [0b11, 0b01, 0b1_0111].map(|choice| [&[choice], &replies[..]].concat());
    of_login.chain(of_replies).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The seed has four replies before it is mutated, and no error of the protocol. The last is fatal, and is reported again when the server has gone.
    #[test]
    fn the_seed_answers_four_requests() {
        let seed = seeds().into_iter().find(|seed| seed[0] == 0b11).expect("there is one");
        let outcomes = server_talk::replies(&prologue(), &seed[1..], 1, true);
        assert_eq!((outcomes.len(), outcomes[4].as_str()), (5, "28P01 no (really not)"), "{outcomes:#?}");
        assert_eq!(outcomes.iter().filter(|outcome| outcome.starts_with("Done")).count(), 3, "{outcomes:#?}");
    }
}
