//! Tables from Rust, text and tags; their errors; selections.
#![expect(clippy::arithmetic_side_effects, reason = "tests fail by panicking")]

mod kernel_value;

use super::{ObjectVariants, Selection, VariantError, VariantTable};
use alloc::sync::Arc;
use core::fmt::Write as _;
use core_relo::{
    Endian, TypeId,
    btf::{Btf, Builder, BuiltMember, Kind},
    insn::Insn,
};
use core_relo_object::{
    ProgramIndex,
    load_plan::{LoadPlan, MapPlan, Settings, SlotPlan},
    object::Object,
    target::KernelBtf,
    test_support::{SectionKind, SymbolKind, TestObject, kernel, load, returns},
};

const MAP: &[(&str, u32)] = &[("type", 1), ("max_entries", 8), ("key_size", 4), ("value_size", 8)];

/// Creates an object: `fast` uses map `ring`, `slow` uses map `perf`, `extra` both, `main` none. Constants of
/// 1, 4 and 8 bytes, and a `bool`.
fn sample(tags: &[(&str, &str)]) -> Vec<u8> {
    let mut m = TestObject::new();
    let (_, ring) = m.map("ring", MAP, None);
    let (_, perf) = m.map("perf", MAP, None);
    let programs: [(&str, &[_]); 4] =
        [("fast", &[ring]), ("slow", &[perf]), ("extra", &[ring, perf]), ("main", &[])];
    let mut types = Vec::new();
    for (name, maps) in programs {
        let code: Vec<Insn> = maps.iter().flat_map(|_| load(1, 0)).chain(returns(0)).collect();
        let section = m.program(name, &format!("raw_tp/{name}"), &code);
        for (index, map) in (0..).zip(maps) {
            m.refer(section, index * 2, *map, false);
        }
        types.push((name, m.func_type(name, 1)));
    }
    let rodata = m.section(".rodata", SectionKind::ReadOnlyData, &[7; 16]);
    let data = m.section(".data", SectionKind::Data, &[0; 4]);
    m.symbol("flag", SymbolKind::Data, rodata, 0, 1);
    m.symbol("truth", SymbolKind::Data, rodata, 1, 1);
    m.symbol("number", SymbolKind::Data, rodata, 4, 4);
    m.symbol("wide", SymbolKind::Data, rodata, 8, 8);
    m.symbol("variable", SymbolKind::Data, data, 0, 4);
    let byte = m.types.int("unsigned char", 1, 0);
    let boolean = m.types.int("_Bool", 1, Builder::BOOL);
    let unsigned = m.types.int("unsigned int", 4, 0);
    let long = m.types.int("long", 8, Builder::SIGNED);
    let mut entries = Vec::new();
    let variables =
        [("flag", byte, 0, 1), ("truth", boolean, 1, 1), ("number", unsigned, 4, 4), ("wide", long, 8, 8)];
    for (name, ty, at, size) in variables {
        let var = m.types.var(name, ty, 1);
        entries.push((var, at, size));
        types.push((name, var));
    }
    m.types.datasec(".rodata", 16, &entries);
    for (name, tag) in tags {
        let target = types.iter().find(|(known, _)| known == name).unwrap().1;
        m.types.decl_tag(tag, target, -1);
    }
    m.bytes()
}

fn fit(table: &VariantTable, bytes: &[u8]) -> Result<ObjectVariants, VariantError> {
    table.fit(&parse(bytes))
}

fn parse(bytes: &[u8]) -> Object<'_> {
    Object::parse(bytes).unwrap()
}

fn message<T: core::fmt::Debug>(result: Result<T, VariantError>) -> String {
    result.unwrap_err().to_string()
}

