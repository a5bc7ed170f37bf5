//! The kernel's lists of functions and symbols: `available_filter_functions` in tracefs and `/proc/kallsyms`.

use std::collections::HashSet;

/// Returns the fields of a line of such a list.
pub(super) fn fields(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty())
}

/// The wanted names that a list contains.
#[derive(Debug, Default)]
pub(super) struct ListedNames<'t> {
    names: HashSet<&'t [u8]>,
    /// The names that are listed more than once.
    repeated: HashSet<&'t [u8]>,
}

impl<'t> ListedNames<'t> {
    /// Finds the names of the kernel itself or of a module in a list. `column` is that of the name, before
    /// that of the module in brackets.
    pub(super) fn find(list: &'t [u8], column: usize, module: Option<&str>, wanted: &HashSet<&[u8]>) -> Self {
        let brackets = module.map(|module| format!("[{module}]"));
        let brackets = brackets.as_deref().map(str::as_bytes);
        let mut found = Self::default();
        for line in list.split(|byte| *byte == b'\n') {
            let mut fields = fields(line);
            let (name, of) = (fields.nth(column), fields.next());
            if let Some(name) = name.filter(|name| of == brackets && wanted.contains(name))
                && !found.names.insert(name)
            {
                found.repeated.insert(name);
            }
        }
        found
    }

    /// Returns whether the list contains a name.
    pub(super) fn contains(&self, name: &[u8]) -> bool {
        self.names.contains(name)
    }

    /// Returns whether the list contains a name more than once.
    pub(super) fn is_repeated(&self, name: &[u8]) -> bool {
        self.repeated.contains(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_for_the_kernel_or_for_one_module() {
        let list = b"start\nstop\nstop\nopen [veth]\nstart [veth]\nopen [veth2]\nother\n";
        let wanted: HashSet<&[u8]> = [&b"start"[..], b"stop", b"open"].into();
        let names = |module| {
            let found = ListedNames::find(list, 0, module, &wanted);
            let mut names: Vec<_> = found.names.iter().map(|name| str::from_utf8(name).unwrap()).collect();
            names.sort_unstable();
            (names, found.repeated.len())
        };
        assert_eq!(names(None), (vec!["start", "stop"], 1));
        assert_eq!(names(Some("veth")), (vec!["open", "start"], 0));
        assert_eq!(names(Some("veth2")), (vec!["open"], 0));
        assert_eq!(names(Some("vet")), (vec![], 0));
        let symbols = b"0000 t start\n0000 d start\n0000 t open [veth]\n";
        let found = ListedNames::find(symbols, 2, None, &wanted);
        assert!(found.is_repeated(b"start") && found.contains(b"start") && !found.contains(b"open"));
    }
}
