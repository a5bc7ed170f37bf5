//! Loading and running of live objects with the public functions.

use super::objects::object;
use core_relo_loader::{
    Loader, inventory,
    load::{Loaded, TestRun},
    object::Object,
};

/// Loads an object that counts the events of this process.
pub fn load(name: &str) -> Loaded {
    load_with(name, |_| {})
}

/// Loads an object after `set` changed the settings.
pub fn load_with(name: &str, set: impl FnOnce(&mut Loader<'_, '_>)) -> Loaded {
    let bytes = object(name);
    let object = Object::parse(&bytes).unwrap();
    let mut loader = Loader::new(&object).name(name);
    loader.set_global("only_pid", &std::process::id()).unwrap();
    set(&mut loader);
    loader.load().unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// Returns the number of counted runs of the object's programs.
pub fn hits(loaded: &Loaded) -> u64 {
    loaded.global("hits").unwrap()
}

/// Runs a program once on a packet of zeros and returns its result.
pub fn run(loaded: &Loaded, program: &str) -> u32 {
    run_with(loaded, program, &mut TestRun { data_in: &[0; 64], ..TestRun::default() })
}

/// Runs a program with the given options and returns its result.
pub fn run_with(loaded: &Loaded, program: &str, options: &mut TestRun<'_>) -> u32 {
    let program = loaded.program(program).unwrap();
    inventory::test_run(program, options).unwrap_or_else(|e| panic!("{program}: {e}")).retval
}
