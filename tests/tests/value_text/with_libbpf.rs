//! The comparison of values of the running kernel's types with libbpf's text.

use super::model::{Model, Parts};
use core_relo::{
    TypeId,
    btf::{Btf, Builder, CType, Kind, Type},
};
use core_relo_test_support::skip;
use core_relo_tests::{
    artifacts,
    libbpf::{self, ValueStyle},
};
use std::fs;

/// The number of types of the running kernel that are compared.
const TYPES: usize = 1000;

/// The size limit of compared types. Larger types consist of smaller ones.
const MAX_SIZE: u64 = 4096;

#[test]
fn values_are_printed_as_libbpf_prints_them() {
    let Some(path) = artifacts::running_kernel() else {
        return skip!(Btf, "the running kernel has no BTF");
    };
    let bytes = fs::read(&path).unwrap();
    let ours = Btf::parse(bytes.clone()).unwrap();
    let theirs = libbpf::Btf::parse(&bytes, None).unwrap();
    let theirs = theirs.value_printer().unwrap();
    let mut random = fastrand::Rng::with_seed(7);
    let has_values = |ty: &Type<'_>| {
        let kinds =
            [Kind::Struct, Kind::Union, Kind::Int, Kind::Enum, Kind::Enum64, Kind::Array, Kind::Typedef];
        kinds.contains(&ty.kind())
            && ours.size_of(ty.id()).is_ok_and(|size| (1..=MAX_SIZE).contains(&size.0.into()))
    };
    let mut ids: Vec<_> = ours.types().filter(has_values).map(Type::id).collect();
    random.shuffle(&mut ids);
    let (mut compared, mut failed, mut differences) = (0, 0, Vec::new());
    for id in ids.into_iter().take(TYPES) {
        let size = usize::try_from(ours.size_of(id).unwrap().0).unwrap();
        let mut texts = |random: &mut fastrand::Rng, choose: &dyn Fn(&mut fastrand::Rng) -> u8| {
            let value: Vec<u8> = (0..size).map(|_| choose(random)).collect();
            let short = random.usize(..=size);
            let has_enum_bitfield = Parts::of(&ours, id, &value).has_enum_bitfield;
            // Without zeroes, libbpf looks at the whole word of such a member.
            for style in styles().filter(|style| style.emit_zeroes || !has_enum_bitfield) {
                match theirs.print_with(id.0, &value, style) {
                    Err(_) => failed += 1,
                    Ok(text) => {
                        let (Ok(expected) | Err(expected)) = Model::render(&ours, id, &value, style);
                        differences.extend(difference(&expected, &normal(&text), &ours, id, style));
                        compared += 1;
                    }
                }
                // libbpf stops at the first number that lies after the end, or goes on after the array.
                let (Ok(text) | Err(text)) = theirs.print_with(id.0, &value[..short], style);
                let text = normal(&text);
                let (expected, text) = match Model::render(&ours, id, &value[..short], style) {
                    Ok(expected) => (expected, text),
                    Err(start) => {
                        let start = start.trim_end().to_owned();
                        let text = text.get(..start.len()).unwrap_or(&text).to_owned();
                        (start, text)
                    }
                };
                differences.extend(difference(&expected, &text, &ours, id, style));
            }
        };
        texts(&mut random, &|_| 0);
        texts(&mut random, &|random| random.u8(..));
        texts(&mut random, &|random| if random.u8(..5) == 0 { 0 } else { random.u8(b' '..=b'~') });
        // Without zeroes, nothing is left of a value of zeroes but its outermost braces.
        let zeroes = vec![0; size];
        let has_enum_bitfield = Parts::of(&ours, id, &zeroes).has_enum_bitfield;
        if ours.strip(id).unwrap().kind().is_composite() && !has_enum_bitfield {
            let text = ours.value(id, &zeroes).text().zeroes(false).types(false).to_string();
            let style = ValueStyle { compact: true, skip_names: true, emit_zeroes: false };
            assert_eq!(Ok(text), theirs.print_with(id.0, &zeroes, style), "{:?}", ours.ty(id));
        }
    }
    println!("compared {compared} texts with libbpf, which failed for {failed}");
    assert!(compared > 20 * TYPES, "{compared} of {TYPES} types");
    differences.dedup_by_key(|text| text.split_once(" ValueStyle").map(|(ty, _)| ty.to_owned()));
    let (count, first) =
        (differences.len(), differences.iter().take(10).cloned().collect::<Vec<_>>().join("\n"));
    assert_eq!(count, 0, "differences, such as\n{first}");
}

