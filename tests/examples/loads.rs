//! Loads objects as a whole and program by program, and prints one line for each load, for comparison with
//! other loaders.
//!
//! `loads [--whole] OBJECT…`:
//! `object program ok|fail|skipped errno translated_instructions instructions last_line`.

use core_relo_loader::{
    Loader,
    inventory::ProgramInfo,
    load::{LoadError, Loaded, RunningKernel},
    object::Object,
};
use core_relo_tests::kernel_crashes;
use std::{env, fs, path::Path};

fn main() {
    let mut args: Vec<_> = env::args().skip(1).collect();
    let whole = args.first().is_some_and(|a| a == "--whole");
    if whole {
        args.remove(0);
    }
    let types = core_relo_loader::target::running_kernel_btf();
    for path in args {
        let name = Path::new(&path).file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        let bytes = fs::read(&path).expect("readable");
        let object = match Object::parse(&bytes) {
            Ok(object) => object,
            Err(e) => {
                println!("{name} - openfail 0 0 0 {e}");
                continue;
            }
        };
        let stem = name.split('.').next().unwrap_or_default().to_owned();
        match kernel_crashes::on_running_kernel(Path::new(&path), None) {
            Some(crash) => println!("{name} - skipped 0 0 0 {}", crash.reason),
            None => match load(&Loader::new(&object).name(&stem)) {
                Ok(_loaded) => println!("{name} - ok 0 0 0 "),
                Err(e) => println!("{name} - fail {} 0 0 {}", errno(&e), one_line(&e)),
            },
        }
        if whole {
            continue;
        }
        let programs: Vec<_> = object.programs().iter().filter(|p| !p.is_subprogram).collect();
        for p in programs {
            let program = String::from_utf8_lossy(p.name()).into_owned();
            if let Some(crash) = kernel_crashes::on_running_kernel(Path::new(&path), Some(&program)) {
                println!("{name} {program} skipped 0 0 0 {}", crash.reason);
                continue;
            }
            let mut loader = Loader::new(&object).name(&stem);
            loader.select_programs([program.as_str()]);
            match load(&loader) {
                Ok(loaded) => match loaded.program(&program) {
                    Some(p) => {
                        let info = ProgramInfo::query(p).expect("info");
                        let (translated, insns) = (info.xlated_prog_len / 8, p.plan.insns().len() / 8);
                        println!("{name} {program} ok 0 {translated} {insns} ");
                    }
                    None => println!("{name} {program} fail 0 0 0 not loaded"),
                },
                Err(e) => println!("{name} {program} fail {} 0 0 {}", errno(&e), one_line(&e)),
            }
        }
    }
    drop(types);
}

/// Loads without pinning maps.
fn load(loader: &Loader<'_, '_>) -> Result<Loaded, LoadError> {
    loader.execute_unpinned(&loader.plan()?, &RunningKernel)
}

fn errno(e: &LoadError) -> i32 {
    e.errno().map_or(0, |e| e.0)
}

fn one_line(e: &LoadError) -> String {
    e.to_string().replace('\n', " ¦ ")
}
