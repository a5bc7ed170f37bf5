//! The search for functions by name in the symbol tables of a binary.

use super::elf_file::{Symbol, SymbolKind, SymbolVersion};

/// The name of a function: `name`, `name@VERSION` or `name@@VERSION`.
#[derive(Clone, Copy, Debug)]
pub(super) struct WantedFunction<'n> {
    pub(super) name: &'n str,
    /// The name without the version.
    pub(super) base: &'n str,
    pub(super) version: Option<&'n str>,
}

impl<'n> WantedFunction<'n> {
    pub(super) fn new(name: &'n str) -> Self {
        match name.split_once('@') {
            Some((base, version)) => {
                Self { name, base, version: Some(version.strip_prefix('@').unwrap_or(version)) }
            }
            None => Self { name, base: name, version: None },
        }
    }

    /// Returns whether a symbol whose name is [`base`](Self::base) has the wanted version.
    pub(super) fn accepts(&self, version: Option<SymbolVersion<'_>>) -> bool {
        self.version.is_none_or(|wanted| version.is_some_and(|found| found.name == wanted.as_bytes()))
    }
}

/// Splits a symbol's name and version. The version of a dynamic symbol is in a table, that of other symbols
/// in the name (libbpf: `symbol_match`).
pub(super) fn split_version<'b>(symbol: &Symbol<'b>) -> (&'b [u8], Option<SymbolVersion<'b>>) {
    let Some(at) = symbol.name.iter().position(|byte| *byte == b'@') else {
        return (symbol.name, symbol.version);
    };
    let (base, version) = symbol.name.split_at(at);
    let version = match version {
        [b'@', b'@', name @ ..] => Some(SymbolVersion { name, is_default: true }),
        [b'@', name @ ..] => Some(SymbolVersion { name, is_default: false }),
        _ => None,
    };
    (base, symbol.version.or(version))
}

/// A search for functions by name. The caller adds the symbols of one table after the other.
#[derive(Debug)]
pub(super) struct FunctionSearch<'n> {
    wanted: Vec<WantedFunction<'n>>,
    found: Vec<FunctionMatch>,
    /// The indices of the wanted functions, sorted by [`WantedFunction::base`].
    by_base: Vec<(&'n [u8], usize)>,
}

impl<'n> FunctionSearch<'n> {
    pub(super) fn new(names: impl IntoIterator<Item = &'n str>) -> Self {
        let wanted: Vec<_> = names.into_iter().map(WantedFunction::new).collect();
        let mut by_base: Vec<_> = wanted.iter().map(|w| w.base.as_bytes()).zip(0..).collect();
        by_base.sort();
        Self { found: vec![FunctionMatch::default(); wanted.len()], wanted, by_base }
    }

    /// Compares a symbol of the current table with the wanted functions.
    pub(super) fn add(&mut self, symbol: &Symbol<'_>) {
        let (base, version) = split_version(symbol);
        let first = self.by_base.partition_point(|(name, _)| *name < base);
        for (_, at) in self.by_base.iter().skip(first).take_while(|(name, _)| *name == base) {
            let (Some(wanted), Some(found)) = (self.wanted.get(*at), self.found.get_mut(*at)) else {
                continue;
            };
            if wanted.accepts(version) {
                found.add(symbol, version);
            }
        }
    }

    /// Ends a table: later tables do not change the functions found so far. Returns whether all functions are
    /// found.
    pub(super) fn finish_table(&mut self) -> bool {
        for found in &mut self.found {
            found.is_final = found.place.is_some();
        }
        self.found.iter().all(|found| found.is_final)
    }

    /// Returns the wanted functions with their matches, in the order of the names.
    pub(super) fn matches(&self) -> impl Iterator<Item = (&WantedFunction<'n>, &FunctionMatch)> {
        self.wanted.iter().zip(&self.found)
    }
}

/// The function found for a name. The default version takes precedence over other versions, then a strong
/// symbol over weak symbols.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FunctionMatch {
    pub(super) place: Option<FunctionPlace>,
    /// Several functions of the same precedence have the name.
    pub(super) is_ambiguous: bool,
    precedence: Precedence,
    is_final: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FunctionPlace {
    pub(super) offset: u64,
    pub(super) local_entry: u64,
    /// The address of the resolver of an indirect function.
    pub(super) resolver: Option<u64>,
}

/// The precedence of a symbol. The order of the fields is that of the comparison.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Precedence {
    is_default_version: bool,
    is_strong: bool,
}

