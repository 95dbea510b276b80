//! What pax records say of a member: the last of a key wins, values are checked, sparse keys are gathered in all three forms.
//! Does not read headers (`super::block`) and does not follow the map inside data (`super::sparse`).

use super::numbers::{decimal, time};
use super::pax::{ATTRIBUTE_KEYS, Records, attribute_name, from_base64};
use super::plain::{GROUP, OWNER, TIME};
use super::sparse::SparseKeys;
use crate::member::{Attribute, AttributeName, Device, Member, Time};

/// What the records in front of a member, or global ones, say. None: nothing.
#[derive(Clone, Debug, Default)]
pub struct Said {
    pub path: Option<Vec<u8>>,
    pub link: Option<Vec<u8>>,
    pub size: Option<u64>,
    uid: Option<u64>,
    gid: Option<u64>,
    owner: Option<Vec<u8>>,
    group: Option<Vec<u8>>,
    mtime: Option<Time>,
    atime: Option<Time>,
    ctime: Option<Time>,
    device_major: Option<u32>,
    device_minor: Option<u32>,
    attributes: Vec<Attribute>,
    /// The volume's label.
    pub label: Option<Vec<u8>>,
    /// Everything about holes.
    pub sparse: SparseKeys,
}

/// What is wrong with records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// The bytes are no records, from here on.
    Malformed,
    /// A key's value cannot be.
    Value(String),
    /// A key's value cannot be, and without it nobody knows where data belong.
    Sparse(String),
}

/// LIMIT: a member's attributes. The kernel's list of names, 64 KiB, has room for fewer of any sense; each is compared with all before it.
const ATTRIBUTES_MAX: usize = 4096;

/// LIMIT: what is reported of one header, which may have a million records.
const WRONG_MAX: usize = 16;

impl Said {
    /// Takes in all records of a header, and returns what is wrong with them. COMPAT: as GNU tar does, a record with an impossible value
    /// changes nothing, and behind one that is malformed nothing counts.
    pub fn take(&mut self, bytes: &[u8]) -> Vec<Wrong> {
        let mut all_wrong = Vec::new();
        for record in Records::new(bytes) {
            if self.attributes.len() > ATTRIBUTES_MAX {
                self.attributes.truncate(ATTRIBUTES_MAX);
                all_wrong.push(Wrong::Malformed);
                break;
            }
            let wrong: fn(String) -> Wrong = match record {
                Ok((key, value)) if self.record(key, value).is_some() => continue,
                Ok((key, _)) if key.starts_with(b"GNU.sparse.") => Wrong::Sparse,
                Ok(_) => Wrong::Value,
                Err(_) => |_| Wrong::Malformed,
            };
            let key = record.map_or(String::new(), |(key, _)| String::from_utf8_lossy(key).into_owned());
            let wrong = wrong(key);
            if (all_wrong.len() < WRONG_MAX || matches!(wrong, Wrong::Sparse(_))) && !all_wrong.contains(&wrong) {
                all_wrong.push(wrong);
            }
        }
        all_wrong
    }

    /// Whether something is said instead of what a field of the header says.
    pub fn replaces(&self, field: &str) -> bool {
        match field {
            OWNER => self.uid.is_some(),
            GROUP => self.gid.is_some(),
            TIME => self.mtime.is_some(),
            _ => false,
        }
    }

