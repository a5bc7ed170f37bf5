//! Arguments and results that programs read from the registers of this architecture, with the macros of
//! `bpf_tracing.h`.

use super::harness::{Need, is_configured, live, load_with};
use core_relo_loader::{attach::UprobeOptions, load::Loaded};
use std::{env, fs::File, hint::black_box};

/// The object whose programs read the registers of this architecture.
const OBJECT: &str = if cfg!(target_arch = "x86_64") {
    "registers_x86"
} else if cfg!(target_arch = "aarch64") {
    "registers_arm64"
} else if cfg!(target_arch = "s390x") {
    "registers_s390"
} else if cfg!(target_arch = "riscv64") {
    "registers_riscv"
} else {
    "registers_powerpc"
};

/// Loads some programs of the object.
fn load_programs(programs: [&str; 2]) -> Loaded {
    load_with(OBJECT, |loader| loader.select_programs(programs))
}

fn arguments(loaded: &Loaded) -> [u64; 5] {
    loaded.global("arguments").unwrap()
}

fn result(loaded: &Loaded) -> i64 {
    loaded.global::<u64>("result").unwrap().cast_signed()
}

/// A function with a symbol, for uprobes.
#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn core_relo_live_function(a: u64, b: u64, c: u64, d: u64, e: u64) -> u64 {
    black_box(a + 10 * b + 100 * c + 1000 * d + 10000 * e)
}

#[test]
fn uprobes_read_arguments_and_results() {
    let Some(_live) = live("registers::uprobes_read_arguments_and_results", &[Need::Uprobes]) else { return };
    let loaded = load_programs(["call", "back"]);
    let attach = |program: &str, retprobe| {
        let function = Some("core_relo_live_function");
        let options = UprobeOptions { function, retprobe, ..UprobeOptions::default() };
        let program = loaded.program_ref(program).unwrap();
        program.attach_uprobe(env::current_exe().unwrap(), &options).unwrap()
    };
    let links = [attach("call", false), attach("back", true)];
    let returned = core_relo_live_function(black_box(1), 2, 3, 4, 5);
    assert_eq!((returned, arguments(&loaded)), (54321, [1, 2, 3, 4, 5]));
    assert_eq!(result(&loaded), 54321);
    drop(links);
}

#[test]
fn kprobes_read_arguments_and_results() {
    let Some(_live) = live("registers::kprobes_read_arguments_and_results", &[Need::Kprobes]) else { return };
    let loaded = load_programs(["open", "opened"]);
    let links = [loaded.attach("open").unwrap(), loaded.attach("opened").unwrap()];
    let missing = File::open("/no/such/file").unwrap_err();
    assert_eq!(missing.raw_os_error(), Some(libc::ENOENT));
    let [directory, path, ..] = arguments(&loaded);
    assert_eq!(u32::try_from(directory & 0xffff_ffff).unwrap().cast_signed(), libc::AT_FDCWD);
    assert!(path != 0, "the path has no address");
    // The function returns an int: the upper half of the register has no meaning.
    let low_half = u32::try_from(result(&loaded).cast_unsigned() & 0xffff_ffff).unwrap();
    assert_eq!(low_half.cast_signed(), -libc::ENOENT);
    drop(links);
}

#[test]
fn ksyscalls_read_arguments_and_results() {
    let needs = [Need::Kprobes, Need::Btf];
    let Some(_live) = live("registers::ksyscalls_read_arguments_and_results", &needs) else { return };
    let loaded = load_programs(["system_call", "system_returns"]);
    let links = [loaded.attach("system_call").unwrap(), loaded.attach("system_returns").unwrap()];
    const NO_SUCH_OPTION: i32 = 0x7001;
    let numbers = [2, 3, 4, 5].map(|n: libc::c_ulong| n << 32 | n);
    // SAFETY: the kernel knows no such option, and refuses the call.
    let refused = unsafe { libc::prctl(NO_SUCH_OPTION, numbers[0], numbers[1], numbers[2], numbers[3]) };
    assert_eq!(refused, -1);
    let [option, rest @ ..] = arguments(&loaded);
    assert_eq!(
        (option, rest),
        (0x7001, numbers),
        "wrapper: {}",
        is_configured("CONFIG_ARCH_HAS_SYSCALL_WRAPPER")
    );
    assert_eq!(result(&loaded), i64::from(-libc::EINVAL));
    drop(links);
}
