//! Runs programs that the caller can stop.

use core::time::Duration;
use std::{
    io::{self, Read, Write as _},
    os::unix::process::CommandExt as _,
    process::{Child, Command, Output, Stdio},
    sync::mpsc,
    thread,
};

/// The time between two looks at a program.
const PAUSE: Duration = Duration::from_millis(5);

/// Runs programs, until they end or the caller cancels them.
#[derive(Clone, Copy, Default)]
pub(crate) struct Runner<'a> {
    is_cancelled: Option<&'a dyn Fn() -> bool>,
}

impl<'a> Runner<'a> {
    /// Returns a runner that stops programs when `is_cancelled` is true.
    pub(crate) fn cancelled_by(is_cancelled: &'a dyn Fn() -> bool) -> Self {
        Self { is_cancelled: Some(is_cancelled) }
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.is_cancelled.is_some_and(|is_cancelled| is_cancelled())
    }

    /// Runs a program with an input of less than a page, and returns what it prints. Returns `None` if the
    /// program was stopped, or not even started, because the caller has cancelled it.
    pub(crate) fn output(&self, command: &mut Command, input: &[u8]) -> io::Result<Option<Output>> {
        if self.is_cancelled() {
            return Ok(None);
        }
        // A group ends as a whole, with the compiler behind a wrapper. The group of this process is another
        // one: a SIGKILL for it, as `timeout -s KILL` sends, does not end the compiler.
        if self.is_cancelled.is_some() {
            command.process_group(0);
        }
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        // A program that does not read its input is judged by its status.
        let _is_written = child.stdin.take().map(|mut stdin| stdin.write_all(input));
        if self.is_cancelled.is_none() {
            return child.wait_with_output().map(Some);
        }
        let result = self.watch(&mut child);
        if !matches!(result, Ok(Some(_))) {
            kill_group(&mut child)?;
        }
        result
    }

    /// Waits until a program has ended and closed its output. Returns `None` if the caller cancels that.
    fn watch(&self, child: &mut Child) -> io::Result<Option<Output>> {
        let stdout = child.stdout.take().map(read_in_thread);
        let stderr = child.stderr.take().map(read_in_thread);
        // Processes that the program has started may hold the pipes for longer. Until the program is waited
        // for, its process group has no other meaning.
        let (Some(stdout), Some(stderr)) = (self.receive(stdout)?, self.receive(stderr)?) else {
            return Ok(None);
        };
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok(Some(Output { status, stdout, stderr }));
            }
            if self.is_cancelled() {
                return Ok(None);
            }
            thread::sleep(PAUSE);
        }
    }

    /// Returns what a thread has read. Returns `None` if the caller cancels that.
    fn receive(&self, reader: Option<mpsc::Receiver<io::Result<Vec<u8>>>>) -> io::Result<Option<Vec<u8>>> {
        let reader = reader.ok_or(io::ErrorKind::BrokenPipe)?;
        loop {
            match reader.recv_timeout(PAUSE) {
                Ok(bytes) => return bytes.map(Some),
                Err(mpsc::RecvTimeoutError::Timeout) if self.is_cancelled() => return Ok(None),
                Err(mpsc::RecvTimeoutError::Timeout) => {}
                Err(e @ mpsc::RecvTimeoutError::Disconnected) => return Err(io::Error::other(e)),
            }
        }
    }
}

/// Ends a program that leads a process group, and the processes that it has started: the compiler behind
/// `ccache` or a script.
fn kill_group(child: &mut Child) -> io::Result<()> {
    // The standard library ends single processes only. Without a shell, only the program ends.
    let script = format!("kill -s KILL -- -{}", child.id());
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", &script]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let _is_killed = shell.status();
    // The program may have ended in between.
    let _is_killed = child.kill();
    child.wait().map(|_status| ())
}

/// Reads a pipe to its end in a thread of its own, so that a program never waits because another pipe is
/// full.
fn read_in_thread(mut pipe: impl Read + Send + 'static) -> mpsc::Receiver<io::Result<Vec<u8>>> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let result = pipe.read_to_end(&mut bytes).map(|_count| bytes);
        // After a cancellation, nobody receives.
        let _is_received = sender.send(result);
    });
    receiver
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;
    use core::cell::Cell;
    use std::time::Instant;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(script);
        command
    }

    #[test]
    fn a_program_that_ends_gives_its_output_with_and_without_a_way_to_cancel() {
        // Both outputs are larger than a pipe.
        let script = "cat; head -c 200000 /dev/zero >&2; head -c 200000 /dev/zero; exit 3";
        for runner in [Runner::default(), Runner::cancelled_by(&|| false)] {
            let output = runner.output(&mut shell(script), b"input").unwrap().unwrap();
            assert_eq!(output.status.code(), Some(3));
            assert_eq!((output.stdout.len(), output.stderr.len()), (200_005, 200_000));
            assert!(output.stdout.starts_with(b"input"));
        }
        assert!(Runner::default().output(&mut Command::new("/nonexistent/program"), b"").is_err());
    }

    /// A signal that arrives before the start counts as well.
    #[test]
    fn a_cancelled_program_is_not_started() {
        let directory = tempfile::tempdir().unwrap();
        let mut command = shell("touch started");
        command.current_dir(directory.path());
        assert!(Runner::cancelled_by(&|| true).output(&mut command, b"").unwrap().is_none());
        assert!(!directory.path().join("started").exists());
    }

    /// `CLANG` may name a script or `ccache`, which runs the compiler.
    #[test]
    fn a_cancelled_program_leaves_no_process_behind() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("pid");
        for script in ["sleep 60 & echo $! > pid; wait", "sleep 60 & echo $! > pid"] {
            let is_cancelled = || std::fs::read_to_string(&file).is_ok_and(|text| text.ends_with('\n'));
            let mut command = shell(script);
            command.current_dir(directory.path());
            assert!(Runner::cancelled_by(&is_cancelled).output(&mut command, b"").unwrap().is_none());
            let pid = std::fs::read_to_string(&file).unwrap();
            std::fs::remove_file(&file).unwrap();
            let start = Instant::now();
            // A process that has ended stays until its parent, an ancestor of this test, waits for it.
            let is_running = || {
                let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
                stat.is_ok_and(|stat| stat.contains("(sleep)") && !stat.contains(") Z "))
            };
            while is_running() {
                assert!(start.elapsed() < Duration::from_secs(20), "{script}");
                thread::sleep(PAUSE);
            }
        }
    }

    #[test]
    fn a_program_that_blocks_is_stopped_also_if_another_holds_its_output() {
        for script in ["exec sleep 60", "sleep 60 & exit 0"] {
            let (start, looks) = (Instant::now(), Cell::new(0));
            let is_cancelled = || {
                looks.set(looks.get() + 1);
                looks.get() > 20
            };
            let output = Runner::cancelled_by(&is_cancelled).output(&mut shell(script), b"").unwrap();
            assert!(output.is_none(), "{script}");
            assert!(start.elapsed() < Duration::from_secs(50), "{script}");
        }
    }
}
