//! Values from a kernel's types, and the constants that take them.

use super::{fit, kernel_types, message, sample};
use crate::variants::{KernelValue, KernelValueError, VariantError, VariantTable};
use core_relo::Endian;
use core_relo_object::{load_plan::Settings, object::Object, target::KernelBtf};

#[test]
fn values_of_a_kernel_are_found_by_name_in_both_byte_orders() {
    for endian in [Endian::Little, Endian::Big] {
        let kernel = kernel_types(endian);
        let offset = |path: &str| KernelValue::OffsetOf(path.into()).find(&kernel);
        assert_eq!(offset("task.right"), Ok(12));
        assert_eq!(offset("struct task.last.bits"), Ok(28));
        let size = |path: &str| KernelValue::SizeOf(path.into()).find(&kernel);
        assert_eq!((size("task"), size("struct node"), size("task.last")), (Ok(32), Ok(8), Ok(8)));
        let number = |name: &str| KernelValue::EnumValue(name.into()).find(&kernel);
        assert_eq!((number("TOP"), number("BELOW")), (Ok(0xffff_ffff), Ok(-1)));
        assert_eq!((number("enum other.RED"), number("colour.RED")), (Ok(2), Ok(1)));
        let has = |path: &str| KernelValue::HasField(path.into()).find(&kernel);
        assert!(matches!(offset("task"), Err(KernelValueError::Syntax { .. })));
        assert_eq!((has("task.left"), has("task.__state"), has("nothing.x")), (Ok(1), Ok(0), Ok(0)));

        let text = |error: Result<i128, KernelValueError>| error.unwrap_err().to_string();
        assert_eq!(
            text(offset("task.__state")),
            "the kernel's types have no member `__state` in `task` (near: `state`)"
        );
        assert_eq!(text(offset("tesk.state")), "the kernel's types have no type `tesk` (near: `task`)");
        assert!(text(offset("task.node.kei")).ends_with("no member `kei` in `node` (near: `key`)"));
        assert!(text(offset("task.node.key")).starts_with("`task.node.key` follows the pointer `task.node`"));
        let bitfield = "`flags.high` is a bitfield (5 bits from bit 3), which has no offset or size in bytes";
        assert_eq!(
            (text(offset("flags.high")), text(size("flags.low")).contains("is a bitfield")),
            (bitfield.into(), true)
        );
        assert_eq!(has("flags.high"), Ok(1));
        assert_eq!(text(offset("twice.a")), "the kernel's types have 2 different types `twice`");
        assert!(text(number("RED")).starts_with("enumerator `RED` has the values "));
        assert!(text(number("colour.REED")).ends_with("no enumerator `REED` in `colour` (near: `RED`)"));
        assert!(text(number("color.RED")).ends_with("no type `color` (near: `colour`)"));
    }
}

#[test]
fn a_member_of_a_number_and_an_index_beyond_an_array_are_absent() {
    let (bytes, kernel) = (sample(&[]), kernel_types(Endian::native()));
    let find = |text: &str| fit(&VariantTable::parse(text).unwrap(), &bytes).unwrap().find_constants(&kernel);
    let has_field = |path: &str| KernelValue::HasField(path.into()).find(&kernel);
    for path in
        ["page.flags.f", "page.flags[0]", "page.words[4]", "page.words[0].x", "page.words.x", "page.number.x"]
    {
        assert_eq!(has_field(path), Ok(0), "{path}");
        assert_eq!(find(&format!("has_field flag = {path}")), Ok(vec![Ok(0)]));
        for word in ["offset_of", "size_of"] {
            let table = format!("{word} number = {path}");
            let error = find(&table).unwrap_err();
            assert!(matches!(&error, VariantError::Entry { line: 1, .. }), "{error}");
            let found = find(&format!("{table}\noptional number")).unwrap();
            assert!(matches!(&*found, [Err(KernelValueError::Path(_))]), "{found:?}");
        }
    }
    for path in ["page.flags", "page.words[3]", "page.rest[7]", "page.number[7]"] {
        assert_eq!(has_field(path), Ok(1), "{path}");
    }
    assert_eq!(
        message(find("offset_of number = page.words[4]")),
        "line 1: global `number`: `page.words` has no element 4"
    );
    // A path that is wrong on every kernel, and a path through a pointer.
    for path in ["page.words[x]", "page.words[-1]", "page.words[4", "task.node.key"] {
        assert!(find(&format!("offset_of number = {path}\noptional number")).is_err(), "{path}");
    }
    assert!(has_field("page.words[x]").is_err());
}

#[test]
fn a_bool_takes_0_and_1() {
    let (bytes, kernel) = (sample(&[]), kernel_types(Endian::native()));
    let find = |text: &str| fit(&VariantTable::parse(text).unwrap(), &bytes).unwrap().find_constants(&kernel);
    assert_eq!(find("enum_value truth = colour.RED"), Ok(vec![Ok(1)]));
    assert_eq!(find("offset_of truth = task.state"), Ok(vec![Ok(0)]));
    for (entry, value) in [
        ("enum_value truth = other.RED", "2"),
        ("enum_value truth = BELOW", "-1"),
        ("offset_of truth = task.right", "12"),
        ("size_of truth = node", "8"),
    ] {
        let expected =
            format!("line 1: global `truth`: the value {value} does not fit a `bool`, expected 0 or 1");
        assert_eq!(message(find(entry)), expected);
        assert_eq!(message(find(&format!("{entry}\noptional truth"))), expected);
    }
}

