//! Objects of live programs, loaded as people load theirs.

use super::object;
use core_relo_loader::{
    Loader,
    load::Loaded,
    object::Object,
    sys::{self, TestRun},
};

/// Loads all of an object, for events of this process.
pub fn load(name: &str) -> Loaded {
    load_with(name, |_| {})
}

/// The same, with more settings.
pub fn load_with(name: &str, set: impl FnOnce(&mut Loader<'_, '_>)) -> Loaded {
    let bytes = object(name);
    let object = Object::parse(&bytes).unwrap();
    let mut loader = Loader::new(&object).name(name);
    loader.set_global("only_pid", &std::process::id()).unwrap();
    set(&mut loader);
    loader.load().unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// How often the object's programs ran, as far as they count.
pub fn hits(loaded: &Loaded) -> u64 {
    loaded.global("hits").unwrap()
}

/// Runs a program once, on an empty packet, if it takes one; gives what it returned.
pub fn run(loaded: &Loaded, program: &str) -> u32 {
    run_with(loaded, program, &mut TestRun { data_in: &[0; 64], ..TestRun::default() })
}

/// Runs a program as is said.
pub fn run_with(loaded: &Loaded, program: &str, how: &mut TestRun<'_>) -> u32 {
    let program = loaded.program(program).unwrap();
    sys::prog_test_run(program, how).unwrap_or_else(|e| panic!("{program}: {e}")).retval
}
