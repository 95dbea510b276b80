//! What members carry besides their names: attributes of every kind of file, sizes beyond the field, sizes that files do not keep, values that
//! cannot be. GNU tar and ours read what either has written, at one and two hands.

use super::{expect_same, tools};
use crate::place::{Place, said};
use crate::tar::made::{header, member, padded, pax, put, symlink};
use testkit::program::{Exit, left_out};

/// A tree in which everything has attributes, labels and lists, `l`, and what is shown of it.
const ATTRIBUTES: &str = r#"
mkdir -p l/d; cd l; ln -s nowhere s; mkfifo p; mknod c c 1 3; mknod b b 7 99; echo x > f; cd ..
for file in s p c b d f; do for name in trusted.a=b trusted.a%b trusted.%3D security.x%=; do
  setfattr -h -n "$name" -v "$file $name" l/$file; done; setfattr -h -n security.selinux -v label_$file l/$file; done
for file in d f; do setfattr -n user.=%25= -v user_$file l/$file; done
setfacl -m u:12345:rw l/p l/c l/b l/d l/f; setfacl -d -m u:77:rwx l/d
ln -s p l/to
shown() { (cd $1; for file in s p c b d f to; do getfattr -h -d -m - $file; done; getfacl -n p c b d f) 2>/dev/null; }
shown l > right; test $(grep -c label_ right) = 6
gnu="tar --xattrs --xattrs-include=* --acls"; one="$mh tar --hands 1 --xattrs --acls"; two="$mh tar --hands 2 --xattrs --acls"
"#;

fn has_attributes(place: &Place) -> bool {
    if !rustix::process::geteuid().is_root() || !tools(&["tar", "setfattr", "getfattr", "setfacl", "getfacl"]) {
        left_out("needs root, attributes and lists");
        return false;
    }
    let made = place.shell(&format!("set -e\n{ATTRIBUTES}"));
    if made.exit != Exit::Code(0) {
        left_out(&format!("a file system with all attributes: {}", said(&made)));
    }
    made.exit == Exit::Code(0)
}

#[test]
fn attributes_lists_and_labels_of_every_kind_of_file_come_back() {
    let place = Place::new();
    if !has_attributes(&place) {
        return;
    }
    expect_same(
        &place,
        &format!(
            "rm -rf l; {ATTRIBUTES}
             for made in \"$gnu\" \"$one\" \"$two\" \"$one --selinux\"; do
               $made --format=posix -cf l.tar l
               for taken in \"$gnu\" \"$one\" \"$two\"; do
                 rm -rf x; mkdir x; $taken -xpf l.tar -C x; shown x/l > came; cmp came right
               done
             done
             for packed in --zstd --gz --format=posix; do
               $two $packed -cf l.tar l; rm -rf x; mkdir x; $two -xf l.tar -C x; shown x/l > came; cmp came right
             done"
        ),
    );
}

/// A second label, the one that GNU tar writes for `--selinux`, is enough by itself; what is not asked for is not kept.
#[test]
fn labels_come_back_by_their_own_option_and_nothing_else_does() {
    let place = Place::new();
    if !has_attributes(&place) {
        return;
    }
    expect_same(
        &place,
        &format!(
            "rm -rf l; {ATTRIBUTES}
             for hands in 1 2; do
               $mh tar --hands $hands --selinux -cf l.tar l; rm -rf x; mkdir x; $mh tar --hands $hands --selinux -xf l.tar -C x
               shown x/l > came; test $(grep -c label_ came) = 6; test $(grep -c trusted came) = 0
               $mh tar --hands $hands -cf l.tar l; rm -rf x; mkdir x; $mh tar --hands $hands --xattrs --selinux --acls -xf l.tar -C x
               shown x/l > came; test $(grep -c -e label_ -e trusted came) = 0
               $mh tar --hands $hands --xattrs-exclude='trusted.*' -cf l.tar l; grep -q security.selinux l.tar; test $(grep -ac trusted l.tar) = 0
             done"
        ),
    );
}

