//! Standard output that is a file which others write to as well, that does not wait, or that nobody reads.

use crate::place::{Place, said};
use testkit::data;
use testkit::program::{Exit, TestProgram, left_out};

/// Files of text in their packed form, `1.gz` and so on; their bytes one behind the other.
fn packed_texts(place: &Place) -> Vec<u8> {
    let texts: Vec<Vec<u8>> = (1..=4).map(|seed| data::text(2_500_000, seed)).collect();
    for (number, text) in (1..).zip(&texts) {
        place.write(number.to_string(), text);
        place.tamp(["-F", "gz", "-1", &number.to_string()]).stdout_of_success();
    }
    texts.concat()
}

fn sorted(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.sort_unstable();
    bytes
}

#[test]
fn runs_that_write_to_one_open_file_overwrite_nothing() {
    let place = Place::new();
    let expected = sorted(packed_texts(&place));
    for script in [
        "for n in 1 2 3 4; do \"$mh\" tamp -dc $n.gz & done > out; wait",
        "printf '%s\\n' 1.gz 2.gz 3.gz 4.gz | xargs -P4 -n1 \"$mh\" tamp -dc > out",
        "{ \"$mh\" tamp -dc 1.gz 2.gz; \"$mh\" tamp -j1 -dc 3.gz 4.gz; } > out",
    ] {
        let outcome = place.shell(script);
        assert_eq!((outcome.exit, said(&outcome).as_str()), (Exit::Code(0), ""), "{script}");
        assert!(sorted(place.read("out")) == expected, "{script}: {} bytes", place.read("out").len());
    }
}

#[test]
fn messages_in_the_same_file_lie_between_the_data() {
    let place = Place::new();
    let expected = packed_texts(&place).len();
    let script = "{ echo first; \"$mh\" tamp -dc 1.gz none.gz 2.gz 3.gz 4.gz; echo last; } > out 2>&1";
    assert_eq!(place.shell(script).exit, Exit::Code(0));
    let out = place.read("out");
    let text = String::from_utf8_lossy(&out);
    assert!(text.starts_with("first\n") && text.ends_with("last\n"));
    // What is said of the missing file and the conclusion of the run.
    let messages: Vec<&str> =
        text.split_inclusive('\n').filter_map(|line| Some(&line[line.find("mh tamp: ")?..])).collect();
    assert!(messages[0].contains("none.gz"), "{messages:?}");
    assert_eq!(text.len() - messages.concat().len(), expected + "first\nlast\n".len(), "{messages:?}");
}

#[test]
fn what_follows_a_failed_run_follows_its_bytes() {
    let place = Place::new();
    let plain = data::random(4_000_000, 1);
    place.write("plain", &plain);
    let packed = place.tamp(["-F", "gz", "-c", "plain"]).stdout_of_success();
    place.write("cut.gz", &packed[..packed.len() - 900_000]);
    place.shell("{ \"$mh\" tamp -dc cut.gz; echo last; } > out 2> said");
    let out = place.read("out");
    let data = out.strip_suffix(b"last\n").expect("nothing between the data and what follows");
    assert!(data.len() > 2_000_000 && plain.starts_with(data), "{} bytes", data.len());
}

#[test]
fn holes_at_the_end_of_a_shared_file_do_not_cut_off_others() {
    let place = Place::new();
    let plain = [data::random(100_000, 1), vec![0; 3_000_000]].concat();
    place.write("plain", &plain);
    place.tamp(["plain"]).stdout_of_success();
    let script = "{ \"$mh\" tamp -dc --sparse plain.zst; \"$mh\" tamp -dc --sparse plain.zst; } > out";
    place.shell(script).stdout_of_success();
    assert!(place.read("out") == [&plain[..], &plain].concat(), "{} bytes", place.read("out").len());
}

#[test]
fn a_pipe_that_does_not_wait_is_waited_for() {
    let place = Place::new();
    let plain = data::text(3_000_000, 1);
    place.write("plain", &plain);
    place.tamp(["plain"]).stdout_of_success();
    let Some(python) = TestProgram::find("python3") else { return left_out("python3 is not installed") };
    let script = "import os,subprocess,sys,time\n\
                  reader, writer = os.pipe()\n\
                  os.set_blocking(writer, False)\n\
                  child = subprocess.Popen([sys.argv[1], 'tamp', '-dc', 'plain.zst'], stdout=writer)\n\
                  os.close(writer)\n\
                  time.sleep(0.2)\n\
                  out = open(reader, 'rb').read()\n\
                  sys.stdout.buffer.write(out)\n\
                  sys.exit(child.wait())";
    let binary = crate::place::binary();
    let python = python.in_directory(place.directory());
    let arguments = [std::ffi::OsStr::new("-c"), script.as_ref(), binary.as_os_str()];
    let outcome = python.run(arguments, b"").expect("it starts");
    assert_eq!((outcome.exit, said(&outcome).as_str()), (Exit::Code(0), ""));
    assert!(outcome.stdout == plain, "{} bytes", outcome.stdout.len());
}

#[test]
fn a_reader_that_goes_ends_the_run_though_other_inputs_would_be_waited_for() {
    let place = Place::new();
    place.write("plain", data::random(3_000_000, 1));
    // Standard input stays open and silent.
    let outcome = place.shell(
        "mkfifo silent; sleep 60 > silent & { \"$mh\" tamp -c plain - < silent; echo $? > code; } | head -c 9; kill $!",
    );
    assert_eq!(outcome.stdout.len(), 9);
    assert_eq!(place.read("code"), b"141\n", "{}", said(&outcome));
}
