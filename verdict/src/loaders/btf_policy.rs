//! What each loader sends of the object's BTF, and what it does if the kernel refuses it.
//!
//! The sources are those of the table in `rules.rs`.

use super::loader::LoaderKind;
use core_relo::btf::{BtfRule, BtfViolation, Kind, NameError};

/// The treatment of the object's BTF, `func_info` and `line_info` by a loader.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum BtfPolicy {
    /// The loader sends the BTF and the records as they are, and goes on without BTF if the kernel refuses it
    /// (libbpf.c: `bpf_object__sanitize_and_load_btf`).
    #[default]
    Unchanged,
    /// The loader repairs what the kernel would refuse (object/src/load_plan/btf/repair.rs).
    Repaired,
    /// The loader takes the names of pointers away, gives names to parameters, replaces `/` in names of data
    /// sections, and sends one `func_info` record for each function (aya-obj/src/btf/btf.rs:
    /// `fixup_and_sanitize`, aya-obj/src/obj.rs: `get_func_and_line_info`). If the kernel refuses the BTF,
    /// the loader refuses objects that need it, and goes on without BTF with others (aya/src/bpf.rs:
    /// `EbpfLoader::load`).
    PartlyRepaired,
    /// The loader sends a BTF for each map and program, with the types that it refers to, and new records. A
    /// map or program whose BTF the kernel refuses is not loaded (btf/marshal.go: `MarshalMapKV`, map.go:
    /// `MapSpec.createMap`, prog.go: `newProgramWithOptions`).
    Parts,
}

impl LoaderKind {
    /// Returns what the loader does with the object's BTF.
    pub(crate) const fn btf_policy(self) -> BtfPolicy {
        match self {
            Self::Libbpf => BtfPolicy::Unchanged,
            Self::CoreRelo => BtfPolicy::Repaired,
            Self::Cilium => BtfPolicy::Parts,
            Self::Aya => BtfPolicy::PartlyRepaired,
        }
    }

    /// Returns whether the loader changes names of maps and programs that the kernel would refuse (core-relo:
    /// object/src/load_plan/object_names.rs; cilium/ebpf: syscalls.go: `sanitizeName`). libbpf (libbpf.c:
    /// `bpf_map_create`) and aya (aya/src/sys/bpf.rs: `bpf_create_map`) shorten them only.
    pub(crate) const fn changes_names(self) -> bool {
        matches!(self, Self::CoreRelo | Self::Cilium)
    }
}

impl BtfPolicy {
    /// Returns whether the loader sends something else in place of what violates a rule.
    pub(crate) fn avoids(self, violation: &BtfViolation) -> bool {
        if self != Self::PartlyRepaired {
            return false;
        }
        let kind = violation.ty.as_ref().map(|ty| ty.kind);
        match (violation.rule, kind) {
            (BtfRule::ParameterUnnamed { .. }, _) | (BtfRule::Name(_), Some(Kind::Ptr)) => true,
            (BtfRule::Name(error), Some(Kind::Datasec)) => {
                matches!(error, NameError::Character { found: b'/', .. })
            }
            _ => false,
        }
    }

    /// Returns whether a loader that sends parts of the BTF sends the violation of a rule as it is, if it
    /// sends the type. Such a loader writes the types anew.
    pub(crate) fn keeps_in_parts(violation: &BtfViolation) -> bool {
        let is_kept = |error: NameError| {
            matches!(error, NameError::First { .. } | NameError::Character { .. } | NameError::TooLong { .. })
        };
        match violation.rule {
            BtfRule::ParameterUnnamed { .. } => true,
            BtfRule::ParameterName(error) | BtfRule::Name(error) => is_kept(error),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_loader_sends_everything_as_it_is() {
        let unchanged = |loader: &&LoaderKind| loader.btf_policy() == BtfPolicy::Unchanged;
        assert_eq!(LoaderKind::ALL.iter().filter(unchanged).collect::<Vec<_>>(), [&LoaderKind::Libbpf]);
    }
}
