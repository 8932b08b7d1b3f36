//! What goes wrong with machines, for the real binary: disks that fill up or turn read-only, and clocks that jump. Nothing of the server
//! knows of it: disks are mounts in a name space of their own, and the clock is a library that is loaded before the C library.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A disk of its own, mounted where only those see it who enter its name space. Gone with this value.
pub struct Disk {
    holder: Child,
    /// Where it is mounted, inside the namespace.
    at: PathBuf,
    image: Option<PathBuf>,
}

impl Disk {
    /// A small one in memory. Needs no root where user name spaces are allowed.
    pub fn small(around: &Path, mebibytes: usize) -> io::Result<Self> {
        let script = format!("mount -t tmpfs -o size={mebibytes}m tmpfs \"$0\" && echo ready && exec cat");
        Self::hold(&["unshare", "-rm"], &script, around, None)
    }

    /// An ext4 that turns read-only when it meets an error. Needs root and a loop device.
    pub fn fragile(around: &Path, mebibytes: usize) -> io::Result<Self> {
        let image = around.join("image");
        File::create(&image)?.set_len((mebibytes as u64) << 20)?;
        ran(Command::new("mkfs.ext4").args(["-q", "-F", "-m", "0"]).arg(&image))?;
        let script = "mount -o loop,errors=remount-ro \"$1\" \"$0\" && echo ready && exec cat";
        Self::hold(&["unshare", "-m"], script, around, Some(image))
    }

    fn hold(unshare: &[&str], script: &str, around: &Path, image: Option<PathBuf>) -> io::Result<Self> {
        let at = around.join("disk");
        std::fs::create_dir_all(&at)?;
        let mut command = Command::new(unshare[0]);
        command.args(&unshare[1..]).args(["sh", "-c", script]).arg(&at).args(&image);
        let mut holder = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let mut said = String::new();
        BufReader::new(holder.stdout.take().expect("it was piped")).read_line(&mut said)?;
        let disk = Self { holder, at, image };
        if said.trim() == "ready" { Ok(disk) } else { Err(io::Error::other("a disk of its own could not be mounted")) }
    }

    /// The words that run a command where the disk is.
    pub fn inside(&self) -> Vec<String> {
        let mut words = vec!["nsenter".to_owned(), format!("--target={}", self.holder.id()), "--mount".to_owned()];
        if self.image.is_none() {
            words.extend(["--user".to_owned(), "--preserve-credentials".to_owned()]);
        }
        words
    }

    pub fn path(&self) -> &Path {
        &self.at
    }

    /// The disk as seen from outside.
    fn outside(&self) -> PathBuf {
        let inside = self.at.strip_prefix("/").unwrap_or(&self.at);
        Path::new("/proc").join(self.holder.id().to_string()).join("root").join(inside)
    }

    /// Writes until nothing more fits.
    pub fn fill(&self) -> io::Result<()> {
        let mut ballast = File::create(self.outside().join("ballast"))?;
        for size in [1 << 20, 4096] {
            let zeros = vec![0; size];
            while ballast.write_all(&zeros).is_ok() {}
        }
        Ok(())
    }

    pub fn empty(&self) -> io::Result<()> {
        std::fs::remove_file(self.outside().join("ballast"))
    }

    fn run(&self, script: &str) -> io::Result<()> {
        let words = self.inside();
        let mut command = Command::new(&words[0]);
        ran(command.args(&words[1..]).args(["sh", "-c", script]).arg(&self.at).args(&self.image))
    }

    /// Has the file system find an error in itself.
    pub fn break_it(&self) -> io::Result<()> {
        self.run("echo torture > /sys/fs/ext4/$(basename $(findmnt -no SOURCE \"$0\"))/trigger_fs_error")
    }

    /// As an operator would after that, when nobody uses it.
    pub fn repair(&self) -> io::Result<()> {
        self.run("umount \"$0\" && { e2fsck -fp \"$1\" >/dev/null || [ $? -lt 4 ]; } && mount -o loop,errors=remount-ro \"$1\" \"$0\"")
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // With the last process in it, the name space goes, and its mounts.
        let _ = self.holder.kill();
        let _ = self.holder.wait();
    }
}

fn ran(command: &mut Command) -> io::Result<()> {
    let status = command.status()?;
    if status.success() { Ok(()) } else { Err(io::Error::other(format!("{command:?}: {status}"))) }
}

/// A clock that can be set. Processes that are started with its environment read it.
pub struct Clock {
    offset: File,
    at: PathBuf,
    shim: PathBuf,
}

impl Clock {
    pub fn new(around: &Path) -> io::Result<Self> {
        let (source, shim, at) =
            (Path::new(env!("CARGO_MANIFEST_DIR")).join("clock/shim.c"), around.join("clock.so"), around.join("clock"));
        let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".into());
        ran(Command::new(compiler).args(["-shared", "-fPIC", "-O2", "-o"]).arg(&shim).arg(&source).arg("-ldl"))?;
        let offset = File::create(&at)?;
        offset.set_len(4096)?;
        Ok(Self { offset, at, shim })
    }

    /// Makes `command` live by this clock.
    pub fn rules(&self, command: &mut Command) {
        command.env("LD_PRELOAD", &self.shim).env("LAZULI_CLOCK", &self.at);
    }

    /// So many seconds before or after everybody else's.
    pub fn set(&self, seconds: i64) -> io::Result<()> {
        self.offset.write_all_at(&seconds.to_ne_bytes(), 0)
    }
}
