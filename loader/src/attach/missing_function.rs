//! The reason why a function cannot be probed by its name: symbols of other kinds, other versions, and
//! similar names.

use super::{
    binary::{Binary, EntryPoint},
    elf_file::{Symbol, SymbolFilter, SymbolKind, SymbolTable},
    error::AttachError,
    function_search::{WantedFunction, split_version},
    stripped::SymbolSource,
};
use core_relo::{Escaped, explain::nearest_names};

/// The number of names that are compared at once, which limits the memory.
const BATCH: usize = 4096;

/// The number of names in a message.
const LISTED: usize = 5;

/// Returns the error of a name that no symbol table defines as a function.
pub(super) fn missing_function(binary: &Binary, wanted: &WantedFunction<'_>) -> AttachError {
    explain(binary, wanted).unwrap_or_else(|damaged| damaged)
}

/// Returns the error of a function whose address is that of its resolver. With a process, the result of the
/// resolver was not found.
pub(super) fn indirect_function(
    binary: &Binary,
    wanted: &WantedFunction<'_>,
    process: Option<u32>,
    entry: EntryPoint,
) -> AttachError {
    let base = wanted.base;
    // Only an offset counts from the global entry point.
    let offset = match entry {
        EntryPoint::Local => "",
        EntryPoint::Global => " (the offset counts from the start of that code)",
    };
    let reason = match process {
        None => format!(
            "which chooses the code for each process{offset}: name a process (`--attach-to PROG=pid:N`, for the \
             function in the section), or"
        ),
        Some(pid) => format!("and the code that process {pid} uses is not found in the binary:"),
    };
    let advice = match implementations(binary, base) {
        Ok(names) if !names.is_empty() => format!("probe an implementation: {}", list(&names)),
        Ok(_) | Err(_) => format!("probe the implementation {}", offset_advice(binary, "0xOFFSET")),
    };
    binary.error(format!(
        "`{base}` is an indirect function (IFUNC): its symbol is the resolver, {reason} {advice}"
    ))
}

/// Returns the error of a name that several functions have, with their offsets in the file.
pub(super) fn ambiguous_function(binary: &Binary, wanted: &WantedFunction<'_>) -> AttachError {
    let problem = format!("has several functions `{}`, at different places", wanted.name);
    let mut offsets = Vec::new();
    let searched = every_symbol(binary, SymbolFilter::Functions, &mut |symbol| {
        let (base, version) = split_version(symbol);
        if base == wanted.base.as_bytes()
            && wanted.accepts(version)
            && symbol.kind == SymbolKind::Function
            && offsets.len() < BATCH
        {
            offsets.extend(binary.range().start().checked_add(symbol.offset));
        }
    });
    offsets.sort_unstable();
    offsets.dedup();
    match (searched, offsets.first()) {
        (Ok(_), Some(first)) => {
            let shown: Vec<_> = offsets.iter().map(|offset| format!("{offset:#x}")).collect();
            let advice = offset_advice(binary, &format!("{first:#x}"));
            binary.error(format!("{problem}: {}: probe one {advice}", list(&shown)))
        }
        _ => binary.error(problem),
    }
}

fn explain(binary: &Binary, wanted: &WantedFunction<'_>) -> Result<AttachError, AttachError> {
    let base = wanted.base;
    let mut other = OtherSymbols::default();
    let mut similar = SimilarNames::new(base);
    let searched = every_symbol(binary, SymbolFilter::All, &mut |symbol| {
        let (name, _) = split_version(symbol);
        if name == base.as_bytes() {
            other.add(symbol);
        } else if symbol.kind == SymbolKind::Function {
            similar.add(name);
        }
    })?;
    let problem = other
        .describe(binary, wanted)
        .unwrap_or_else(|| unknown_name(binary, wanted, &similar.finish(), &searched));
    let problems = searched.problems.iter().map(ToString::to_string);
    let parts: Vec<_> = core::iter::once(problem).chain(problems).collect();
    Ok(binary.error(parts.join("; ")))
}

