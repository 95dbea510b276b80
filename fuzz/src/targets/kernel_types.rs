//! Any bytes as the kernel's description of its own types (BTF): read, then asked for what programs in the kernel need.

use sys::bpf::btf::{Btf, Kind};

/// Runs one input.
pub fn run(input: &[u8]) {
    let Ok(types) = Btf::parse(input.to_vec()) else { return };
    assert!(types.count() <= input.len(), "a type takes more than a byte");
    for (structure, field) in [("task_struct", "comm"), ("task", "inner.pid"), ("task", "inner.inner.pid"), ("", "")] {
        let _found_or_not = types.field_offset(structure, field);
    }
    let _found_or_not = (types.constant("numbers", "TWO"), types.find(Kind::Typedef, "task_t"));
}

/// A structure with a nameless one inside, a typedef of it, a union, enumerations of both widths.
pub fn seeds() -> Vec<Vec<u8>> {
    let mut strings = vec![0_u8];
    let mut name = |text: &str| {
        let at = strings.len() as u32;
        strings.extend(text.as_bytes());
        strings.push(0);
        at
    };
    let (int, pid, task, inner) = (name("int"), name("pid"), name("task"), name("inner"));
    let (task_t, numbers, two) = (name("task_t"), name("numbers"), name("TWO"));
    let record = |name: u32, kind: u32, members: u32, size_or_type: u32| [name, kind << 24 | members, size_or_type];
    let types: Vec<u32> = [
        &record(int, 1, 0, 4)[..],
        &[0x0100_0020],
        &record(0, 4, 1, 4),
        &[pid, 1, 0],
        &record(task, 4, 2, 8),
        &[0, 2, 0, inner, 6, 32],
        &record(0, 5, 1, 4),
        &[pid, 1, 0],
        &record(task_t, 8, 0, 3),
        &record(0, 10, 0, 2),
        &record(numbers, 6, 1, 4),
        &[two, 2],
        &record(numbers, 19, 1, 8),
        &[two, 2, 0],
    ]
    .concat();
    let types: Vec<u8> = types.iter().flat_map(|word| word.to_ne_bytes()).collect();
    let mut bytes = 0xeb9f_u16.to_ne_bytes().to_vec();
    bytes.extend([1, 0]);
    for word in [24, 0, types.len() as u32, types.len() as u32, strings.len() as u32] {
        bytes.extend(word.to_ne_bytes());
    }
    vec![[bytes, types, strings].concat()]
}
