//! What members carry besides their names: attributes of every kind of file, sizes beyond the field, sizes that files do not keep, values that
//! cannot be. GNU tar and ours read what either has written, at one and two hands.

use super::{expect_same, tools};
use crate::place::Place;
use testkit::program::{Exit, left_out};

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
