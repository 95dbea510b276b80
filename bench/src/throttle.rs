//! A slow disk: a loop device whose reads are throttled by the blkio controller (cgroup v1), with a file system on it.
//! Needs root; says why where it cannot be had, and takes everything down again, also after half a set-up.

use super::corpus::Data;
use super::judge::Target;
use super::machine;
use super::measure::{Tool, Verify};
use super::undo::{Undo, shell};
use super::{Case, Rival};
use std::path::{Path, PathBuf};

pub const NAME: &str = "zst -3, disk throttled to 80 MB/s";
pub const CORPUS: &str = "mixed";

const CONTROLLER: &str = "/sys/fs/cgroup/blkio";

/// Bytes a second that the disk gives: below what one core compresses at level 3.
const READ_RATE: u64 = 80_000_000;

/// The disk; gone when dropped, as far as it came.
pub struct SlowDisk {
    undo: Undo,
    device: String,
    mount: PathBuf,
    group: String,
    plain: PathBuf,
}

impl SlowDisk {
    pub fn new(data: &Data) -> Result<Self, String> {
        if !Path::new(CONTROLLER).join("blkio.throttle.read_bps_device").exists() {
            return Err("no blkio controller of cgroup v1 that throttles here".to_owned());
        }
        let id = std::process::id();
        // On a real file system: of a loop device over memory the reads would be no I/O.
        let image = std::env::temp_dir().join(format!("mh-bench-{id}.img"));
        let mut disk = Self {
            undo: Undo::begin()?,
            device: String::new(),
            mount: image.with_extension("mount"),
            group: format!("{CONTROLLER}/mh-bench-{id}"),
            plain: data.mixed.whole.plain.clone(),
        };
        disk.set_up(&image)?;
        Ok(disk)
    }

    fn set_up(&mut self, image: &Path) -> Result<(), String> {
        let failed = |error: std::io::Error| format!("could not look at {}: {error}", self.plain.display());
        let bytes = self.plain.metadata().map_err(failed)?.len() * 5 / 4 + (32 << 20);
        let (image, mount) = (format!("'{}'", image.display()), format!("'{}'", self.mount.display()));
        self.undo.step(&format!("truncate -s {bytes} {image}"), &format!("rm -f {image}"))?;
        self.undo.step(&format!("mkfs.ext4 -q -F {image}"), "")?;
        self.device = shell(&format!("losetup --find --show {image}"))?;
        self.undo.later(&format!("losetup --detach {}", self.device))?;
        self.undo.step(&format!("mkdir {mount}"), &format!("rmdir {mount}"))?;
        self.undo.step(
            &format!("mount {} {mount}", self.device), // It may be down already: it is mounted afresh before each run.
            &format!("! mountpoint -q {mount} || umount {mount}"),
        )?;
        self.undo.step(&format!("cp '{}' {mount}/plain && sync -f {mount}", self.plain.display()), "")?;
        let numbers = shell(&format!("cat /sys/block/{}/dev", self.device.trim_start_matches("/dev/")))?;
        let group = self.group.clone();
        self.undo.step(&format!("mkdir {group}"), &format!("rmdir {group}"))?;
        self.undo.step(&format!("echo '{numbers} {READ_RATE}' > {group}/blkio.throttle.read_bps_device"), "")
    }

    /// Ours and zstd, reading from the disk. To be run before the disk is dropped.
    pub fn case(&self, program: &Path, data: &Data) -> Case {
        let (mh, out) = (program.to_string_lossy(), data.file("out"));
        let (input, output) = (self.mount.join("plain"), out.to_string_lossy());
        let input = input.to_string_lossy();
        let slowly = |name: &str, arguments: &[&str]| {
            let script = format!("echo $$ > {}/cgroup.procs && exec \"$@\"", self.group);
            let mut tool = Tool::new(name, &[&["sh", "-c", &script, "sh"], arguments].concat(), &out);
            // What the run before has read must come from the disk again; of other disks nothing is forgotten.
            let mount = self.mount.display();
            tool.before = Some(format!("umount '{mount}' && mount {} '{mount}'", self.device));
            tool
        };
        let ours = slowly("mh tamp", &[&mh, "tamp", "-q", "-k", "-f", "--format", "zst", "-3", &input, "-o", &output]);
        let threads = format!("-T{}", machine::cores());
        let zstd = slowly(&format!("zstd {threads}"), &["zstd", "-q", "-f", &threads, "-3", &input, "-o", &output]);
        let verify = Verify::Packed { unpack: vec!["zstd".into(), "-qdc".into()], plain: self.plain.clone() };
        let rivals = vec![Rival { tool: zstd, target: Target::none() }];
        Case::new(NAME, CORPUS, ours, rivals, verify)
    }
}
