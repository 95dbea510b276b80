//! Tracing in a process of its own: elsewhere in the tests somebody waits for any child there is, and would take the stops.

use std::process::Command;
use sys::reap::How;
use sys::trace::{Event, Seen, Tracer};

#[test]
fn a_traced_program_tells_its_calls_and_its_end() {
    let mut command = Command::new("/bin/sh");
    let (mut tracer, child) = Tracer::spawn(command.args(["-c", "/bin/true; exit 3"])).expect("sh starts");
    let (mut begun, mut entered, mut left) = (0, 0, 0);
    let mut ends = Vec::new();
    loop {
        match tracer.wait() {
            Ok(Seen { thread, event }) => match event {
                Event::Begun => begun += 1,
                Event::Entered { .. } => entered += 1,
                Event::Left { .. } => left += 1,
                Event::Became { former } => panic!("one thread a process: {former} became {thread}"),
                Event::Ended(how) => {
                    ends.push((thread, how));
                    if thread == child.id() {
                        break;
                    }
                }
            },
            Err(error) => panic!("{error}: {ends:?}"),
        }
    }
    assert!(ends.contains(&(child.id(), How::Exit(3))), "{ends:?}");
    assert_eq!(begun, 2, "the shell and its child");
    assert!(entered > 20 && left > 20 && entered >= left, "{entered} {left}");
}
