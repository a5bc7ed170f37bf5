//! The implementations of indirect functions (IFUNC) in a process.
//!
//! The dynamic linker of the process ran the resolver and stored its result at the places of relocations: for
//! calls within the binary, and for calls by other binaries of the process. These words are read. Nothing is
//! executed.

use super::{
    binary::Binary,
    elf_file::{Segment, SymbolFilter, SymbolKind, SymbolTable},
    error::AttachError,
    function_search::split_version,
    import_slots::import_slots,
    process_maps::ProcessMaps,
};
use object::elf;
use std::{collections::HashMap, fs::File, os::unix::fs::FileExt as _};

/// The sections with relocations.
const RELOCATION_SECTIONS: [&[u8]; 3] = [b".rela.dyn", b".rela.plt", b".rela.iplt"];

/// An indirect function of a binary.
#[derive(Clone, Copy, Debug)]
pub(super) struct IndirectFunction<'n> {
    /// The name without the version.
    pub(super) name: &'n [u8],
    /// The address of the resolver.
    pub(super) resolver: u64,
}

/// Returns the file offsets of the code that the resolvers of indirect functions chose in a process, in the
/// order of the functions. An offset is `None` if the process has no such result: no binary of the process is
/// linked to the function, or the code is not in the binary.
pub(super) fn implementations(
    binary: &Binary,
    functions: &[IndirectFunction<'_>],
    pid: u32,
) -> Result<Vec<Option<u64>>, AttachError> {
    let maps = ProcessMaps::read(binary, pid)?;
    let mapped = maps.of_binary(binary);
    let Some(shift) = load_address(binary, &mapped)? else {
        return Err(binary.error(format!("is not mapped by process {pid}")));
    };
    let unreadable =
        |e: std::io::Error| binary.error(format!("the memory of process {pid} cannot be read: {e}"));
    let memory = File::open(format!("/proc/{pid}/mem")).map_err(unreadable)?;
    let process = Process { binary, memory, maps, mapped, shift };
    let places = result_addresses(binary)?;
    let mut found = Vec::new();
    for function in functions {
        let place = places.get(&function.resolver);
        let word =
            place.map(|place| process.word(shift.wrapping_add(*place))).transpose().map_err(unreadable)?;
        found.push(word.and_then(|word| process.code_offset(word, function)));
    }
    if found.contains(&None) {
        process.find_imports(functions, &mut found)?;
    }
    Ok(found)
}

/// A process that maps a binary.
struct Process<'b> {
    binary: &'b Binary,
    memory: File,
    maps: ProcessMaps,
    /// The parts of the binary that the process maps.
    mapped: Vec<Segment>,
    /// The distance between the addresses in the process and in the binary.
    shift: u64,
}

impl Process<'_> {
    /// Reads a word of the process.
    fn word(&self, address: u64) -> std::io::Result<u64> {
        let mut word = [0; 8];
        self.memory.read_exact_at(&mut word, address)?;
        let word = self.binary.kind().endian.u64(&word, 0);
        word.ok_or_else(|| std::io::ErrorKind::UnexpectedEof.into())
    }

    /// Returns the file offset of the code at an address of the process. Before the dynamic linker has stored
    /// the result, the address is none of code, or that of the resolver.
    fn code_offset(&self, address: u64, function: &IndirectFunction<'_>) -> Option<u64> {
        if address == self.shift.wrapping_add(function.resolver) {
            return None;
        }
        let code = self.mapped.iter().find(|m| m.is_code && (m.start..m.end).contains(&address))?;
        address.checked_sub(code.start)?.checked_add(code.offset)
    }

    /// Finds the results that the binaries of the process use for their calls of the functions. Binaries that
    /// cannot be read have none.
    fn find_imports(
        &self,
        functions: &[IndirectFunction<'_>],
        found: &mut [Option<u64>],
    ) -> Result<(), AttachError> {
        let names: Vec<_> = functions.iter().map(|function| function.name).collect();
        let plain = self.plain_functions(&names)?;
        for path in self.maps.binaries() {
            let Ok(caller) = Binary::open(&path) else { continue };
            let Ok(slots) = import_slots(&caller, &names) else { continue };
            // The mappings of a binary are a walk over those of the process.
            if slots.is_empty() {
                continue;
            }
            let Ok(Some(shift)) = load_address(&caller, &self.maps.of_binary(&caller)) else { continue };
            for slot in slots {
                let (Some(function), Some(found)) = (functions.get(slot.name), found.get_mut(slot.name))
                else {
                    continue;
                };
                let Ok(address) = self.word(shift.wrapping_add(slot.address)) else { continue };
                let offset = self.code_offset(address, function).filter(|offset| !plain.contains(offset));
                *found = found.or(offset);
            }
        }
        Ok(())
    }

    /// Returns the file offsets of plain functions with one of the names. A library may have an old version
    /// of an indirect function that is a plain function, which old programs are linked to.
    fn plain_functions(&self, names: &[&[u8]]) -> Result<Vec<u64>, AttachError> {
        let mut offsets = Vec::new();
        self.binary.symbols(SymbolTable::Dynamic, SymbolFilter::Functions, &mut |symbol| {
            let (base, _) = split_version(symbol);
            if symbol.kind == SymbolKind::Function && names.contains(&base) {
                offsets.extend(self.binary.range().start().checked_add(symbol.offset));
            }
            Ok(())
        })?;
        Ok(offsets)
    }
}

