//! Directories of a tree that is worked on: those that were closed to stay within the budget of descriptors are found again from the nearest
//! open one above.

use crew::scatter::TreeNode;
use files::{DescriptorBudget, Directory, HandedFd, KeptDirectory};
use std::io;
use std::sync::Arc;

/// A knot's folder, opened again where it had been closed: by name from the nearest open folder above, and only if it is the same one still.
/// Those on the way are closed again where descriptors are short.
pub fn descriptor<Node>(
    knot: &Arc<TreeNode<Node>>,
    folder: impl Fn(&Node) -> &KeptDirectory,
    descriptors: &DescriptorBudget,
) -> io::Result<Arc<HandedFd>> {
    if let Some(open) = folder(&knot.node).open() {
        return Ok(open);
    }
    let mut closed = vec![Arc::clone(knot)];
    let mut at = loop {
        let above = closed[closed.len() - 1].above();
        let Some(above) = above else { return Err(io::Error::other("its folder cannot be found any more")) };
        match folder(&above.node).open() {
            Some(open) => break open,
            None => closed.push(above),
        }
    };
    while let Some(knot) = closed.pop() {
        let directory = folder(&knot.node);
        at = directory.reopen(Directory::of(&at), directory.name(), descriptors)?;
        make_room(&knot, &folder, descriptors);
    }
    Ok(at)
}

/// After `knot` was opened: closes a folder some levels above where descriptors are short.
pub fn make_room<Node>(
    knot: &Arc<TreeNode<Node>>,
    folder: impl Fn(&Node) -> &KeptDirectory,
    descriptors: &DescriptorBudget,
) {
    let Some(kept) = descriptors.levels_kept().filter(|&kept| knot.depth > kept) else { return };
    let mut level = Arc::clone(knot);
    for _ in 0..kept {
        let Some(above) = level.above() else { return };
        level = above;
    }
    // The top stays open: everything is found from there.
    if level.depth > 0 {
        folder(&level.node).close_for_now(descriptors);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crew::budget::{Budget, InProcess, Priority, Request, Weight};
    use crew::scatter::{Begun, Branch, Expanded, ThreadWidth, Tree};
    use files::{Status, how};
    use std::os::fd::OwnedFd;
    use std::sync::atomic::{AtomicUsize, Ordering};

    const LEVELS: usize = 200;
    const MOST: usize = 20;

    /// A chain of folders called `d`.
    struct Chain {
        descriptors: DescriptorBudget,
        most_open: AtomicUsize,
    }

    impl Tree for Chain {
        type Task = OwnedFd;
        type Node = KeptDirectory;
        type Expansion = ();
        type Scratch = ();
        type Report = ();

        fn scratch(&self, _worker: usize) {}

        fn begin(
            &self,
            folder: OwnedFd,
            _above: Option<&Arc<TreeNode<KeptDirectory>>>,
            _: &mut Branch<'_, Self>,
        ) -> Begun<KeptDirectory, ()> {
            Begun::Node(KeptDirectory::new(c"d".to_owned(), folder, &self.descriptors), ())
        }

        fn expand(&self, knot: &Arc<TreeNode<KeptDirectory>>, _: &mut (), branch: &mut Branch<'_, Self>) -> Expanded {
            make_room(knot, |folder| folder, &self.descriptors);
            let open = knot.node.open().expect("it was just opened");
            if knot.depth < LEVELS {
                branch.spawn(Directory::of(&open).open(c"d", how::DIRECTORY, 0).expect("the next one"));
                return Expanded::Done;
            }
            // As if another worker had come back to the top meanwhile.
            let mut above = knot.above();
            while let Some(level) = above.filter(|level| level.depth > 0) {
                level.node.close_for_now(&self.descriptors);
                above = level.above();
            }
            knot.node.close_for_now(&self.descriptors);
            let found = descriptor(knot, |folder| folder, &self.descriptors).expect("it is still there");
            assert_eq!(Status::of(&found).ok().map(|status| status.identity()), knot.node.identity());
            self.most_open.store(self.descriptors.open(), Ordering::Relaxed);
            Expanded::Done
        }

        fn leave(
            &self,
            knot: &TreeNode<KeptDirectory>,
            _: Option<&Arc<TreeNode<KeptDirectory>>>,
            _: &mut Branch<'_, Self>,
        ) {
            knot.node.close(&self.descriptors);
        }

        fn tell(&self, _: Vec<()>) {}
    }

    #[test]
    fn a_chain_that_is_opened_again_keeps_no_more_descriptors_than_there_are() {
        let top = tempfile::tempdir().expect("a folder");
        std::fs::create_dir_all(top.path().join(vec!["d"; LEVELS].join("/"))).expect("folders");
        let chain = Chain { descriptors: DescriptorBudget::new(MOST), most_open: AtomicUsize::new(0) };
        let top = OwnedFd::from(std::fs::File::open(top.path()).expect("the top"));
        let request =
            Request { priority: Priority::Normal, weight: Weight::default(), useful_width: 1, what: String::new() };
        crew::scatter::run(&chain, vec![top], ThreadWidth { workers: 1 }, InProcess::new(1).lease(request).as_ref());
        let open = chain.most_open.load(Ordering::Relaxed);
        assert!((8..=MOST + 1).contains(&open), "{open} are open");
        assert_eq!(chain.descriptors.open(), 0);
    }
}
