//! What people install, made from the programs under test: a Debian package that is installed into a fresh root, used there and removed
//! again, and the tarball's installer.

use crate::place::{Place, binary};
use std::path::PathBuf;
use testkit::program::{Exit, ProgramOutcome, left_out};

/// The least C library that the documents promise (README, "Install").
const DOCUMENTED: (u32, u32) = (2, 34);

/// Reaches the loader's index of unwind tables; a portable build takes the unwinder from a library instead (`commands/mh/build.rs`).
const OF_A_NATIVE_BUILD: &str = "_dl_find_object";

/// `cargo xtask`, as it is built beside the tests.
fn xtask() -> PathBuf {
    let target = binary().canonicalize().expect("the program under test exists");
    target.ancestors().nth(2).expect("target/<profile>/mh").join("debug/xtask")
}

fn succeeds(place: &Place, script: &str) -> ProgramOutcome {
    let outcome = place.shell(script);
    let said = String::from_utf8_lossy(&outcome.stderr);
    assert_eq!(outcome.exit, Exit::Code(0), "{script}\n{said}");
    outcome
}

fn has(program: &str) -> bool {
    Place::new().shell(&format!("command -v {program}")).exit == Exit::Code(0)
}

/// Packing takes long, so all that is asked of the packages is asked here.
#[test]
fn packages_are_installed_used_and_removed() {
    if let Some(missing) = ["dpkg-deb", "strip", "objdump"].into_iter().find(|program| !has(program)) {
        return left_out(&format!("packages: {missing} is not installed"));
    }
    let place = Place::new();
    let script = format!("'{}' package --built \"$(dirname \"$mh\")\" --into out", xtask().display());
    succeeds(&place, &script);
    the_debian_package_serves_a_fresh_root(&place);
    lintian_finds_no_error(&place);
    the_tarballs_installer_installs_and_removes(&place);
}

