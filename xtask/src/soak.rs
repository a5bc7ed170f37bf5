//! `cargo xtask soak`: an agent that loads, attaches and reads events at full rate, and starts anew each
//! second.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use core_relo_vm::{Guest, KernelImage};

use crate::cases;
use crate::kernels::boot::Bootable;
use crate::system::{Failure, Outcome, cargo, check, root};
use crate::vm::{self, Choice};

pub const HELP: &str = "\
usage: cargo xtask soak [OPTIONS]

Runs an agent that loads two objects, attaches, pins, reads events at full rate for a second, and starts anew: with a ring buffer, a perf
buffer and, on kernels from 6.19, an overwriting ring buffer in turn. Checks after each second that the memory of the process and of the
kernel, descriptors, mappings, threads, kernel objects and pins do not grow, and that each event was read or counted as lost.

  --seconds N       how long (default: 60)
  --kernel KERNEL   not on the running kernel, but in QEMU: 6.1, 6.12, 7.x and so on, or the path of an image; may be given several
                    times. There, the memory of the whole kernel and the kernel's log are checked as well
  --append WORDS    with --kernel, words for the kernel's command line, such as options that make the kernel check itself
  --cpus N          with --kernel, processors of the machine (default: 2)

examples:
  cargo xtask soak --seconds 3600
  cargo xtask soak --kernel 7.x --seconds 300 --append 'slab_debug=FZPU page_poison=1 init_on_free=1 kfence.sample_interval=1'

exit status: 0 nothing grew; 1 something did, or events were lost silently; 2 the agent could not be run";

/// Mounts a bpffs that only the agent sees.
const WITH_BPFFS: &str = "mount -t bpf bpf /sys/fs/bpf && exec \"$@\"";
/// The time of a guest for its boot and its end, beside that of the agent.
const BOOT: Duration = Duration::from_secs(600);

/// The parsed arguments.
#[derive(Debug, PartialEq, Eq)]
struct Options {
    seconds: u32,
    kernels: Vec<Choice>,
    append: Vec<String>,
    cpus: u32,
}

/// Builds and runs the agent. It checks after each second that nothing has grown.
pub fn run(args: &[String]) -> Outcome {
    let options = parse(args)?;
    check(cargo().args([
        "build",
        "--release",
        "--quiet",
        "--package",
        "core-relo-tests",
        "--example",
        "soak",
    ]))?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    let agent = root().join(target).join("release/examples/soak");
    if !options.kernels.is_empty() {
        return in_guests(&agent, &options);
    }
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", WITH_BPFFS, "sh"]).arg(agent);
    check(command.args(["--seconds", &options.seconds.to_string()]))
}

fn parse(args: &[String]) -> Outcome<Options> {
    let mut options = Options { seconds: 60, kernels: Vec::new(), append: Vec::new(), cpus: 2 };
    let mut words = args.iter();
    while let Some(word) = words.next() {
        let mut value = || {
            let next = words.next().filter(|value| !value.is_empty());
            next.ok_or_else(|| Failure::Usage(format!("{word} needs a value")))
        };
        match word.as_str() {
            "--seconds" => options.seconds = vm::number(word, value()?)?,
            "--cpus" => options.cpus = vm::number(word, value()?)?,
            "--kernel" => options.kernels.extend(vm::choices(value()?, vm::default_platform())),
            "--append" => options.append.extend(value()?.split_whitespace().map(str::to_owned)),
            other => return Err(Failure::Usage(format!("unknown argument `{other}`"))),
        }
    }
    if !options.append.is_empty() && options.kernels.is_empty() {
        return Err(Failure::Usage("--append needs --kernel".to_owned()));
    }
    Ok(options)
}

/// Runs the agent on each kernel.
fn in_guests(agent: &Path, options: &Options) -> Outcome {
    let platform = vm::default_platform();
    vm::prerequisites(platform, true)?;
    let (kernels, missing) = vm::kernels(&options.kernels, platform);
    if let Some(error) = missing.into_iter().next() {
        return Err(error);
    }
    let objects = cases::dir().join("prebuilt").join(platform.objects).join("live");
    let mut guest = Guest::new(platform.arch, agent)?;
    guest.set_time_limit(BOOT + 2 * Duration::from_secs(options.seconds.into()));
    guest.set_cpus(options.cpus);
    // The agent reads the objects from the paths that they have on the host.
    guest.add_path(&objects, &objects)?;
    guest.add_own_command(&["--seconds".into(), options.seconds.to_string().into(), "--alone".into()]);
    options.append.iter().for_each(|word| guest.add_kernel_argument(word));
    kernels.iter().try_for_each(|kernel| in_guest(&guest, kernel))
}

fn in_guest(guest: &Guest, kernel: &Bootable) -> Outcome {
    let name = &kernel.name;
    println!("{name}: Linux {}", kernel.release);
    let output = guest.boot(&KernelImage::open(&kernel.image)?, &mut |line| println!("{line}"))?;
    eprint!("{}", output.stderr);
    match output.exit_codes() {
        [0] => Ok(()),
        [code] => Err(format!("{name}: the agent ended with exit status {code}").into()),
        _ => Err(format!("{name}: {}", output.end).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(args: &[&str]) -> Outcome<Options> {
        parse(&args.iter().map(|arg| (*arg).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn words_for_the_kernel_need_a_kernel() {
        let options = parsed(&["--kernel", "7.x", "--append", "a=1 b", "--seconds", "7"]).unwrap();
        let kernels = vec![Choice::Series("7".to_owned())];
        let append = vec!["a=1".to_owned(), "b".to_owned()];
        assert_eq!(options, Options { seconds: 7, kernels, append, cpus: 2 });
        for args in [&["--append", "a"][..], &["--seconds"], &["--seconds", "x"], &["60"]] {
            assert!(matches!(parsed(args), Err(Failure::Usage(_))), "{args:?}");
        }
    }
}
