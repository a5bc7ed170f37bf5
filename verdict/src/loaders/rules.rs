//! The table of rules in which loaders differ.
//!
//! Each row names the function of each project that has the rule, or that accepts what others refuse. The
//! sources are those of libbpf at commit `f7081a6b`, of cilium/ebpf at `5ba0b3b2`, and of `aya` 0.16 with
//! `aya-obj` 0.6. Tests load an object for each rule with libbpf (`tests/tests/loaders.rs`), core-relo and
//! aya (`benches/tests/aya_rules.rs`). The column of cilium/ebpf has sources only: it needs Go.

use super::loader::LoaderKind;

/// The treatment of a part of an object by a loader, with the function that decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stance {
    /// The loader accepts it.
    Accepts(&'static str),
    /// The loader opens the object, and user space has to act before the load.
    LeavesToUser(&'static str),
    /// The loader opens the object, and its load fails unless user space acts before.
    NeedsInput(&'static str),
    /// The loader refuses the object.
    Refuses(&'static str),
    /// The loader does what some kernels refuse, so that its load of the object fails there.
    DependsOnKernel(&'static str),
    /// The same for releases of the loader from one on. Older ones do so only for a skeleton.
    NewerDependsOnKernel {
        /// The first of these releases.
        since: &'static str,
        /// The file and the function that decides.
        source: &'static str,
    },
    /// The loader refuses the object by another rule before.
    Unreached(&'static str),
}

impl Stance {
    /// Returns the file and the function of the loader that decides.
    pub const fn source(self) -> &'static str {
        match self {
            Self::Accepts(source)
            | Self::LeavesToUser(source)
            | Self::NeedsInput(source)
            | Self::Refuses(source)
            | Self::DependsOnKernel(source)
            | Self::NewerDependsOnKernel { source, .. }
            | Self::Unreached(source) => source,
        }
    }
}

macro_rules! loader_rules {
    ($($(#[$doc:meta])* $name:ident $word:literal {
        libbpf: $libbpf:expr, core_relo: $core_relo:expr, cilium: $cilium:expr, aya: $aya:expr, fix: $fix:literal,
    })*) => {
        /// A rule that some loaders have and others do not.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum LoaderRule {$($(#[$doc])* $name,)*}

        impl LoaderRule {
            /// All rules.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// Returns the word for JSON, such as `legacy_maps`.
            pub const fn word(self) -> &'static str {
                match self {$(Self::$name => $word,)*}
            }

            /// Returns the rule with a [word](Self::word).
            pub fn from_word(word: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|rule| rule.word() == word)
            }

            /// Returns what a loader does with a part of an object to which the rule applies.
            pub const fn stance(self, loader: LoaderKind) -> Stance {
                use Stance::{
                    Accepts, DependsOnKernel, LeavesToUser, NeedsInput, NewerDependsOnKernel, Refuses, Unreached,
                };
                match (self, loader) {$(
                    (Self::$name, LoaderKind::Libbpf) => $libbpf,
                    (Self::$name, LoaderKind::CoreRelo) => $core_relo,
                    (Self::$name, LoaderKind::Cilium) => $cilium,
                    (Self::$name, LoaderKind::Aya) => $aya,
                )*}
            }

            /// Returns how to change the source so that all loaders accept it, or what user space has to do.
            pub const fn fix(self) -> &'static str {
                match self {$(Self::$name => $fix,)*}
            }
        }
    };
}

loader_rules! {
    /// A map is defined in the section `maps`, by a `struct bpf_map_def`.
    LegacyMaps "legacy_maps" {
        libbpf: Refuses("libbpf.c: bpf_object__elf_collect"),
        core_relo: Accepts("object/src/object/maps.rs: collect"),
        cilium: Accepts("elf_reader.go: loadMaps"),
        aya: Accepts("aya-obj/src/obj.rs: parse_maps_section"),
        fix: "define the map in SEC(\".maps\") by __uint() and __type(), for libbpf 1.0 and later",
    }
    /// A program uses a map that is defined in a section `maps/…`.
    LegacyMapSubsection "legacy_map_subsection" {
        libbpf: Refuses("libbpf.c: bpf_program__record_reloc"),
        core_relo: Accepts("object/src/object/maps.rs: collect"),
        cilium: Accepts("elf_reader.go: LoadCollectionSpecFromReader"),
        aya: Accepts("aya-obj/src/obj.rs: EbpfSectionKind::from_name"),
        fix: "define the map in SEC(\".maps\") by __uint() and __type(), for libbpf 1.0 and later",
    }
    /// The symbol of a legacy map has no size, or too small a size for a definition.
    LegacyMapSize "legacy_map_size" {
        libbpf: Unreached("libbpf.c: bpf_object__elf_collect"),
        core_relo: Accepts("object/src/object/maps.rs: define_unsized"),
        cilium: Refuses("elf_reader.go: loadMaps"),
        aya: Refuses("aya-obj/src/obj.rs: parse_map_def"),
        fix: "define the map in SEC(\".maps\"), or compile with clang 9 or later, which writes the sizes of symbols",
    }
    /// A legacy map has values after the five words of `struct bpf_map_def`.
    LegacyMapTail "legacy_map_tail" {
        libbpf: Unreached("libbpf.c: bpf_object__elf_collect"),
        core_relo: Accepts("object/src/object/maps.rs: legacy_definition"),
        cilium: LeavesToUser("map.go: MapSpec.createMap"),
        aya: Accepts("aya-obj/src/obj.rs: parse_map_def"),
        fix: "user space reads MapSpec.Extra before the load",
    }
    /// The sixth word of a legacy map's definition is not 0.
    LegacyMapId "legacy_map_id" {
        libbpf: Unreached("libbpf.c: bpf_object__elf_collect"),
        core_relo: Refuses("object/src/load_plan/maps/planner.rs: plan_defined_map"),
        cilium: LeavesToUser("map.go: MapSpec.createMap"),
        aya: Accepts("aya-obj/src/obj.rs: parse_map_def"),
        fix: "set the word to 0; a map of maps defines its inner map in SEC(\".maps\")",
    }
    /// The `pinning` of a map is neither 0 (none) nor 1 (by name).
    OtherPinning "other_pinning" {
        libbpf: Refuses("libbpf.c: parse_btf_map_def"),
        core_relo: Accepts("object/src/object/maps.rs: MapDef::set_pinning"),
        cilium: LeavesToUser("map.go: newMapWithOptions"),
        aya: Accepts("aya-obj/src/obj.rs: parse_btf_map_struct"),
        fix: "remove `pinning` from the definition, and pin the map from user space; with cilium/ebpf, user space sets MapSpec.Pinning",
    }
    /// A function outside of `.text` is static.
    StaticFunction "static_function" {
        libbpf: Refuses("libbpf.c: bpf_object__add_programs"),
        core_relo: Accepts("object/src/object/programs.rs: Code::collect"),
        cilium: Accepts("elf_reader.go: assignSymbols"),
        aya: Accepts("aya-obj/src/obj.rs: parse_programs"),
        fix: "remove `static` from a program; a subprogram must have no SEC()",
    }
    /// A program calls a function, or takes its address, that is in another section than `.text`.
    CallOutsideText "call_outside_text" {
        libbpf: Refuses("libbpf.c: bpf_program__record_reloc"),
        core_relo: Accepts("object/src/link/mod.rs: ProgramLinker::link"),
        cilium: Accepts("elf_reader.go: relocateInstruction"),
        aya: Accepts("aya-obj/src/relocation.rs: FunctionLinker::relocate"),
        fix: "declare the function without SEC(), so that it is in .text",
    }
    /// The member `values` of a map's definition is not the last one.
    ValuesNotLast "values_not_last" {
        libbpf: Refuses("libbpf.c: parse_btf_map_def"),
        core_relo: Accepts("object/src/object/maps.rs: parse_values"),
        cilium: Refuses("elf_reader.go: mapSpecFromBTF"),
        aya: Accepts("aya-obj/src/obj.rs: parse_btf_map_struct"),
        fix: "move `values` to the end of the definition",
    }
    /// The member `values` of a program array, which holds programs.
    ProgramValues "program_values" {
        libbpf: Accepts("libbpf.c: parse_btf_map_def"),
        core_relo: Accepts("object/src/object/maps.rs: parse_values"),
        cilium: Accepts("elf_reader.go: mapSpecFromBTF"),
        aya: Refuses("aya-obj/src/obj.rs: parse_btf_map_struct"),
        fix: "remove `values` from the program array; user space calls ProgramArray::set()",
    }
    /// The member `values` of a map of maps, which holds maps of the object.
    MapValues "map_values" {
        libbpf: Accepts("libbpf.c: init_map_in_map_slots"),
        core_relo: Accepts("object/src/load_plan/maps/planner.rs: MapPlanner"),
        cilium: Accepts("elf_reader.go: resolveBTFValuesContents"),
        aya: LeavesToUser("aya/src/bpf.rs: EbpfLoader::load"),
        fix: "user space puts the inner maps into the map, which aya leaves empty",
    }
    /// A map of maps has no definition of its inner map.
    InnerMapMissing "inner_map_missing" {
        libbpf: Accepts("libbpf.c: bpf_map__set_inner_map_fd"),
        core_relo: Accepts("object/src/load_plan/settings.rs"),
        cilium: Accepts("map.go: MapSpec.InnerMap"),
        aya: Refuses("aya/src/bpf.rs: EbpfLoader::load"),
        fix: "define the inner map by __array(values, …)",
    }
    /// The member `map_extra` of a map's definition is an enumeration, as `__ulong()` makes it.
    MapExtraEnum "map_extra_enum" {
        libbpf: Accepts("libbpf.c: get_map_field_long"),
        core_relo: Accepts("object/src/object/maps.rs: long_number"),
        cilium: Accepts("elf_reader.go: uintFromBTF"),
        aya: Refuses("aya-obj/src/obj.rs: get_map_field"),
        fix: "use __uint() for `map_extra`, if the value is below 2^32",
    }
    /// A map's definition has both `key` and `key_size`, or both `value` and `value_size`.
    SizeAndType "size_and_type" {
        libbpf: Accepts("libbpf.c: parse_btf_map_def"),
        core_relo: Accepts("object/src/object/maps.rs: merge_size"),
        cilium: Refuses("elf_reader.go: mapSpecFromBTF"),
        aya: Accepts("aya-obj/src/obj.rs: parse_btf_map_struct"),
        fix: "remove `key_size` or `value_size` from the definition: the type has the size",
    }
    /// A map's definition has the member `numa_node`.
    NumaNode "numa_node" {
        libbpf: Accepts("libbpf.c: parse_btf_map_def"),
        core_relo: Accepts("object/src/object/maps.rs: parse_fields"),
        cilium: Refuses("elf_reader.go: mapSpecFromBTF"),
        aya: Accepts("aya-obj/src/obj.rs: parse_btf_map_struct"),
        fix: "remove `numa_node` from the definition; user space sets MapSpec.NumaNode",
    }
    /// The map has a type for which the loader has no Rust type.
    MapType "map_type" {
        libbpf: Accepts("libbpf.c: bpf_object__create_map"),
        core_relo: Accepts("object/src/load_plan/maps/planner.rs: MapPlanner"),
        cilium: Accepts("map.go: MapSpec.createMap"),
        aya: Refuses("aya/src/bpf.rs: parse_map"),
        fix: "user space calls EbpfLoader::allow_unsupported_maps()",
    }
    /// The section `.struct_ops`, whose maps are registered without a link.
    StructOps "struct_ops" {
        libbpf: Accepts("libbpf.c: bpf_object__elf_collect"),
        core_relo: Accepts("object/src/object/data.rs: DataKind"),
        cilium: Refuses("elf_reader.go: LoadCollectionSpecFromReader"),
        aya: Accepts("aya-obj/src/obj.rs: EbpfSectionKind::from_name"),
        fix: "use SEC(\".struct_ops.link\"), which needs Linux 6.4",
    }
    /// The name of a section of programs is none of the loader's words.
    SectionName "section_name" {
        libbpf: Accepts("libbpf.c: bpf_object_init_progs"),
        core_relo: Accepts("object/src/object/sec_def.rs: SecDef::find"),
        cilium: Accepts("elf_reader.go: getProgType"),
        aya: Refuses("aya-obj/src/obj.rs: ProgramSection::from_str"),
        fix: "use a section name of aya, such as SEC(\"classifier\") for SEC(\"tc\")",
    }
    /// The section `license` is not one string with one zero byte at its end, or is shorter than two bytes.
    License "license" {
        libbpf: Accepts("libbpf.c: bpf_object__init_license"),
        core_relo: Accepts("object/src/object/parse.rs: until_nul"),
        cilium: Accepts("elf_reader.go: loadLicense"),
        aya: Refuses("aya-obj/src/obj.rs: parse_license"),
        fix: "declare the license as an array without a length: char _license[] SEC(\"license\") = \"GPL\"",
    }
    /// Two functions in `.text` begin at one instruction: one of them is an alias.
    FunctionAlias "function_alias" {
        libbpf: Accepts("libbpf.c: bpf_object__add_programs"),
        core_relo: Accepts("object/src/object/programs.rs: Code::collect"),
        cilium: Accepts("elf_reader.go: assignSymbols"),
        aya: Refuses("aya-obj/src/obj.rs: parse_text_section"),
        fix: "remove the alias, and call the function by its own name",
    }
    /// Instructions of `.text` belong to no function, such as those of a weak function that a linker has
    /// replaced.
    TextGap "text_gap" {
        libbpf: Accepts("libbpf.c: bpf_object__add_programs"),
        core_relo: Accepts("object/src/object/programs.rs: Code::collect"),
        cilium: Accepts("elf_reader.go: loadFunctions"),
        aya: Refuses("aya-obj/src/obj.rs: parse_text_section"),
        fix: "remove the definition of the weak function that another file replaces",
    }
    /// Two functions of the object have the same name.
    DuplicateFunction "duplicate_function" {
        libbpf: Accepts("libbpf.c: bpf_object__add_programs"),
        core_relo: Accepts("object/src/object/programs.rs: Code::collect"),
        cilium: Refuses("elf_reader.go: loadProgramSections"),
        aya: Accepts("aya-obj/src/obj.rs: parse_programs"),
        fix: "rename one of the functions, static ones included",
    }
    /// A CO-RE relocation of the kind `BPF_CORE_TYPE_MATCHES`.
    TypeMatches "type_matches" {
        libbpf: Accepts("relo_core.c: bpf_core_calc_type_relo"),
        core_relo: Accepts("core-relo/src/resolve/type_matches.rs"),
        cilium: Accepts("btf/core.go: coreCalculateFixup"),
        aya: Refuses("aya-obj/src/btf/relocation.rs: RelocationKind::try_from"),
        fix: "use bpf_core_type_exists() or bpf_core_field_exists() in place of bpf_core_type_matches()",
    }
    /// A program uses a value of the kernel's configuration, an extern of `.kconfig`.
    KconfigExtern "kconfig_extern" {
        libbpf: Accepts("libbpf.c: bpf_object__collect_externs"),
        core_relo: Accepts("object/src/link/externs.rs: collect"),
        cilium: Accepts("elf_reader.go: loadKconfigSection"),
        aya: Refuses("aya-obj/src/relocation.rs: patch_extern_relocations"),
        fix: "use a `const volatile` variable that user space sets",
    }
    /// A program uses a weak extern of `.kconfig`.
    WeakKconfig "weak_kconfig" {
        libbpf: Accepts("libbpf.c: bpf_object__resolve_externs"),
        core_relo: Accepts("object/src/load_plan/externs"),
        cilium: Refuses("elf_reader.go: relocateInstruction"),
        aya: Unreached("aya-obj/src/relocation.rs: patch_extern_relocations"),
        fix: "remove `__weak` if all kernels have the value, else use a `const volatile` variable that user space sets",
    }
    /// A program uses a variable of an arena.
    ArenaVariable "arena_variable" {
        libbpf: Accepts("libbpf.c: init_arena_map_data"),
        core_relo: Accepts("object/src/link/maps.rs: MapTable::collect"),
        cilium: Refuses("elf_reader.go: loadRelocations"),
        aya: Refuses("aya-obj/src/relocation.rs: relocate_maps"),
        fix: "allocate the variable with bpf_arena_alloc_pages()",
    }
    /// A program uses a jump table of the section `.jumptables`.
    JumpTable "jump_table" {
        libbpf: Accepts("libbpf.c: create_jt_map"),
        core_relo: Accepts("object/src/link/refs.rs: RefTarget::JumpTable"),
        cilium: Refuses("elf_reader.go: loadRelocations"),
        aya: Refuses("aya-obj/src/relocation.rs: relocate_maps"),
        fix: "compile without jump tables: -mcpu=v3, or -fno-jump-tables",
    }
    /// A program uses a variable of a section `.bss.…`.
    BssSubsection "bss_subsection" {
        libbpf: Accepts("libbpf.c: bpf_object__elf_collect"),
        core_relo: Accepts("object/src/object/data.rs: DataKind"),
        cilium: Refuses("elf_reader.go: isDataSection"),
        aya: Accepts("aya-obj/src/obj.rs: EbpfSectionKind::from_name"),
        fix: "use a section `.data.…`",
    }
    /// A data section with a variable that is neither static nor hidden has a variable that the kernel
    /// manages, such as a lock. Loaders map such a section into user space, and kernels that manage the
    /// variable refuse the mapping.
    MappedField "mapped_field" {
        libbpf: NewerDependsOnKernel { since: "1.5", source: "libbpf.c: bpf_object__populate_internal_map" },
        core_relo: Accepts("loader/src/load/maps.rs"),
        cilium: DependsOnKernel("collection.go: collectionLoader.loadVariable"),
        aya: Accepts("aya-obj/src/obj.rs: parse_data_map_section"),
        fix: "declare the variable in a section of its own, as `static` or __hidden: SEC(\".data.lock\") __hidden",
    }
    /// A program array holds a program that the load leaves out, such as one of a section that begins with
    /// `?`.
    UnloadedValue "unloaded_value" {
        libbpf: NeedsInput("libbpf.c: init_prog_array_slots"),
        core_relo: Accepts("object/src/link/held_programs.rs"),
        cilium: Accepts("collection.go: populateDeferredMaps"),
        aya: Unreached("aya-obj/src/obj.rs: parse_btf_map_struct"),
        fix: "load the program, too: --autoload, bpf_program__set_autoload(), or a section without `?`",
    }
}

impl LoaderRule {
    /// Returns the loaders that accept what the rule is about.
    pub fn accepting(self) -> impl Iterator<Item = LoaderKind> {
        let accepts = move |loader: &LoaderKind| {
            matches!(self.stance(*loader), Stance::Accepts(_) | Stance::LeavesToUser(_))
        };
        LoaderKind::ALL.iter().copied().filter(accepts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hashbrown::HashSet;

    #[test]
    fn loaders_differ_in_every_rule_and_each_stance_has_its_source() {
        let words: HashSet<_> = LoaderRule::ALL.iter().map(|rule| rule.word()).collect();
        assert_eq!(words.len(), LoaderRule::ALL.len());
        for rule in LoaderRule::ALL {
            let accepting = rule.accepting().count();
            assert!((1..=LoaderKind::ALL.len()).contains(&accepting), "{rule:?}");
            let is_refused = |loader: &&LoaderKind| !matches!(rule.stance(**loader), Stance::Accepts(_));
            assert!(LoaderKind::ALL.iter().any(|loader| is_refused(&loader)), "{rule:?}");
            assert!(LoaderKind::ALL.iter().all(|loader| rule.stance(*loader).source().contains(['.', '/'])));
        }
    }

    #[test]
    fn loaders_are_found_by_their_words() {
        let found: Vec<_> =
            LoaderKind::ALL.iter().map(|loader| LoaderKind::from_word(loader.word())).collect();
        assert_eq!(found, LoaderKind::ALL.iter().copied().map(Some).collect::<Vec<_>>());
        assert_eq!(LoaderKind::from_word("bpftool"), None);
    }
}
