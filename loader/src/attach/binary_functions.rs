//! The file offsets of functions in user-space binaries.

use super::{
    binary::{Binary, EntryPoint},
    elf_file::{SymbolFilter, SymbolTable},
    error::AttachError,
    function_search::{FunctionMatch, FunctionSearch, WantedFunction},
    indirect_function::{IndirectFunction, implementations},
    missing_function::{ambiguous_function, indirect_function, missing_function},
    pattern_search::PatternSearch,
    stripped::SymbolSource,
};

impl Binary {
    /// Returns the file offset of a function: `name`, `name@VERSION` or `name@@VERSION` (libbpf:
    /// `elf_find_func_offset`).
    ///
    /// libbpf always takes the global entry point.
    pub(super) fn find_function(&self, name: &str, entry: EntryPoint) -> Result<u64, AttachError> {
        self.find_function_of(None, name, entry)
    }

    /// Returns the file offset of a function, as [`find_function`](Self::find_function). Of an indirect
    /// function, returns the implementation that a process uses.
    pub(super) fn find_function_of(
        &self,
        process: Option<u32>,
        name: &str,
        entry: EntryPoint,
    ) -> Result<u64, AttachError> {
        let mut search = FunctionSearch::new([name]);
        self.search(&mut search)?;
        let found = search.matches().next();
        let (wanted, found) =
            found.ok_or_else(|| self.error("internal error: a search for a function has no result"))?;
        self.match_offset(process, wanted, found, entry)
    }

    /// Returns whether several functions at different places have the name.
    pub(super) fn has_several_functions(&self, name: &str) -> Result<bool, AttachError> {
        let mut search = FunctionSearch::new([name]);
        self.search(&mut search)?;
        Ok(search.matches().any(|(_, found)| found.is_ambiguous))
    }

    /// Returns the file offsets of functions by their names, as [`find_function`](Self::find_function)
    /// (libbpf: `elf_resolve_syms_offsets`).
    pub(super) fn find_functions(&self, names: &[&str]) -> Result<Vec<u64>, AttachError> {
        self.find_functions_of(None, names)
    }

    /// Returns the file offsets of functions by their names, as [`find_function_of`](Self::find_function_of).
    pub(super) fn find_functions_of(
        &self,
        process: Option<u32>,
        names: &[&str],
    ) -> Result<Vec<u64>, AttachError> {
        let mut search = FunctionSearch::new(names.iter().copied());
        self.search(&mut search)?;
        let matches = search.matches();
        matches.map(|(wanted, found)| self.match_offset(process, wanted, found, EntryPoint::Local)).collect()
    }

    /// Searches the symbol tables. A function in the dynamic symbol table takes precedence: other binaries
    /// call that one.
    fn search(&self, search: &mut FunctionSearch<'_>) -> Result<(), AttachError> {
        for table in [SymbolTable::Dynamic, SymbolTable::Full] {
            self.symbols(table, SymbolFilter::Functions, &mut |symbol| {
                search.add(symbol);
                Ok(())
            })?;
            if search.finish_table() {
                return Ok(());
            }
        }
        for source in SymbolSource::ALL {
            // If the function is in no other source, `missing_function` reports the errors of the sources.
            let _error = source.symbols(self, SymbolFilter::Functions, &mut |symbol| {
                search.add(symbol);
                Ok(())
            });
            if search.finish_table() {
                break;
            }
        }
        Ok(())
    }

    fn match_offset(
        &self,
        process: Option<u32>,
        wanted: &WantedFunction<'_>,
        found: &FunctionMatch,
        entry: EntryPoint,
    ) -> Result<u64, AttachError> {
        let name = wanted.name;
        let Some(place) = found.place else { return Err(missing_function(self, wanted)) };
        if found.is_ambiguous {
            return Err(ambiguous_function(self, wanted));
        }
        if let Some(resolver) = place.resolver {
            let function = [IndirectFunction { name: wanted.base.as_bytes(), resolver }];
            let found = process.map(|pid| implementations(self, &function, pid)).transpose()?;
            let found = found.and_then(|found| found.into_iter().next().flatten());
            return found.ok_or_else(|| indirect_function(self, wanted, process, entry));
        }
        let distance = if entry == EntryPoint::Local { place.local_entry } else { 0 };
        self.file_offset(name, place.offset.wrapping_add(distance))
    }

