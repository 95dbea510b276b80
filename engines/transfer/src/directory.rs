//! Directories of a tree that is worked on: those that were closed to stay within the budget of descriptors are found again from the nearest
//! open one above.

use crew::scatter::TreeNode;
use files::{DescriptorBudget, Directory, HandedFd, KeptDirectory};
use std::io;
use std::sync::Arc;

/// A node's directory, opened again where it had been closed: by name from the nearest open directory above, and only if it is the same one still.
/// Those on the way are closed again where descriptors are short.
pub fn descriptor<Node>(
    node: &Arc<TreeNode<Node>>,
    directory: impl Fn(&Node) -> &KeptDirectory,
    descriptors: &DescriptorBudget,
) -> io::Result<Arc<HandedFd>> {
    if let Some(open) = directory(&node.node).open() {
        return Ok(open);
    }
    let mut closed = vec![Arc::clone(node)];
    let mut at = loop {
        let above = closed[closed.len() - 1].above();
        let Some(above) = above else { return Err(io::Error::other("its directory cannot be found any more")) };
        match directory(&above.node).open() {
            Some(open) => break open,
            None => closed.push(above),
        }
    };
    while let Some(node) = closed.pop() {
        let kept = directory(&node.node);
        at = kept.reopen(Directory::of(&at), kept.name(), descriptors)?;
        make_room(&node, &directory, descriptors);
    }
    Ok(at)
}

/// After `node` was opened: closes a directory some levels above where descriptors are short.
pub fn make_room<Node>(
    node: &Arc<TreeNode<Node>>,
    directory: impl Fn(&Node) -> &KeptDirectory,
    descriptors: &DescriptorBudget,
) {
    let Some(kept) = descriptors.levels_kept().filter(|&kept| node.depth > kept) else { return };
    let mut level = Arc::clone(node);
    for _ in 0..kept {
        let Some(above) = level.above() else { return };
        level = above;
    }
    // The top stays open: everything is found from there.
    if level.depth > 0 {
        directory(&level.node).close_for_now(descriptors);
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

    /// A chain of directories called `d`.
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
            directory: OwnedFd,
            _above: Option<&Arc<TreeNode<KeptDirectory>>>,
            _: &mut Branch<'_, Self>,
        ) -> Begun<KeptDirectory, ()> {
            Begun::Node(KeptDirectory::new(c"d".to_owned(), directory, &self.descriptors), ())
        }

        fn expand(&self, node: &Arc<TreeNode<KeptDirectory>>, _: &mut (), branch: &mut Branch<'_, Self>) -> Expanded {
            make_room(node, |directory| directory, &self.descriptors);
            let open = node.node.open().expect("it was just opened");
            if node.depth < LEVELS {
                branch.spawn(Directory::of(&open).open(c"d", how::DIRECTORY, 0).expect("the next one"));
                return Expanded::Done;
            }
            // As if another worker had come back to the top meanwhile.
            let mut above = node.above();
            while let Some(level) = above.filter(|level| level.depth > 0) {
                level.node.close_for_now(&self.descriptors);
                above = level.above();
            }
            node.node.close_for_now(&self.descriptors);
            let found = descriptor(node, |directory| directory, &self.descriptors).expect("it is still there");
            assert_eq!(Status::of(&found).ok().map(|status| status.identity()), node.node.identity());
            self.most_open.store(self.descriptors.open(), Ordering::Relaxed);
            Expanded::Done
        }

        fn leave(
            &self,
            node: &TreeNode<KeptDirectory>,
            _: Option<&Arc<TreeNode<KeptDirectory>>>,
            _: &mut Branch<'_, Self>,
        ) {
            node.node.close(&self.descriptors);
        }

        fn tell(&self, _: Vec<()>) {}
    }

    #[test]
    fn a_chain_that_is_opened_again_keeps_no_more_descriptors_than_there_are() {
        let top = tempfile::tempdir().expect("a directory");
        std::fs::create_dir_all(top.path().join(vec!["d"; LEVELS].join("/"))).expect("directories");
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
