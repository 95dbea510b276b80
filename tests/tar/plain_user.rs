//! What a plain user may not have: attributes. Data and whatever else may be kept are.

use super::tools;
use crate::place::{Place, said};
use testkit::program::{Exit, left_out};

/// Archives of attributes that a user may set, may not, and may set while the file can be written to.
const BEFORE: &str = "mkdir s; cd s; echo a > a; echo b > b; echo r > r; mkdir d; echo f > d/f
    setfattr -n user.k -v one a && setfattr -n user.k -v two r && setfattr -n user.k -v three d && setfattr -n user.k -v four d/f || exit 77
    setfattr -n trusted.t -v t b && setfattr -n trusted.t -v t a && setfattr -n trusted.u -v t b || exit 77
    mtime='touch -d @1000000000.5'; chmod 440 r; chmod 400 d/f; chmod 500 d; $mtime a b r d/f d
    tar --format=posix --xattrs --xattrs-include='*' -cf ../may-not.tar a b; tar --format=posix --xattrs -cf ../may.tar r d
    cd ..; mkdir x; chmod 777 x; chmod 755 . s";

const USER: &str = "setpriv --reuid=65534 --regid=65534 --clear-groups env HOME=/ MH_CREW_DIR= $mh tar";

/// None where there is no root, or no file system with attributes.
fn place() -> Option<Place> {
    if !tools(&["tar", "setfattr", "getfattr", "setpriv"]) {
        return None;
    }
    let place = Place::new();
    let made = place.shell(BEFORE);
    if made.exit != Exit::Code(0) {
        left_out(&format!("a file system with attributes, and root to set them: {}", said(&made)));
        return None;
    }
    Some(place)
}

fn run(place: &Place, script: &str) -> (Exit, String) {
    let ran = place.shell(&format!("umask 022; mh() {{ {USER} \"$@\"; }}\n{script}"));
    (ran.exit, format!("{}{}", String::from_utf8_lossy(&ran.stdout), said(&ran)))
}

#[test]
fn an_attribute_that_may_not_be_set_is_a_warning() {
    let Some(place) = place() else { return };
    for hands in [1, 2] {
        let (exit, told) = run(
            &place,
            &format!(
                "rm -rf x/*; mh --hands {hands} --xattrs -xf may-not.tar -C x || exit
                cat x/a x/b; stat -c '%n %.2Y' x/a x/b; getfattr --only-values -n user.k x/a; echo"
            ),
        );
        let expected = "a\nb\nx/a 1000000000.50\nx/b 1000000000.50\none\n\
            mh tar: warning: 'a': cannot set its attributes: trusted.t: Operation not permitted\n\
            mh tar: warning: 'b': cannot set its attributes: trusted.t, trusted.u: Operation not permitted\n";
        assert_eq!((exit, told.as_str()), (Exit::Code(0), expected), "{hands} hands");
        let silent =
            format!("rm -rf x/*; mh --hands {hands} --xattrs --warning=no-xattr-write -xf may-not.tar -C x && ls x");
        assert_eq!(run(&place, &silent), (Exit::Code(0), "a\nb\n".to_owned()), "{hands} hands");
    }
}

#[test]
fn files_that_nobody_may_write_to_keep_their_attributes() {
    let Some(place) = place() else { return };
    for hands in [1, 2] {
        let (exit, told) = run(
            &place,
            &format!(
                "rm -rf x/*; for again in 1 2; do mh --hands {hands} --xattrs -xf may.tar -C x || exit
                chmod u+w x/d; done; mh --hands {hands} --xattrs -xf may.tar -C x r || exit
                mh --hands {hands} --xattrs --no-recursion -xf may.tar -C x d || exit
                stat -c '%n %a %.2Y' x/r x/d x/d/f; cat x/r x/d/f
                for name in r d d/f; do getfattr --only-values -n user.k x/$name; echo; done"
            ),
        );
        let expected =
            "x/r 440 1000000000.50\nx/d 500 1000000000.50\nx/d/f 400 1000000000.50\nr\nf\ntwo\nthree\nfour\n";
        assert_eq!((exit, told.as_str()), (Exit::Code(0), expected), "{hands} hands");
    }
}
