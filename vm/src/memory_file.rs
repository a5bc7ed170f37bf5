//! Files in memory, which leave nothing behind, whatever ends this process.

use crate::error::VmError;
use rustix::fs::{MemfdFlags, memfd_create};
use std::{
    fs::File,
    io::{Error, Write as _},
    os::{fd::AsRawFd as _, unix::fs::FileExt as _},
    path::{Path, PathBuf},
};

/// A file without a name. QEMU inherits its descriptor.
#[derive(Debug)]
pub(crate) struct MemoryFile {
    file: File,
    name: &'static str,
}

impl MemoryFile {
    /// Creates an empty file. `name` stands for the file in errors.
    pub(crate) fn new(name: &'static str) -> Result<Self, VmError> {
        // Without MFD_CLOEXEC, child processes inherit the descriptor.
        let descriptor =
            memfd_create(name, MemfdFlags::empty()).map_err(|errno| file_error(name, &errno.into()))?;
        Ok(Self { file: File::from(descriptor), name })
    }

    /// Creates a file with this content.
    pub(crate) fn with_content(name: &'static str, content: &[u8]) -> Result<Self, VmError> {
        let mut memory = Self::new(name)?;
        memory.file.write_all(content).map_err(|error| file_error(name, &error))?;
        Ok(memory)
    }

    /// Returns the path of the file in child processes.
    pub(crate) fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.file.as_raw_fd()))
    }

    /// Returns a second descriptor of the file, which shares the position.
    pub(crate) fn descriptor(&self) -> Result<File, VmError> {
        self.file.try_clone().map_err(|error| file_error(self.name, &error))
    }

    /// Returns the size in bytes.
    pub(crate) fn len(&self) -> Result<u64, VmError> {
        Ok(self.file.metadata().map_err(|error| file_error(self.name, &error))?.len())
    }

    /// Returns the content as text. Bytes that are not UTF-8 are replaced.
    pub(crate) fn text(&self) -> Result<String, VmError> {
        let len = usize::try_from(self.len()?).map_err(|_| VmError::File {
            path: PathBuf::from(self.name),
            reason: "larger than the address space".to_owned(),
        })?;
        let mut bytes = vec![0; len];
        // The position of the descriptor is that of the writer.
        self.file.read_exact_at(&mut bytes, 0).map_err(|error| file_error(self.name, &error))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

fn file_error(name: &str, error: &Error) -> VmError {
    VmError::file(Path::new(name), error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        fs,
        process::{Command, Stdio},
    };

    #[test]
    fn child_processes_read_and_write_the_file() {
        let input = MemoryFile::with_content("input", b"archive").unwrap();
        assert_eq!(fs::read(input.path()).unwrap(), b"archive");
        let (output, errors) = (MemoryFile::new("output").unwrap(), MemoryFile::new("errors").unwrap());
        let mut shell = Command::new("sh");
        shell.args(["-c", "cat \"$0\" > \"$1\"; echo error >&2"]).args([input.path(), output.path()]);
        let errors_of_shell = Stdio::from(errors.descriptor().unwrap());
        assert!(shell.stderr(errors_of_shell).status().unwrap().success());
        assert_eq!(output.text().unwrap(), "archive");
        assert_eq!((errors.text().unwrap().as_str(), errors.len().unwrap()), ("error\n", 6));
    }
}