/// The sources outside of the symbol tables in which a function was searched.
#[derive(Debug, Default)]
struct SearchedSources {
    /// The sources with symbols.
    found: Vec<SymbolSource>,
    /// The errors of the others.
    problems: Vec<AttachError>,
}

/// Calls `each` for the symbols of all tables and sources.
fn every_symbol(
    binary: &Binary,
    filter: SymbolFilter,
    each: &mut dyn FnMut(&Symbol<'_>),
) -> Result<SearchedSources, AttachError> {
    for table in [SymbolTable::Dynamic, SymbolTable::Full] {
        binary.symbols(table, filter, &mut |symbol| {
            each(symbol);
            Ok(())
        })?;
    }
    let mut searched = SearchedSources::default();
    for source in SymbolSource::ALL {
        let mut has_symbols = false;
        let result = source.symbols(binary, filter, &mut |symbol| {
            has_symbols = true;
            each(symbol);
            Ok(())
        });
        if has_symbols {
            searched.found.push(*source);
        }
        searched.problems.extend(result.err());
    }
    Ok(searched)
}

/// Returns the message for a name that no symbol has.
fn unknown_name(
    binary: &Binary,
    wanted: &WantedFunction<'_>,
    similar: &[String],
    searched: &SearchedSources,
) -> String {
    let sources: Vec<_> = searched.found.iter().map(|source| format!(", or in its {source}")).collect();
    let problem = format!("has no function `{}` in its symbol tables{}", wanted.name, sources.concat());
    // Names of Go's methods have a `*` of their own, as in `main.(*Server).Serve`.
    if wanted.name.contains(['*', '?']) && !wanted.name.contains("(*") {
        return format!("{problem}: expected one function; uprobe.multi and uretprobe.multi take a pattern");
    }
    if !similar.is_empty() {
        return format!("{problem}, similar: {}", list(similar));
    }
    let advice = offset_advice(binary, "0xOFFSET");
    if binary.has_symbol_table(SymbolTable::Full) || !searched.found.is_empty() {
        format!("{problem}: a function without a symbol is probed {advice}")
    } else {
        format!("{problem}, and is stripped{}: probe it {advice}", SymbolSource::MISSING)
    }
}

/// Returns the syntax of a probe at an offset.
fn offset_advice(binary: &Binary, offset: &str) -> String {
    let path = binary.range().path().display();
    format!(
        "by its offset in the file: `uprobe/{path}:{offset}`, or `--attach-to PROG=uprobe:{path}:{offset}`"
    )
}

fn list(names: &[String]) -> String {
    let quoted: Vec<_> = names.iter().take(LISTED).map(|name| format!("`{}`", Escaped(name))).collect();
    match names.len().checked_sub(LISTED) {
        Some(more @ 1..) => format!("{} and {more} more", quoted.join(", ")),
        _ => quoted.join(", "),
    }
}

/// The symbols that have the wanted name, and are no function of the wanted version.
#[derive(Debug, Default)]
struct OtherSymbols {
    /// The versions in which the function exists.
    versions: Vec<String>,
    /// The file offset of code without a type.
    untyped: Option<u64>,
    is_data: bool,
    is_imported: bool,
}

impl OtherSymbols {
    fn add(&mut self, symbol: &Symbol<'_>) {
        match symbol.kind {
            SymbolKind::Function | SymbolKind::Indirect => {
                let (_, version) = split_version(symbol);
                if let Some(version) = version.filter(|_| self.versions.len() <= LISTED) {
                    let name = String::from_utf8_lossy(version.name).into_owned();
                    if !self.versions.contains(&name) {
                        self.versions.push(name);
                    }
                }
            }
            SymbolKind::Untyped => self.untyped = Some(symbol.offset),
            SymbolKind::Data => self.is_data = true,
            SymbolKind::Imported => self.is_imported = true,
        }
    }

    fn describe(&self, binary: &Binary, wanted: &WantedFunction<'_>) -> Option<String> {
        let base = wanted.base;
        if let (false, Some(version)) = (self.versions.is_empty(), wanted.version) {
            return Some(format!("has no version `{version}` of `{base}`: found {}", list(&self.versions)));
        }
        if let Some(offset) = self.untyped {
            let offset = format!("{:#x}", binary.range().start().checked_add(offset)?);
            let advice = offset_advice(binary, &offset);
            let problem = "has no type in the symbol table, so nothing says that it is a function";
            return Some(format!("`{base}` {problem}: if it is one, probe it {advice}"));
        }
        if self.is_data {
            return Some(format!("`{base}` is data, expected a function"));
        }
        self.is_imported.then(|| {
            format!("imports `{base}` from another library: probe the library that defines the function")
        })
    }
}

/// The names that are similar to a name, found in batches.
#[derive(Debug)]
struct SimilarNames<'n> {
    wanted: &'n str,
    batch: Vec<Vec<u8>>,
}