impl FunctionMatch {
    fn add(&mut self, symbol: &Symbol<'_>, version: Option<SymbolVersion<'_>>) {
        if self.is_final {
            return;
        }
        let precedence = Precedence {
            is_default_version: version.is_none_or(|version| version.is_default),
            is_strong: !symbol.is_weak,
        };
        let place = FunctionPlace {
            offset: symbol.offset,
            local_entry: symbol.local_entry,
            resolver: (symbol.kind == SymbolKind::Indirect).then_some(symbol.address),
        };
        match self.place {
            Some(known) if known == place => self.precedence = self.precedence.max(precedence),
            Some(_) if precedence < self.precedence => {}
            Some(_) if precedence == self.precedence => self.is_ambiguous |= precedence.is_strong,
            Some(_) | None => {
                (self.place, self.precedence, self.is_ambiguous) = (Some(place), precedence, false);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STRONG: Symbol<'static> = Symbol {
        name: b"f",
        version: None,
        kind: SymbolKind::Function,
        address: 0,
        offset: 1,
        local_entry: 0,
        is_weak: false,
    };

    /// Returns the offset found for a name, and whether the name is ambiguous.
    fn find(name: &str, symbols: &[Symbol<'_>]) -> (Option<u64>, bool) {
        let mut search = FunctionSearch::new([name]);
        for symbol in symbols {
            search.add(symbol);
        }
        let (_, found) = search.matches().next().unwrap();
        (found.place.map(|place| place.offset), found.is_ambiguous)
    }

    #[test]
    fn a_strong_symbol_takes_precedence_over_weak_ones() {
        let symbol = |offset, is_weak| Symbol { offset, is_weak, ..STRONG };
        assert_eq!(find("f", &[symbol(1, true), symbol(2, false)]), (Some(2), false));
        assert_eq!(find("f", &[symbol(1, false), symbol(2, true)]), (Some(1), false));
        assert_eq!(find("f", &[symbol(1, false), symbol(1, false)]), (Some(1), false));
        assert!(find("f", &[symbol(1, false), symbol(2, false)]).1);
        assert!(!find("f", &[symbol(1, true), symbol(2, true)]).1);
    }

    #[test]
    fn the_default_version_takes_precedence_over_compatibility_versions() {
        let old =
            Symbol { offset: 1, version: Some(SymbolVersion { name: b"V_1", is_default: false }), ..STRONG };
        let older =
            Symbol { offset: 3, version: Some(SymbolVersion { name: b"V_0", is_default: false }), ..STRONG };
        let new = Symbol {
            offset: 2,
            version: Some(SymbolVersion { name: b"V_2", is_default: true }),
            is_weak: true,
            ..STRONG
        };
        for order in [[old, new, older], [new, old, older], [old, older, new]] {
            assert_eq!(find("f", &order), (Some(2), false));
            assert_eq!(find("f@V_1", &order), (Some(1), false));
            assert_eq!(find("f@@V_2", &order), (Some(2), false));
            assert_eq!(find("f@V_3", &order), (None, false));
        }
        // The versions of the full symbol table are in the names.
        let old = Symbol { offset: 1, name: b"f@V_1", ..STRONG };
        let new = Symbol { offset: 2, name: b"f@@V_2", ..STRONG };
        for order in [[old, new], [new, old]] {
            assert_eq!(find("f", &order), (Some(2), false));
            assert_eq!(find("f@V_1", &order), (Some(1), false));
            assert_eq!(find("f@V_2", &order), (Some(2), false));
            assert_eq!(find("f@@V_2", &order), (Some(2), false));
        }
        assert!(find("f", &[old, Symbol { offset: 3, name: b"f@V_0", ..STRONG }]).1);
        assert_eq!(find("f", &[Symbol { name: b"f2", ..STRONG }]), (None, false));
    }

    #[test]
    fn later_tables_do_not_change_what_is_found() {
        let mut search = FunctionSearch::new(["f", "g"]);
        search.add(&STRONG);
        assert!(!search.finish_table());
        search.add(&Symbol { offset: 9, ..STRONG });
        search.add(&Symbol { name: b"g", offset: 5, ..STRONG });
        assert!(search.finish_table());
        let found: Vec<_> =
            search.matches().map(|(_, m)| (m.place.unwrap().offset, m.is_ambiguous)).collect();
        assert_eq!(found, [(1, false), (5, false)]);
    }
}
