//! Verdicts on the arguments of global functions.

use super::{
    map_uses::{Age, HASH, LOOKUP, reasons, sized},
    *,
};

/// The kernel takes the parameter for memory that the function reads and writes. Linux 5.10 accepts no pointers, others accept the argument.
#[test]
fn global_functions_take_no_values_of_maps_that_programs_only_read_or_write() {
    struct Call {
        flags: u32,
        linkage: u8,
        tag: Option<&'static str>,
    }
    let found = |age: Age, call: Call| {
        let mut m = TestObject::new();
        // r0 = lookup; if r0 == 0 goto +2; r1 = r0; sub(r1).
        let insns = [helper(LOOKUP), insn(0x15, 0, 0, 2, 0), insn(0xbf, 1, 0, 0, 0), super::call(-1)];
        let main = m.program("main", "tc", &[&load(1, 0)[..], &insns, &returns(0)].concat());
        let text = m.code(".text", &returns(0));
        let function = m.function("sub", text, 0, 2);
        let map = [&sized(HASH)[..], &[("map_flags", call.flags)]].concat();
        let (_, map) = m.map("m", &map, None);
        m.refer(main, 0, map, false);
        m.refer(main, 5, function, true);
        let int = m.int;
        let pointer = m.types.pointer(int);
        let proto = m.types.func_proto(int, &[("p", pointer)]);
        let ty = m.types.func("sub", proto, call.linkage);
        if let Some(tag) = call.tag {
            m.types.decl_tag(tag, ty, 0, false);
        }
        let main_type = m.func_type("main", 1);
        m.func_info("tc", &[(0, main_type)]);
        m.func_info(".text", &[(0, ty)]);
        reasons(m, age, None).into_iter().map(|(_, _, text)| text).collect::<Vec<_>>()
    };
    let text = |what: &str| {
        format!("map m: the program passes the address of a value to a global function, which may {what}")
    };
    let read_only = text("write to it, and programs only read the map");
    let write_only = text("read it, and programs only write to the map");
    let global = |flags: u32| Call { flags, linkage: 1, tag: None };
    assert_eq!(found(Age::Newest, global(1 << 7)), [read_only.as_str()]);
    assert_eq!(found(Age::Newest, global(1 << 8)), [write_only]);
    assert_eq!(found(Age::Newest, global(0)), [""; 0]);
    assert_eq!(found(Age::Oldest, global(1 << 7)), [""; 0]);
    assert_eq!(found(Age::Newest, Call { flags: 1 << 7, linkage: 0, tag: None }), [""; 0], "static");
    let tagged = |tag| found(Age::Newest, Call { flags: 1 << 7, linkage: 1, tag: Some(tag) });
    assert_eq!(tagged("arg:nonnull"), [read_only]);
    assert_eq!(tagged("arg:untrusted"), [""; 0], "no memory that the function writes to");
}
