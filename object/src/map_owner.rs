//! Maps that belong to the kind of their first program: program arrays, and maps of devices and CPUs.
//!
//! The first program that refers to such a map, or that is put into the map, owns it. The kernel refuses each
//! later program that differs from the owner (kernel: `__bpf_prog_map_compatible`). [`OwnerRule`] is the
//! table of the properties that it compares. Verdicts and the explanations of real loads use the same table.

use crate::{
    KernelVersion, MapIndex,
    object::{AttachType, MapType, ProgramType},
};
use core_relo::btf::{Btf, Kind, Type};

macro_rules! owner_rules {
    ($($(#[$doc:meta])* $name:ident $property:literal { member: $member:literal, since: $since:expr })*) => {
        /// A property that all programs of a map have in common with the map's owner.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum OwnerRule {$($(#[$doc])* $name,)*}

        impl OwnerRule {
            /// The properties, in the order in which the kernel compares them.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// Returns the property as a plural noun, such as `program types`.
            pub const fn property(self) -> &'static str {
                match self {$(Self::$name => $property,)*}
            }

            /// Returns the member of the kernel's `struct bpf_map_owner` that holds the property of the
            /// owner.
            pub const fn owner_member(self) -> &'static str {
                match self {$(Self::$name => $member,)*}
            }

            /// Returns the release since which the kernel compares the property. `None` for a property that
            /// every kernel compares. Stable kernels have most of them.
            pub const fn since(self) -> Option<KernelVersion> {
                match self {$(Self::$name => $since,)*}
            }
        }
    };
}

owner_rules! {
    /// The program type. Of a program that replaces a function of another program (freplace), the type of the
    /// other program counts since Linux 6.2 (kernel: `resolve_prog_type`).
    ProgramType "program types" { member: "type", since: None }
    /// Whether the JIT compiler has compiled the program. All programs of a load are compiled, or all are
    /// interpreted, unless the setting changes between them. A map that exists already may belong to an
    /// interpreted program.
    Jit "JIT compilation" { member: "jited", since: None }
    /// Whether an XDP program takes packets in several buffers, `BPF_F_XDP_HAS_FRAGS`.
    XdpFrags "BPF_F_XDP_HAS_FRAGS" { member: "xdp_has_frags", since: Some(KernelVersion::release(5, 18)) }
    /// Whether the program may sleep, `BPF_F_SLEEPABLE`.
    Sleepable "BPF_F_SLEEPABLE" { member: "sleepable", since: Some(KernelVersion::release(7, 2)) }
    /// The expected attach type. For a struct_ops program this is the member of the struct. A freplace
    /// program has none, whatever that of the replaced program (kernel: `bpf_check`). Only the programs of
    /// program arrays have one attach type.
    AttachType "attach types" { member: "expected_attach_type", since: Some(KernelVersion::release(6, 18)) }
    /// The maps of cgroup storage. A program without storage may follow one with it.
    CgroupStorage "cgroup storage" { member: "storage_cookie", since: Some(KernelVersion::release(6, 17)) }
    /// The prototype of the function, hook, tracepoint or member that a program of the types TRACING, LSM and
    /// `struct_ops` is attached to.
    AttachPrototype "prototypes" { member: "attach_func_proto", since: Some(KernelVersion::release(6, 12)) }
}

/// Returns whether maps of a type have owners on some kernel (kernel: `map_type_contains_progs`).
pub const fn has_owner(map_type: MapType) -> bool {
    matches!(map_type, MapType::ProgArray | MapType::Devmap | MapType::Cpumap)
}

impl OwnerRule {
    /// Returns whether some kernel compares the property for maps of a type.
    pub const fn applies_to(self, map_type: MapType) -> bool {
        match self {
            Self::AttachType => matches!(map_type, MapType::ProgArray),
            _ => has_owner(map_type),
        }
    }

    /// Returns whether the kernel compares the property, by its BTF. `None` if the BTF does not tell.
    pub fn is_compared_by(self, kernel: &Btf<'_>) -> Option<bool> {
        if self.since().is_none() {
            return Some(true);
        }
        let map = kernel.find(b"bpf_map", Kind::Struct)?;
        let Some(owner) = find_member(map, b"owner") else { return Some(false) };
        let owner = if owner.kind() == Kind::Ptr { kernel.strip(owner.target()?).ok()? } else { owner };
        (owner.kind() == Kind::Struct).then(|| find_member(owner, self.owner_member().as_bytes()).is_some())
    }

