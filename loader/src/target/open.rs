//! Opens files that can be read to their end: no folder, device or pipe, and nothing that the kernel writes while it is read.

use crate::sys;
use core_relo_object::target::TargetError;
use std::{
    fs::{File, Metadata, OpenOptions},
    io,
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
};

/// File systems whose files of length 0 are not empty: the kernel writes them when they are read, and some of them (`trace_pipe`,
/// `/proc/kmsg`) have no end. proc, sysfs, tracefs, debugfs, securityfs, cgroup, cgroup2, bpffs, configfs, selinuxfs, smackfs, efivarfs,
/// pstore, binfmt_misc, mqueue, resctrl, nfsd, fusectl, rpc_pipefs.
const PSEUDO: [u64; 19] = [
    0x9fa0,
    0x6265_6572,
    0x7472_6163,
    0x6462_6720,
    0x7363_6673,
    0x0027_e0eb,
    0x6367_7270,
    0xcafe_4a11,
    0x6265_6570,
    0xf97c_ff8c,
    0x4341_5d53,
    0xde5e_81e4,
    0x6165_676c,
    0x4249_4e4d,
    0x1980_0202,
    0x0765_5821,
    0x6e66_7364,
    0x6573_5543,
    0x6759_6969,
];

/// Opens a regular file for reading; never waits, neither now nor when the file is read.
///
/// The path is looked at before it is opened, since to open a device or a file of tracefs may change something, and the opened file
/// is looked at again, since the path may lead elsewhere by then.
///
/// ```
/// use core_relo_loader::target::{TargetError, open_file};
/// use std::path::PathBuf;
///
/// let path = PathBuf::from("/dev/zero");
/// assert_eq!(open_file(&path).unwrap_err(), TargetError::NotAFile { path });
/// ```
pub fn open_file(path: &Path) -> Result<(File, Metadata), TargetError> {
    let open = |flags| {
        let file = OpenOptions::new().read(true).custom_flags(flags).open(path);
        file.map_err(|e| failed(path, &e))
    };
    regular(path, &open(libc::O_PATH)?)?;
    let file = open(libc::O_NONBLOCK | libc::O_NOCTTY)?;
    let meta = regular(path, &file)?;
    Ok((file, meta))
}

/// Returns the metadata of a file that can be read to its end.
fn regular(path: &Path, file: &File) -> Result<Metadata, TargetError> {
    let meta = file.metadata().map_err(|e| failed(path, &e))?;
    if !meta.is_file() {
        return Err(TargetError::NotAFile { path: path.to_path_buf() });
    }
    if meta.len() == 0 && PSEUDO.contains(&sys::file_system(file).map_err(|e| failed(path, &e))?) {
        return Err(TargetError::PseudoFile { path: path.to_path_buf() });
    }
    Ok(meta)
}

pub(super) fn failed(path: &Path, e: &io::Error) -> TargetError {
    TargetError::Io { path: path.to_path_buf(), kind: e.kind(), errno: e.raw_os_error() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{io::Read as _, path::PathBuf};

    #[test]
    fn files_without_end_are_not_opened() {
        for path in ["/dev/zero", "/proc/self/fd", "/"] {
            let path = PathBuf::from(path);
            assert_eq!(open_file(&path).unwrap_err(), TargetError::NotAFile { path });
        }
        // `/proc/kmsg` waits for the kernel's next message; `version` stands for it where that may not be opened.
        for path in
            ["/proc/kmsg", "/proc/version", "/sys/kernel/tracing/trace_pipe", "/sys/fs/cgroup/cgroup.procs"]
        {
            let path = PathBuf::from(path);
            if path.exists() {
                assert_eq!(open_file(&path).unwrap_err(), TargetError::PseudoFile { path });
            }
        }
    }

    #[test]
    fn a_pipe_without_a_writer_does_not_wait() {
        let pipe = std::env::temp_dir().join(format!("core-relo-open-{}", std::process::id()));
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        if made.is_ok_and(|status| status.success()) {
            let refused = open_file(&pipe).unwrap_err();
            std::fs::remove_file(&pipe).unwrap();
            assert_eq!(refused, TargetError::NotAFile { path: pipe });
        }
    }

    #[test]
    fn files_with_a_length_are_read_wherever_they_lie() {
        let empty = std::env::temp_dir().join(format!("core-relo-empty-{}", std::process::id()));
        std::fs::write(&empty, "").unwrap();
        let opened = open_file(&empty);
        std::fs::remove_file(&empty).unwrap();
        assert_eq!(opened.unwrap().1.len(), 0);
        for path in ["/sys/kernel/btf/vmlinux", "/proc/config.gz"] {
            let path = Path::new(path);
            if path.exists() {
                let (mut file, meta) = open_file(path).unwrap();
                let mut bytes = Vec::new();
                file.read_to_end(&mut bytes).unwrap();
                assert_eq!(u64::try_from(bytes.len()).unwrap(), meta.len());
            }
        }
    }
}
