//! Writes headers: pax (what we write unless asked otherwise), GNU's own format, ustar; byte for byte as GNU tar 1.34 writes them.
//! Knows no files: a [`Member`] goes in, blocks come out. Data and what fills their last block are the caller's.

pub mod extended;
mod fields;

use crate::member::{AttributeName, BLOCK_BYTES, Extent, Kind, Member, Time, padded};
use crate::place::listing::listing_of;
use crate::read::pax::{add_record, attribute_key};
use crate::volumes::Rest;
use extended::Extended;
use fields::{Fields, octal_fits};

/// Which dialect is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// POSIX.1-2001: everything fits.
    #[default]
    Pax,
    /// GNU tar's own from before: names and sizes without bounds, whole seconds, no attributes.
    Gnu,
    /// The same as tar 1.12 and older wrote it: a name that fills its field is a long one.
    OldGnu,
    /// POSIX.1-1988: short names, whole seconds, files below 8 GiB.
    Ustar,
    /// Of 1979: shorter names, no owners by name, no devices and no named pipes.
    V7,
}

/// What is written besides the member itself.
#[derive(Clone, Debug, Default)]
pub struct Style {
    /// The dialect.
    pub format: Format,
    /// Whether pax members tell when they were last read and when their inode was changed.
    pub other_times: OtherTimes,
    /// What is wanted of extended headers.
    pub extended: Extended,
    /// Whether owners have no names anywhere: `--numeric-owner`.
    pub is_numeric: bool,
    /// How pax says where the data of sparse files belong.
    pub sparse: SparseForm,
    /// The volume's label, in front of all members; for GNU's formats with its time.
    pub label: Option<(Vec<u8>, i64)>,
}

/// How pax says where the data of sparse files belong: the versions of GNU tar's form.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SparseForm {
    /// 0.0: a pair of records for each stretch.
    Records,
    /// 0.1: a map in one record.
    Map,
    /// 1.0: a map in front of the data.
    #[default]
    InData,
}

/// Whether pax members tell when they were last read and when their inode was changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OtherTimes {
    /// They do not: the same tree gives the same archive whoever has read it meanwhile.
    #[default]
    LeftOut,
    /// As GNU tar does.
    Told,
}

/// How long names may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameLimit {
    /// As many bytes.
    Bytes(usize),
    /// A slash must stand where the two fields of a name meet.
    Split,
}