#[test]
fn the_same_table_is_written_in_rust_in_text_and_in_tags() {
    let in_rust = VariantTable::new()
        .group("events", ["fast", "slow"])
        .unwrap()
        .optional("map:ring")
        .optional("number")
        .loaded("flag", "ring")
        .unwrap()
        .offset_of("number", "task_struct.tgid")
        .unwrap();
    let text = "# best first\ngroup events = fast > slow\n\noptional map:ring\noptional number # may be missing\n\
                loaded flag = ring\noffset_of number = task_struct.tgid\n";
    assert_eq!(VariantTable::parse(text).unwrap(), in_rust);
    let bytes = sample(&[
        ("slow", "core_relo:variant:events:20"),
        ("fast", "core_relo:variant:events:10"),
        ("flag", "core_relo:loaded:ring"),
        ("number", "core_relo:offset_of:task_struct.tgid"),
        ("number", "core_relo:optional"),
        ("main", "another tag"),
    ]);
    let in_tags = VariantTable::from_object(&Object::parse(&bytes).unwrap()).unwrap();
    assert_eq!(in_tags.optional("map:ring").groups(), in_rust.groups());
    let in_tags = VariantTable::from_object(&Object::parse(&bytes).unwrap()).unwrap();
    assert_eq!((in_tags.indicators(), in_tags.constants()), (in_rust.indicators(), in_rust.constants()));
}

#[test]
fn errors_of_text_tables_name_the_line_and_what_is_expected() {
    for (text, expected) in [
        ("group a = x\nfoo = y", "line 2: unknown entry: `foo`, expected group, optional,"),
        ("group a", "line 1: no `=`: `group a`, expected NAME = …"),
        ("group = x", "line 1: no name: `group = x`, expected one name"),
        ("group a =", "line 1: group `a`: no program, expected at least one for each alternative"),
        ("group a = x > > y", "line 1: group `a`: no program, expected"),
        ("group a = x >", "line 1: group `a`: no program, expected"),
        ("group a = x +", "line 1: group `a`: no program, expected"),
        ("\n\ngroup a = x y", "line 3: several names: `x y`, expected one name"),
        ("optional a\noptional a", "line 2: optional `a`: named twice"),
        // A name alone is that of the one part that has the name.
        ("optional a\noptional group:a", "line 2: optional `group:a`: named twice"),
        ("optional map:a\n\noptional a", "line 3: optional `a`: named twice"),
        ("group a = x\ngroup a = y", "line 2: group `a`: defined twice"),
        ("group a = x\ngroup b = x", "line 2: program `x`: in two groups: `a` and `b`, expected one"),
        ("group a = x > y > x", "line 1: group `a`: cycle: `x` is named again after `y`"),
        ("optional", "line 1: no name: `optional`"),
        ("loaded a = x\nsize_of a = task_struct", "line 2: global `a`: set by two entries"),
        ("offset_of a = task_struct", "line 1: global `a`: `task_struct`: expected a type and its members"),
        ("offset_of a = task_struct..x", "line 1: global `a`: `task_struct..x`: expected"),
        ("enum_value a = ", "line 1: global `a`: ``: expected an enumerator"),
        ("foo", "line 1: unknown entry: `foo`"),
    ] {
        let found = message(VariantTable::parse(text));
        assert!(found.starts_with(expected), "{found}");
    }
    assert!(matches!(VariantTable::new().group("a", [[""; 0]]), Err(VariantError::EmptyGroup { .. })));
}

#[test]
fn errors_of_tags_name_the_tag_and_its_declaration() {
    for (name, tag, expected) in [
        ("fast", "core_relo:variant:events:x", "the rank is no number"),
        ("fast", "core_relo:variant:events", "the rank is no number"),
        ("fast", "core_relo:variant::1", "no group"),
        ("flag", "core_relo:variant:events:1", "on the wrong declaration, expected a program"),
        ("fast", "core_relo:loaded:ring", "on the wrong declaration, expected a variable"),
        ("flag", "core_relo:colour", "unknown, expected variant:GROUP:RANK"),
        ("flag", "core_relo:colour:red", "unknown, expected variant:GROUP:RANK"),
    ] {
        let bytes = sample(&[(name, tag)]);
        let found = message(VariantTable::from_object(&Object::parse(&bytes).unwrap()));
        assert!(found.starts_with(&format!("declaration tag `{tag}` of `{name}`: {expected}")), "{found}");
    }
}

