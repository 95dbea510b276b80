//! bzip2, bunzip2, bzcat, lbzip2.

use super::{Case, Family, ends, says};

const BZIP2: &[Case] = &[
    says("bzip2 a"),
    says("BZIP2=-k bzip2 b; BZIP='-k -f' bzip2 b"),
    says("BZIP2=b bzip2 -k"),
    says("BZIP2=-d BZIP=-k bzip2 lone.bz2"),
    says("bzip2 -sk b; head -c 4 b.bz2"),
    says("bzip2 -s -9 -kc b | head -c 4; bzip2 -s1kc b | head -c 4"),
    says("bunzip2 -z b; bzip2 -d -z a; bzcat -z h1 2>&1 | head -c 4"),
    says("bzip2 -dsc lone.bz2"),
    says("bzip2 b"),
    says("bzip2 -f a"),
    says("bzip2 -k b"),
    says("bzip2 sym"),
    says("bzip2 -f sym"),
    says("bzip2 h1"),
    says("bzip2 -f h1"),
    says("bzip2 dir"),
    says("bzip2 a.bz2"),
    says("bzip2 -c plain.bz2"),
    says("bzip2 -cf plain.bz2"),
    says("bzip2 nosuch"),
    says("bzip2 -kq a"),
    says("bzip2 -q nosuch"),
    says("bzip2 --best -k b"),
    says("bzip2 -k9 b"),
    ends("bzip2 -0 b"),
    ends("bzip2 --foo b"),
    ends("bzip2 -y b"),
    ends("bzip2 --bes b"),
    ends("bzip2 --repetitive-fast --small -k b"),
    says("BZIP2=-k bzip2 b"),
    says("BZIP=-k bzip2 b"),
    says("bzip2 < b"),
    says("bzip2 -d < a.bz2"),
    says("bzip2 -- b"),
    says("bzip2 -c empty"),
    ends("bzip2 -dc empty"),
    says("bzip2 -dc plain.bz2"),
    says("bzip2 -dcf plain.bz2"),
    ends("bzip2 -t short.bz2"),
    ends("bzip2 -t bad.bz2"),
    ends("bzip2 -t plain.bz2"),
    says("bzip2 -t trailed.bz2 a.bz2"),
    says("ln -s lone.bz2 link.bz2; bzip2 -t link.bz2"),
    says("bunzip2 nosuch"),
    says("bunzip2 b"),
    says("bunzip2 odd.name"),
    ends("bunzip2 short.bz2"),
    ends("bunzip2 bad.bz2"),
    says("bunzip2 plain.bz2"),
    says("bunzip2 a.bz2"),
    says("bunzip2 -f a.bz2"),
    says("bunzip2 lone.bz2"),
    says("bunzip2 trailed.bz2"),
    says("bzcat b"),
    says("bzcat -f b"),
    says("bzcat a.bz2 lone.bz2"),
];

const LBZIP2: &[Case] = &[
    says("lbzip2 a"),
    says("lbzip2 b"),
    says("lbzip2 -f a"),
    says("lbzip2 -k b"),
    says("lbzip2 h1"),
    says("lbzip2 sym"),
    says("lbzip2 dir"),
    says("lbzip2 a.bz2"),
    says("lbzip2 -cf plain.bz2"),
    says("lbzip2 nosuch"),
    says("lbzip2 -d plain.bz2"),
    ends("lbzip2 -df short.bz2"),
    ends("lbzip2 -df bad.bz2"),
    says("lbzip2 -d trailed.bz2"),
    says("lbzip2 -dcf plain.bz2"),
    says("lbzip2 -n 2 -k b"),
    says("lbzip2 -n2 -k b"),
    says("lbzip2 -n foo b"),
    says("lbzip2 -u -s -k b"),
    says("lbzip2 --foo b"),
];

#[test]
fn bzip2_and_its_relatives_do_and_say_the_same() {
    if let Some(family) = Family::new("bzip2", "bz2") {
        family.compare(BZIP2);
    }
}

#[test]
fn lbzip2_does_and_says_the_same() {
    if let Some(family) = Family::new("lbzip2", "bz2") {
        family.compare(LBZIP2);
    }
}
