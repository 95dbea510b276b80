//! Results in the order of their items, whichever is done first. Holds those of one window at most.

use crate::error::DigestError;
use crate::run::{DigestItem, Digested};
use parking_lot::Mutex;

/// Takes results in order.
pub(crate) type Sink<'a> = dyn FnMut(&DigestItem, Result<Digested, DigestError>) + Send + 'a;

/// Takes the result of an item by its number.
pub(crate) type Done<'a> = dyn Fn(usize, Result<Digested, DigestError>) + Sync + 'a;

/// Puts the results of one window in order.
pub(crate) struct Emitter<'a, 'b> {
    items: &'a [DigestItem],
    waiting: Mutex<Waiting<'a, 'b>>,
}

struct Waiting<'a, 'b> {
    next: usize,
    results: Vec<Option<Result<Digested, DigestError>>>,
    sink: &'a mut Sink<'b>,
}

impl<'a, 'b> Emitter<'a, 'b> {
    pub fn new(items: &'a [DigestItem], sink: &'a mut Sink<'b>) -> Self {
        let results = items.iter().map(|_| None).collect();
        Self { items, waiting: Mutex::new(Waiting { next: 0, results, sink }) }
    }

    /// The result of item `number`: handed on with those behind it that waited for it.
    pub fn done(&self, number: usize, result: Result<Digested, DigestError>) {
        let mut waiting = self.waiting.lock();
        let Waiting { next, results, sink } = &mut *waiting;
        results[number] = Some(result);
        while let Some(result) = results.get_mut(*next).and_then(Option::take) {
            sink(&self.items[*next], result);
            *next += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn results_come_in_the_order_of_their_items() {
        let items: Vec<DigestItem> =
            (0_u8..4).map(|number| DigestItem::path(vec![b'0' + number], Arc::new([]))).collect();
        let mut seen = Vec::new();
        let mut sink = |item: &DigestItem, _: Result<Digested, DigestError>| seen.extend_from_slice(&item.name);
        let emitter = Emitter::new(&items, &mut sink);
        [2, 0, 3, 1].into_iter().for_each(|number| emitter.done(number, Ok(Digested::default())));
        assert_eq!(seen, b"0123");
    }
}