#[test]
fn names_that_the_object_lacks_are_errors_with_the_nearest() {
    let bytes = sample(&[]);
    for (text, expected) in [
        ("group a = fasr", "file: line 1: group `a`: the object has no program `fasr` (near: `fast`)"),
        (
            "\noptional rin",
            "file: line 2: optional: the object has no group, program, map or constant `rin` (near: `ring`)",
        ),
        ("loaded flag = map:fast", "file: line 1: global `flag`: the object has no map `fast`"),
        ("loaded flags = ring", "file: line 1: constant: the object has no global `flags` (near: `flag`)"),
        ("size_of numbr = node", "file: line 1: constant: the object has no global `numbr` (near: `number`)"),
        ("loaded variable = ring", "file: line 1: global `variable`: it is in .data, expected an integer"),
        (
            "group ring = fast\nloaded flag = ring",
            "file: line 2: global `flag`: `ring` is the name of a group and of a map: write",
        ),
        (
            "size_of number = node\nloaded flag = constant:number",
            "file: line 2: global `flag`: the object has no group, program or map `constant:number`",
        ),
    ] {
        let found = message(fit(&VariantTable::parse(text).unwrap().named("file"), &bytes));
        assert!(found.starts_with(expected), "{found}");
    }
    // An entry that comes from no text has no line.
    let table = VariantTable::new().group("a", ["fasr"]).unwrap().named("file");
    assert!(message(fit(&table, &bytes)).starts_with("group `a`: the object has no program `fasr`"));
}

#[test]
fn errors_of_merged_tables_name_the_line_of_the_added_table() {
    let declared = || VariantTable::parse("group a = fast\nsize_of wide = node").unwrap().named("first");
    for (text, expected) in [
        ("\ngroup a = slow", "second: line 2: group `a`: defined twice"),
        ("group b = fast", "second: line 1: program `fast`: in two groups: `a` and `b`"),
        ("size_of wide = node", "second: line 1: global `wide`: set by two entries"),
        ("loaded wide = fast", "second: line 1: global `wide`: set by two entries"),
    ] {
        let found = message(declared().merge(VariantTable::parse(text).unwrap().named("second")));
        assert!(found.starts_with(expected), "{found}");
    }
    let bytes = sample(&[]);
    let merged = |first: &str, second: &str| {
        let table = VariantTable::parse(first).unwrap().named("first");
        table.merge(VariantTable::parse(second).unwrap().named("second")).unwrap()
    };
    let found = message(fit(&merged("optional fast", "optional slov"), &bytes));
    assert!(found.starts_with("second: line 1: optional: the object has no"), "{found}");
    let found = message(fit(&merged("optional fats", "optional slow"), &bytes));
    assert!(found.starts_with("first: line 1: optional: the object has no"), "{found}");
    // Parts of two kinds may have one name, and both tables may make the same part optional.
    assert_eq!(merged("optional map:a\noptional group:a", "optional a").optional_parts().len(), 3);
    assert_eq!(merged("optional fast", "optional fast").optional_parts().len(), 1);
}

