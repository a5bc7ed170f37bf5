//! Names in the BTF that the kernel accepts (kernel: `btf_name_valid_identifier`, `btf_name_valid_section`).

use crate::{
    features::Feature,
    internal::{InternalError, Invariant as _},
    load_plan::target_kernel::TargetKernel,
};
use core_relo::{
    Endian, StrOffset,
    btf::{Editor, KernelBtfRules, NameError, NameUse},
};
use hashbrown::HashMap;

/// The bytes that tell invalid names apart. Ours: the names of a hostile BTF overlap.
const COMPARED_BYTES: usize = 1024;
/// The bytes of the longest number after a name: `_4294967295`.
const NUMBER_BYTES: usize = 11;
/// The bytes of all new names. The kernel refuses a string section of this size (`BTF_MAX_NAME_OFFSET`).
const NEW_BYTES: usize = 0xff_ffff;

/// Returns the rules by which a kernel checks names. A kernel of unknown version has the strictest rules.
pub(in crate::load_plan) fn name_rules(kernel: &TargetKernel) -> KernelBtfRules {
    let [_, major, minor, _] = Endian::Big.u32_bytes(kernel.kernel_version);
    KernelBtfRules::of_release(major, minor)
        .with_printable_sections(kernel.features.has(Feature::BtfQmarkDatasec))
}

/// Returns a name that the kernel accepts. It is shorter than the longest name by a byte.
fn replace(rules: &KernelBtfRules, name: &[u8], name_use: NameUse) -> Vec<u8> {
    let longest = rules.name_bytes().saturating_sub(1);
    // `b` is a letter, so that a byte is checked as one that is not the first.
    let is_accepted = |byte: u8| rules.check_name(&[b'b', byte], name_use).is_ok();
    // A character of several bytes becomes one.
    let characters = name.iter().filter(|byte| !matches!(byte, 0x80..=0xbf)).take(longest);
    let replaced = characters.map(|byte| if byte.is_ascii() && is_accepted(*byte) { *byte } else { b'_' });
    let mut new: Vec<u8> = replaced.collect();
    if rules.check_name(&new, name_use).is_err() {
        new.insert(0, b'_');
        new.truncate(longest);
    }
    new
}

/// Replaces invalid names. Equal names get equal replacements, and a replacement equals no other string of
/// the BTF.
pub(super) struct Renamer {
    rules: KernelBtfRules,
    /// The replacement of each invalid name.
    replaced: HashMap<(Vec<u8>, NameUse), StrOffset>,
    /// The last number that a replacement got, by the beginning of the replacement.
    numbers: HashMap<Vec<u8>, u32>,
    bytes_left: usize,
}

impl Renamer {
    pub(super) fn new(rules: KernelBtfRules) -> Self {
        Self { rules, replaced: HashMap::new(), numbers: HashMap::new(), bytes_left: NEW_BYTES }
    }

    /// Returns the replacement of a name, and whether the name gets it for the first time. Returns `None` for
    /// a name that the kernel accepts, and for an empty one.
    pub(super) fn rename(
        &mut self,
        edit: &mut Editor,
        name: StrOffset,
        name_use: NameUse,
    ) -> Result<Option<Renamed>, InternalError> {
        let old = edit.name(name);
        let problem = match self.rules.check_name(old, name_use) {
            Ok(()) | Err(NameError::Missing) => return Ok(None),
            Err(problem) => problem,
        };
        let compared = (old.get(..COMPARED_BYTES).unwrap_or(old).to_vec(), name_use);
        if let Some(new) = self.replaced.get(&compared) {
            return Ok(Some(Renamed { new: *new, problem, is_first: false }));
        }
        let Some(new) = self.unused_name(edit, &compared.0, name_use)? else { return Ok(None) };
        let new = edit.string(&new);
        self.replaced.insert(compared, new);
        Ok(Some(Renamed { new, problem, is_first: true }))
    }

    /// Returns the replacement of an identifier that was renamed.
    pub(super) fn replacement(&self, name: &[u8]) -> Option<StrOffset> {
        let compared = name.get(..COMPARED_BYTES).unwrap_or(name).to_vec();
        self.replaced.get(&(compared, NameUse::Identifier)).copied()
    }

    /// Returns a replacement that the BTF does not contain. Returns `None` if the replacements take too much
    /// memory.
    fn unused_name(
        &mut self,
        edit: &mut Editor,
        old: &[u8],
        name_use: NameUse,
    ) -> Result<Option<Vec<u8>>, InternalError> {
        let plain = replace(&self.rules, old, name_use);
        let Some(left) = self.bytes_left.checked_sub(plain.len()) else { return Ok(None) };
        self.bytes_left = left;
        if !edit.has_string(&plain) {
            return Ok(Some(plain));
        }
        // All numbers fit behind the same beginning, so that long names that differ in their last bytes do
        // not try each number again.
        let longest = self.rules.name_bytes().checked_sub(NUMBER_BYTES);
        let longest = longest.invariant("the number of a name is shorter than the longest name")?;
        let beginning = plain.get(..longest).unwrap_or(&plain);
        let number = self.numbers.entry(beginning.to_vec()).or_insert(1);
        loop {
            *number = number.checked_add(1).invariant("a BTF has fewer than 2^32 strings")?;
            let new = [beginning, format!("_{number}").as_bytes()].concat();
            if !edit.has_string(&new) {
                return Ok(Some(new));
            }
        }
    }
}

/// The replacement of an invalid name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Renamed {
    /// The new name.
    pub(super) new: StrOffset,
    /// The reason why the kernel refuses the old one.
    pub(super) problem: NameError,
    /// Whether the name had no replacement before.
    pub(super) is_first: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use core_relo::btf::{Btf, Builder};

    /// Names of the greatest length that differ in their last bytes. The strings have their replacements.
    #[test]
    fn long_names_that_differ_at_the_end_try_each_number_once() {
        const COUNT: u32 = 200;
        let rules = KernelBtfRules::of_release(6, 12);
        let beginning = "b".repeat(rules.name_bytes() - 9);
        let mut b = Builder::new(Endian::Little);
        let name = |at: u32, separator| format!("{beginning}{separator}{at:06}");
        let names: Vec<_> = (0..COUNT).map(|at| b.string(&name(at, ':'))).collect();
        (0..COUNT).for_each(|at| {
            b.string(&name(at, '_'));
        });
        let btf = Btf::parse(b.finish()).unwrap();
        let (mut edit, mut renamer) = (Editor::new(&btf), Renamer::new(rules));
        let mut rename = |name| renamer.rename(&mut edit, name, NameUse::Identifier).unwrap().unwrap().new;
        let mut new: Vec<_> = names.into_iter().map(&mut rename).collect();
        assert_eq!(edit.name(new[0]).len(), renamer.rules.name_bytes() - 9);
        new.sort_unstable();
        new.dedup();
        assert_eq!(new.len(), 200);
        assert_eq!(renamer.numbers.values().sum::<u32>(), COUNT + 1, "the tried numbers");
    }
}
