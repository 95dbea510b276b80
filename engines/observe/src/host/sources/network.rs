//! `/proc/net/dev`, `snmp`, `netstat`, `sockstat` (proc_net(5)).

use crate::host::fields::*;
use crate::host::values::{InstanceNames, Values, WHOLE};
use crate::source::words::{lines, number, text_of, words};

/// `/proc/net/dev`: interfaces that have ever carried a packet.
pub fn interfaces(text: &[u8], names: &mut InstanceNames, values: &mut Values) {
    for line in lines(text).skip(2) {
        // LIE: names may hold colons (old aliases), numbers do not.
        let Some(colon) = line.iter().rposition(|&byte| byte == b':') else { continue };
        let name = text_of(line[..colon].trim_ascii());
        let mut numbers = [0_u64; 16];
        numbers.iter_mut().zip(words(&line[colon + 1..])).for_each(|(value, word)| *value = number(word).unwrap_or(0));
        if numbers[1] == 0 && numbers[9] == 0 {
            continue;
        }
        let Some(interface) = names.number(&name) else { continue };
        let all = [
            (NET_RECEIVED, 0),
            (NET_PACKETS_IN, 1),
            (NET_ERRORS_IN, 2),
            (NET_DROPS_IN, 3),
            (NET_SENT, 8),
            (NET_PACKETS_OUT, 9),
            (NET_ERRORS_OUT, 10),
            (NET_DROPS_OUT, 11),
        ];
        all.into_iter().for_each(|(field, column)| values.push(field, interface, numbers[column]));
    }
}

/// `/proc/net/snmp` and `/proc/net/netstat`: a line of names, then a line of values, both with the same first word.
pub fn protocols(text: &[u8], values: &mut Values) {
    let mut all = lines(text);
    while let (Some(names), Some(numbers)) = (all.next(), all.next()) {
        let protocol = words(names).next().unwrap_or_default();
        for (name, value) in words(names).zip(words(numbers)).skip(1) {
            let field = match (protocol, name) {
                (b"Tcp:", b"OutSegs") => TCP_SENT,
                (b"Tcp:", b"InSegs") => TCP_RECEIVED,
                (b"Tcp:", b"RetransSegs") => TCP_RETRANSMITTED,
                (b"Tcp:", b"ActiveOpens") => TCP_OPENED,
                (b"Tcp:", b"PassiveOpens") => TCP_ACCEPTED,
                (b"Tcp:", b"CurrEstab") => TCP_ESTABLISHED,
                (b"Udp:", b"InErrors") => UDP_ERRORS,
                (b"TcpExt:", b"ListenOverflows") => LISTEN_OVERFLOWS,
                (b"TcpExt:", b"ListenDrops") => LISTEN_DROPS,
                _ => continue,
            };
            number(value).into_iter().for_each(|value| values.push(field, WHOLE, value));
        }
    }
}

/// `/proc/net/sockstat`: `TCP: inuse 1 orphan 0 tw 0 alloc 1 mem 49`.
pub fn sockets(text: &[u8], values: &mut Values) {
    let value = |line: &[u8], wanted: &[u8]| {
        let mut columns = words(line);
        columns.find(|word| *word == wanted)?;
        columns.next().and_then(number)
    };
    for line in lines(text) {
        let found = match line {
            line if line.starts_with(b"sockets:") => (SOCKETS, value(line, b"used")),
            line if line.starts_with(b"TCP:") => (TCP_TIME_WAIT, value(line, b"tw")),
            _ => continue,
        };
        found.1.into_iter().for_each(|count| values.push(found.0, WHOLE, count));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interfaces_with_packets_are_listed() {
        let text = b"Inter-| Receive\n face |bytes\n  lo: 5 1 0 0 0 0 0 0 6 1 0 0 0 0 0 0\n ifb0: 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n\
            eth0:1: 100 2 3 4 0 0 0 0 200 5 6 7 0 0 0 0\nbroken\n";
        let (mut names, mut values) = (InstanceNames::default(), Values::default());
        interfaces(text, &mut names, &mut values);
        values.sort();
        let found: Vec<(&str, u64)> = values.each(NET_SENT).map(|(name, bytes)| (names.name(name), bytes)).collect();
        assert_eq!(found, [("lo", 6), ("eth0:1", 200)]);
        let alias = names.find("eth0:1").expect("listed");
        assert_eq!([NET_ERRORS_IN, NET_DROPS_OUT].map(|field| values.of(field, alias)), [Some(3), Some(7)]);
    }

    #[test]
    fn protocols_are_read_by_name() {
        let mut values = Values::default();
        protocols(
            b"Tcp: RtoMin InSegs OutSegs MaxConn\nTcp: 200 12 7 -1\nUdp: InErrors\nUdp: 3\nOdd: A\n",
            &mut values,
        );
        protocols(b"TcpExt: X ListenOverflows ListenDrops\nTcpExt: 1 2 3\n", &mut values);
        sockets(b"sockets: used 8\nTCP: inuse 1 orphan 0 tw 4 alloc 1 mem 49\nUDP: inuse\n", &mut values);
        values.sort();
        let fields = [TCP_RECEIVED, TCP_SENT, UDP_ERRORS, LISTEN_OVERFLOWS, LISTEN_DROPS, SOCKETS, TCP_TIME_WAIT];
        assert_eq!(fields.map(|field| values.get(field)), [12, 7, 3, 2, 3, 8, 4].map(Some));
    }
}