    /// None where the value cannot be. A key we do not know changes nothing.
    fn record(&mut self, key: &[u8], value: &[u8]) -> Option<()> {
        if let Some(sparse_key) = key.strip_prefix(b"GNU.sparse.") {
            return self.sparse.record(sparse_key, value);
        }
        // POSIX: an empty value takes back what was said before.
        let given = !value.is_empty();
        let text = || given.then(|| super::block::until_nul(value).to_vec());
        match key {
            b"path" => self.path = text(),
            b"linkpath" => self.link = text(),
            b"size" => self.size = number(value)?,
            b"uid" => self.uid = number(value)?,
            b"gid" => self.gid = number(value)?,
            b"uname" => self.owner = text(),
            b"gname" => self.group = text(),
            b"mtime" => self.mtime = moment(value)?,
            b"atime" => self.atime = moment(value)?,
            b"ctime" => self.ctime = moment(value)?,
            b"SCHILY.devmajor" | b"SUN.devmajor" => self.device_major = u32::try_from(decimal(value)?).ok(),
            b"SCHILY.devminor" | b"SUN.devminor" => self.device_minor = u32::try_from(decimal(value)?).ok(),
            b"GNU.dumpdir" => self.attribute(AttributeName::Listing, value.to_vec()),
            b"GNU.volume.label" => self.label = text(),
            b"SCHILY.acl.access" => self.attribute(AttributeName::AccessList, value.to_vec()),
            b"SCHILY.acl.default" => self.attribute(AttributeName::DefaultList, value.to_vec()),
            b"RHT.security.selinux" => self.attribute(AttributeName::Selinux, value.to_vec()),
            _ => return self.extended_attribute(key, value),
        }
        Some(())
    }

    fn extended_attribute(&mut self, key: &[u8], value: &[u8]) -> Option<()> {
        if let Some(encoded) = key.strip_prefix(ATTRIBUTE_KEYS) {
            // bsdtar writes both keys, this one last, and encodes more in them than GNU tar decodes.
            let as_of_libarchive = AttributeName::Extended(percent_decoded(encoded));
            let is_there = |there: &Attribute| there.name == as_of_libarchive && there.value == value;
            if !self.attributes.iter().any(is_there) {
                self.attribute(AttributeName::Extended(attribute_name(encoded)), value.to_vec());
            }
        } else if let Some(name) = key.strip_prefix(b"LIBARCHIVE.xattr.") {
            self.attribute(AttributeName::Extended(percent_decoded(name)), from_base64(value)?);
        }
        Some(())
    }

    fn attribute(&mut self, name: AttributeName, value: Vec<u8>) {
        self.attributes.retain(|attribute| attribute.name != name);
        self.attributes.push(Attribute { name, value });
    }

    /// Puts into `member` what was said of it, but for its size and its holes.
    pub fn apply(&self, member: &mut Member) {
        fn put<T: Clone>(target: &mut T, said: &Option<T>) {
            if let Some(value) = said {
                target.clone_from(value);
            }
        }
        put(&mut member.path, &self.path);
        put(&mut member.link, &self.link);
        put(&mut member.uid, &self.uid);
        put(&mut member.gid, &self.gid);
        put(&mut member.owner, &self.owner);
        put(&mut member.group, &self.group);
        put(&mut member.mtime, &self.mtime);
        member.atime = self.atime.or(member.atime);
        member.ctime = self.ctime.or(member.ctime);
        let Device { major, minor } = member.device;
        member.device = Device { major: self.device_major.unwrap_or(major), minor: self.device_minor.unwrap_or(minor) };
        for Attribute { name, value } in &self.attributes {
            member.attributes.retain(|attribute| attribute.name != *name);
            member.attributes.push(Attribute { name: name.clone(), value: value.clone() });
        }
    }
}

/// Empty: nothing is said any more. None: no number.
fn number(value: &[u8]) -> Option<Option<u64>> {
    if value.is_empty() { Some(None) } else { decimal(value).map(Some) }
}

fn moment(value: &[u8]) -> Option<Option<Time>> {
    if value.is_empty() { Some(None) } else { time(value).map(Some) }
}

fn percent_decoded(name: &[u8]) -> Vec<u8> {
    let digit = |at: usize| name.get(at).and_then(|&sign| char::from(sign).to_digit(16));
    let mut decoded = Vec::with_capacity(name.len());
    let mut at = 0;
    while at < name.len() {
        match (name[at], digit(at + 1), digit(at + 2)) {
            (b'%', Some(high), Some(low)) => {
                decoded.push((high << 4 | low) as u8);
                at += 3;
            }
            (byte, ..) => {
                decoded.push(byte);
                at += 1;
            }
        }
    }
    decoded
}