/// `-h`: what a link leads to is looked at, attributes too. GNU tar takes those of the link.
#[test]
fn attributes_of_what_a_link_leads_to_are_kept() {
    let place = Place::new();
    if !has_attributes(&place) {
        return;
    }
    expect_same(
        &place,
        &format!(
            "rm -rf l; {ATTRIBUTES}
             for tar in \"$one\" \"$two\"; do
               $tar -chf l.tar l/to; rm -rf x; mkdir x; $gnu -xpf l.tar -C x
               test -p x/l/to; (cd x/l; getfattr -d -m - to; getfacl -n to) > came 2>/dev/null
               (cd l; getfattr -d -m - p; getfacl -n p) 2>/dev/null | sed 's/^# file: p/# file: to/' > right; cmp came right
             done"
        ),
    );
}

/// In /sys a file's size is a page, whatever there is to read.
#[test]
fn a_file_that_ends_before_its_size_is_told_and_filled_up_in_every_mode() {
    let place = Place::new();
    expect_same(
        &place,
        "page=devices/system/cpu/possible; cp /sys/$page right; there=$(stat -c %s right); truncate -s 4096 right
         echo other > other; message=\"'$page': file shrank by $((4096 - there)) bytes; padding with zeros\"
         ended() { code=0; \"$@\" > said 2>&1 || code=$?; }
         whole() { test $code = 1; tr -d , < said | grep -qxF \"mh tar: warning: $message\"; test $(wc -l < said) = 1
           $mh tar -xOf t.tar $page | cmp - right; test \"$($mh tar -tf t.tar | tail -n 1)\" = $page; }
         for hands in 1 2; do
           for how in '' -S --zstd --gz --xz --format=gnu --format=ustar '--format=gnu -S'; do
             ended $mh tar --hands $hands $how -cf t.tar -C /sys $page; whole
           done
           for how in -r -u; do
             $mh tar -cf t.tar other; ended $mh tar --hands $hands $how -f t.tar -C /sys $page; whole
           done
           ended $mh tar --hands $hands --warning=no-file-shrank -cf t.tar -C /sys $page; test $code = 1; test ! -s said
           ended $mh tar --hands $hands --ignore-failed-read -cf t.tar -C /sys $page; test $code = 0; grep -q 'file shrank' said
           $mh tar -cf u.tar other; $mh tar -Af u.tar t.tar; $mh tar -xOf u.tar $page | cmp - right
         done",
    );
}

/// Sizes that the header's field cannot say. What is stored is small: what has 8 GiB of data is tested beside the code.
#[test]
fn files_of_terabytes_with_holes_come_back_from_both() {
    let place = Place::new();
    if !tools(&["tar"]) || place.shell("truncate -s 15T try && rm try").exit != Exit::Code(0) {
        return left_out("a file system with files of 15 TiB");
    }
    expect_same(
        &place,
        "truncate -s 15T big; echo end >> big; printf middle | dd of=big bs=1 seek=9G conv=notrunc status=none
         for format in posix gnu; do
           for made in tar \"$mh tar --hands 1\" \"$mh tar --hands 2\"; do
             $made --format=$format -cSf t.tar big
             for taken in tar \"$mh tar --hands 1\" \"$mh tar --hands 2\"; do
               rm -rf x; mkdir x; $taken -xf t.tar -C x; test $(stat -c %s x/big) = $(stat -c %s big)
               test \"$(tail -c 4 x/big)\" = end; test \"$(tail -c +9663676417 x/big | head -c 6)\" = middle
             done
             $mh tar -df t.tar
           done
         done",
    );
}

/// A header of a file whose field at `at` says `value`, and its data.
fn with_field(at: usize, value: &[u8]) -> Vec<u8> {
    let head = header(b'0', "f", 5, |block| {
        block[at..at + value.len()].copy_from_slice(value);
    });
    [head, padded(b"data\n")].concat()
}

/// Each with its name. The member behind shows that the archive is read on.
fn impossible() -> Vec<(&'static str, Vec<u8>)> {
    let minus_two = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe];
    let named = header(b'0', "f", 5, |block| {
        put(block, 297, b"root");
        block[108..116].copy_from_slice(&minus_two);
        put(block, 265, b"root");
    });
    let file = member(b'0', "f", "", 0o644, b"data\n");
    let directory = member(b'5', "f/", "", 0o755, b"");
    let records = |bytes: &[u8]| [member(b'x', "pax", "", 0o644, bytes), file.clone()].concat();
    let said = |key, value| [pax(&[(key, value)]), file.clone()].concat();
    vec![
        ("owner -2", with_field(108, &minus_two)),
        ("owner -2, and a name", [named, padded(b"data\n")].concat()),
        ("group -2", with_field(116, &minus_two)),
        ("owner that is text", with_field(108, b"junk\0\0\0\0")),
        ("owner beyond 32 bits", with_field(108, &[0x80, 0, 0, 1, 0, 0, 0, 0])),
        ("largest owner", with_field(108, &[0x80, 0, 0, 0, 0xff, 0xff, 0xff, 0xff])),
        ("time that is text", with_field(136, b"junk\0\0\0\0\0\0\0\0")),
        ("time beyond 64 bits", with_field(136, &[0x80, 0x7f, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])),
        ("record of owner -2", said("uid", "-2")),
        ("record of a group that is text", said("gid", "x")),
        ("record of a time that is text", [pax(&[("mtime", "x"), ("path", "other")]), file.clone()].concat()),
        ("record of a time beyond 64 bits", said("mtime", "99999999999999999999")),
        ("record of an access time", said("atime", "x")),
        ("record of a change time", said("ctime", "x")),
        ("record of a size that is text", said("size", "x")),
        ("no equals sign", records(b"13 mtime=100\n9 nothin\n14 path=other\n")),
        ("too long", records(b"13 mtime=100\n99 path=x\n")),
        ("no length", records(b"13 mtime=100\nx path=x\n")),
        ("no end", records(b"11 path=xyz")),
        ("attribute of bsdtar's that is no base64", said("LIBARCHIVE.xattr.user.a", "!!!")),
        ("number of a device", said("SCHILY.devmajor", "x")),
        (
            "a directory's time",
            [pax(&[("mtime", "x")]), directory, member(b'0', "f/in", "", 0o644, b"data\n")].concat(),
        ),
        ("a link's time", [pax(&[("mtime", "x")]), symlink("f", "nowhere")].concat()),
        ("of all that follows", [member(b'g', "pax", "", 0o644, b"9 nothin\n"), file.clone()].concat()),
    ]
}

#[test]
fn a_value_that_cannot_be_withholds_no_data_and_ends_as_with_gnu_tar() {
    if !tools(&["tar"]) {
        return;
    }
    let place = Place::new();
    for (name, bytes) in impossible() {
        place.write("t.tar", [bytes, member(b'0', "behind", "", 0o644, b"data\n"), vec![0; 1024]].concat());
        let script = "for hands in 1 2; do
               for way in '-xf t.tar -C x' '-tf t.tar' '-xOf t.tar' '-tvf t.tar --numeric-owner'; do
                 for tar in tar \"$mh tar --hands $hands\"; do
                   rm -rf x; mkdir x; code=0; $tar $way > out 2> said || code=$?; test $code = 0 || test -s said
                   case $way in -t*v*) : > out;; esac
                   (echo \"$way: $code\"; cat out; cd x; find . -mindepth 1 -printf '%P %y %m %U %G %s %T@ %l\\n' | grep -v ' d ' | sort) > made
                   test \"$tar\" = tar || { cmp made theirs || { diff theirs made; exit 3; }; }; mv made theirs
                 done; done; done";
        let ran = place.shell(&format!("set -e; {script}"));
        let out = String::from_utf8_lossy(&ran.stdout).into_owned();
        assert_eq!(ran.exit, Exit::Code(0), "{name}: {out}{}", said(&ran));
    }
}

/// GNU tar takes all rights for a mode that is none, set-id bits too; here the owner alone gets some.
#[test]
fn a_mode_that_cannot_be_is_the_owners_alone() {
    let place = Place::new();
    place.write("t.tar", [with_field(100, b"junk\0\0\0\0"), vec![0; 1024]].concat());
    expect_same(
        &place,
        "for hands in 1 2; do
           rm -rf x; mkdir x; code=0; $mh tar --hands $hands -xf t.tar -C x 2> said || code=$?; test $code = 2
           test \"$(cat x/f)\" = data; test $(stat -c %a x/f) = 600; grep -q \"could not use a value of 'f': its mode\" said
           code=0; $mh tar --hands $hands --untrusted -xf t.tar -C x -k 2> said || code=$?; test $code = 2; grep -q 'it is damaged' said
         done",
    );
}
