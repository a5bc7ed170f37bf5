//! Global variables of every section: set before the load, visible to the programs, read and set after the
//! load.

use super::harness::{Need, hits, kernel_version, live, load, load_with, object, run, run_with};
use core_relo_loader::{
    GlobalError, GlobalKind, Loader,
    load::{Loaded, TestRun},
    load_plan::LoadPlanError,
    maps::MapError,
    object::Object,
};

/// Returns the error of a failed access to a global.
fn global_error<T: core::fmt::Debug>(result: Result<T, MapError>) -> GlobalError {
    match result.unwrap_err() {
        MapError::Global(error) => error,
        other => panic!("{other}"),
    }
}

#[test]
fn variables_are_type_checked() {
    let Some(_live) = live("globals::variables_are_type_checked", &[]) else { return };
    let loaded = load_with("globals", |loader| {
        loader.set_global("weights[1]", &200i32).unwrap();
        loader.set_global("factor", &2u64.to_ne_bytes()).unwrap();
        for wrong in
            [loader.set_global("factor", &2f64).err(), loader.set_global("weights", &[1u64, 2]).err()]
        {
            assert!(matches!(wrong, Some(LoadPlanError::Global(GlobalError::Type { .. }))), "{wrong:?}");
        }
    });
    run(&loaded, "add");
    assert_eq!(loaded.global::<u64>("sum").unwrap(), (5 + 1 + 200 + 3 + 4) * 2);
    loaded.set_global("sum", &-10i64).unwrap();
    run(&loaded, "add");
    assert_eq!(loaded.global::<i64>("sum").unwrap(), (-10 + 1 + 200 + 3 + 4) * 2);
    assert_eq!(loaded.global::<u32>("weights[3]").unwrap(), 4);
    let wrong = global_error(loaded.set_global("sum", &1.5f64));
    assert_eq!(
        wrong.to_string(),
        "global `sum` of type `u64`: f64, expected an integer of 8 bytes or [u8; 8]"
    );
    assert!(matches!(global_error(loaded.global::<f32>("only_pid")), GlobalError::Type { .. }));
    assert!(matches!(
        global_error(loaded.global::<u32>("sum")),
        GlobalError::Size { expected: 8, found: 4, .. }
    ));
    let constant = global_error(loaded.set_global("factor", &4u64));
    assert_eq!(
        constant.to_string(),
        "global `factor` cannot be set: it is constant once it is loaded: set it before"
    );
    assert!(matches!(global_error(loaded.set_global("weights[0]", &4u32)), GlobalError::Inaccessible { .. }));
    assert!(matches!(global_error(loaded.global::<u32>("weights[4]")), GlobalError::NoSuchPart { .. }));
    assert!(matches!(global_error(loaded.global::<u32>("no_such")), GlobalError::NotFound { .. }));
    assert_eq!(loaded.global::<u64>("factor").unwrap(), 2);
}

#[test]
fn arena_variables_are_set_before_and_after_the_load() {
    let needs = [Need::Arena, Need::MemoryAnywhere];
    let Some(_live) = live("globals::arena_variables_are_set_before_and_after_the_load", &needs) else {
        return;
    };
    let add = |loaded: &Loaded| assert_eq!(run_with(loaded, "add", &mut TestRun::default()), 0);
    // With the initial values of the object.
    let loaded = load("arena_globals");
    add(&loaded);
    assert_eq!((loaded.global::<u64>("sum").unwrap(), loaded.global::<u32>("high").unwrap()), (1, 4));

    let loaded = load_with("arena_globals", |loader| {
        loader.set_global("step", &3u64).unwrap();
        loader.set_global("config.ports[1].high", &77u16).unwrap();
        assert_eq!(loader.global::<u64>("step").unwrap(), 3);
        assert!(loader.set_global("step", &3f64).is_err());
    });
    assert_eq!(loaded.find_global("step").unwrap().kind, GlobalKind::Arena);
    add(&loaded);
    assert_eq!((loaded.global::<u64>("sum").unwrap(), loaded.global::<u32>("high").unwrap()), (3, 77));
    loaded.set_global("step", &10u64).unwrap();
    loaded.set_global("config.ports[1]", &[8u16, 9]).unwrap();
    add(&loaded);
    assert_eq!((loaded.global::<u64>("sum").unwrap(), loaded.global::<u32>("high").unwrap()), (13, 9));
    loaded.set_global("config.enabled", &0u32).unwrap();
    add(&loaded);
    assert_eq!((hits(&loaded), loaded.global::<u32>("high").unwrap()), (3, 0));
    let ports: Vec<u8> = [1u16, 2, 8, 9].iter().flat_map(|port| port.to_ne_bytes()).collect();
    assert_eq!(loaded.global_bytes("config.ports").unwrap(), ports);
    assert!(matches!(global_error(loaded.set_global("step", &10f32)), GlobalError::Size { .. }));
    assert!(matches!(global_error(loaded.set_global("step", &10f64)), GlobalError::Type { .. }));

    // The documentation states the address: `data_offset` plus the offset of the variable.
    let map = loaded.map("arena").unwrap();
    let sum = loaded.find_global("sum").unwrap();
    let at = usize::try_from(map.plan.data_offset()).unwrap() + sum.offset;
    assert_eq!(map.arena().unwrap().read::<u64>(at).unwrap(), 23);
}