    /// Compares the property of a program with that of the map's owner. The prototype needs the kernel's BTF,
    /// see [`attach_prototype`]; the JIT compiler and cgroup storage are not properties of a program alone.
    pub fn find_difference(self, owner: OwnerProperties, other: OwnerProperties) -> Option<OwnerDifference> {
        let by_flag = |noun, is_set: fn(OwnerProperties) -> bool| {
            let word = |is_set: bool| if is_set { "set" } else { "not set" }.to_owned();
            OwnerDifference::new(noun, word(is_set(other)), word(is_set(owner)))
        };
        match self {
            Self::ProgramType => {
                let name = |properties: OwnerProperties| properties.program_type.to_string();
                OwnerDifference::new("program type", name(other), name(owner))
            }
            Self::XdpFrags => by_flag("BPF_F_XDP_HAS_FRAGS", |properties| properties.has_xdp_frags),
            Self::Sleepable => by_flag("BPF_F_SLEEPABLE", |properties| properties.is_sleepable),
            Self::AttachType => {
                let name = |properties: OwnerProperties| properties.attach_type_name();
                let is_struct_ops = owner.program_type == ProgramType::StructOps;
                let noun = if is_struct_ops { "struct_ops member" } else { "attach type" };
                OwnerDifference::new(noun, name(other), name(owner))
            }
            Self::Jit | Self::CgroupStorage | Self::AttachPrototype => None,
        }
    }
}

/// The properties of a program that the kernel compares with those of the owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "callers create it")]
pub struct OwnerProperties {
    /// The program type.
    pub program_type: ProgramType,
    /// Whether `BPF_F_XDP_HAS_FRAGS` is set.
    pub has_xdp_frags: bool,
    /// Whether `BPF_F_SLEEPABLE` is set.
    pub is_sleepable: bool,
    /// The kernel's number of the expected attach type, 0 for none. For a struct_ops program this is the
    /// index of the member.
    pub attach_type: u32,
}

impl OwnerProperties {
    fn attach_type_name(self) -> String {
        match self.attach_type {
            number if self.program_type == ProgramType::StructOps => number.to_string(),
            0 => "none".to_owned(),
            number => AttachType::from_number(number).map_or_else(|| number.to_string(), |ty| ty.to_string()),
        }
    }
}

/// A property in which a program differs from the owner of a map.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "callers create it")]
pub struct OwnerDifference {
    /// The property, such as `program type`.
    pub noun: &'static str,
    /// The property of the program.
    pub found: String,
    /// The property of the owner.
    pub expected: String,
}

impl OwnerDifference {
    fn new(noun: &'static str, found: String, expected: String) -> Option<Self> {
        (found != expected).then_some(Self { noun, found, expected })
    }
}

/// The maps of cgroup storage of a program, at most one of each type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "callers create it")]
pub struct CgroupStorages {
    /// The map whose values all CPUs share.
    pub shared: Option<MapIndex>,
    /// The map with a value for each CPU.
    pub per_cpu: Option<MapIndex>,
}

/// The relation between the cgroup storage of a program and that of the owner of a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "callers act on each")]
pub enum StorageRelation {
    /// The programs have the same maps.
    Same,
    /// The program has another map, and the kernel refuses it.
    Differs {
        /// The map of the program.
        found: MapIndex,
        /// The map of the owner.
        expected: Option<MapIndex>,
    },
    /// The program has no map, and the owner has one. The first kernels with the rule accept the program,
    /// newer ones only if it does no tail calls.
    Missing {
        /// The map of the owner.
        expected: MapIndex,
    },
}

/// Compares the cgroup storage of a program with that of the owner of a map.
pub fn compare_storages(owner: CgroupStorages, other: CgroupStorages) -> StorageRelation {
    let mut relation = StorageRelation::Same;
    let pairs = [(owner.shared, other.shared), (owner.per_cpu, other.per_cpu)];
    for (expected, found) in pairs.into_iter().filter(|(expected, found)| expected != found) {
        match (found, expected) {
            (Some(found), expected) => return StorageRelation::Differs { found, expected },
            (None, Some(expected)) => relation = StorageRelation::Missing { expected },
            (None, None) => {}
        }
    }
    relation
}

/// Returns whether the kernel compares the attach prototypes of programs of a type (kernel:
/// `__bpf_prog_map_compatible`).
pub const fn has_attach_prototype(program_type: ProgramType) -> bool {
    matches!(program_type, ProgramType::Tracing | ProgramType::Lsm | ProgramType::StructOps)
}