/// Returns the addresses of the words with the results of resolvers by the addresses of the resolvers, before
/// the binary is loaded.
fn result_addresses(binary: &Binary) -> Result<HashMap<u64, u64>, AttachError> {
    let kind = binary.kind();
    let mut places = HashMap::new();
    let (true, Some(wanted)) = (kind.is_64, relocation_type(binary.machine())) else { return Ok(places) };
    for name in RELOCATION_SECTIONS {
        let Some(section) = binary.section(name)? else { continue };
        for record in section.data.chunks_exact(24) {
            let [place, info, addend] = [0, 8, 16].map(|at| kind.endian.u64(record, at));
            if let (Some(resolver), Some(place)) = (addend, place)
                && info == Some(wanted)
            {
                places.entry(resolver).or_insert(place);
            }
        }
    }
    Ok(places)
}

/// Returns the type of the relocation that stores the result of a resolver (`R_*_IRELATIVE`).
const fn relocation_type(machine: elf::Machine) -> Option<u64> {
    match machine {
        elf::EM_X86_64 => Some(37),
        elf::EM_AARCH64 => Some(1032),
        elf::EM_RISCV => Some(58),
        elf::EM_S390 => Some(61),
        _ => None,
    }
}

/// Returns the distance between the addresses in a process and in the file. Returns `None` if the process
/// does not map the code.
fn load_address(binary: &Binary, mapped: &[Segment]) -> Result<Option<u64>, AttachError> {
    let segments = binary.segments()?;
    // The offsets of segments are those in the binary, which may be a member of an archive.
    let member = binary.range().start();
    Ok(mapped.iter().filter(|mapping| mapping.is_code).find_map(|mapping| {
        // A mapping begins at the page in which the segment begins.
        let end = mapping.end.checked_sub(mapping.start)?.checked_add(mapping.offset)?;
        let in_file = |segment: &Segment| segment.offset.checked_add(member);
        let is_mapped =
            |s: &&Segment| s.is_code && in_file(s).is_some_and(|at| (mapping.offset..end).contains(&at));
        let segment = segments.iter().find(is_mapped)?;
        let start = in_file(segment)?.checked_sub(mapping.offset)?.checked_add(mapping.start)?;
        Some(start.wrapping_sub(segment.start))
    }))
}

#[cfg(test)]
mod tests {
    use super::{
        super::{
            binary::EntryPoint,
            test_support::{
                elf::{BASE, F1, TempFile, TestElf, TestSection, TestSymbol},
                trace::{Counter, Program},
            },
            uprobe::{UprobeOptions, uprobe},
        },
        *,
    };
    use core::ffi::c_char;
    use core_relo::Endian;
    use core_relo_object::object::ProgramType;
    use core_relo_test_support::skip;
    use std::path::PathBuf;

    /// Returns the C library of this process, and the file offset of the implementation of `strlen` that this
    /// process calls.
    fn own_strlen() -> Option<(PathBuf, u64)> {
        let strlen: unsafe extern "C" fn(*const c_char) -> usize = libc::strlen;
        let address = format!("{strlen:p}");
        let address = u64::from_str_radix(address.trim_start_matches("0x"), 16).unwrap();
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let path =
            maps.lines().filter_map(|l| l.split_ascii_whitespace().nth(5)).find(|p| p.contains("/libc.so"));
        let Some(path) = path.map(PathBuf::from) else {
            skip!("no shared C library here");
            return None;
        };
        let binary = Binary::open(&path).unwrap();
        let mapped = ProcessMaps::read(&binary, std::process::id()).unwrap().of_binary(&binary);
        let code = mapped.iter().find(|m| (m.start..m.end).contains(&address));
        let Some(code) = code else {
            skip!("the address of strlen is not in the C library");
            return None;
        };
        let offset = address.checked_sub(code.start).and_then(|within| within.checked_add(code.offset))?;
        Some((path, offset))
    }

