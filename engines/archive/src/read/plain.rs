//! What a header alone says of a member, and what stands in place of fields that cannot be. Knows no records.

use super::block::{Dialect, HeaderBlock};
use super::{Defect, Failed};
use crate::member::{Member, Time};

/// Fields of a header that a member can come without.
const MODE: &str = "mode";
pub const OWNER: &str = "owner";
pub const GROUP: &str = "group";
pub const TIME: &str = "time";

/// What the header alone says, and which of its fields cannot be.
pub(super) fn plain_member(header: &HeaderBlock<'_>, dialect: Dialect) -> Result<(Member, Vec<&'static str>), Failed> {
    let mut unusable = Vec::new();
    // COMPAT: as GNU tar has it, the owner stays who it is and the time is the last second before 1970. But nobody gets all rights.
    let own_mode = if header.type_flag() == b'5' { 0o700 } else { 0o600 };
    let mode = header.mode().unwrap_or_else(|| instead(own_mode, MODE, &mut unusable));
    let mut number = |found: Option<i64>, field| {
        let found = found.and_then(|number| u64::try_from(number).ok());
        found.unwrap_or_else(|| instead(u32::MAX.into(), field, &mut unusable))
    };
    let (uid, gid) = (number(header.uid(), OWNER), number(header.gid(), GROUP));
    let seconds = header.mtime().unwrap_or_else(|| instead(-1, TIME, &mut unusable));
    let [atime, ctime] = header.other_times(dialect);
    let is_device = matches!(header.type_flag(), b'3' | b'4');
    let device = header.device(dialect);
    let member = Member {
        path: header.path(dialect),
        link: header.link().to_vec(),
        mode,
        uid,
        gid,
        owner: header.owner(dialect).to_vec(),
        group: header.group(dialect).to_vec(),
        mtime: Time { seconds, nanoseconds: 0 },
        atime,
        ctime,
        device: if is_device { device.ok_or(Defect::Number("device"))? } else { device.unwrap_or_default() },
        ..Member::default()
    };
    Ok((member, unusable))
}

/// A value in place of a field's that cannot be.
fn instead<T>(value: T, field: &'static str, unusable: &mut Vec<&'static str>) -> T {
    unusable.push(field);
    value
}

/// The largest size that the field of a ustar header can say.
pub const FIELD_BYTES_MAX: u64 = 0o77_777_777_777;

/// Whether a reader of records and one that does not know them would take a member to be of different lengths.
pub fn are_two_sizes(said: u64, field: u64) -> bool {
    // COMPAT: what the field's 11 digits cannot say is said by records alone; writers leave 0 or the largest number in it (GNU, star,
    // Python). A 0 beside a size that fits is nobody's habit: a reader without records takes the data for members (CVE-2025-62518).
    let is_beyond_field = said > FIELD_BYTES_MAX && (field == 0 || field == FIELD_BYTES_MAX);
    said != field && !is_beyond_field
}