    /// Returns the file offsets of the functions that match a pattern, each once although it may have several
    /// names (libbpf: `elf_resolve_pattern_offsets`). Of a matching indirect function, adds the
    /// implementation that a process uses, if there is one.
    pub(super) fn find_matching_functions(
        &self,
        process: Option<u32>,
        pattern: &str,
    ) -> Result<Vec<u64>, AttachError> {
        let mut search = PatternSearch::new(self, process, pattern)?;
        for table in [SymbolTable::Full, SymbolTable::Dynamic] {
            self.symbols(table, SymbolFilter::Functions, &mut |symbol| search.add(symbol))?;
            if search.has_matches() {
                return search.finish();
            }
        }
        let mut failed = None;
        for source in SymbolSource::ALL {
            match source.symbols(self, SymbolFilter::Functions, &mut |symbol| search.add(symbol)) {
                Ok(()) => {}
                // Some of the matches are missing.
                Err(error) if search.has_matches() => return Err(error),
                Err(error) => failed = failed.or(Some(error)),
            }
            if search.has_matches() {
                break;
            }
        }
        match failed.filter(|_| !search.has_matches()) {
            Some(error) => Err(error),
            None => search.finish(),
        }
    }

    /// Converts a function's offset in the binary to the offset in the file, which may be an archive. A
    /// function outside of the binary is an error.
    fn file_offset(&self, name: &str, offset: u64) -> Result<u64, AttachError> {
        let range = self.range();
        let file_offset = range.start().checked_add(offset).filter(|_| offset != 0 && offset < range.len());
        file_offset.ok_or_else(|| {
            let len = range.len();
            self.error(format!(
                "function `{name}` is outside of the file: at {offset:#x}, expected 1 to {len:#x}"
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::test_support::elf::{F1, TempFile, TestElf},
        *,
    };
    use core_relo::Endian;
    use core_relo_test_support::skip;
    use object::elf;
    use std::path::Path;

    #[test]
    fn functions_of_powerpc_are_probed_at_their_local_entry_point() {
        let e = Endian::Little;
        let mut bytes = TestElf::bytes();
        bytes[18..20].copy_from_slice(&e.u16_bytes(elf::EM_PPC64.0));
        let headers = usize::try_from(e.u64(&bytes, 40).unwrap()).unwrap();
        let header = bytes[headers..].chunks_exact(64).find(|header| header[4] == 2).unwrap();
        let symbols = usize::try_from(e.u64(header, 24).unwrap()).unwrap();
        // `f1` is the third symbol. The value 3 stands for a distance of 2 instructions.
        bytes[symbols + 2 * 24 + 5] = 3 << 5;
        let places = |bytes: &[u8]| {
            let file = TempFile::new("powerpc", bytes);
            let binary = Binary::open(file.path()).unwrap();
            let [local, global] = [EntryPoint::Local, EntryPoint::Global]
                .map(|entry| binary.find_function("f1", entry).unwrap());
            let all = (binary.find_functions(&["f1"]), binary.find_matching_functions(None, "f1"));
            assert_eq!(all, (Ok(vec![local]), Ok(vec![local])));
            [local, global]
        };
        // Version 1 of the ABI has no local entry points.
        assert_eq!(places(&bytes), [F1, F1]);
        bytes[48] = 2;
        assert_eq!(places(&bytes), [F1 + 8, F1]);
    }

    #[test]
    fn a_function_of_the_c_library_has_its_version() {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let libc =
            maps.lines().filter_map(|l| l.split_ascii_whitespace().nth(5)).find(|p| p.contains("/libc.so"));
        let Some(libc) = libc else { return skip!("no shared C library here") };
        let libc = Binary::open(Path::new(libc)).unwrap();
        let plain = libc.find_function("getppid", EntryPoint::Local).unwrap();
        assert!(libc.find_function("getppid@NO_SUCH", EntryPoint::Local).is_err());
        if cfg!(target_arch = "x86_64") {
            assert_eq!(libc.find_function("getppid@GLIBC_2.2.5", EntryPoint::Local), Ok(plain));
            assert_eq!(libc.find_function("getppid@@GLIBC_2.2.5", EntryPoint::Local), Ok(plain));
            let find = |name: &str| libc.find_function(name, EntryPoint::Local).unwrap();
            let [plain, new, old] = ["", "@@GLIBC_2.3.2", "@GLIBC_2.2.5"]
                .map(|version| find(&format!("pthread_cond_wait{version}")));
            assert_eq!(plain, new);
            assert_ne!(plain, old);
            let unknown = libc.find_function("getppid@NO_SUCH", EntryPoint::Local).unwrap_err().to_string();
            assert!(
                unknown.ends_with("has no version `NO_SUCH` of `getppid`: found `GLIBC_2.2.5`"),
                "{unknown}"
            );
            let memcpy = libc.find_function("memcpy", EntryPoint::Local).unwrap_err().to_string();
            assert!(memcpy.contains("`memcpy` is an indirect function (IFUNC)"), "{memcpy}");
        }
    }
}
