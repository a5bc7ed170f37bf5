//! Variants of the committed object in both byte orders: the table in its tags, constants, maps that are not created.

use core_relo::Endian;
use core_relo_loader::{
    load_plan::Settings,
    object::Object,
    variants::{KernelValue, Selection, VariantTable},
};
use core_relo_tests::artifacts;
use std::fs;

#[test]
fn the_tags_of_both_byte_orders_are_the_same_table_and_constants_have_the_objects_order() {
    let mut tables = Vec::new();
    for (dir, endian) in [("el", Endian::Little), ("eb", Endian::Big)] {
        let path = artifacts::root().join("bpf-progs/prebuilt").join(dir).join("live/variants.bpf.o");
        let bytes = fs::read(&path).unwrap();
        let object = Object::parse(&bytes).unwrap();
        let table = VariantTable::from_object(&object).unwrap();
        let fit = table.fit(&object).unwrap();
        let numbers: Vec<_> = fit
            .constants()
            .map(|(_, value, _)| match value {
                KernelValue::OffsetOf(path) if path == "task_struct.tgid" => Some(0x0102_0304),
                KernelValue::SizeOf(_) => Some(0x1122_3344_5566_7788),
                KernelValue::EnumValue(_) => Some(-2),
                _ => None,
            })
            .collect();
        let open = fit.group_index("open").unwrap();
        let mut selection = Selection { ..fit.first_selection() };
        selection.alternatives[open] = Some(2);
        selection.alternatives[fit.group_index("send").unwrap()] = Some(1);
        selection.left_out_maps.insert("bloom".to_owned());
        let mut settings = Settings::default();
        fit.apply(&object, &selection, &numbers, &mut settings).unwrap();
        let rodata = settings.maps[".rodata"].data.as_deref().unwrap();
        let constants = core_relo_loader::Loader::new(&object).globals();
        let value = |name: &str| {
            let constant = constants.iter().find(|constant| constant.name == name).unwrap();
            (constant.offset, &rodata[constant.offset..constant.offset + constant.size])
        };
        assert_eq!(endian.u32(rodata, value("tgid_offset").0), Some(0x0102_0304));
        assert_eq!(endian.u64(rodata, value("task_size").0), Some(0x1122_3344_5566_7788));
        assert_eq!(endian.u32(rodata, value("loop_number").0), Some(u32::MAX - 1));
        assert_eq!(endian.u32(rodata, value("state_offset").0), Some(u32::MAX), "the initial value stays");
        assert_eq!((value("has_ring").1, value("has_bloom").1), (&[0][..], &[0][..]));
        assert_eq!(endian.u32(rodata, value("has_absent").0), Some(1));
        let autocreate = |map: &str| settings.maps.get(map).and_then(|map| map.autocreate);
        assert_eq!(["ring", "perf", "bloom"].map(autocreate), [Some(false), None, Some(false)]);
        let always: Vec<_> = fit.maps_of_some_selections().into_iter().collect();
        assert_eq!(always, ["bloom", "perf", "ring"]);
        tables.push(table);
    }
    assert_eq!(tables[0].groups(), tables[1].groups());
    assert_eq!(
        (tables[0].indicators(), tables[0].constants()),
        (tables[1].indicators(), tables[1].constants())
    );
}