#[test]
fn kconfig_values_are_read_by_name() {
    let Some(_live) = live("globals::kconfig_values_are_read_by_name", &[]) else { return };
    let loaded = load_with("kconfig", |loader| {
        let text = "CONFIG_HZ=123\nCONFIG_BPF_SYSCALL=y\nCONFIG_NET=m\nCONFIG_DEFAULT_HOSTNAME=\"given\"\n";
        loader.settings_mut().kconfig = Some(text.to_owned());
        let early = loader.global::<u64>("CONFIG_HZ").unwrap_err().to_string();
        assert!(early.ends_with("the kernel's configuration, which is read during the load"), "{early}");
        let set = loader.set_global("CONFIG_HZ", &100u64).unwrap_err().to_string();
        assert!(set.ends_with("give the loader a line of configuration for it"), "{set}");
    });
    assert_eq!(loaded.global::<u64>("CONFIG_HZ").unwrap(), 123);
    assert_eq!(loaded.global::<u8>("CONFIG_BPF_SYSCALL").unwrap(), 1);
    assert_eq!(loaded.global::<u32>("CONFIG_NET").unwrap(), 2);
    assert_eq!(
        loaded.global::<[u8; 16]>("CONFIG_DEFAULT_HOSTNAME").unwrap(),
        *b"given\0\0\0\0\0\0\0\0\0\0\0"
    );
    assert_eq!(loaded.global::<u8>("CONFIG_DEFAULT_HOSTNAME[1]").unwrap(), b'i');
    assert_eq!(loaded.global::<u32>("CONFIG_CORE_RELO_NO_SUCH_OPTION").unwrap(), 0);
    let version = loaded.global::<u32>("LINUX_KERNEL_VERSION").unwrap();
    assert_eq!((version >> 16, version >> 8 & 0xff), kernel_version());
    let set = global_error(loaded.set_global("CONFIG_HZ", &100u64));
    assert!(matches!(set, GlobalError::Inaccessible { action: "set", .. }), "{set}");
    assert_eq!(loaded.global::<u64>("CONFIG_HZ").unwrap(), 123);
    assert!(matches!(global_error(loaded.global::<f64>("CONFIG_HZ")), GlobalError::Type { .. }));
}

#[test]
fn every_variable_has_the_size_of_its_type() {
    let test = "globals::every_variable_has_the_size_of_its_type";
    let Some(_live) = live(test, &[]) else { return };
    for name in ["globals", "arena_globals", "kconfig", "struct_ops", "ringbuf", "core"] {
        let bytes = object(name);
        let object = Object::parse(&bytes).unwrap();
        let globals = Loader::new(&object).globals();
        assert!(globals.len() > 1, "{name}");
        for global in globals {
            let ty = global.ty.unwrap_or_else(|| panic!("{name}: `{}` has no type", global.name));
            let size = object.btf().unwrap().size_of(ty).unwrap();
            assert_eq!(usize::try_from(size.0), Ok(global.size), "{name}: {}", global.name);
        }
    }
}
