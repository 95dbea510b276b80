//! `mh vmtasks` as it is shipped: a program's memory is proved resident, or not, with an exit code for scripts.

use crate::place::{Place, Running, binary, wait_until};
use std::process::{Command, Stdio};
use testkit::program::{Exit, ProgramOutcome, TestProgram, left_out};

fn run(arguments: &[&str]) -> ProgramOutcome {
    let place = Place::new();
    TestProgram::at(binary()).in_directory(place.directory()).run(arguments, b"").expect("the program starts")
}

/// A program that maps 128 MiB and touches as many bytes of it, and stays.
fn with_memory(touched: &str) -> Option<Running> {
    const SCRIPT: &str = "import mmap,sys,time\n\
        memory=mmap.mmap(-1, 128<<20, flags=mmap.MAP_PRIVATE|mmap.MAP_ANONYMOUS)\n\
        for at in range(0, int(sys.argv[1]), 4096): memory[at]=1\n\
        print('ready', flush=True)\ntime.sleep(600)\n";
    TestProgram::find("python3")?;
    let mut command = Command::new("python3");
    let child = command.args(["-c", SCRIPT, touched]).stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
    let mut running = Running { child: child.expect("python3 starts") };
    let mut line = [0; 6];
    let mut stdout = running.child.stdout.take().expect("it is piped");
    std::io::Read::read_exact(&mut stdout, &mut line).expect("it is ready");
    Some(running)
}

fn stdout(outcome: &ProgramOutcome) -> String {
    String::from_utf8_lossy(&outcome.stdout).into_owned()
}

#[test]
fn memory_that_was_touched_is_proved_and_an_untouched_page_is_found() {
    let (Some(whole), Some(torn)) = (with_memory("134217728"), with_memory("134213632")) else {
        return left_out("python3 is not installed");
    };
    let (whole, torn) = (whole.child.id().to_string(), torn.child.id().to_string());
    let proved = run(&["vmtasks", "check", &whole]);
    assert!(stdout(&proved).starts_with("all resident: 1 large mapping (134 MB) of python3"), "{}", stdout(&proved));
    assert_eq!(proved.exit, Exit::Code(0));
    let missing = run(&["vmtasks", "check", &torn]);
    assert!(stdout(&missing).starts_with("not resident: 4.10 kB of 134 MB in 1 of 1"), "{}", stdout(&missing));
    assert_eq!(missing.exit, Exit::Code(1));
    let unlocked = run(&["vmtasks", "check", "--locked", &whole]);
    assert!(stdout(&unlocked).starts_with("not locked: 1 of 1"), "{}", stdout(&unlocked));
    assert_eq!(unlocked.exit, Exit::Code(1));
    let both = run(&["vmtasks", "check", "--json", &whole, &torn, &whole]);
    let report: serde_json::Value = serde_json::from_slice(&both.stdout).expect("JSON");
    assert_eq!((&report["is_proof"], &report["verdict"]["missing_bytes"]), (&false.into(), &4096.into()), "{report}");
    assert_eq!(report["processes"][0]["mappings"][0]["resident_bytes"], 128 << 20);
    assert_eq!(report["processes"].as_array().map(Vec::len), Some(2), "one was named twice");
}

/// A pool of 128 MiB that is locked, in reserved room, with 16 MiB behind it that nobody has touched.
#[test]
fn a_locked_pool_is_proved_beside_memory_that_was_not_touched() {
    const SCRIPT: &str = "import ctypes,mmap,time\n\
        libc=ctypes.CDLL(None, use_errno=True)\n\
        libc.mmap.restype=ctypes.c_void_p\n\
        libc.mmap.argtypes=[ctypes.c_void_p,ctypes.c_size_t,ctypes.c_int,ctypes.c_int,ctypes.c_int,ctypes.c_long]\n\
        room=libc.mmap(None, 256<<20, 0, 0x22, -1, 0)\n\
        at=ctypes.c_void_p(room)\n\
        libc.mprotect(at, ctypes.c_size_t(128<<20), 3)\n\
        locked=libc.mlock(at, ctypes.c_size_t(128<<20))\n\
        libc.mprotect(ctypes.c_void_p(room+(128<<20)), ctypes.c_size_t(16<<20), 3)\n\
        print('ready\\n' if locked==0 else 'refused\\n', end='', flush=True)\ntime.sleep(600)\n";
    if TestProgram::find("python3").is_none() {
        return left_out("python3 is not installed");
    }
    let mut command = Command::new("python3");
    let child = command.args(["-c", SCRIPT]).stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
    let mut running = Running { child: child.expect("python3 starts") };
    let mut line = [0; 6];
    let mut output = running.child.stdout.take().expect("it is piped");
    std::io::Read::read_exact(&mut output, &mut line).expect("it says how it went");
    if &line != b"ready\n" {
        return left_out("RLIMIT_MEMLOCK is too low");
    }
    let pid = running.child.id().to_string();
    let outcome = run(&["vmtasks", "check", "--locked", "--min-size", "128M", &pid]);
    let text = stdout(&outcome);
    assert!(text.starts_with("all resident and locked: 1 large mapping (134 MB) of python3"), "{text}");
    assert!(text.contains("\nnot checked: 16.8 MB beside them"), "{text}");
    assert_eq!(outcome.exit, Exit::Code(0));
    let own = std::process::id().to_string();
    let both = run(&["vmtasks", "check", "--min-size", "128M", &own, &pid]);
    assert!(stdout(&both).starts_with("nothing to check: "), "{}", stdout(&both));
    assert_eq!(both.exit, Exit::Code(1));
}