/// Returns the prototype of an attach target: of a function, or of a tracepoint, which is a typedef of a
/// pointer to a function.
pub fn attach_prototype(target: Type<'_>) -> Option<Type<'_>> {
    let btf = target.btf();
    let prototype = match target.kind() {
        Kind::Func => btf.ty(target.target()?)?,
        Kind::Typedef => btf.ty(btf.ty(target.target()?)?.target()?)?,
        _ => return None,
    };
    Some(prototype).filter(is_prototype)
}

/// Returns the prototype of a member of a struct that struct_ops programs implement. `member` is its index.
pub fn member_prototype(structure: Type<'_>, member: u32) -> Option<Type<'_>> {
    let btf = structure.btf();
    let member = structure.members().nth(usize::try_from(member).ok()?)?;
    btf.strip(btf.strip(member.ty).ok()?.target()?).ok().filter(is_prototype)
}

fn is_prototype(ty: &Type<'_>) -> bool {
    ty.kind() == Kind::FuncProto
}

/// Returns the type of a member of a struct, without modifiers and typedefs.
fn find_member<'btf>(composite: Type<'btf>, name: &[u8]) -> Option<Type<'btf>> {
    let member = composite.members().find(|member| member.name.as_bytes() == name)?;
    composite.btf().strip(member.ty).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use core_relo::{Endian, btf::Builder};

    fn properties(program_type: ProgramType, attach_type: u32) -> OwnerProperties {
        OwnerProperties { program_type, has_xdp_frags: false, is_sleepable: false, attach_type }
    }

    #[test]
    fn properties_are_compared_with_those_of_the_owner() {
        let owner = properties(ProgramType::Xdp, 0);
        let texts = |other: OwnerProperties| {
            let differences = OwnerRule::ALL.iter().filter_map(|rule| rule.find_difference(owner, other));
            let text = |d: OwnerDifference| format!("{}: {}, expected {}", d.noun, d.found, d.expected);
            differences.map(text).collect::<Vec<_>>()
        };
        assert_eq!(texts(owner), [""; 0]);
        assert_eq!(
            texts(OwnerProperties { has_xdp_frags: true, attach_type: 37, ..owner }),
            ["BPF_F_XDP_HAS_FRAGS: set, expected not set", "attach type: BPF_XDP, expected none"]
        );
        let other = texts(OwnerProperties { is_sleepable: true, ..properties(ProgramType::StructOps, 2) });
        assert_eq!(
            other,
            [
                "program type: BPF_PROG_TYPE_STRUCT_OPS, expected BPF_PROG_TYPE_XDP",
                "BPF_F_SLEEPABLE: set, expected not set",
                "attach type: 2, expected none"
            ]
        );
        let member = |number| properties(ProgramType::StructOps, number);
        let difference = OwnerRule::AttachType.find_difference(member(0), member(2)).unwrap();
        assert_eq!(
            (difference.noun, &*difference.found, &*difference.expected),
            ("struct_ops member", "2", "0")
        );
    }

    #[test]
    fn the_struct_of_the_owner_shows_what_a_kernel_compares() {
        let compared = |add: fn(&mut Builder)| {
            let mut types = Builder::new(Endian::native());
            add(&mut types);
            let btf = Btf::parse(types.finish()).unwrap();
            OwnerRule::ALL.iter().map(|rule| rule.is_compared_by(&btf)).collect::<Vec<_>>()
        };
        let always = [Some(true), Some(true)];
        assert_eq!(compared(|_| {}), [&always[..], &[None; 5]].concat());
        let without_owner = compared(|b| {
            b.structure("bpf_map", 4, &[]);
        });
        assert_eq!(without_owner, [&always[..], &[Some(false); 5]].concat());
        let pointer = compared(|b| {
            let int = b.int("int", 4, Builder::SIGNED);
            let owner =
                b.structure("bpf_map_owner", 8, &[("xdp_has_frags", int, 0), ("attach_func_proto", int, 32)]);
            let owner = b.pointer(owner);
            b.structure("bpf_map", 8, &[("owner", owner, 0)]);
        });
        let expected = [true, false, false, false, true].map(Some);
        assert_eq!(pointer, [&always[..], &expected].concat());
    }

    #[test]
    fn a_program_without_cgroup_storage_may_follow_one_with_it() {
        let [a, b] = [Some(MapIndex(0)), Some(MapIndex(1))];
        let shared = |shared| CgroupStorages { shared, per_cpu: None };
        assert_eq!(compare_storages(shared(a), shared(a)), StorageRelation::Same);
        assert_eq!(
            compare_storages(shared(a), shared(None)),
            StorageRelation::Missing { expected: MapIndex(0) }
        );
        let differs = StorageRelation::Differs { found: MapIndex(1), expected: a };
        assert_eq!(compare_storages(shared(a), shared(b)), differs);
        let per_cpu = CgroupStorages { shared: None, per_cpu: b };
        let differs = StorageRelation::Differs { found: MapIndex(1), expected: None };
        assert_eq!(compare_storages(shared(a), per_cpu), differs);
    }
}