    #[test]
    fn the_implementation_that_a_process_calls_is_found() {
        let Some((path, expected)) = own_strlen() else { return };
        let binary = Binary::open(&path).unwrap();
        let own = Some(std::process::id());
        if binary.find_function("strlen", EntryPoint::Local).is_ok() {
            return skip!("strlen is no indirect function here");
        }
        assert_eq!(binary.find_function_of(own, "strlen", EntryPoint::Local), Ok(expected));
        assert_eq!(binary.find_functions_of(own, &["strlen"]), Ok(vec![expected]));
    }

    /// The C library has calls of its own. Those of this program, which is linked to the function, lead to
    /// the same code.
    #[test]
    fn the_implementation_that_other_binaries_of_a_process_call_is_found() {
        let Some((path, expected)) = own_strlen() else { return };
        let binary = Binary::open(&path).unwrap();
        let pid = std::process::id();
        let maps = ProcessMaps::read(&binary, pid).unwrap();
        let mapped = maps.of_binary(&binary);
        let shift = load_address(&binary, &mapped).unwrap().unwrap();
        let memory = File::open("/proc/self/mem").unwrap();
        let process = Process { binary: &binary, memory, maps, mapped, shift };
        let functions =
            [b"no_such_function", &b"strlen"[..]].map(|name| IndirectFunction { name, resolver: u64::MAX });
        let mut found = [None; 2];
        process.find_imports(&functions, &mut found).unwrap();
        if binary.find_function("strlen", EntryPoint::Local).is_ok() {
            return skip!("strlen is no indirect function here");
        }
        assert_eq!(found, [None, Some(expected)]);
    }

    #[test]
    fn an_indirect_function_is_probed_in_a_process() {
        let Some((path, _)) = own_strlen() else { return };
        let Some(counter) = Counter::new() else { return };
        let Some(prog) = Program::counting(ProgramType::Kprobe, 0, &counter) else { return };
        let options = UprobeOptions { function: Some("strlen"), pid: Some(0), ..UprobeOptions::default() };
        let link = match uprobe(prog.fd(), &path, &options) {
            // Tracing is not permitted, or the kernel has no uprobes. Another error may be that of a wrong
            // offset.
            Err(e)
                if matches!(
                    e.errno(),
                    Some(crate::sys::Errno(libc::EPERM | libc::EACCES | libc::ENOENT))
                ) =>
            {
                return skip!("{e}");
            }
            link => link.unwrap(),
        };
        // The standard library measures the value with `strlen`.
        assert!(std::env::var_os("PATH").is_some());
        assert!(counter.count() > 0);
        link.detach().unwrap();
    }

    #[test]
    fn a_result_is_at_the_relocation_of_its_resolver() {
        let resolver = BASE + F1;
        let record = |info: u64, addend: u64, place: u64| {
            [place, info, addend].iter().flat_map(|word| Endian::Little.u64_bytes(*word)).collect::<Vec<_>>()
        };
        let symbol = TestSymbol { name: "copy", offset: F1, info: 0x1a, section: 1 };
        let records = [record(8, resolver, 1), record(37, resolver + 1, 2), record(37, resolver, 3)].concat();
        for (bytes, expected) in [(&records[..], Some(3)), (&records[..48], None), (&records[..50], None)] {
            let section = TestSection { name: ".rela.plt", address: 0, bytes };
            let file =
                TempFile::new("indirect", &TestElf::with_sections(&[TestSymbol { ..symbol }], &[section]));
            let binary = Binary::open(file.path()).unwrap();
            assert_eq!(result_addresses(&binary).unwrap().get(&resolver).copied(), expected);
            let found = binary.find_function_of(Some(std::process::id()), "copy", EntryPoint::Local);
            let error = found.unwrap_err().to_string();
            assert!(error.contains("is not mapped by process"), "{error}");
        }
    }

    #[test]
    fn the_load_address_is_that_of_the_code() {
        let file = TempFile::new("shift", &TestElf::bytes());
        let binary = Binary::open(file.path()).unwrap();
        let mapping = |start, offset, is_code| Segment { start, end: start + 0x1000, offset, is_code };
        let shift = |mapped: &[Segment]| load_address(&binary, mapped).unwrap();
        assert_eq!(shift(&[mapping(BASE + 0x7000, 0, true)]), Some(0x7000));
        assert_eq!(shift(&[mapping(0x9000, 0x1000, false), mapping(BASE, 0, true)]), Some(0));
        assert_eq!(shift(&[mapping(0x9000, 0x1000, true)]), None, "the file was mapped for another purpose");
    }
}
