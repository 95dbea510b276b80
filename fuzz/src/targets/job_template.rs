//! Any bytes as a command with placeholders and as the values that fill it: composing never fails without a NUL, a shell's script
//! holds no value, and a word without placeholders stays as it is.

use jobs::Variables;
use jobs::template::{JobPosition, Shell, Template};

/// Runs one input: lines, of which the first half is the command and the rest are values.
pub fn run(input: &[u8]) {
    let lines: Vec<Vec<u8>> = input.split(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect();
    let (command, values) = lines.split_at(lines.len().div_ceil(2));
    let mut own = Variables::default();
    if values.iter().any(|value| own.push(value).is_err()) || command.iter().any(|word| word.contains(&0)) {
        return;
    }
    let place = JobPosition { number: 3, slot: 2 };
    for whole in [&b"{}"[..], b"@"] {
        let template = Template::with_placeholders(command, whole, Shell::None);
        let words = template.compose(&own, place, false).expect("there is no NUL");
        if !template.has_placeholders() {
            let expected: Vec<&[u8]> = command.iter().chain(values).map(Vec::as_slice).collect();
            assert_eq!(words.iter().collect::<Vec<_>>(), expected);
        }
        let shell = Template::with_placeholders(command, whole, Shell::Sh);
        let script = |own: &Variables| {
            let words = shell.compose(own, place, false).expect("there is no NUL");
            words.get(2).map(<[u8]>::to_vec)
        };
        let mut others = Variables::default();
        own.iter().for_each(|value| others.push(&[b"x", value].concat()).expect("there is no NUL"));
        assert_eq!(script(&own), script(&others), "no value becomes part of the script");
    }
}