impl<'n> SimilarNames<'n> {
    const fn new(wanted: &'n str) -> Self {
        Self { wanted, batch: Vec::new() }
    }

    fn add(&mut self, name: &[u8]) {
        self.batch.push(name.to_vec());
        if self.batch.len() >= BATCH {
            // The nearest names of each batch take part in the next one.
            self.batch = self.nearest().into_iter().map(String::into_bytes).collect();
        }
    }

    fn nearest(&self) -> Vec<String> {
        nearest_names(self.wanted.as_bytes(), self.batch.iter().map(Vec::as_slice))
    }

    fn finish(self) -> Vec<String> {
        self.nearest()
    }
}

/// Returns the names of functions that implement an indirect function, by the usual naming:
/// `__memcpy_avx_unaligned` for `memcpy`.
fn implementations(binary: &Binary, base: &str) -> Result<Vec<String>, AttachError> {
    let mut names = Vec::new();
    every_symbol(binary, SymbolFilter::Functions, &mut |symbol| {
        if symbol.kind == SymbolKind::Function && is_implementation(symbol.name, base) && names.len() < BATCH
        {
            names.push(String::from_utf8_lossy(symbol.name).into_owned());
        }
    })?;
    names.sort_unstable();
    names.dedup();
    Ok(names)
}

fn is_implementation(name: &[u8], base: &str) -> bool {
    let underscores = name.iter().take_while(|byte| **byte == b'_').count();
    let bare =
        name.get(underscores..).and_then(|bare| bare.strip_prefix(base.trim_start_matches('_').as_bytes()));
    // Checked variants, and the resolvers of some architectures, are named alike.
    matches!(bare, Some([b'_' | b'.', suffix @ ..]) if !matches!(suffix, b"chk" | b"ifunc"))
}

#[cfg(test)]
mod tests {
    use super::{
        super::{
            binary::EntryPoint,
            test_support::elf::{F1, TempFile, TestElf, TestSymbol},
        },
        *,
    };

