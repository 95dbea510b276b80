//! A slow disk: a loop device whose reads are throttled by the blkio controller (cgroup v1), with a file system on it.
//! Needs root; says why where it cannot be had, and takes everything down again.

use super::corpus::Data;
use super::measure::{Tool, Verify};
use super::{Case, Rival};
use std::path::{Path, PathBuf};
use std::process::Command;

const GROUP: &str = "/sys/fs/cgroup/blkio/mh-bench";

/// Bytes a second that the disk gives: below what one core compresses at level 3.
const READ_RATE: u64 = 80_000_000;

/// A case that lives as long as its disk.
pub struct OnDisk {
    pub case: Case,
    _disk: SlowDisk,
}

/// The throttled cases that are wanted, each with its disk or the reason why there is none.
pub fn cases(program: &Path, data: &Data, wanted: &dyn Fn(&str) -> bool) -> Vec<(String, Result<OnDisk, String>)> {
    let name = "zst -3, disk throttled to 80 MB/s";
    if !wanted(name) {
        return Vec::new();
    }
    let made = SlowDisk::new(data).map(|disk| {
        let (mh, out) = (program.to_string_lossy(), data.file("out"));
        let output = out.to_string_lossy();
        let input = disk.file.to_string_lossy().into_owned();
        let slowly = |name: &str, arguments: &[&str]| {
            let joined = arguments.join(" ");
            let script = format!("echo $$ > {GROUP}/cgroup.procs && exec {joined}");
            let mut tool = Tool::new(name, &["sh", "-c", &script], &out);
            // What the run before has read must come from the disk again.
            tool.before = Some("sync; echo 1 > /proc/sys/vm/drop_caches".to_owned());
            tool
        };
        let ours = slowly("mh tamp", &[&mh, "tamp", "-qf", "-3", &input, "-o", &output]);
        let zstd = slowly("zstd -T2", &["zstd", "-qf", "-T2", "-3", &input, "-o", &output]);
        let verify = Verify::Packed { unpack: vec!["zstd".into(), "-qdc".into()], plain: disk.plain.clone() };
        let rivals = vec![Rival { tool: zstd, must: None, aim: None }];
        let case = Case { name: name.to_owned(), corpus: "mixed", ours, rivals, verify };
        OnDisk { case, _disk: disk }
    });
    vec![(name.to_owned(), made)]
}

/// The disk; gone when dropped.
struct SlowDisk {
    device: String,
    mount: PathBuf,
    image: PathBuf,
    file: PathBuf,
    plain: PathBuf,
}

impl SlowDisk {
    fn new(data: &Data) -> Result<Self, String> {
        if !Path::new("/sys/fs/cgroup/blkio").is_dir() {
            return Err("no blkio controller of cgroup v1 here".to_owned());
        }
        // The image must lie on a real file system: a loop device over memory is not throttled below it.
        let image = std::env::temp_dir().join(format!("mh-bench-{}.img", std::process::id()));
        let mount = image.with_extension("mount");
        let plain = data.mixed.clone();
        let bytes = plain.metadata().map_err(|error| format!("could not look at {}: {error}", plain.display()))?.len();
        shell(&format!(
            "truncate -s {} '{}' && mkfs.ext4 -q -F '{}'",
            bytes * 5 / 4 + (32 << 20),
            image.display(),
            image.display()
        ))?;
        let device = shell(&format!("losetup --find --show '{}'", image.display()))?;
        let disk = Self { file: mount.join("plain"), device, mount, image, plain };
        shell(&format!("mkdir -p '{0}' && mount {1} '{0}'", disk.mount.display(), disk.device))?;
        shell(&format!("cp '{}' '{}' && sync", disk.plain.display(), disk.file.display()))?;
        let numbers = shell(&format!("cat /sys/block/{}/dev", disk.device.trim_start_matches("/dev/")))?;
        shell(&format!("mkdir -p {GROUP} && echo '{numbers} {READ_RATE}' > {GROUP}/blkio.throttle.read_bps_device"))?;
        Ok(disk)
    }
}

impl Drop for SlowDisk {
    fn drop(&mut self) {
        let steps = [
            format!("umount '{}'", self.mount.display()),
            format!("losetup --detach {}", self.device),
            format!("rmdir '{}' {GROUP}", self.mount.display()),
            format!("rm -f '{}'", self.image.display()),
        ];
        for step in steps {
            if let Err(message) = shell(&step) {
                println!("  left behind: {message}");
            }
        }
    }
}

fn shell(script: &str) -> Result<String, String> {
    let output = Command::new("sh").args(["-c", script]).output().map_err(|error| format!("{script}: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned());
    }
    Err(format!("{script}: {}", String::from_utf8_lossy(&output.stderr).trim()))
}
