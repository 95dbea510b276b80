//! Outputs that are passed on line by line while their job runs (`--line-buffer`). A slow reader holds the jobs back, as it would
//! a program that writes to it directly: what they print waits in their pipes, not here.

use super::running::Printing;
use super::{Order, OutputManner, Runner};
use crate::output::Part;

/// LIMIT: bytes, and files of long lines, that wait for a slow reader before the pipes of those who print are left alone.
const WAITING_BYTES_MAX: u64 = 4 << 20;
const WAITING_FILES_MAX: usize = 8;

impl Runner<'_> {
    /// Passes lines of a running job on; where many wait already its pipe is left alone.
    pub(super) fn pass_lines_on(&mut self, slot: usize, stream: usize, lines: Vec<Part>) {
        if lines.is_empty() {
            return;
        }
        let number = self.outlet_of(stream);
        let outlet = &mut self.outlets[number];
        lines.into_iter().for_each(|part| outlet.push(part));
        let weight = outlet.weight();
        if (weight.bytes > WAITING_BYTES_MAX || weight.files > WAITING_FILES_MAX)
            && let Some(running) = self.jobs.at(slot)
            && let Some(capture) = &mut running.printing.captures[stream]
        {
            capture.is_held = self.poll.forget(capture.pipe());
        }
    }

    /// The reader has come on: jobs that were held back go on.
    pub(super) fn let_lines_come(&mut self) {
        if self.options.output != OutputManner::Lines {
            return;
        }
        let has_room = [0, 1].map(|stream| {
            let weight = self.outlets[self.outlet_of(stream)].weight();
            weight.bytes <= WAITING_BYTES_MAX / 2 && weight.files <= WAITING_FILES_MAX / 2
        });
        for (slot, running) in self.jobs.slots_mut() {
            let Printing { captures, generation, .. } = &mut running.printing;
            for (stream, capture) in captures.iter_mut().enumerate() {
                let Some(capture) = capture.as_mut().filter(|capture| capture.is_held && has_room[stream]) else {
                    continue;
                };
                capture.is_held = false;
                super::starts::watch(&self.poll, slot, *generation, stream, capture);
            }
        }
    }

    /// With `-k` one job's lines at a time: the turn has come to another one, which may have printed already.
    pub(super) fn begin_passing_lines_on(&mut self) {
        if self.options.output != OutputManner::Lines || self.options.order != Order::AsListed {
            return;
        }
        let is_next = |number| number == self.delivery.next_number();
        let next = self.jobs.iter_mut().find(|running| is_next(running.number()));
        let Some(running) = next else { return };
        let captures = &mut running.printing.captures;
        let parts = captures.each_mut().map(|capture| capture.as_mut().map_or(Vec::new(), |it| it.take_out()));
        for (stream, parts) in parts.into_iter().enumerate() {
            let number = self.outlet_of(stream);
            parts.into_iter().for_each(|part| self.outlets[number].push(part));
        }
    }
}