/// Why a member cannot be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// The format has no room for it.
    #[error("its {0} does not fit into this format; --format=pax has room")]
    Format(&'static str),
    /// Nor for its name.
    #[error("its name does not fit into this format; --format=pax has room")]
    Name(NameLimit),
    /// No format of ours can say it.
    #[error("a {0} cannot be written")]
    Kind(&'static str),
}

/// Appends what stands in front of the first member.
pub fn begin_archive(style: &Style, target: &mut Vec<u8>) {
    match (style.format, &style.label) {
        (Format::Pax, label) => style.extended.begin(label.as_ref().map(|(label, _)| label.as_slice()), target),
        (Format::Gnu | Format::OldGnu, Some((label, seconds))) => gnu_label(label, *seconds, target),
        _ => {}
    }
}

/// Appends what stands in front of everything on volume `number`: its label, and for pax what it goes on with.
pub(crate) fn begin_volume(number: u64, rest: Option<&Rest>, style: &Style, target: &mut Vec<u8>) {
    match (style.format, &style.label) {
        (Format::Pax, label) => {
            let label = label.as_ref().map(|(label, _)| label.as_slice());
            style.extended.begin_volume(number, label, rest, target);
        }
        (_, Some((label, seconds))) => gnu_label(label, *seconds, target),
        _ => {}
    }
}

/// Appends the header of the rest of a file.
pub(crate) fn begin_continuation(number: u64, rest: &Rest, format: Format, target: &mut Vec<u8>) {
    if format != Format::Pax {
        let mut fields = Fields::new(&[0; 8], b'M');
        fields.text(0, 100, &rest.name);
        fields.number(124, 12, rest.left.cast_signed());
        fields.number(369, 12, rest.offset.cast_signed());
        target.extend_from_slice(&fields.finish());
        return;
    }
    let mut fields = Fields::new(POSIX_MAGIC, b'0');
    let name = [&beside(&rest.name, b"GNUFileParts"), format!(".{number}").as_bytes()].concat();
    fields.text(0, 100, &name);
    let size = if octal_fits(rest.left, 12) { rest.left } else { 0 };
    for (from, bytes, number) in
        [(100, 8, 0o644), (108, 8, 0), (116, 8, 0), (124, 12, size), (136, 12, 0), (329, 8, 0), (337, 8, 0)]
    {
        fields.octal(from, bytes, number);
    }
    fields.text(265, 32, b"root");
    fields.text(297, 32, b"root");
    target.extend_from_slice(&fields.finish());
}

/// Appends everything that stands in front of a member's data: extended headers, its header, the map of a sparse file.
/// `member.stored_bytes` are the bytes of data alone.
pub fn begin_member(member: &Member, style: &Style, target: &mut Vec<u8>) -> Result<(), Unfit> {
    match style.format {
        Format::Pax => pax(member, style, target),
        Format::Gnu | Format::OldGnu => gnu(member, style, target),
        Format::Ustar => ustar(member, target),
        Format::V7 => v7(member, target),
    }
}

/// Appends what ends an archive, and fills it up to whole records of 20 blocks. `so_far` are the bytes before.
pub fn end_archive(so_far: u64, target: &mut Vec<u8>) {
    // COMPAT: GNU tar's blocking factor. Tapes are gone, but tools compare sizes.
    const RECORD_BYTES: u64 = 20 * BLOCK_BYTES as u64;
    let whole = (so_far + 2 * BLOCK_BYTES as u64).next_multiple_of(RECORD_BYTES);
    target.resize(target.len() + (whole - so_far) as usize, 0);
}

fn type_flag(kind: Kind) -> Result<u8, Unfit> {
    Ok(match kind {
        Kind::Regular => b'0',
        Kind::HardLink => b'1',
        Kind::Symlink => b'2',
        Kind::CharacterDevice => b'3',
        Kind::BlockDevice => b'4',
        Kind::Directory => b'5',
        Kind::Fifo => b'6',
        Kind::VolumeLabel => return Err(Unfit::Kind("volume label")),
        Kind::Continuation => return Err(Unfit::Kind("part of a file")),
    })
}

const POSIX_MAGIC: &[u8; 8] = b"ustar\x0000";
const GNU_MAGIC: &[u8; 8] = b"ustar  \0";

/// Fields that all dialects have in the same places.
fn common(member: &Member, magic: &[u8; 8], type_flag: u8) -> Fields {
    let mut fields = Fields::new(magic, type_flag);
    fields.text(0, 100, &member.path);
    fields.text(157, 100, &member.link);
    fields.octal(100, 8, u64::from(member.mode));
    fields
}

fn is_device(kind: Kind) -> bool {
    matches!(kind, Kind::CharacterDevice | Kind::BlockDevice)
}

fn ustar(member: &Member, target: &mut Vec<u8>) -> Result<(), Unfit> {
    if member.sparse.is_some() {
        return Err(Unfit::Format("map of holes"));
    }
    if member.link.len() > 100 {
        return Err(Unfit::Format("link"));
    }
    let mut fields = common(member, POSIX_MAGIC, type_flag(member.kind)?);
    if member.path.len() > 100 {
        let slash = split(&member.path).ok_or(Unfit::Name(NameLimit::Split))?;
        fields.text(0, 100, &member.path[slash + 1..]);
        fields.text(345, 155, &member.path[..slash]);
    }
    octal_fields(member, &mut fields)?;
    posix_tail(&mut fields, member);
    target.extend_from_slice(&fields.finish());
    Ok(())
}

fn v7(member: &Member, target: &mut Vec<u8>) -> Result<(), Unfit> {
    if member.sparse.is_some() {
        return Err(Unfit::Format("map of holes"));
    }
    if member.kind.is_special() {
        return Err(Unfit::Format("kind"));
    }
    if member.path.len() > 100 {
        // COMPAT: GNU tar counts the byte behind the name.
        return Err(Unfit::Name(NameLimit::Bytes(99)));
    }
    if member.link.len() > 100 {
        return Err(Unfit::Format("link"));
    }
    // There was no type for what had no other.
    let flag = if member.kind == Kind::Regular { 0 } else { type_flag(member.kind)? };
    let mut fields = common(member, &[0; 8], flag);
    octal_fields(member, &mut fields)?;
    // COMPAT: GNU tar writes the numbers of no device into them, too.
    fields.octal(329, 8, 0);
    fields.octal(337, 8, 0);
    target.extend_from_slice(&fields.finish());
    Ok(())
}

/// Owner, size and time where only octal digits have room for them.
fn octal_fields(member: &Member, fields: &mut Fields) -> Result<(), Unfit> {
    let seconds = u64::try_from(member.mtime.seconds).ok().filter(|&seconds| octal_fits(seconds, 12));
    for (from, bytes, number, what) in [
        (108, 8, Some(member.uid), "owner"),
        (116, 8, Some(member.gid), "group"),
        (124, 12, Some(member.stored_bytes), "size"),
        (136, 12, seconds, "time"),
    ] {
        let number = number.filter(|&number| octal_fits(number, bytes)).ok_or(Unfit::Format(what))?;
        fields.octal(from, bytes, number);
    }
    Ok(())
}

/// The last slash that leaves at most 155 bytes before and at most 100 behind it.
fn split(path: &[u8]) -> Option<usize> {
    let end = path.len().min(156);
    let end = if path.len() <= 156 && path.ends_with(b"/") { end - 1 } else { end };
    let slash = path[..end].iter().rposition(|&byte| byte == b'/').filter(|&slash| slash > 0)?;
    (1..=100).contains(&(path.len() - slash - 1)).then_some(slash)
}

/// Names and device, as POSIX has them: the numbers of a device stand in every header.
fn posix_tail(fields: &mut Fields, member: &Member) {
    fields.text_ended(265, 32, &member.owner);
    fields.text_ended(297, 32, &member.group);
    let device = if is_device(member.kind) { member.device } else { Default::default() };
    fields.octal(329, 8, u64::from(device.major));
    fields.octal(337, 8, u64::from(device.minor));
}

fn gnu(member: &Member, style: &Style, target: &mut Vec<u8>) -> Result<(), Unfit> {
    // COMPAT: the older one ends names in a NUL, also those that are cut off.
    let room = 100 - usize::from(style.format == Format::OldGnu);
    for (flag, text) in [(b'K', &member.link), (b'L', &member.path)] {
        if text.len() > room {
            gnu_long(flag, text, style, target);
        }
    }
    let listing = listing_of(member);
    let flag = match (&member.sparse, listing) {
        (Some(_), _) => b'S',
        (None, Some(_)) => b'D',
        (None, None) => type_flag(member.kind)?,
    };
    let mut fields = common(member, GNU_MAGIC, flag);
    fields.text(0, 100, &member.path[..member.path.len().min(room)]);
    fields.number(108, 8, member.uid.cast_signed());
    fields.number(116, 8, member.gid.cast_signed());
    let data_bytes = listing.map_or(member.stored_bytes, |listing| listing.len() as u64);
    fields.number(124, 12, data_bytes.cast_signed());
    fields.number(136, 12, member.mtime.seconds);
    fields.text_ended(265, 32, &member.owner);
    fields.text_ended(297, 32, &member.group);
    if is_device(member.kind) {
        fields.number(329, 8, i64::from(member.device.major));
        fields.number(337, 8, i64::from(member.device.minor));
    }
    if style.other_times == OtherTimes::Told {
        for (from, time) in [(345, member.atime), (357, member.ctime)] {
            fields.number(from, 12, time.map_or(0, |time| time.seconds));
        }
    }
    let Some(extents) = &member.sparse else {
        target.extend_from_slice(&fields.finish());
        if let Some(listing) = listing {
            target.extend_from_slice(listing);
            fill_block(target, listing.len(), 0);
        }
        return Ok(());
    };
    let (first, rest) = extents.split_at(extents.len().min(4));
    put_extents(&mut fields, 386, first);
    fields.byte(482, u8::from(!rest.is_empty()));
    fields.number(483, 12, member.size.cast_signed());
    target.extend_from_slice(&fields.finish());
    let blocks = rest.chunks(21);
    let last = blocks.len();
    for (number, extents) in blocks.enumerate() {
        let mut fields = Fields::empty();
        put_extents(&mut fields, 0, extents);
        fields.byte(504, u8::from(number + 1 < last));
        target.extend_from_slice(&fields.without_sum());
    }
    Ok(())
}

fn put_extents(fields: &mut Fields, from: usize, extents: &[Extent]) {
    for (number, extent) in extents.iter().enumerate() {
        fields.number(from + 24 * number, 12, extent.offset.cast_signed());
        fields.number(from + 24 * number + 12, 12, extent.bytes.cast_signed());
    }
}

/// A label as a member of its own. COMPAT: it has a name and a time.
fn gnu_label(label: &[u8], seconds: i64, target: &mut Vec<u8>) {
    let mut fields = Fields::new(&[0; 8], b'V');
    fields.text(0, 100, label);
    fields.number(136, 12, seconds);
    target.extend_from_slice(&fields.finish());
}

/// A name or link that has no room in its header, in front of it as data of its own.
fn gnu_long(flag: u8, text: &[u8], style: &Style, target: &mut Vec<u8>) {
    let mut fields = Fields::new(GNU_MAGIC, flag);
    fields.text(0, 100, b"././@LongLink");
    fields.octal(100, 8, 0o644);
    for (from, bytes, number) in [(108, 8, 0), (116, 8, 0), (124, 12, text.len() as u64 + 1), (136, 12, 0)] {
        fields.octal(from, bytes, number);
    }
    if !style.is_numeric {
        fields.text(265, 32, b"root");
        fields.text(297, 32, b"root");
    }
    target.extend_from_slice(&fields.finish());
    target.extend_from_slice(text);
    fill_block(target, text.len() + 1, 1);
}

/// Appends `least` zeros and what then is missing to whole blocks after `bytes`, `least` of which they include.
fn fill_block(target: &mut Vec<u8>, bytes: usize, least: usize) {
    let missing = bytes.next_multiple_of(BLOCK_BYTES) - bytes;
    target.resize(target.len() + least + missing, 0);
}

fn pax(member: &Member, style: &Style, target: &mut Vec<u8>) -> Result<(), Unfit> {
    let mut records = Vec::new();
    let is_in_data = style.sparse == SparseForm::InData;
    let map = member.sparse.as_ref().filter(|_| is_in_data).map(|extents| map_in_data(extents)).unwrap_or_default();
    // COMPAT: the map counts as data, in the record as in the field.
    let stored_bytes = member.stored_bytes + map.len() as u64;
    pax_records(member, stored_bytes, style, &mut records);
    if !records.is_empty() {
        style.extended.put(&records, &member.path, member.mtime.seconds, target);
    }
    let mut fields = common(member, POSIX_MAGIC, type_flag(member.kind)?);
    if member.sparse.is_some() && style.sparse != SparseForm::Records {
        fields.text(0, 100, &beside(&member.path, b"GNUSparseFile.0"));
    }
    // What does not fit stands in the records.
    let in_field = |number: u64, bytes| if octal_fits(number, bytes) { number } else { 0 };
    fields.octal(108, 8, in_field(member.uid, 8));
    fields.octal(116, 8, in_field(member.gid, 8));
    fields.octal(124, 12, in_field(stored_bytes, 12));
    fields.octal(136, 12, in_field(u64::try_from(member.mtime.seconds).unwrap_or(0), 12));
    posix_tail(&mut fields, member);
    // COMPAT: GNU tar leaves out what is not ASCII.
    for (from, name) in [(265, &member.owner), (297, &member.group)] {
        if !name.is_ascii() {
            fields.text_ended(from, 32, &name.iter().copied().filter(u8::is_ascii).collect::<Vec<_>>());
        }
    }
    target.extend_from_slice(&fields.finish());
    target.extend_from_slice(&map);
    Ok(())
}

/// What has no room in the header, in the order of GNU tar. `stored_bytes` include the map of a sparse file.
fn pax_records(member: &Member, stored_bytes: u64, style: &Style, records: &mut Vec<u8>) {
    let mut is_there = false;
    let mut add = |key: &[u8], value: &[u8]| {
        if style.extended.leaves_out(key) {
            return;
        }
        is_there = true;
        if !style.extended.has_instead_of(key) {
            add_record(records, key, value);
        }
    };
    if needs_record(&member.link, 100) {
        add(b"linkpath", &member.link);
    }
    sparse_records(member, style, &mut add);
    if member.sparse.is_none() && needs_record(&member.path, 100) {
        add(b"path", &member.path);
    }
    for (key, number, room) in [(&b"uid"[..], member.uid, 8), (b"gid", member.gid, 8), (b"size", stored_bytes, 12)] {
        if !octal_fits(number, room) {
            add(key, number.to_string().as_bytes());
        }
    }
    let fits = u64::try_from(member.mtime.seconds).is_ok_and(|seconds| octal_fits(seconds, 12));
    if !fits || member.mtime.nanoseconds != 0 {
        add(b"mtime", time_text(member.mtime).as_bytes());
    }
    if style.other_times == OtherTimes::Told {
        for (key, time) in [(&b"atime"[..], member.atime), (b"ctime", member.ctime)] {
            if let Some(time) = time {
                add(key, time_text(time).as_bytes());
            }
        }
    }
    for (key, name) in [(&b"uname"[..], &member.owner), (b"gname", &member.group)] {
        if needs_record(name, 31) {
            add(key, name);
        }
    }
    for attribute in &member.attributes {
        match &attribute.name {
            AttributeName::AccessList => add(b"SCHILY.acl.access", &attribute.value),
            AttributeName::DefaultList => add(b"SCHILY.acl.default", &attribute.value),
            AttributeName::Selinux => add(b"RHT.security.selinux", &attribute.value),
            AttributeName::Listing => add(b"GNU.dumpdir", &attribute.value),
            AttributeName::Extended(name) => add(&attribute_key(name), &attribute.value),
        }
    }
    style.extended.add_to(records, is_there);
}

/// How the data of a sparse file are found, in the form that is wanted.
fn sparse_records(member: &Member, style: &Style, add: &mut dyn FnMut(&[u8], &[u8])) {
    let Some(extents) = &member.sparse else { return };
    if style.sparse == SparseForm::InData {
        add(b"GNU.sparse.major", b"1");
        add(b"GNU.sparse.minor", b"0");
        add(b"GNU.sparse.name", &member.path);
        add(b"GNU.sparse.realsize", member.size.to_string().as_bytes());
        return;
    }
    if style.sparse == SparseForm::Records && needs_record(&member.path, 100) {
        add(b"path", &member.path);
    }
    add(b"GNU.sparse.size", member.size.to_string().as_bytes());
    add(b"GNU.sparse.numblocks", extents.len().to_string().as_bytes());
    if style.sparse == SparseForm::Map {
        add(b"GNU.sparse.name", &member.path);
        let pairs = extents.iter().map(|extent| format!("{},{}", extent.offset, extent.bytes));
        add(b"GNU.sparse.map", pairs.collect::<Vec<_>>().join(",").as_bytes());
        return;
    }
    for extent in extents {
        add(b"GNU.sparse.offset", extent.offset.to_string().as_bytes());
        add(b"GNU.sparse.numbytes", extent.bytes.to_string().as_bytes());
    }
}

/// Whether a text has no room in its field, or no business there.
fn needs_record(text: &[u8], room: usize) -> bool {
    text.len() > room || !text.is_ascii()
}

/// Seconds with as many decimals as they have.
fn time_text(time: Time) -> String {
    let (sign, seconds, nanoseconds) = match (time.seconds < 0, time.nanoseconds) {
        (true, 1..) => ("-", time.seconds.unsigned_abs() - 1, 1_000_000_000 - time.nanoseconds),
        (true, _) => ("-", time.seconds.unsigned_abs(), 0),
        (false, nanoseconds) => ("", time.seconds.unsigned_abs(), nanoseconds),
    };
    match nanoseconds {
        0 => format!("{sign}{seconds}"),
        nanoseconds => format!("{sign}{seconds}.{nanoseconds:09}").trim_end_matches('0').to_owned(),
    }
}

/// `a/b` as `a/DIRECTORY/b`: the name of what comes with a member.
fn beside(path: &[u8], directory: &[u8]) -> Vec<u8> {
    let (parent, name) = parted(path);
    [parent, directory, name].join(&b'/')
}

/// The directory that a path lies in, and its name there.
fn parted(path: &[u8]) -> (&[u8], &[u8]) {
    let end = path.iter().rposition(|&byte| byte != b'/').map_or(0, |last| last + 1);
    match path[..end].iter().rposition(|&byte| byte == b'/') {
        Some(slash) => (&path[..slash], &path[slash + 1..end]),
        None => (b".", &path[..end]),
    }
}

/// The map in front of the data, filled up to whole blocks.
fn map_in_data(extents: &[Extent]) -> Vec<u8> {
    let mut map = format!("{}\n", extents.len()).into_bytes();
    for extent in extents {
        map.extend_from_slice(format!("{}\n{}\n", extent.offset, extent.bytes).as_bytes());
    }
    map.resize(padded(map.len() as u64) as usize, 0);
    map
}

#[cfg(test)]
#[path = "write/tests.rs"]
mod tests;