#[test]
fn only_errors_that_are_reported_have_the_similar_names_of_the_kernel() {
    let (bytes, kernel) = (sample(&[]), kernel_types(Endian::native()));
    let find = |text: &str| fit(&VariantTable::parse(text).unwrap(), &bytes).unwrap().find_constants(&kernel);
    for (entry, near) in [
        ("offset_of number = tesk.state", "task"),
        ("size_of number = tesk", "task"),
        ("enum_value number = color.RED", "colour"),
        ("enum_value number = BELLOW", "BELOW"),
    ] {
        assert!(message(find(entry)).ends_with(&format!(" (near: `{near}`)")), "{entry}");
        let found = find(&format!("{entry}\noptional number")).unwrap();
        assert!(
            matches!(&*found, [Err(KernelValueError::Missing { near, .. })] if near.is_empty()),
            "{found:?}"
        );
    }
}

#[test]
fn values_that_are_found_together_are_those_that_are_found_one_by_one() {
    let kernel = kernel_types(Endian::native());
    let mut values = Vec::new();
    for path in
        ["task.right", "task.gone", "twice.a", "none.x", "task.node.key", "flags.high", "task", "a b", ""]
    {
        values.push(KernelValue::OffsetOf(path.into()));
        values.push(KernelValue::SizeOf(path.into()));
        values.push(KernelValue::HasField(path.into()));
    }
    for name in ["RED", "TOP", "enum other.RED", "colour.NONE", "none.RED", "NONE"] {
        values.push(KernelValue::EnumValue(name.into()));
    }
    let one_by_one: Vec<_> = values.iter().map(|value| value.find(&kernel)).collect();
    let together = KernelValue::find_all(&kernel, &values);
    let text = |found: &Result<i128, KernelValueError>| match found {
        Ok(number) => number.to_string(),
        Err(error) => error.to_string(),
    };
    for (found, expected) in together.iter().map(text).zip(one_by_one.iter().map(text)) {
        // Only the error of a single value has the similar names of all types.
        assert!(
            found == expected || expected.starts_with(&format!("{found} (near: ")),
            "{found}, not {expected}"
        );
    }
    assert_eq!(together.len(), one_by_one.len());
    assert!(one_by_one.iter().filter(|found| found.is_ok()).count() > 8);
    let none = KernelBtf::none();
    let one_by_one: Vec<_> = values.iter().map(|value| value.find(&none)).collect();
    assert_eq!(KernelValue::find_all(&none, &values), one_by_one);
    assert!(one_by_one.iter().all(Result::is_err));
}

#[test]
fn without_kernel_types_only_optional_constants_keep_their_value() {
    let bytes = sample(&[]);
    let find = |text: &str| {
        fit(&VariantTable::parse(text).unwrap(), &bytes).unwrap().find_constants(&KernelBtf::none())
    };
    assert!(matches!(
        &*find("has_field number = task.state\noptional number").unwrap(),
        [Err(KernelValueError::Kernel(_))]
    ));
    let found = message(find("has_field number = task.state"));
    assert!(found.starts_with("line 1: global `number`: the kernel's types are needed: "), "{found}");
}

#[test]
fn an_optional_constant_keeps_its_value_and_others_fail() {
    let bytes = sample(&[]);
    let kernel = kernel_types(Endian::native());
    let find = |text: &str| fit(&VariantTable::parse(text).unwrap(), &bytes).unwrap().find_constants(&kernel);
    let table = "offset_of number = task.gone\noptional number\noffset_of wide = task.right";
    let found = find(table).unwrap();
    assert!(matches!(&*found, [Err(KernelValueError::Missing { .. }), Ok(12)]));
    assert!(
        message(find("offset_of number = task.gone"))
            .starts_with("line 1: global `number`: the kernel's types have no member `gone`")
    );
    // An unsigned constant of 4 bytes, and one of 1 byte.
    assert_eq!(
        message(find("enum_value number = BELOW")),
        "line 1: global `number`: the value -1 does not fit a 4-byte variable"
    );
    assert_eq!(
        message(find("enum_value flag = TOP")),
        "line 1: global `flag`: the value 4294967295 does not fit a 1-byte variable"
    );
    assert_eq!(find("enum_value wide = BELOW").unwrap(), [Ok(-1)]);
    // A value that is there and does not fit is an error, also of an optional constant.
    assert!(find("enum_value flag = TOP\noptional flag").is_err());

    let fit = fit(&VariantTable::parse(table).unwrap(), &bytes).unwrap();
    let numbers: Vec<_> = find(table).unwrap().into_iter().map(Result::ok).collect();
    let mut settings = Settings::default();
    let selection = fit.first_selection();
    fit.apply(&Object::parse(&bytes).unwrap(), &selection, &numbers, &mut settings).unwrap();
    let rodata = settings.maps[".rodata"].data.clone().unwrap();
    let endian = Endian::native();
    assert_eq!((endian.u32(&rodata, 4), endian.u64(&rodata, 8)), (Some(0x0707_0707), Some(12)));
}