#[test]
fn optional_concerns_the_declaration_that_has_the_tag_and_a_name_alone_must_be_unique() {
    // A group has the name of the map `ring`, of the program `extra` or of the constant `number`.
    let fitted = |group: &str, tagged: &[(&str, &str)], text: &str| {
        let bytes = sample(tagged);
        let mut table = VariantTable::from_object(&parse(&bytes)).unwrap();
        table = table.group(group, ["fast", "slow"]).unwrap();
        fit(&table.merge(VariantTable::parse(text).unwrap()).unwrap(), &bytes)
    };
    let parts = |fit: &ObjectVariants| {
        let kernel = kernel_types(Endian::native());
        let is_number_optional =
            fit.constants().iter().any(|own| own.global.global.name == "number" && own.is_optional);
        assert_eq!(fit.find_constants(&kernel).is_ok(), is_number_optional || fit.constants().is_empty());
        (
            fit.is_group_optional(0),
            fit.is_map_optional("ring"),
            fit.is_program_optional("extra"),
            is_number_optional,
        )
    };
    let number = ("number", "core_relo:offset_of:task.gone");
    let optional = |name| (name, "core_relo:optional");
    assert_eq!(parts(&fitted("extra", &[optional("extra")], "").unwrap()), (false, false, true, false));
    assert_eq!(
        parts(&fitted("number", &[number, optional("number")], "").unwrap()),
        (false, false, false, true)
    );
    // A variable without a value from the kernel's types cannot be optional, whatever group has its name.
    let found = message(fitted("number", &[optional("number")], ""));
    assert!(found.starts_with("optional: the object has no constant `number`"), "{found}");

    for (group, kind, expected) in [
        ("ring", "map", (false, true, false, false)),
        ("ring", "group", (true, false, false, false)),
        ("extra", "program", (false, false, true, false)),
        ("extra", "group", (true, false, false, false)),
    ] {
        let found = message(fitted(group, &[], &format!("optional {group}")));
        let other = if group == "ring" { "map" } else { "program" };
        assert_eq!(
            found,
            format!(
                "line 1: optional: `{group}` is the name of a group and of a {other}: write `group:{group}` or `{other}:{group}`"
            )
        );
        assert_eq!(parts(&fitted(group, &[], &format!("optional {kind}:{group}")).unwrap()), expected);
    }
    let found = message(fitted("number", &[number], "optional number"));
    assert!(found.contains("write `group:number` or `constant:number`"), "{found}");
    assert_eq!(
        parts(&fitted("number", &[number], "optional constant:number").unwrap()),
        (false, false, false, true)
    );
}

fn applied(fit: &ObjectVariants, bytes: &[u8], selection: &Selection) -> Settings {
    let mut settings = Settings::default();
    fit.apply(&Object::parse(bytes).unwrap(), selection, &[], &mut settings).unwrap();
    settings
}

#[test]
fn maps_that_only_unselected_programs_use_are_not_created() {
    let bytes = sample(&[]);
    let table = VariantTable::parse(
        "group events = fast > slow\noptional extra\nloaded flag = ring\nloaded number = events",
    );
    let fit = fit(&table.unwrap(), &bytes).unwrap();
    let mut selection = fit.first_selection();
    // `extra` uses both maps.
    let created = |settings: &Settings, map: &str| settings.maps.get(map).and_then(|map| map.autocreate);
    let settings = applied(&fit, &bytes, &selection);
    assert_eq!((created(&settings, "ring"), created(&settings, "perf")), (None, None));
    selection.left_out_programs.insert("extra".into());
    selection.alternatives = vec![Some(1)];
    let settings = applied(&fit, &bytes, &selection);
    assert_eq!((created(&settings, "ring"), created(&settings, "perf")), (Some(false), None));
    let rodata = settings.maps[".rodata"].data.clone().unwrap();
    assert_eq!((rodata[0], Endian::native().u32(&rodata, 4)), (0, Some(1)));
    let autoload = |name: &str| settings.programs.get(name).and_then(|program| program.autoload);
    let found = ["fast", "slow", "extra", "main"].map(autoload);
    assert_eq!(found, [Some(false), Some(true), Some(false), None]);
    // The plan agrees.
    let plan = LoadPlan::new(&Object::parse(&bytes).unwrap(), &settings, &kernel(|_| {})).unwrap();
    let names: Vec<_> = plan.programs().iter().map(|program| program.name().to_owned()).collect();
    assert_eq!(names, ["slow", "main"]);
    // No alternative at all.
    selection.alternatives = vec![None];
    let settings = applied(&fit, &bytes, &selection);
    assert_eq!((created(&settings, "ring"), created(&settings, "perf")), (Some(false), Some(false)));
}

