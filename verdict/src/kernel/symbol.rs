//! The symbols of a kernel: lines of `/proc/kallsyms`.

/// A symbol of the kernel or of a module.
#[derive(Clone, Copy, Debug)]
pub(super) struct KernelSymbol<'k> {
    pub(super) module: Option<&'k str>,
    pub(super) is_function: bool,
    /// The address, as the line has it.
    pub(super) address: &'k str,
    /// The address of another symbol of the same name.
    pub(super) other_address: Option<&'k str>,
}

/// Parses a line of `/proc/kallsyms`: address, kind, name, and the module in brackets.
pub(super) fn parse_symbol(line: &str) -> Option<(&str, KernelSymbol<'_>)> {
    let mut words = line.split_ascii_whitespace();
    let (address, kind) = (words.next()?, words.next()?);
    let name = words.next()?;
    let module = words.next().and_then(|word| word.strip_prefix('[')?.strip_suffix(']'));
    // As in nm: the text section, and weak symbols that are no objects.
    let is_function = matches!(kind, "t" | "T" | "w" | "W");
    Some((name, KernelSymbol { module, is_function, address, other_address: None }))
}
