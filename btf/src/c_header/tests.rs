//! Headers of small BTFs, and of hostile ones.

use super::*;
use crate::{Builder, BuiltMember, Endian, Name};
use alloc::{
    borrow::ToOwned as _,
    format,
    string::{String, ToString as _},
    vec,
};

fn header(b: &Builder) -> String {
    let text = CHeader::new(&Btf::parse(b.finish()).unwrap()).to_string();
    // Without the frame.
    let frame = "apply_to = record)\n#endif\n\n";
    let body = text.split_once(frame).map_or(&*text, |(_, body)| body);
    body.rsplit_once("\n#ifdef").unwrap().0.to_owned()
}

fn bits(name: &'static str, ty: TypeId, bit_offset: u32, bitfield_bits: u8) -> BuiltMember<'static> {
    BuiltMember { name, ty, bit_offset, bitfield_bits }
}

#[test]
fn definitions_come_before_their_users_and_are_sorted() {
    for endian in [Endian::Little, Endian::Big] {
        let mut b = Builder::new(endian);
        let int = b.int("int", 4, Builder::SIGNED);
        let later = TypeId(int.0 + 4);
        let ptr = b.pointer(later);
        b.structure("b", 16, &[("next", ptr, 0), ("value", TypeId(int.0 + 3), 64)]);
        let number = b.typedef("number", int);
        assert_eq!(number, TypeId(int.0 + 3));
        b.structure("z", 4, &[("i", int, 0)]);
        b.structure("a", 4, &[("z", later, 0)]);
        let text = header(&b);
        let expected = "\nstruct z {\n\tint i;\n};\n\nstruct a {\n\tstruct z z;\n};\n\ntypedef int number;\n\
            struct b {\n\tstruct z *next;\n\tnumber value;\n};\n";
        assert!(text.starts_with(expected), "{text}");
    }
}

#[test]
fn bitfields_padding_and_packing_follow_the_offsets() {
    let mut b = Builder::new(Endian::Little);
    let int = b.int("unsigned int", 4, 0);
    let long = b.int("long unsigned int", 8, 0);
    b.composite(
        Kind::Struct,
        "fields",
        8,
        &[bits("a", int, 0, 3), bits("b", int, 5, 2), bits("c", int, 40, 8)],
    );
    b.structure("packed", 12, &[("a", int, 0), ("b", long, 32)]);
    b.structure("spaced", 32, &[("a", int, 0), ("b", long, 128)]);
    let text = header(&b);
    for expected in [
        "struct fields {\n\tunsigned int a: 3;\n\tunsigned char: 2;\n\tunsigned int b: 2;\n\tunsigned char: 1;\n",
        "struct packed {\n\tunsigned int a;\n\tlong unsigned int b;\n} __attribute__((packed));\n",
        "struct spaced {\n\tunsigned int a;\n\tunsigned int: 32;\n\tunsigned long long: 64;\n\tlong unsigned int b;\n\
         \tunsigned long long: 64;\n};\n",
    ] {
        assert!(text.contains(expected), "{text}");
    }
}

#[test]
fn enums_have_the_size_of_the_btf() {
    let mut b = Builder::new(Endian::Big);
    b.enumeration("byte", 1, &[("A", 0), ("B", 200)]);
    b.signed_enumeration("plain", 4, &[("C", -1)]);
    b.enumeration("plain", 4, &[("A", 1)]);
    b.enumeration64("wide", 8, &[("D", u64::MAX)]);
    b.signed_enumeration64("small_wide", 8, &[("E", 1)]);
    let text = header(&b);
    for expected in [
        "enum byte {\n\tA = 0,\n\tB = 200,\n} __attribute__((mode(QI)));",
        "enum plain {\n\tC = -1,\n};",
        "enum plain___2 {\n\tA___2 = 1,\n};",
        "enum wide {\n\tD = 18446744073709551615ULL,\n};",
        "enum small_wide {\n\tE = 1,\n} __attribute__((mode(DI)));",
    ] {
        assert!(text.contains(expected), "{text}");
    }
}

#[test]
fn declarators_attributes_and_kfuncs() {
    let mut b = Builder::new(Endian::Little);
    let int = b.int("int", 4, Builder::SIGNED);
    let task = b.forward("task", Kind::Struct);
    let tagged = b.type_tag("rcu", task);
    let ptr = b.pointer(tagged);
    let proto = b.func_proto(int, &[("task", ptr), ("", TypeId::VOID)]);
    let callback = b.pointer(proto);
    let table = b.array(callback, int, 3);
    b.structure("ops", 24, &[("call", table, 0)]);
    let func = b.func("bpf_task", proto, 0);
    b.decl_tag("bpf_kfunc", func, -1);
    b.func("unmarked", proto, 0);
    let text = header(&b);
    for expected in [
        "struct task;\n",
        "\tint (*call[3])(__core_relo_type_tag(\"rcu\") struct task *task, ...);\n",
        "extern int bpf_task(__core_relo_type_tag(\"rcu\") struct task *task, ...) __weak __ksym;\n",
    ] {
        assert!(text.contains(expected), "{text}");
    }
    assert!(!text.contains("unmarked"));
}

#[test]
fn tags_and_parameters_that_c_does_not_have_are_comments() {
    let mut b = Builder::new(Endian::Little);
    let int = b.int("int", 4, Builder::SIGNED);
    let record = b.structure("record", 4, &[("a", int, 0)]);
    for tag in ["say \"hi\" \\", "caf\u{e9}", "what??/", "end */"] {
        b.decl_tag(tag, record, -1);
    }
    let tag = b.decl_tag("tag", record, 0);
    let constant = b.modifier(Kind::Const, TypeId::VOID);
    let proto = b.func_proto(int, &[("first", tag), ("second", constant), ("third", int), ("third", int)]);
    b.typedef("function", proto);
    let choice = b.enumeration("choice", 4, &[("CHOICE", 0)]);
    b.decl_tag("tag", choice, -1);
    let text = header(&b);
    for expected in [
        "} /* tag tag */;\n",
        "} __core_relo_decl_tag(\"say \\\"hi\\\" \\\\\") /* tag caf\\303\\251 */ /* tag what\\077\\077\\057 */ \
         __core_relo_decl_tag(\"end */\");\n",
        "typedef int function(/* [7] is no type of a parameter */ int first, \
         /* [8] is no type of a parameter */ int second, int third, int);\n",
    ] {
        assert!(text.contains(expected), "{text}");
    }
}

/// A header on stdout may be in the log of a CI job, whose runner executes `##vso[…]` anywhere in a line.
#[test]
fn tags_contain_no_commands_of_ci_runners() {
    let mut b = Builder::new(Endian::Little);
    let int = b.int("int", 4, Builder::SIGNED);
    let record = b.structure("record", 4, &[("a", int, 0)]);
    b.decl_tag("###vso[a]", record, -1);
    b.decl_attribute("##[b]", record, -1);
    b.decl_tag("??##vso[c]", record, -1);
    let text = header(&b);
    for expected in [
        r##"__core_relo_decl_tag("#" "#" "#vso[a]")"##,
        r"/* attribute \043\043[b] */",
        r"/* tag \077\077\043\043vso[c] */",
    ] {
        assert!(text.contains(expected), "{text}");
    }
    assert!(!text.contains("##"), "{text}");
}

/// `typedef union a elements[2]; union a { elements *next; int b; };` is no C: at the typedef, `union a` has
/// no size.
#[test]
fn elements_of_arrays_are_bytes_before_their_definition() {
    let mut b = Builder::new(Endian::Little);
    let int = b.int("int", 4, Builder::SIGNED);
    let own = TypeId(5);
    let array = b.array(own, int, 2);
    let elements = b.typedef("elements", array);
    let next = b.pointer(elements);
    assert_eq!(b.union("a", 8, &[("next", next, 0), ("b", int, 0)]), own);
    let text = header(&b);
    let expected = "typedef /* [5] UNION 'a' */ struct { unsigned char bytes[8]; } elements[2];\n";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn names_that_c_does_not_have_are_replaced() {
    let mut b = Builder::new(Endian::Little);
    let int = b.int("u32", 4, 0);
    b.structure("core::Option<*/ int evil;>", 4, &[("while", int, 0)]);
    b.structure("int", 4, &[("x", int, 0)]);
    let text = header(&b);
    assert!(
        text.contains("struct core__Option____int_evil__ {\n\tunsigned int while___2; /* 'while' */\n"),
        "{text}"
    );
    assert!(text.contains("struct int___2 {"), "{text}");
    assert!(!text.contains("*/ int evil"), "{text}");
}

#[test]
fn roots_bring_what_they_need_and_no_more() {
    let mut b = Builder::new(Endian::Little);
    let int = b.int("int", 4, Builder::SIGNED);
    let inner = b.structure("inner", 4, &[("i", int, 0)]);
    let far = b.structure("far", 4, &[("i", int, 0)]);
    let ptr = b.pointer(far);
    let root = b.structure("root", 16, &[("in", inner, 0), ("far", ptr, 64)]);
    let btf = Btf::parse(b.finish()).unwrap();
    let text = CHeader::with_roots(&btf, [root]).assertions(true).to_string();
    assert!(text.contains("struct inner {") && !text.contains("struct far {"), "{text}");
    assert!(text.contains("_Static_assert(__builtin_offsetof(struct root, far) == 8, "), "{text}");
    assert!(CHeader::with_roots(&btf, [int]).is_empty());
}

#[test]
fn impossible_layouts_have_only_a_size() {
    let mut b = Builder::new(Endian::Little);
    let int = b.int("int", 4, Builder::SIGNED);
    let huge = b.array(int, int, 0x8000_0000);
    let huge_twice = b.array(huge, int, 0x8000_0000);
    let odd = b.enumeration("odd", 3, &[("ODD", 0)]);
    let own = b.next_id();
    b.structure("recursive", 8, &[("a", int, 0), ("self", own, 32)]);
    let overlap = b.structure("overlap", 8, &[("a", int, 0), ("b", int, 16)]);
    let outside = b.structure("outside", 4, &[("a", int, 0), ("b", int, 32)]);
    let void = b.structure("nothing", 4, &[("a", TypeId::VOID, 0)]);
    let large = b.structure("large", 4, &[("a", huge_twice, 0)]);
    b.structure("holder", 3, &[("odd", odd, 0)]);
    b.typedef("endless", TypeId(b.next_id().0));
    let btf = Btf::parse(b.finish()).unwrap();
    let header = CHeader::new(&btf);
    let mut errors: Vec<_> = header.opaque_types().collect();
    errors.sort_by_key(|(id, _)| *id);
    assert_eq!(
        errors,
        [
            (own, LayoutError::Recursive(1)),
            (overlap, LayoutError::Overlap(1)),
            (outside, LayoutError::Outside(1)),
            (void, LayoutError::NoSize(0)),
            (large, LayoutError::NoSize(0)),
        ]
    );
    let text = header.to_string();
    assert!(
        text.contains(&format!("/* [{own}] STRUCT 'recursive' has no members here: member 1 contains")),
        "{text}"
    );
    assert!(text.contains("bytes[3]; } odd;"), "{text}");
    assert!(text.contains("endless"), "{text}");
}

#[test]
fn text_is_bounded_where_types_multiply() {
    let mut b = Builder::new(Endian::Little);
    let int = b.int("int", 4, Builder::SIGNED);
    let mut inner = b.structure("", 0, &[]);
    let mut proto = b.func_proto(int, &[]);
    for _ in 0..200 {
        inner = b.structure("", 0, &[("a", inner, 0), ("b", inner, 0), ("c", inner, 0)]);
        let ptr = b.pointer(proto);
        proto = b.func_proto(ptr, &[("a", ptr), ("b", ptr), ("c", ptr), ("d", ptr)]);
    }
    b.typedef("nested", inner);
    // Members without a name have the members of their type.
    let member = ("", int, 0);
    let wide = b.union("", 4, &vec![member; 2000]);
    b.union("wider", 4, &vec![("", wide, 0); 2000]);
    let ptr = b.pointer(proto);
    b.typedef("function", ptr);
    let text = header(&b);
    assert!(text.len() < 40_000_000, "{}", text.len());
}

#[test]
fn objects_name_their_roots() {
    let mut o = Builder::new(Endian::Little);
    let int = o.int("int", 4, Builder::SIGNED);
    let access = o.structure("task_struct___old", 4, &[("pid", int, 0)]);
    let context = o.structure("pt_regs", 4, &[("ip", int, 0)]);
    let own = o.structure("own", 4, &[("i", int, 0)]);
    let (ptr, own) = (o.pointer(context), o.pointer(own));
    o.func_proto(int, &[("ctx", ptr), ("state", own)]);
    o.typedef("pid_t", int);
    let gone = o.structure("gone", 4, &[("i", int, 0)]);
    let option = o.var("CONFIG_HZ", int, 2);
    o.datasec(".kconfig", 4, &[(option, 0, 4)]);
    o.var("init_task", TypeId::VOID, 2);
    o.var("runqueues", int, 2);
    let object = Btf::parse(o.finish()).unwrap();

    let mut k = Builder::new(Endian::Little);
    let int = k.int("int", 4, Builder::SIGNED);
    let task = k.structure("task_struct", 4, &[("pid", int, 0)]);
    let regs = k.structure("pt_regs", 4, &[("ip", int, 0)]);
    let pid = k.typedef("pid_t", int);
    k.structure("unused", 4, &[("i", int, 0)]);
    let action = k.enumeration("xdp_action", 4, &[("XDP_DROP", 1)]);
    let kernel = Btf::parse(k.finish()).unwrap();
    let mut roots = HeaderRoots::new();
    roots.add_object(&object, [access, gone]);
    assert_eq!(roots.resolve(&kernel), [task, regs, pid, action]);
    assert_eq!(roots.missing().collect::<Vec<_>>(), [Name::new(b"gone"), Name::new(b"runqueues")]);
}

#[test]
fn members_without_names_have_different_names_in_one_definition() {
    let mut b = Builder::new(Endian::Little);
    let byte = b.int("unsigned char", 1, 0);
    let small = b.union("", 8, &[("a", byte, 0)]);
    let other = b.union("", 8, &[("b", byte, 0)]);
    b.structure("outer", 16, &[("", small, 0), ("", other, 64)]);
    b.union("next", 8, &[("a", byte, 0)]);
    let text = header(&b);
    for expected in
        ["\tunsigned char __core_relo_size[8];\n\t};", "\tunsigned char __core_relo_size___2[8];\n\t};"]
    {
        assert!(text.contains(expected), "{text}");
    }
    assert!(
        text.contains("union next {\n\tunsigned char a;\n\tunsigned char __core_relo_size[8];\n}"),
        "{text}"
    );
}

/// `struct filename { struct __filename_head; ... }` needs `-fms-extensions`. A struct without a name has the
/// same members.
#[test]
fn members_without_names_are_members_of_the_struct_around_them() {
    let mut b = Builder::new(Endian::Little);
    let int = b.int("int", 4, Builder::SIGNED);
    let anonymous = b.enumeration("", 4, &[("ONE", 1)]);
    let head = b.structure("head", 8, &[("a", int, 0), ("kind", anonymous, 32)]);
    let nameless = b.structure("", 4, &[("c", int, 0)]);
    let qualified = b.modifier(Kind::Const, nameless);
    let synonym = b.typedef("synonym", nameless);
    let array = b.array(nameless, int, 2);
    b.structure(
        "outer",
        28,
        &[("", head, 0), ("", qualified, 64), ("", synonym, 96), ("", array, 128), ("a", int, 192)],
    );
    let btf = Btf::parse(b.finish()).unwrap();
    let text = CHeader::new(&btf).assertions(true).to_string();
    // The array is none of C's members without a name. The enumerator is declared once.
    let expected = "struct outer {\n\
        \tstruct {\n\t\tint a;\n\t\tenum anon_ONE kind;\n\t};\n\
        \tconst struct {\n\t\tint c;\n\t};\n\
        \tstruct {\n\t\tint c___2; /* 'c' */\n\t};\n\
        \tstruct {\n\t\tint c;\n\t} __core_relo_anonymous[2];\n\
        \tint a___2; /* 'a' */\n};\n";
    assert!(text.contains(expected), "{text}");
    assert!(
        text.contains("(struct outer, kind) == 4,") && text.contains("(struct outer, a___2) == 24,"),
        "{text}"
    );
}

/// clang takes the name of a member of a member without a name for no type in the rest of the definition.
#[test]
fn typedefs_that_members_hide_and_results_that_c_does_not_have_are_replaced() {
    let mut b = Builder::new(Endian::Little);
    let int = b.int("int", 4, Builder::SIGNED);
    let dev = b.typedef("dev_t", int);
    let nameless = b.structure("", 4, &[("dev_t", int, 0)]);
    b.structure("bio", 12, &[("before", dev, 0), ("", nameless, 32), ("after", dev, 64)]);
    let array = b.array(int, int, 2);
    let pair = b.typedef("pair", array);
    let proto = b.func_proto(pair, &[("dev", dev)]);
    let func = b.func("bpf_pair", proto, 1);
    b.decl_tag("bpf_kfunc", func, -1);
    let text = header(&b);
    for expected in [
        "struct bio {\n\tdev_t before;\n\tstruct {\n\t\tint dev_t;\n\t};\n\tint after;\n};\n",
        "extern /* [7]: no type in C */ unsigned char bpf_pair(dev_t dev) __weak __ksym;\n",
    ] {
        assert!(text.contains(expected), "{text}");
    }
}

/// Where a member hides a typedef, the target is written in its place: an enum without a name would be
/// defined twice.
#[test]
fn enums_of_typedefs_that_members_hide_are_defined_once() {
    let mut b = Builder::new(Endian::Little);
    let int = b.int("int", 4, Builder::SIGNED);
    let mut typedefs = Vec::new();
    for (name, enumerator) in [("kind_t", "KIND"), ("state_t", "STATE"), ("other_t", "OTHER"), ("a::b", "B")]
    {
        let target = b.enumeration("", 4, &[(enumerator, 1)]);
        typedefs.push(b.typedef(name, target));
    }
    let [kind, state, other, invalid] = typedefs[..] else { panic!("{typedefs:?}") };
    let nameless = b.structure("", 8, &[("kind_t", int, 0), ("a::b", int, 32)]);
    let head = b.structure("head", 4, &[("state_t", int, 0)]);
    let members = [("", nameless, 0), ("", head, 64), ("k", kind, 96), ("s", state, 128)];
    b.structure("outer", 28, &[&members[..], &[("o", other, 160), ("i", invalid, 192)]].concat());
    // What hides a typedef in one prototype does not in the next.
    let pair = b.structure("", 4, &[("", nameless, 0)]);
    let parameter = b.pointer(pair);
    for (name, parameters) in [("bpf_a", [("p", parameter)]), ("bpf_b", [("k", kind)])] {
        let proto = b.func_proto(int, &parameters);
        let func = b.func(name, proto, 1);
        b.decl_tag("bpf_kfunc", func, -1);
    }
    let text = header(&b);
    for enumerator in ["KIND", "STATE", "OTHER", "B"] {
        assert_eq!(text.matches(&format!("\t{enumerator} = 1,")).count(), 1, "{enumerator}: {text}");
    }
    for expected in [
        "\tenum anon_KIND k;\n\tenum anon_STATE s;\n\tother_t o;\n\tenum anon_B i;\n",
        "typedef enum {\n\tOTHER = 1,\n} other_t;\n",
        "bpf_b(kind_t k)",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
}

#[test]
fn wide_bool_bitfields_are_integers_and_bitfields_without_names_are_padding() {
    let mut b = Builder::new(Endian::Little);
    let boolean = b.int("_Bool", 1, Builder::BOOL);
    let synonym = b.typedef("bool", boolean);
    let long = b.int("long long int", 8, Builder::SIGNED);
    b.composite(Kind::Struct, "flags", 1, &[bits("a", synonym, 0, 1), bits("b", synonym, 1, 4)]);
    b.composite(Kind::Struct, "padding", 8, &[bits("", long, 0, 24)]);
    b.composite(Kind::Struct, "around", 4, &[bits("", long, 0, 12), bits("b", boolean, 12, 1)]);
    let text = header(&b);
    for expected in [
        "struct flags {\n\tbool a: 1;\n\tunsigned char b: 4;\n};\n",
        "struct padding {\n\tunsigned long long: 64;\n};\n",
        "struct around {\n\tunsigned char: 8;\n\tunsigned char: 4;\n\t_Bool b: 1;\n",
    ] {
        assert!(text.contains(expected), "{text}");
    }
}

#[test]
fn headers_of_32_bit_kernels_have_their_alignments_and_say_so() {
    let mut b = Builder::new(Endian::Little);
    let long = b.int("long int", 4, Builder::SIGNED);
    let wide = b.int("long long int", 8, Builder::SIGNED);
    b.structure("wide", 12, &[("a", long, 0), ("b", wide, 32)]);
    // On ARM a bitfield of eight bytes would align the whole.
    b.structure("spaced", 20, &[("a", long, 0), ("b", long, 128)]);
    let btf = Btf::parse(b.finish()).unwrap();
    let text = CHeader::new(&btf).assertions(true).to_string();
    for expected in [
        "/* A 32-bit kernel. ",
        "struct wide {\n\tlong int a;\n\tlong long int b;\n} __attribute__((packed, aligned(4)));",
        "\tlong int a;\n\tunsigned int: 32;\n\tunsigned int: 32;\n\tunsigned int: 32;\n\tlong int b;\n",
        "#if __SIZEOF_POINTER__ == 4\n_Static_assert(sizeof(struct spaced) == 20",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
}

/// C23 has the words as keywords, C++ has them, and `<stdbool.h>` makes macros of them.
#[test]
fn bool_true_and_false_are_declared_only_where_the_language_lacks_them() {
    let mut b = Builder::new(Endian::Little);
    let int = b.int("int", 4, Builder::SIGNED);
    let boolean = b.int("_Bool", 1, Builder::BOOL);
    let synonym = b.typedef("bool", boolean);
    b.enumeration("", 4, &[("false", 0), ("true", 1)]);
    b.enumeration("states", 4, &[("true", 1), ("maybe", 2)]);
    let nested = b.structure("", 2, &[("bool", synonym, 0), ("after", synonym, 8)]);
    b.structure("node", 8, &[("true", int, 0), ("", nested, 32)]);
    b.structure("bool", 4, &[("a", int, 0)]);
    b.structure("reserved", 4, &[("__core_relo_bool", int, 0)]);
    let btf = Btf::parse(b.finish()).unwrap();
    let text = CHeader::new(&btf).assertions(true).to_string();
    for expected in [
        "#ifndef __CORE_RELO_HAS_BOOL\ntypedef _Bool bool;\n#endif\n",
        "#ifndef __CORE_RELO_HAS_TRUE\nenum {\n\tfalse = 0,\n\ttrue = 1,\n};\n#endif\n",
        "enum states {\n\ttrue___2 = 1,\n\tmaybe = 2,\n};\n",
        "struct node {\n\tint __core_relo_true;\n\tstruct {\n\t\t_Bool __core_relo_bool;\n\t\t_Bool after;\n",
        "(struct node, __core_relo_true) == 0,",
        "struct bool___core_relo {\n\tint a;\n};\n",
        "struct reserved {\n\tint __core_relo_bool___2; /* '__core_relo_bool' */\n};\n",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    // No guard is around an enum within another declaration.
    let mut b = Builder::new(Endian::Little);
    let anonymous = b.enumeration("", 4, &[("false", 0), ("true", 1)]);
    b.typedef("boolean_t", anonymous);
    let text = header(&b);
    assert!(
        text.contains("\ntypedef enum {\n\tfalse___core_relo = 0,\n\ttrue___core_relo = 1,\n} boolean_t;\n"),
        "{text}"
    );
    // A typedef of another type is no declaration that C23 has.
    let mut b = Builder::new(Endian::Little);
    let int = b.int("int", 4, Builder::SIGNED);
    b.typedef("bool", int);
    b.typedef("true", int);
    b.enumeration("", 4, &[("false", 1)]);
    let text = header(&b);
    assert!(
        text.contains("\ntypedef int bool___core_relo;\ntypedef int true___core_relo;\n")
            && text.contains("\tfalse___core_relo = 1,\n"),
        "{text}"
    );
}