/// Returns the types of a kernel of a byte order.
fn kernel_types(endian: Endian) -> KernelBtf {
    let mut b = Builder::new(endian);
    let int = b.int("int", 4, Builder::SIGNED);
    let inner = b.structure("", 8, &[("left", int, 0), ("right", int, 32)]);
    let node = b.structure("node", 8, &[("key", int, 0), ("bits", int, 32)]);
    let pointer = b.pointer(node);
    b.structure(
        "task",
        32,
        &[("state", int, 0), ("", inner, 64), ("node", pointer, 128), ("last", node, 192)],
    );
    let member = |name, bit_offset, bitfield_bits| BuiltMember { name, ty: int, bit_offset, bitfield_bits };
    b.composite(Kind::Struct, "flags", 4, &[member("low", 0, 3), member("high", 3, 5)]);
    let (four, flexible) = (b.array(int, int, 4), b.array(int, int, 0));
    let number = b.pointer(int);
    b.structure(
        "page",
        32,
        &[("flags", int, 0), ("words", four, 64), ("number", number, 192), ("rest", flexible, 256)],
    );
    b.structure("twice", 4, &[("a", int, 0)]);
    b.structure("twice", 8, &[("b", int, 0), ("a", int, 32)]);
    b.enumeration("colour", 4, &[("RED", 1), ("TOP", -1)]);
    b.signed_enumeration("other", 4, &[("BELOW", -1), ("RED", 2)]);
    KernelBtf::from_btf(Arc::new(Btf::parse(b.finish()).unwrap()), [])
}

#[test]
fn hostile_tables_are_read_in_proportion_to_their_size() {
    let mut text = String::new();
    for n in 0..20_000 {
        write!(text, "group g{n} = p{n}\noptional p{n}\nloaded f{n} = p{n}\n").unwrap();
    }
    assert_eq!(VariantTable::parse(&text).unwrap().groups().len(), 20_000);
    let many = (0..65).map(|n| format!("p{n}")).collect::<Vec<_>>().join(" > ");
    let found = message(VariantTable::parse(&format!("group a = {many}")));
    assert_eq!(found, "line 1: group `a`: 65 alternatives, expected at most 64");
    let constants = |count: usize| {
        (0..count).fold(String::new(), |mut text, n| {
            writeln!(text, "size_of s{n} = task_struct").unwrap();
            text
        })
    };
    assert_eq!(VariantTable::parse(&constants(1024)).unwrap().constants().len(), 1024);
    let found = message(VariantTable::parse(&constants(1025)));
    assert_eq!(found, "line 1025: global `s1024`: too many constants, expected at most 1024");
    let long = format!("group a = {}", "x > ".repeat(50_000));
    assert!(matches!(VariantTable::parse(&long), Err(VariantError::Entry { line: 1, .. })));
}

/// Creates an object with programs `one`, `two`, `three` and `four`, and the program arrays `steps`, which
/// names `one`, and `last`, which names `four`.
fn sample_with_program_array() -> Vec<u8> {
    let mut m = TestObject::new();
    let proto = m.types.func_proto(TypeId::VOID, &[]);
    let numbers = [("type", 3), ("max_entries", 2), ("key_size", 4)];
    let (maps, _) = m.map("steps", &numbers, Some(proto));
    m.map("last", &numbers, Some(proto));
    let mut symbols = Vec::new();
    for name in ["one", "two", "three", "four"] {
        let section = m.code(&format!("raw_tp/{name}"), &returns(0));
        symbols.push(m.function(name, section, 0, 2));
    }
    // `values`, with one element, follows the pointers to the three numbers.
    m.reloc(maps, 24, symbols[0], 2);
    m.reloc(maps, 32 + 24, symbols[3], 2);
    m.bytes()
}