#[test]
fn of_small_memory_nothing_is_proved() {
    let child = Command::new("sleep").arg("600").stdin(Stdio::null()).spawn().expect("sleep starts");
    let sleeping = Running { child };
    let name = format!("/proc/{}/comm", sleeping.child.id());
    wait_until("it is sleep", || std::fs::read_to_string(&name).is_ok_and(|name| name == "sleep\n"));
    let outcome = run(&["vmtasks", "check", &sleeping.child.id().to_string()]);
    let expected = format!("nothing to check: sleep ({}) has no mapping of 67.1 MB or more\n", sleeping.child.id());
    assert_eq!((stdout(&outcome), outcome.exit), (expected, Exit::Code(1)));
}

fn measured(arguments: &[&str]) -> serde_json::Value {
    let arguments = [&["vmtasks", "bench", "--size", "40M", "-j", "2", "--rounds", "1", "--json"], arguments].concat();
    serde_json::from_slice(&run(&arguments).stdout_of_success()).expect("JSON")
}

#[test]
fn every_kind_of_memory_is_measured_and_resident() {
    let place = Place::new();
    let directory = place.directory().to_str().expect("a path of letters");
    for kind in ["anon", "shm", "memfd", "sysv", "huge", "file"] {
        let report = measured(&["--kind", kind, "--directory", directory]);
        assert_eq!(report["facts"]["resident_bytes"], 40 << 20, "{kind}: {report}");
        let rows = report["rows"].as_array().expect("a list");
        assert_eq!(
            rows.iter().map(|row| &row["threads"]).collect::<Vec<_>>(),
            [&serde_json::json!(1), &serde_json::json!(2)]
        );
        for row in rows {
            for figures in ["create_ns", "destroy_ns"] {
                let figures = row[figures].as_array().expect("a list");
                assert!(figures.len() == 1 && figures[0].as_u64().is_some_and(|ns| ns > 0), "{kind}: {report}");
            }
            assert_eq!(row["create_locked_ns"].as_array().map(Vec::len), Some(0), "not asked for");
        }
    }
    assert!(place.names().is_empty(), "the file has no name");
}

#[test]
fn locked_ranges_are_measured_beside_the_others() {
    let report = measured(&["--lock"]);
    assert_eq!(report["facts"]["locked_bytes"], 40 << 20, "{report}");
    assert_eq!(report["rows"][1]["create_locked_ns"].as_array().map(Vec::len), Some(1), "{report}");
}

/// Huge pages that are reserved while a test lasts.
struct Reserved {
    before: String,
}

const POOL: &str = "/proc/sys/vm/nr_hugepages";

impl Reserved {
    /// None without the rights, or where memory is in too small pieces.
    fn more(pages: u64) -> Option<Self> {
        let before = std::fs::read_to_string(POOL).ok()?;
        let wanted = before.trim().parse::<u64>().ok()? + pages;
        std::fs::write(POOL, wanted.to_string()).ok()?;
        let reserved = Self { before };
        let there = std::fs::read_to_string(POOL).ok()?;
        (there.trim() == wanted.to_string()).then_some(reserved)
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        std::fs::write(POOL, &self.before).expect("what could be raised can be lowered");
    }
}

#[test]
fn pages_of_the_pool_are_used_where_there_are_enough() {
    let Some(_reserved) = Reserved::more(20) else { return left_out("no huge pages can be reserved here") };
    let report = measured(&["--kind", "huge"]);
    assert_eq!(
        (&report["facts"]["page_bytes"], &report["kind"]),
        (&(2 << 20).into(), &"huge pages of the pool".into())
    );
    assert_eq!(report["facts"]["resident_bytes"], 40 << 20, "{report}");
}