fn the_debian_package_serves_a_fresh_root(place: &Place) {
    if place.shell("test $(id -u) = 0 && unshare -m true && command -v chroot").exit != Exit::Code(0) {
        return left_out("the Debian package in a fresh root: needs root and mount namespaces");
    }
    // The root has what the package depends on, a shell, and tar for mtwrite.
    succeeds(
        place,
        r#"mkdir -p root/var/lib/dpkg/info root/var/lib/dpkg/updates root/proc root/tmp root/usr/bin && ln -s usr/bin root/bin
        for program in sh tar mkdir rm; do cp "$(command -v $program)" root/usr/bin/; done
        for file in $(ldd "$mh" "$(dirname "$mh")/libmhwrite.so" "$(command -v sh)" "$(command -v tar)" "$(command -v mkdir)" "$(command -v rm)" | grep -o '/[^ )]*'); do
            case $file in *:) continue ;; esac
            mkdir -p "root$(dirname $file)" && cp -L "$file" "root$file"
        done
        version=$(ldd --version | grep -o '2\.[0-9]*$' | head -1)
        for package in libc6 libgcc-s1; do
            printf 'Package: %s\nStatus: install ok installed\nArchitecture: %s\nVersion: %s\nMaintainer: x\nDescription: x\n\n' \
                $package "$(dpkg --print-architecture)" "$version"
        done > root/var/lib/dpkg/status
        touch root/var/lib/dpkg/available
        mkdir -p root/run/systemd/system root/dev && touch root/run/calls root/dev/null
        for program in deb-systemd-helper deb-systemd-invoke systemctl; do
            printf '#!/bin/sh\necho %s "$@" >>/run/calls\n[ "$1" != debian-installed ]\n' $program >root/usr/bin/$program
            chmod 755 root/usr/bin/$program
        done
        (cd root && find . ! -type d ! -path './var/lib/dpkg/*' | sort) > before
        dpkg --root=root --install out/*.deb"#,
    );
    let used = succeeds(
        place,
        r#"unshare -m sh -c 'mount -t proc proc root/proc && exec chroot root sh -ec "
        mh --version
        cd tmp && mkdir tree && mh --help > tree/file
        mh tar -cf a.tar.zst --zstd tree && mh tamp -dk a.tar.zst && mh mtwrite --explain -- tar -xf a.tar
        mkdir out && cd out && mh mtwrite -- tar -xf ../a.tar && mh cp -a tree copy && mh tar -df ../a.tar
        "'"#,
    );
    let said = String::from_utf8_lossy(&used.stdout);
    assert!(said.starts_with("mh ") && said.contains("/usr/lib/manyhands/libmhwrite.so"), "{said}");
    succeeds(
        place,
        r#"cmp root/tmp/tree/file root/tmp/out/copy/file && rm -r root/tmp/*
        test -s root/usr/share/man/man1/mh-tar.1.gz && test -s root/usr/share/bash-completion/completions/mh
        test -s root/usr/share/doc/manyhands/docs/commands/tar.md
        test -s root/usr/include/manyhands.h && dpkg --root=root --verify manyhands
        mkdir root/var/lib/manyhands && touch root/var/lib/manyhands/fleets
        dpkg --root=root --install out/*.deb && test -e root/var/lib/manyhands/fleets
        dpkg --root=root --purge manyhands && test ! -e root/var/lib/manyhands
        (cd root && find . ! -type d ! -path './var/lib/dpkg/*' | sort) > after && diff before after"#,
    );
    assert_eq!(String::from_utf8_lossy(&place.read("root/run/calls")), CALLS);
}

/// Calls by the scripts that look after the unit: at installation, upgrade, removal and purge.
const CALLS: &str = "\
deb-systemd-helper debian-installed mh-sysstat.service
deb-systemd-helper update-state mh-sysstat.service
systemctl --system daemon-reload
deb-systemd-helper debian-installed mh-sysstat.service
deb-systemd-helper update-state mh-sysstat.service
systemctl --system daemon-reload
deb-systemd-invoke try-restart mh-sysstat.service
deb-systemd-invoke stop mh-sysstat.service
systemctl --system daemon-reload
deb-systemd-helper purge mh-sysstat.service
";

fn lintian_finds_no_error(place: &Place) {
    if !has("lintian") {
        return left_out("lintian's opinion of the package: it is not installed");
    }
    let allowed = if place.shell("test $(id -u) = 0").exit == Exit::Code(0) { "--allow-root" } else { "" };
    let outcome = place.shell(&format!("lintian {allowed} --fail-on error out/*.deb"));
    let said = String::from_utf8_lossy(&outcome.stdout);
    assert_eq!(outcome.exit, Exit::Code(0), "{said}\n{}", String::from_utf8_lossy(&outcome.stderr));
}

fn the_tarballs_installer_installs_and_removes(place: &Place) {
    succeeds(place, r#"mkdir unpacked && tar -xzf out/*.tar.gz -C unpacked --strip-components=1 && rm -r out"#);
    let installed = succeeds(
        place,
        "umask 077; unpacked/install.sh --prefix 'a b' && printf text > file && 'a b/bin/mh' tamp file",
    );
    let said = String::from_utf8_lossy(&installed.stdout);
    assert!(said.contains("installed mh ") && said.contains("a b/bin is not in PATH"), "{said}");
    let mode = succeeds(place, "stat -c %a 'a b/bin/mh' 'a b/lib/manyhands'");
    assert_eq!(String::from_utf8_lossy(&mode.stdout), "755\n755\n", "others may run it");
    // Again, over a program that runs.
    succeeds(place, "'a b/bin/mh' xjobs --shell 'unpacked/install.sh --prefix \"a b\" && true {}' ::: x");
    succeeds(
        place,
        "'a b/bin/mh' mtwrite -- tar -xzf /dev/null || true; unpacked/install.sh --prefix='a b' --uninstall",
    );
    let left = succeeds(place, "find 'a b' ! -type d -o -path '*/manyhands*'");
    assert_eq!(String::from_utf8_lossy(&left.stdout), "", "nothing stays");
    for wrong in ["--prefix", "--nonsense", "--prefix="] {
        assert_eq!(place.shell(&format!("unpacked/install.sh {wrong}")).exit, Exit::Code(2), "{wrong}");
    }
}

#[test]
fn the_program_needs_no_newer_c_library_than_documented() {
    if !has("objdump") {
        return left_out("the C library that the program needs: objdump is not installed");
    }
    let place = Place::new();
    let listed = succeeds(&place, "objdump -T \"$mh\" \"$(dirname \"$mh\")/libmhwrite.so\"");
    let listed = String::from_utf8_lossy(&listed.stdout);
    let version = |line: &str| -> Option<(u32, u32)> {
        let (major, minor) = line.split_once("(GLIBC_")?.1.split_once(')')?.0.split_once('.')?;
        Some((major.parse().ok()?, minor.split('.').next()?.parse().ok()?))
    };
    assert!(listed.lines().filter_map(version).count() > 100, "{listed}");
    let newer =
        |line: &&str| version(line).is_some_and(|version| version > DOCUMENTED) && !line.contains(OF_A_NATIVE_BUILD);
    let newer: Vec<&str> = listed.lines().filter(newer).collect();
    assert_eq!(newer, Vec::<&str>::new());
}