#[test]
fn program_arrays_follow_the_choice() {
    let bytes = sample_with_program_array();
    let object = parse(&bytes);
    let slots = |table: &str, alternative: Option<usize>, left_out: &[&str]| {
        let variants = VariantTable::parse(table).unwrap().fit(&object).unwrap();
        let mut selection = variants.first_selection();
        selection.alternatives = vec![alternative];
        selection.left_out_programs = left_out.iter().map(|name| (*name).to_owned()).collect();
        let mut settings = Settings::default();
        variants.apply(&object, &selection, &[], &mut settings).unwrap();
        let plan = LoadPlan::new(&object, &settings, &kernel(|_| {})).unwrap();
        let first = |map: &MapPlan| match map.slots().get(&0) {
            Some(SlotPlan::Program(program)) => Some(program.0),
            _ => None,
        };
        plan.maps().iter().map(first).collect::<Vec<_>>()
    };
    let table = "group step = one > two\noptional four";
    assert_eq!(slots(table, Some(0), &[]), [Some(0), Some(3)]);
    assert_eq!(slots(table, Some(1), &[]), [Some(1), Some(3)]);
    assert_eq!(slots(&format!("{table}\noptional step"), None, &["four"]), [None, None]);
    let fit = |table: &str| VariantTable::parse(table).unwrap().fit(&object);
    assert_eq!(
        message(fit("group step = one > two + three")),
        "line 1: map `steps`: element 0 contains `one` of group `step`: no program of `two + three` stands for it, expected alternatives with \
         the same number of programs"
    );
    // The array does not contain these.
    assert!(fit("group step = two > three + four\noptional one").is_err());
    assert!(fit("group step = two > three").is_ok());
}

/// An array whose contents have an error has no programs that follow the choice. The error is that of
/// planning the load.
#[test]
fn an_error_in_the_contents_of_maps_is_an_error_of_the_table() {
    let mut m = TestObject::new();
    let proto = m.types.func_proto(TypeId::VOID, &[]);
    let (maps, _) = m.map("steps", &[("type", 3), ("max_entries", 2), ("key_size", 4)], Some(proto));
    let section = m.code("raw_tp/one", &returns(0));
    m.function("one", section, 0, 2);
    let data = m.section(".data", SectionKind::Data, &[0; 4]);
    let number = m.symbol("number", SymbolKind::Data, data, 0, 4);
    m.reloc(maps, 24, number, 2);
    let error = message(VariantTable::parse("optional one").unwrap().fit(&parse(&m.bytes())));
    assert_eq!(error, "map `steps`: its value `number` is not a program of the object");
}

#[test]
fn elements_that_a_caller_sets_are_programs_of_the_object_and_decide_first() {
    let bytes = sample_with_program_array();
    let object = parse(&bytes);
    let variants = VariantTable::parse("group step = one > two").unwrap().fit(&object).unwrap();
    let mut selection = variants.first_selection();
    selection.alternatives = vec![Some(1)];
    let mut settings = Settings::default();
    settings.map_mut("steps").elements.insert(0, Some("three".to_owned()));
    variants.apply(&object, &selection, &[], &mut settings).unwrap();
    let plan = LoadPlan::new(&object, &settings, &kernel(|_| {})).unwrap();
    assert_eq!(plan.maps()[0].slots().get(&0), Some(&SlotPlan::Program(ProgramIndex(2))));
    settings.map_mut("steps").elements.insert(0, Some("absent".to_owned()));
    let error = LoadPlan::new(&object, &settings, &kernel(|_| {})).unwrap_err();
    assert_eq!(error.to_string(), "map `steps`: element 0: the object has no program `absent`");
}
