//! What a file carries besides its bytes goes over to its output: mode, times, owner, extended attributes.

use crate::place::{Place, said};
use rustix::fs::{XattrFlags, getxattr, setxattr};
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::time::{Duration, UNIX_EPOCH};
use testkit::data;
use testkit::program::{Exit, left_out};

fn place_with_plain() -> Place {
    let place = Place::new();
    place.write("plain", data::text(300_000, 1));
    place
}

fn metadata(place: &Place, name: &str) -> fs::Metadata {
    fs::metadata(place.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// There and back again, in each format, with a look at both outputs.
fn each_output(place: &Place, look: impl Fn(&str)) {
    for format in ["gz", "zst"] {
        let packed = format!("plain.{format}");
        place.tamp(["-F", format, "plain"]).stdout_of_success();
        look(&packed);
        place.tamp(["-d", "-o", "back", &packed]).stdout_of_success();
        look("back");
        fs::remove_file(place.path("back")).expect("it is ours");
    }
}

#[test]
fn the_mode_goes_over() {
    for mode in [0o600, 0o640, 0o444, 0o755, 0o666] {
        let place = place_with_plain();
        fs::set_permissions(place.path("plain"), Permissions::from_mode(mode)).expect("the file is ours");
        each_output(&place, |name| assert_eq!(metadata(&place, name).mode() & 0o7777, mode, "{name} of {mode:o}"));
    }
}

#[test]
fn the_time_of_the_last_change_goes_over_to_the_nanosecond() {
    let place = place_with_plain();
    let time = UNIX_EPOCH + Duration::new(1_234_567_890, 123_456_789);
    let file = fs::File::options().write(true).open(place.path("plain")).expect("the file is ours");
    file.set_modified(time).expect("the file is ours");
    drop(file);
    each_output(&place, |name| {
        assert_eq!(metadata(&place, name).modified().expect("files have times"), time, "{name}");
    });
}

#[test]
fn the_owner_goes_over_where_that_is_allowed() {
    let place = place_with_plain();
    if chown(place.path("plain"), Some(12_345), Some(23_456)).is_err() {
        return left_out("needs root to give files away");
    }
    fs::set_permissions(place.path("plain"), Permissions::from_mode(0o640)).expect("the file was ours");
    each_output(&place, |name| {
        let metadata = metadata(&place, name);
        assert_eq!((metadata.uid(), metadata.gid(), metadata.mode() & 0o7777), (12_345, 23_456, 0o640), "{name}");
    });
}

#[test]
fn extended_attributes_go_over_where_the_file_system_has_them() {
    let place = place_with_plain();
    let (name, value) = ("user.origin", b"somewhere\0else");
    if setxattr(place.path("plain"), name, value, XattrFlags::empty()).is_err() {
        return left_out("needs a file system with extended attributes under TMPDIR");
    }
    each_output(&place, |file| {
        let mut buffer = [0; 100];
        let bytes = getxattr(place.path(file), name, &mut buffer[..]).unwrap_or_else(|error| panic!("{file}: {error}"));
        assert_eq!(&buffer[..bytes], value, "{file}");
    });
}

#[test]
fn rights_of_an_old_output_do_not_stay() {
    let place = place_with_plain();
    place.write("plain.zst", "old");
    fs::set_permissions(place.path("plain.zst"), Permissions::from_mode(0o666)).expect("the file is ours");
    fs::set_permissions(place.path("plain"), Permissions::from_mode(0o600)).expect("the file is ours");
    place.tamp(["-f", "plain"]).stdout_of_success();
    assert_eq!(metadata(&place, "plain.zst").mode() & 0o7777, 0o600);
}

#[test]
fn what_comes_from_a_stream_gets_the_usual_mode() {
    for (umask, mode) in [("022", 0o644), ("077", 0o600), ("002", 0o664), ("000", 0o666)] {
        let place = place_with_plain();
        let script = format!(
            "umask {umask}; cat plain | \"$mh\" tamp -o piped.zst && \"$mh\" tamp -o fed.zst < plain && \
             \"$mh\" tamp -d -o back < fed.zst"
        );
        let outcome = place.shell(&script);
        assert_eq!(outcome.exit, Exit::Code(0), "{}", said(&outcome));
        for name in ["piped.zst", "fed.zst", "back"] {
            assert_eq!(metadata(&place, name).mode() & 0o7777, mode, "{name} under umask {umask}");
        }
    }
}

#[test]
fn nobody_else_can_read_an_output_before_it_is_complete() {
    let place = Place::new();
    let file = fs::File::create(place.path("endless")).expect("the place is ours");
    file.set_len(1 << 40).expect("a sparse file can be made");
    fs::set_permissions(place.path("endless"), Permissions::from_mode(0o666)).expect("the file is ours");
    let script = "\"$mh\" tamp -j1 endless & mh=$!\n\
                  until ls -A | grep -q tmp; do sleep 0.005; done\n\
                  stat -c %a .mh-*; kill $mh; wait $mh 2> /dev/null; ls -A";
    let outcome = place.shell(script);
    assert_eq!(String::from_utf8_lossy(&outcome.stdout), "600\nendless\n", "{}", said(&outcome));
}

#[test]
fn set_user_id_does_not_go_over_to_another_owner() {
    let place = place_with_plain();
    fs::set_permissions(place.path("plain"), Permissions::from_mode(0o4755)).expect("the file is ours");
    place.tamp(["plain"]).stdout_of_success();
    let packed = metadata(&place, "plain.zst");
    assert!(packed.mode() & 0o7000 == 0 || packed.uid() == metadata(&place, "plain").uid());
}