    fn symbol(name: &str, info: u8, section: u16) -> TestSymbol<'_> {
        TestSymbol { name, offset: F1, info, section }
    }

    /// Returns the message for a function of the test program with further symbols, without the file.
    fn message(function: &str, further: &[TestSymbol<'_>]) -> String {
        let file = TempFile::new("missing", &TestElf::with_symbols(further));
        let binary = Binary::open(file.path()).unwrap();
        let error = binary.find_function(function, EntryPoint::Local).unwrap_err().to_string();
        assert_eq!(binary.find_functions(&[function]).unwrap_err().to_string(), error);
        let path = file.path().to_str().unwrap();
        error.strip_prefix(&format!("{path}: ")).unwrap().replace(path, "FILE")
    }

    #[test]
    fn symbols_of_each_kind_have_their_message() {
        assert_eq!(
            message("taken", &[]),
            "imports `taken` from another library: probe the library that defines the function"
        );
        assert_eq!(
            message("counter", &[symbol("counter", 0x11, 3)]),
            "`counter` is data, expected a function"
        );
        assert_eq!(message("thread", &[symbol("thread", 0x16, 3)]), "`thread` is data, expected a function");
        let untyped = message("label", &[]);
        assert!(untyped.starts_with("`label` has no type in the symbol table"), "{untyped}");
        let advice =
            "by its offset in the file: `uprobe/FILE:0x100`, or `--attach-to PROG=uprobe:FILE:0x100`";
        assert!(untyped.ends_with(advice), "{untyped}");
    }

    #[test]
    fn a_pattern_is_one_of_uprobe_multi() {
        let expected = "has no function `f*` in its symbol tables: expected one function; uprobe.multi and uretprobe.multi take a pattern";
        assert_eq!(message("f*", &[]), expected);
        let method = message("main.(*Server).Serve", &[]);
        assert!(method.contains("is probed by its offset in the file"), "{method}");
    }

    #[test]
    fn several_functions_of_a_name_have_their_offsets() {
        let further = [
            TestSymbol { name: "twice", offset: F1, info: 2, section: 1 },
            TestSymbol { name: "twice", offset: F1 + 1, info: 2, section: 1 },
        ];
        let (first, second) = (F1, F1 + 1);
        let twice = message("twice", &further);
        let listed = format!(
            "has several functions `twice`, at different places: `{first:#x}`, `{second:#x}`: probe one"
        );
        assert!(twice.starts_with(&listed), "{twice}");
        assert!(twice.ends_with(&format!("`--attach-to PROG=uprobe:FILE:{first:#x}`")), "{twice}");
    }

    #[test]
    fn a_misspelt_function_has_similar_names() {
        let further = [symbol("handle_request", 0x12, 1), symbol("handle_\u{1b}", 0x12, 1)];
        assert_eq!(
            message("handle_reqest", &further),
            "has no function `handle_reqest` in its symbol tables, similar: `handle_request`"
        );
        assert!(!message("handle_2", &further).contains('\u{1b}'));
        let unlike = message("something_else", &further);
        assert!(
            unlike.contains("a function without a symbol is probed by its offset in the file"),
            "{unlike}"
        );
    }

    #[test]
    fn the_similar_name_may_be_in_any_batch() {
        let names: Vec<_> = (0..3 * BATCH).map(|n| format!("other{n}")).collect();
        for at in [0, BATCH, 2 * BATCH + 7] {
            let mut search = SimilarNames::new("wantd");
            for (nth, name) in names.iter().enumerate() {
                search.add(if nth == at { b"wanted" } else { name.as_bytes() });
            }
            assert_eq!(search.finish(), ["wanted"], "{at}");
        }
    }

    #[test]
    fn an_indirect_function_is_named_with_its_implementations() {
        let ifunc = || symbol("copy", 0x1a, 1);
        let alone = message("copy", &[ifunc()]);
        assert!(
            alone.starts_with("`copy` is an indirect function (IFUNC): its symbol is the resolver"),
            "{alone}"
        );
        assert!(
            alone.contains(
                "name a process (`--attach-to PROG=pid:N`, for the function in the section), or probe"
            ),
            "{alone}"
        );
        assert!(alone.contains("`uprobe/FILE:0xOFFSET`"), "{alone}");
        let further = [
            ifunc(),
            symbol("__copy_avx", 2, 1),
            symbol("__copy_sse2", 2, 1),
            symbol("copying", 2, 1),
            symbol("__copy_chk", 2, 1),
        ];
        let listed = message("copy", &further);
        assert!(listed.ends_with("or probe an implementation: `__copy_avx`, `__copy_sse2`"), "{listed}");
        // A pattern leaves out indirect functions.
        let file = TempFile::new("indirect", &TestElf::with_symbols(&[ifunc(), symbol("copy2", 2, 1)]));
        let binary = Binary::open(file.path()).unwrap();
        assert_eq!(binary.find_matching_functions(None, "copy*"), Ok(vec![F1]));
        let none = binary.find_matching_functions(None, "copy").unwrap_err().to_string();
        assert!(none.contains("only indirect functions (IFUNC) match `copy`"), "{none}");
        // Two names of one function are one probe.
        assert_eq!(binary.find_matching_functions(None, "?*").map(|found| found.len()), Ok(2));
    }
}
