//! What `-l` and `-s` make in place of copies.

use super::item::Item;
use super::metadata::Carried;
use super::tree::{Place, Run, named, named_in};
use super::{Attribute, Complaint, Keep, MakeWhat};
use crate::operand::Parent;
use crew::scatter::Branch;
use files::Status;
use std::ffi::CString;

impl Run<'_> {
    /// `-l`.
    pub fn link_to_source(
        &self,
        item: &Item<'_>,
        status: &Status,
        branch: &mut Branch<'_, Self>,
    ) -> Result<(), Complaint> {
        let make = || item.source.link(item.name, item.target.directory(), item.target_name, item.follow);
        match self.make_over(item, status, MakeWhat::File, &make, branch) {
            Ok(Some(backup)) => self.tell(item, backup.as_deref()),
            Ok(None) => {}
            Err(Complaint::Make(_, path, error)) => return Err(Complaint::Link(path, item.source_path(self), error)),
            // It is there already.
            Err(Complaint::SameFile(_)) => {}
            Err(complaint) => return Err(complaint),
        }
        Ok(())
    }

    /// `-s`.
    pub fn make_symbolic_link(
        &self,
        item: &Item<'_>,
        status: &Status,
        branch: &mut Branch<'_, Self>,
    ) -> Result<(), Complaint> {
        let path = item.source_path(self);
        let is_here = matches!(item.place, Place::Top(_)) && matches!(item.target, Parent::Here);
        if path.first() != Some(&b'/') && !is_here {
            return Err(Complaint::RelativeLink(item.target_path(self)));
        }
        let leads_to = CString::new(path).map_err(|error| Complaint::Stat(error.into()))?;
        let make = || item.target.directory().symlink(&leads_to, item.target_name);
        match self.make_over(item, status, MakeWhat::Link, &make, branch) {
            Ok(Some(backup)) => self.tell(item, backup.as_deref()),
            Ok(None) => return Ok(()),
            Err(Complaint::Make(_, path, error)) => return Err(Complaint::PointTo(path, error)),
            Err(complaint) => return Err(complaint),
        }
        self.date_symbolic_link(item, status, branch);
        Ok(())
    }

    /// COMPAT: a link that stands for a copy has its times, and nothing else.
    fn date_symbolic_link(&self, item: &Item<'_>, status: &Status, branch: &mut Branch<'_, Self>) {
        let keep = Keep { mode: false, owner: false, attributes: Attribute::Leave, ..self.copying.manner.keep };
        let carried = Carried {
            from: named_in(item.source, item.name),
            to: named(item.target, item.target_name),
            status,
            owner_now: None,
            mode_now: None,
            mode: None,
            has_lists: false,
            special: 0,
            is_link: true,
        };
        self.carry_all(item, &carried, &keep, branch);
    }
}
