//! A small x86-64 program for the tests. Its function `f1` is a USDT probe with a semaphore: a one-byte nop
//! and a five-byte nop, as newer versions of `sys/sdt.h` emit them.

use core::sync::atomic::{AtomicU32, Ordering};
use core_relo::Endian;
use core_relo_test_support::skip;
use std::{
    fs,
    os::unix::{fs::OpenOptionsExt as _, process::ExitStatusExt as _},
    path::{Path, PathBuf},
    process::Command,
};

const TEXT: u64 = 0x100;
/// The address of the start of the file.
pub(in crate::attach) const BASE: u64 = 0x40_0000;
const DATA: u64 = 0x1000;
const DATA_BASE: u64 = 0x60_0000;
/// The file offset of `f1`.
pub(in crate::attach) const F1: u64 = TEXT + 25;

/// A further symbol of the test program.
pub(in crate::attach) struct TestSymbol<'n> {
    pub(in crate::attach) name: &'n str,
    /// The file offset.
    pub(in crate::attach) offset: u64,
    /// The type and the binding (`st_info`).
    pub(in crate::attach) info: u8,
    /// The section: 1 is the code, 3 is data, 0 stands for another file.
    pub(in crate::attach) section: u16,
}

/// A further section of the test program.
pub(in crate::attach) struct TestSection<'n> {
    pub(in crate::attach) name: &'n str,
    pub(in crate::attach) address: u64,
    pub(in crate::attach) bytes: &'n [u8],
}

/// A file that is removed when it is dropped.
pub(in crate::attach) struct TempFile(PathBuf);

impl TempFile {
    pub(in crate::attach) fn new(name: &str, bytes: &[u8]) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("attach-{}-{number}-{name}", std::process::id()));
        let mut options = fs::OpenOptions::new();
        let mut file = options.write(true).create_new(true).mode(0o755).open(&path).unwrap();
        std::io::Write::write_all(&mut file, bytes).unwrap();
        Self(path)
    }

    pub(in crate::attach) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        let removed = fs::remove_file(&self.0);
        assert!(removed.is_ok() || std::thread::panicking());
    }
}

pub(in crate::attach) struct TestElf(TempFile);

impl TestElf {
    /// The file offset of the semaphore.
    pub(in crate::attach) const SEMAPHORE: u64 = DATA;

    /// Writes the program to a file. Prints `SKIP` and returns `None` on architectures other than x86-64.
    pub(in crate::attach) fn write() -> Option<Self> {
        if !cfg!(target_arch = "x86_64") {
            skip!("the program of this test is of x86-64");
            return None;
        }
        Some(Self(TempFile::new("elf", &Self::bytes())))
    }

    pub(in crate::attach) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Runs the program, which calls `f1` once with 5 in `edi`. Returns its exit status, the value of the
    /// semaphore.
    pub(in crate::attach) fn run(&self) -> i32 {
        loop {
            match Command::new(self.path()).status() {
                // A process that another thread started still has the file open for writing.
                Err(e) if e.raw_os_error() == Some(libc::ETXTBSY) => std::thread::yield_now(),
                done => return done.unwrap().into_raw() >> 8,
            }
        }
    }

    pub(in crate::attach) fn bytes() -> Vec<u8> {
        Self::with_symbols(&[])
    }

