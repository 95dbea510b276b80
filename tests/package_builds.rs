//! Packages of Debian are configured, built and tested with our links first in PATH. Slow: `--long` alone.

use crate::place::{Place, binary, is_long, said};
use std::time::Duration;
use testkit::program::{Exit, TestProgram, left_out};

/// Sources come from the repository that this host installs from, into a directory of their own; nobody builds them, since configure and sed's tests refuse root.
const SCRIPT: &str = r#"
set -e
for tool in apt-get dpkg-source dpkg-buildpackage dh fakeroot gcc; do command -v $tool >/dev/null || { echo "$tool is not installed"; exit 77; }; done
here=$PWD
chmod 755 "$here"; cp "$(readlink -f "$(command -v $mh)")" mh
./mh links "$here/names" >/dev/null
for name in tar cp mv rm; do ln -s "$here/mh" "names/$name"; done
mkdir -p lists/partial cache/archives/partial sources
uri=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep 'debian/$' | head -1)
[ -n "$uri" ] || { echo 'no repository of Debian is known here'; exit 77; }
echo "deb-src [signed-by=$(ls /usr/share/keyrings/debian-archive-keyring.* | head -1)] $uri bookworm main" >sources.list
options="-o Dir::Etc::SourceList=$here/sources.list -o Dir::Etc::SourceParts=/dev/null -o Dir::State::Lists=$here/lists -o Dir::Cache=$here/cache -o APT::Sandbox::User=root"
apt-get $options update -qq >apt.log 2>&1 || { echo "no sources: $(tail -1 apt.log)"; exit 77; }
cd sources
apt-get $options source -qq --download-only hello sed tar >../apt.log 2>&1 || { echo "no sources: $(tail -1 ../apt.log)"; exit 77; }
as=
if [ "$(id -u)" = 0 ]; then chown -R 65534:65534 "$here"; as='setpriv --reuid 65534 --regid 65534 --clear-groups'; fi
export PATH="$here/names:$PATH" HOME="$here" DEB_BUILD_OPTIONS=parallel=1
for name in hello sed tar; do
  $as mkdir build-$name; cd build-$name
  $as dpkg-source -x ../${name}_*.dsc source >../$name.log 2>&1
  cd source
  $as dpkg-buildpackage -d -us -uc -b >>../../$name.log 2>&1 || { grep -nE "FAILED|^FAIL|[Ee]rror" ../../$name.log | head -40; exit 1; }
  cd ../..
done
ls build-*/*.deb | grep -c .
"#;

#[test]
fn packages_of_debian_are_built_with_our_names_first_in_the_path() {
    if !is_long() {
        return;
    }
    if TestProgram::find("apt-get").is_none() {
        return left_out("apt-get is not installed");
    }
    let place = Place::new();
    let shell = TestProgram::find("sh").expect("every system has sh").in_directory(place.directory());
    let shell = shell.with_variable("mh", binary()).with_variable("MH_CREW_DIR", "");
    // Three packages are configured, built and tested: several minutes.
    let outcome = shell.within(Duration::from_secs(3600)).run(["-c", SCRIPT], b"").expect("sh starts");
    let printed = String::from_utf8_lossy(&outcome.stdout).into_owned();
    match outcome.exit {
        Exit::Code(77) => left_out(printed.trim_end()),
        exit => assert_eq!(exit, Exit::Code(0), "{printed}\n{}", said(&outcome)),
    }
}