/// The example of libbpf's documentation of `btf_dump__dump_type_data` (`struct sk_buff` there), and of its
/// selftests (`tmp_t`).
#[test]
fn the_example_of_the_documentation() {
    let mut b = Builder::new(core_relo::Endian::native());
    let int = b.int("int", 4, Builder::SIGNED);
    let char = b.int("char", 1, Builder::SIGNED);
    let text = b.array(char, int, 4);
    let numbers = b.array(int, int, 2);
    let inner = b.structure("inner", 8, &[("x", int, 0), ("y", int, 32)]);
    let pointer = b.pointer(inner);
    let tmp = b.structure(
        "tmp",
        32,
        &[("a", int, 0), ("s", text, 32), ("n", numbers, 64), ("i", inner, 128), ("p", pointer, 192)],
    );
    let tmp_t = b.typedef("tmp_t", tmp);
    let bytes = b.finish();
    let ours = Btf::parse(bytes.clone()).unwrap();
    let theirs = libbpf::Btf::parse(&bytes, None).unwrap();
    let theirs = theirs.value_printer().unwrap();
    let words = [1u32, 0, 0, 5, 0, 7, 0, 0];
    let mut value: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    value[4..6].copy_from_slice(b"hi");
    for style in styles() {
        let text = theirs.print_with(tmp_t.0, &value, style).unwrap();
        assert_eq!(Model::render(&ours, tmp_t, &value, style), Ok(normal(&text)), "{style:?}");
    }
    let style = ValueStyle { compact: true, skip_names: false, emit_zeroes: true };
    assert_eq!(
        theirs.print_with(tmp_t.0, &value, style).unwrap().replace("(nil)", "0x0"),
        "(tmp_t){.a = (int)1,.s = (char[4])['h','i','\\0',],.n = (int[2])[0,5,],\
         .i = (struct inner){.x = (int)0,.y = (int)7,},.p = (struct inner *)0x0,}"
    );
    assert_eq!(
        ours.value(tmp_t, &value).to_string(),
        "(tmp_t){.a = (int)1, .s = (char[4])\"hi\", .n = (int[2])[0, 5], \
         .i = (struct inner){.x = (int)0, .y = (int)7}, .p = (struct inner *)0x0}"
    );
}

/// Returns the place where two texts differ. The comparison ends where core-relo leaves out the parameters of
/// a function after the eighth.
fn difference(ours: &str, theirs: &str, btf: &Btf<'_>, id: TypeId, style: ValueStyle) -> Option<String> {
    let end = ours.find(", ...)").unwrap_or(usize::MAX);
    let [ours, theirs] = [ours, theirs].map(|text| text.get(..end).unwrap_or(text));
    let same = ours.bytes().zip(theirs.bytes()).take_while(|(one, other)| one == other).count();
    if same == ours.len() && same == theirs.len() {
        return None;
    }
    let around = |text: &str| {
        let bytes = &text.as_bytes()[same.saturating_sub(60)..text.len().min(same + 40)];
        String::from_utf8_lossy(bytes).into_owned()
    };
    Some(format!(
        "{} {style:?}:\n  here {:?}\n  libbpf {:?}",
        CType::new(btf, id),
        around(ours),
        around(theirs)
    ))
}

fn styles() -> impl Iterator<Item = ValueStyle> {
    (0..8).map(|bits| ValueStyle {
        compact: bits & 1 != 0,
        skip_names: bits & 2 != 0,
        emit_zeroes: bits & 4 != 0,
    })
}

/// Returns libbpf's text with the null pointer as libbpf prints it at an unaligned address, without a space
/// after `enum`, and without the numbers of equal names: libbpf calls the second type of a name `u8___2`.
fn normal(text: &str) -> String {
    let text = text.replace("(nil)", "0x0").replace("(enum )", "(enum)");
    let mut parts = text.split("___");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit());
        let ends_name = !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
        let is_number = rest.len() < part.len() && ends_name;
        out += &if is_number { rest.to_owned() } else { format!("___{part}") };
    }
    out
}
