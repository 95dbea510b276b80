//! The values of one moment, sorted by metric and instance; and the names of instances (a disk, an interface, a CPU), which are
//! numbered once, so that values of two moments meet by number.

use super::fields::FieldId;
use crate::source::words::beginning;
use std::collections::HashMap;
use std::sync::Arc;

/// Which disk, interface, CPU ... a value is of; 0 is the host as a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InstanceId(pub u16);

/// The host as a whole.
pub const WHOLE: InstanceId = InstanceId(0);

/// What a value is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MetricKey {
    /// The metric.
    pub field: FieldId,
    /// Of what.
    pub instance: InstanceId,
}

/// Names of instances, by number. Text from outside: escaped wherever it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstanceNames {
    names: Vec<Arc<str>>,
    numbers: HashMap<Arc<str>, u16>,
}

/// LIMIT: a host that makes and forgets more control groups, mounts and interfaces than this begins a new list.
pub const INSTANCES_MAX: usize = 16_384;

/// LIMIT: longer names are cut: paths of mounts and groups may have 4,096 bytes.
const NAME_BYTES_MAX: usize = 512;

impl Default for InstanceNames {
    fn default() -> Self {
        Self { names: vec![Arc::from("")], numbers: HashMap::new() }
    }
}

impl InstanceNames {
    /// The name of a number; empty for the whole host and for numbers that were never given out.
    pub fn name(&self, instance: InstanceId) -> &str {
        self.names.get(usize::from(instance.0)).map_or("", |name| name)
    }

    /// The number of a name that is known.
    pub fn find(&self, name: &str) -> Option<InstanceId> {
        self.numbers.get(cut(name)).copied().map(InstanceId)
    }

    /// The number of a name, a new one where it is not known. None where there are too many.
    pub fn number(&mut self, name: &str) -> Option<InstanceId> {
        let name = cut(name);
        if let Some(&number) = self.numbers.get(name) {
            return Some(InstanceId(number));
        }
        let number = u16::try_from(self.names.len()).ok().filter(|number| usize::from(*number) < INSTANCES_MAX)?;
        let name: Arc<str> = Arc::from(name);
        self.names.push(Arc::clone(&name));
        self.numbers.insert(name, number);
        Some(InstanceId(number))
    }

    /// Names from number `first` on.
    pub fn from(&self, first: usize) -> impl Iterator<Item = (InstanceId, &str)> {
        let numbered = self.names.iter().enumerate().skip(first.max(1));
        numbered.map(|(number, name)| (InstanceId(u16::try_from(number).unwrap_or(u16::MAX)), &**name))
    }

    /// Whether all of `earlier` is in this list, under the same numbers.
    pub fn name_starts_as(&self, earlier: &Self) -> bool {
        let same = |(one, other): (&Arc<str>, &Arc<str>)| Arc::ptr_eq(one, other) || one == other;
        self.names.len() >= earlier.names.len() && self.names.iter().zip(&earlier.names).all(same)
    }

    /// One more than the largest number.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there is no name.
    pub fn is_empty(&self) -> bool {
        self.names.len() <= 1
    }
}

fn cut(name: &str) -> &str {
    beginning(name, NAME_BYTES_MAX)
}

/// The values of one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Values {
    entries: Vec<(MetricKey, u64)>,
}

impl Values {
    /// Forgets all.
    pub fn clear(&mut self) {
        self.entries.clear();
    }

    /// Adds a value; to be followed by [`Values::sort`].
    pub fn push(&mut self, field: FieldId, instance: InstanceId, value: u64) {
        self.entries.push((MetricKey { field, instance }, value));
    }

    /// Brings them into order; of two values of one key the first stays.
    pub fn sort(&mut self) {
        self.entries.sort_by_key(|(key, _)| *key);
        self.entries.dedup_by_key(|(key, _)| *key);
    }

    /// The value of a metric of the whole host.
    pub fn get(&self, field: FieldId) -> Option<u64> {
        self.of(field, WHOLE)
    }

    /// The value of a metric.
    pub fn of(&self, field: FieldId, instance: InstanceId) -> Option<u64> {
        let key = MetricKey { field, instance };
        self.entries.binary_search_by_key(&key, |(key, _)| *key).ok().map(|at| self.entries[at].1)
    }

    /// All values of a metric, by instance.
    pub fn each(&self, field: FieldId) -> impl Iterator<Item = (InstanceId, u64)> {
        let first = self.entries.partition_point(|(key, _)| key.field < field);
        let of_field = self.entries[first..].iter().take_while(move |(key, _)| key.field == field);
        of_field.map(|(key, value)| (key.instance, *value))
    }

    /// Adds `difference` to a value that is there.
    pub fn change(&mut self, key: MetricKey, difference: i64) {
        if let Ok(at) = self.entries.binary_search_by_key(&key, |(key, _)| *key) {
            self.entries[at].1 = self.entries[at].1.wrapping_add(difference.cast_unsigned());
        }
    }

    /// Takes a value away.
    pub fn remove(&mut self, key: MetricKey) {
        if let Ok(at) = self.entries.binary_search_by_key(&key, |(key, _)| *key) {
            self.entries.remove(at);
        }
    }

    /// Adds those of another list that are not there.
    pub fn add_all(&mut self, others: &Self) {
        if !others.entries.is_empty() {
            self.entries.extend_from_slice(&others.entries);
            self.sort();
        }
    }

    /// All of them.
    pub fn entries(&self) -> &[(MetricKey, u64)] {
        &self.entries
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::fields::{DISK_READ, DISK_READS, UPTIME};

    #[test]
    fn values_are_found_by_metric_and_instance() {
        let mut values = Values::default();
        for (field, instance, value) in [(DISK_READ, 2, 7), (DISK_READS, 2, 3), (DISK_READS, 1, 4), (UPTIME, 0, 9)] {
            values.push(field, InstanceId(instance), value);
        }
        values.sort();
        assert_eq!(
            (values.get(UPTIME), values.of(DISK_READ, InstanceId(2)), values.get(DISK_READ)),
            (Some(9), Some(7), None)
        );
        assert_eq!(values.each(DISK_READS).collect::<Vec<_>>(), [(InstanceId(1), 4), (InstanceId(2), 3)]);
    }

    #[test]
    fn names_keep_their_numbers_and_long_ones_are_cut() {
        let mut names = InstanceNames::default();
        let vda = names.number("vda").expect("room");
        assert_eq!((names.number("vda"), names.find("vda"), names.name(vda)), (Some(vda), Some(vda), "vda"));
        let long = "ä".repeat(NAME_BYTES_MAX);
        let number = names.number(&long).expect("room");
        assert_eq!(names.name(number).len(), NAME_BYTES_MAX);
        assert_eq!((names.find(&long), names.len(), names.name(WHOLE)), (Some(number), 3, ""));
        assert_eq!(names.from(0).map(|(_, name)| name.len()).collect::<Vec<_>>(), [3, NAME_BYTES_MAX]);
        assert!((0..2 * INSTANCES_MAX).filter_map(|at| names.number(&at.to_string())).count() < INSTANCES_MAX);
        assert_eq!((names.len(), names.number("one more")), (INSTANCES_MAX, None));
    }
}
