//! The rules that differ between kernels.

use super::{managed::ManagedRules, release::Release};
use crate::format::Kind;

/// The rules by which one kernel checks a BTF that is loaded into it.
///
/// The default are the rules of the newest kernel that was observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::struct_excessive_bools, reason = "each is a rule that a kernel has or lacks")]
pub struct KernelBtfRules {
    /// The highest kind that the kernel knows.
    pub(super) last_kind: Kind,
    /// The bytes of the longest name (`KSYM_NAME_LEN`).
    pub(super) name_bytes: usize,
    /// Whether names of types, members and the like may contain dots. Names of variables and sections always
    /// may.
    pub(super) dots_in_names: bool,
    /// Whether the name of a section may contain any printable character.
    pub(super) printable_sections: bool,
    /// Whether the flag of an ENUM may be set, for signed values.
    pub(super) enum_flag: bool,
    /// Whether the flag of a tag may be set, for other attributes.
    pub(super) tag_flag: bool,
    /// Whether functions are resolved like other types: a typedef or a tag may then refer to a function.
    pub(super) resolves_functions: bool,
    /// Whether the kernel counts the modifiers that follow each other.
    pub(super) checks_modifier_chains: bool,
    /// Whether type tags have to come before other modifiers.
    pub(super) checks_tag_order: bool,
    /// The rules for structs with fields that the kernel manages, such as `bpf_spin_lock`.
    pub(super) managed: ManagedRules,
    /// Whether the info word has 24 bits of elements and 7 bits of kind, instead of 16 and 5.
    pub(super) wide_info: bool,
    /// Whether a BTF may have a layout section.
    pub(super) layout_sections: bool,
    /// Whether a section may have no entries.
    pub(super) empty_sections: bool,
    /// Whether functions must not return a VAR, DATASEC or DECL_TAG.
    pub(super) checks_return_kind: bool,
    /// Whether programs may have exception callbacks.
    pub(super) exception_callbacks: bool,
    /// The bytes of a pointer.
    pub(super) pointer_bytes: u32,
}

/// `KSYM_NAME_LEN` before Linux 6.1.
const SHORT_NAME_BYTES: usize = 128;
/// `KSYM_NAME_LEN` since Linux 6.1.
const LONG_NAME_BYTES: usize = 512;

impl Default for KernelBtfRules {
    fn default() -> Self {
        Self::newest()
    }
}

impl KernelBtfRules {
    /// Returns the rules of the newest kernel that was observed.
    pub const fn newest() -> Self {
        Self::of_release(u8::MAX, 0)
    }

    /// Returns the rules of a release, on a 64-bit machine. Releases before 5.10 count as 5.10.
    ///
    /// Where stable updates of a release differ from the release, the rules are those of the updates:
    /// mainline allows dots in the names of types since 6.5, and 5.10.223 and 6.1.176 do, too. Where the
    /// release that changed a rule was not observed, the rules are those of the more lenient kernel.
    pub const fn of_release(major: u8, minor: u8) -> Self {
        let release = Release { major, minor };
        Self {
            last_kind: match release {
                _ if release.is_since(6, 0) => Kind::Enum64,
                _ if release.is_since(5, 17) => Kind::TypeTag,
                _ if release.is_since(5, 16) => Kind::DeclTag,
                _ if release.is_since(5, 13) => Kind::Float,
                _ => Kind::Datasec,
            },
            name_bytes: if release.is_since(6, 1) { LONG_NAME_BYTES } else { SHORT_NAME_BYTES },
            dots_in_names: true,
            printable_sections: release.is_since(6, 12),
            enum_flag: release.is_since(6, 0),
            tag_flag: release.is_since(6, 15),
            resolves_functions: release.is_since(5, 16),
            checks_modifier_chains: release.is_since(5, 18),
            checks_tag_order: release.is_since(5, 18) && !release.is_since(6, 19),
            managed: ManagedRules::of_release(release),
            wide_info: release.is_since(7, 2),
            layout_sections: release.is_since(7, 2),
            empty_sections: release.is_since(5, 12),
            checks_return_kind: release.is_since(6, 1),
            exception_callbacks: release.is_since(6, 7),
            pointer_bytes: 8,
        }
    }

    /// Returns the rules of a kernel that allows any printable character in names of sections, or does not.
    #[must_use]
    pub const fn with_printable_sections(mut self, is_allowed: bool) -> Self {
        self.printable_sections = is_allowed;
        self
    }

    /// Returns the rules of a kernel that allows dots in names of types, or does not.
    #[must_use]
    pub const fn with_dots_in_names(mut self, is_allowed: bool) -> Self {
        self.dots_in_names = is_allowed;
        self
    }

    /// Returns rules that a BTF violates if it violates those of any known kernel. The kinds are those that
    /// all kernels know.
    pub fn strictest() -> Self {
        /// The releases that changed a rule.
        const RELEASES: [(u8, u8); 19] = [
            (5, 12),
            (5, 13),
            (5, 16),
            (5, 17),
            (5, 18),
            (6, 0),
            (6, 1),
            (6, 2),
            (6, 3),
            (6, 4),
            (6, 6),
            (6, 7),
            (6, 11),
            (6, 12),
            (6, 13),
            (6, 15),
            (6, 18),
            (6, 19),
            (7, 2),
        ];
        let all = RELEASES.iter().map(|(major, minor)| Self::of_release(*major, *minor));
        all.fold(Self::of_release(5, 10), Self::or_stricter)
    }

    /// Returns rules that a BTF violates if it violates those of either kernel. The kinds are those that both
    /// kernels know.
    #[must_use]
    pub fn or_stricter(self, other: Self) -> Self {
        Self {
            last_kind: self.last_kind.min(other.last_kind),
            name_bytes: self.name_bytes.min(other.name_bytes),
            dots_in_names: self.dots_in_names && other.dots_in_names,
            printable_sections: self.printable_sections && other.printable_sections,
            enum_flag: self.enum_flag && other.enum_flag,
            tag_flag: self.tag_flag && other.tag_flag,
            // What resolves to a function has no size for a kernel that does not resolve functions.
            resolves_functions: self.resolves_functions && other.resolves_functions,
            checks_modifier_chains: self.checks_modifier_chains || other.checks_modifier_chains,
            checks_tag_order: self.checks_tag_order || other.checks_tag_order,
            managed: self.managed.or_stricter(other.managed),
            wide_info: self.wide_info && other.wide_info,
            empty_sections: self.empty_sections && other.empty_sections,
            checks_return_kind: self.checks_return_kind || other.checks_return_kind,
            layout_sections: self.layout_sections && other.layout_sections,
            // No BTF violates a rule for the records of programs.
            exception_callbacks: self.exception_callbacks && other.exception_callbacks,
            // A larger pointer needs more room in its struct.
            pointer_bytes: self.pointer_bytes.max(other.pointer_bytes),
        }
    }

    /// Returns the bytes of the longest name that the kernel allows (`KSYM_NAME_LEN`).
    pub const fn name_bytes(&self) -> usize {
        self.name_bytes
    }

    /// Returns whether programs may have exception callbacks.
    pub const fn exception_callbacks(&self) -> bool {
        self.exception_callbacks
    }

    /// Returns whether the names of sections may contain any printable character.
    pub const fn allows_printable_sections(&self) -> bool {
        self.printable_sections
    }

    /// Returns whether the kernel knows a kind.
    pub fn knows(&self, kind: Kind) -> bool {
        kind != Kind::Void && kind <= self.last_kind
    }
}
