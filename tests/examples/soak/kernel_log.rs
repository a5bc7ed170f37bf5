//! The kernel's complaints while the agent runs.

use std::{
    error::Error,
    fs::File,
    io::{self, Read as _, Seek as _, SeekFrom},
    os::unix::fs::OpenOptionsExt as _,
};

/// The beginnings of messages about errors in the kernel: of its checks of locks, memory, reference counts
/// and so on.
const MARKS: [&str; 9] =
    ["BUG", "WARNING", "INFO:", "Oops", "general protection", "Call Trace", "UBSAN", "refcount_t", "FIX "];

/// A reader of the kernel's log, from its creation on.
pub struct KernelLog(File);

impl KernelLog {
    pub fn open() -> Result<Self, Box<dyn Error>> {
        let mut file = File::options().read(true).custom_flags(libc::O_NONBLOCK).open("/dev/kmsg")?;
        file.seek(SeekFrom::End(0))?;
        Ok(Self(file))
    }

    /// Prints new messages. Returns an error if the kernel reports an error of its own.
    pub fn check(&mut self) -> Result<(), Box<dyn Error>> {
        let mut error = None;
        // Each call returns one message.
        let mut message = [0; 8192];
        loop {
            match self.0.read(&mut message) {
                Ok(0) => break,
                Ok(len) => {
                    let text = String::from_utf8_lossy(message.get(..len).unwrap_or_default());
                    let text = text.split_once(';').map_or(&*text, |(_, text)| text).trim_end();
                    println!("kernel: {text}");
                    if MARKS.iter().any(|mark| text.contains(mark)) {
                        error.get_or_insert_with(|| format!("the kernel's log: {text}"));
                    }
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => break,
                // Messages were overwritten. Reading continues with the oldest one that is left.
                Err(e) if e.raw_os_error() == Some(libc::EPIPE) => {}
                Err(e) => return Err(e.into()),
            }
        }
        error.map_or(Ok(()), |error| Err(error.into()))
    }
}