    /// Returns the program with further symbols.
    pub(in crate::attach) fn with_symbols(symbols: &[TestSymbol<'_>]) -> Vec<u8> {
        Self::with_sections(symbols, &[])
    }

    /// Returns the program with further symbols and sections.
    pub(in crate::attach) fn with_sections(
        symbols: &[TestSymbol<'_>],
        sections: &[TestSection<'_>],
    ) -> Vec<u8> {
        let notes = &[("test", "probe", "-4@%edi 8@$-7 2@-16(%rsp)")];
        Self::build(notes, symbols, sections)
    }

    /// Returns the program without a symbol table, with further sections.
    #[cfg(feature = "stripped-binaries")]
    pub(in crate::attach) fn stripped(sections: &[TestSection<'_>]) -> Vec<u8> {
        let mut bytes = Self::with_sections(&[], sections);
        let headers = Endian::Little.u64(&bytes, 40).and_then(|at| usize::try_from(at).ok()).unwrap();
        let symbols_kind = headers.checked_add(4 * 64 + 4).unwrap();
        assert_eq!(Endian::Little.u32(&bytes, symbols_kind), Some(2), "the section is a symbol table");
        bytes[symbols_kind..][..4].fill(0);
        bytes
    }

    /// Returns the program with other probe notes, all for `f1`.
    pub(in crate::attach) fn with_notes(notes: &[(&str, &str, &str)]) -> Vec<u8> {
        Self::build(notes, &[], &[])
    }

    fn build(
        notes: &[(&str, &str, &str)],
        further: &[TestSymbol<'_>],
        further_sections: &[TestSection<'_>],
    ) -> Vec<u8> {
        let e = Endian::Little;
        let mut text = vec![0xbf, 5, 0, 0, 0, 0xe8, 15, 0, 0, 0, 0x0f, 0xb7, 0x3c, 0x25];
        e.put_u32(&mut text, u32::try_from(DATA_BASE + DATA).unwrap());
        text.extend([0xb8, 60, 0, 0, 0, 0x0f, 0x05, 0x90, 0x0f, 0x1f, 0x44, 0, 0, 0xc3]);
        let notes: Vec<u8> = notes.iter().flat_map(|n| note(n.0, n.1, n.2)).collect();
        let mut symbols = vec![0; 24];
        for (name, address, kind, section) in [
            (1, BASE + TEXT, 0x12, 1),
            (7, BASE + F1, 0x12, 1),
            (10, BASE + TEXT, 0x10, 1),
            // Defined in another file.
            (16, 0, 0x12, 0),
        ] {
            e.put_u32(&mut symbols, name);
            symbols.extend([kind, 0]);
            e.put_u16(&mut symbols, section);
            e.put_u64(&mut symbols, address);
            e.put_u64(&mut symbols, 0);
        }
        let mut strings = b"\0entry\0f1\0label\0taken\0".to_vec();
        for symbol in further {
            e.put_u32(&mut symbols, u32::try_from(strings.len()).unwrap());
            strings.extend([symbol.name.as_bytes(), b"\0"].concat());
            symbols.extend([symbol.info, 0]);
            e.put_u16(&mut symbols, symbol.section);
            e.put_u64(&mut symbols, BASE.checked_add(symbol.offset).unwrap());
            e.put_u64(&mut symbols, 0);
        }
        let mut names = b"\0.text\0.note.stapsdt\0.stapsdt.base\0.symtab\0.strtab\0.shstrtab\0".to_vec();
        let mut further_names = Vec::new();
        for section in further_sections {
            further_names.push(u32::try_from(names.len()).unwrap());
            names.extend([section.name.as_bytes(), b"\0"].concat());
        }
        let mut out = Vec::new();
        // The name, type, flags, address, alignment and bytes. The offsets follow from the order.
        let sections = [
            (1u32, 1u32, 6u64, BASE + TEXT, 1u64, &text[..]),
            (7, 7, 0, 0, 4, &notes),
            (21, 1, 2, BASE + 0x80, 1, &[0]),
            (35, 2, 0, 0, 8, &symbols),
            (43, 3, 0, 0, 1, &strings),
            (51, 3, 0, 0, 1, &names),
        ];
        let further = further_names.into_iter().zip(further_sections);
        let further = further.map(|(name, section)| (name, 1, 0, section.address, 8, section.bytes));
        out.resize(usize::try_from(TEXT).unwrap(), 0);
        let mut headers = vec![0; 64];
        for (number, (name, kind, flags, address, align, bytes)) in
            sections.into_iter().chain(further).enumerate()
        {
            out.resize(out.len().next_multiple_of(8), 0);
            if number == 1 {
                out.resize(usize::try_from(DATA + 8).unwrap(), 0);
            }
            let offset = if number == 0 { TEXT } else { u64::try_from(out.len()).unwrap() };
            out.extend(bytes);
            let (link, info, entry) = if kind == 2 { (5, 1, 24) } else { (0, 0, 0) };
            e.put_u32(&mut headers, name);
            e.put_u32(&mut headers, kind);
            for v in [flags, address, offset, u64::try_from(bytes.len()).unwrap()] {
                e.put_u64(&mut headers, v);
            }
            e.put_u32(&mut headers, link);
            e.put_u32(&mut headers, info);
            e.put_u64(&mut headers, align);
            e.put_u64(&mut headers, entry);
        }
        let headers_at = u64::try_from(out.len()).unwrap();
        out.extend(headers);
        let head = head(headers_at, u16::try_from(further_sections.len()).unwrap());
        out[..head.len()].copy_from_slice(&head);
        out
    }
}

fn note(provider: &str, name: &str, args: &str) -> Vec<u8> {
    let e = Endian::Little;
    let mut desc = Vec::new();
    for v in [BASE + F1, BASE + 0x80, DATA_BASE + DATA] {
        e.put_u64(&mut desc, v);
    }
    desc.extend([provider, name, args].iter().flat_map(|s| [s.as_bytes(), b"\0"].concat()));
    let mut out = Vec::new();
    for v in [8, u32::try_from(desc.len()).unwrap(), 3] {
        e.put_u32(&mut out, v);
    }
    out.extend(b"stapsdt\0");
    out.extend(desc);
    out.resize(out.len().next_multiple_of(4), 0);
    out
}

fn head(section_headers: u64, further_sections: u16) -> Vec<u8> {
    let e = Endian::Little;
    let mut out = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    e.put_u16(&mut out, 2);
    e.put_u16(&mut out, 62);
    e.put_u32(&mut out, 1);
    for v in [BASE + TEXT, 64, section_headers] {
        e.put_u64(&mut out, v);
    }
    e.put_u32(&mut out, 0);
    for v in [64, 56, 2, 64, 7u16.checked_add(further_sections).unwrap(), 6] {
        e.put_u16(&mut out, v);
    }
    for (flags, offset, address, size) in [(5, 0, BASE, 0x1000), (6, DATA, DATA_BASE + DATA, 8)] {
        e.put_u32(&mut out, 1);
        e.put_u32(&mut out, flags);
        for v in [offset, address, address, size, size, 0x1000] {
            e.put_u64(&mut out, v);
        }
    }
    out
}
