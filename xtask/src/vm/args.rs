//! The arguments of `cargo xtask vm`.

use std::path::PathBuf;
use std::time::Duration;

use crate::platform::{PLATFORMS, Platform};
use crate::system::{Failure, Outcome};

/// The parsed arguments.
#[derive(Debug, Clone)]
pub struct Request {
    /// The architecture of the kernels to fetch.
    pub platform: &'static Platform,
    pub kernels: Vec<Choice>,
    pub list: bool,
    /// Write the stored results into the document instead of running the tests.
    pub table: bool,
    pub may_install: bool,
    /// The time limit for each kernel, or `None` for the default of its architecture.
    pub limit: Option<Duration>,
    pub cpus: u32,
    /// The directory of objects for the guest, or `None` for the committed ones.
    pub progs: Option<PathBuf>,
    /// Compare verdicts with real loads instead of running the tests.
    pub verdicts: bool,
    /// A directory of further objects for `verdicts`.
    pub objects: Option<PathBuf>,
    /// Use the stored loads of the last run with `verdicts`.
    pub reuse: bool,
    /// Arguments for the test binary.
    pub test_args: Vec<String>,
}

/// A kernel to boot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Choice {
    /// The newest distribution kernel of a series: `6.1`, `7`.
    Series(String),
    /// A kernel image.
    File(PathBuf),
}

pub const HELP: &str = "\
usage: cargo xtask vm [OPTIONS] [-- TEST-ARGS]

Boots distribution kernels in QEMU and runs the live tests (tests/tests/live.rs) there as root. Installs QEMU, a static busybox and cross
compilers through the system's package manager, and fetches kernels from Debian's mirror into target/kernels/boot/.

  --arch ARCH        amd64, arm64, s390x, riscv64 or ppc64el (default: amd64)
  --kernel KERNEL    5.10, 6.1, 6.12, 7.x, another series that the mirror has, `all` for those that are tested on the
                     architecture, or the path of an image, whose architecture counts; may be given several times (default: the
                     oldest and the newest; riscv64 begins with 6.12, s390x and ppc64el with 6.1)
  --list             list the kernels, and which of them are fetched already
  --table            write the results of the last runs on each kernel into docs/architectures.md
  --timeout SECONDS  time limit for each kernel (default: 300; 1800 for other architectures, which QEMU emulates)
  --cpus N           processors of the machine (default: 1)
  --progs DIR        the objects for the tests (default: bpf-progs/prebuilt/el, or eb for s390x)
  --verdicts         load every program of the committed objects on each kernel (default: all of the architecture) and, without --arch, on
                     the running one; compare with the verdicts of `core-relo check`: prints the confusion matrix, and fails on a
                     wrong `loads`
  --objects DIR      further objects for --verdicts: DIR/**/*.bpf.o
  --reuse            with --verdicts: compare with the loads of the last run of each kernel, which boots none of them
  --no-install       do not install QEMU or busybox
  TEST-ARGS          arguments of the test binary: a filter, --list, --exact, --nocapture

examples:
  cargo xtask vm                                      the live tests on the oldest and the newest kernel
  cargo xtask vm --kernel 6.1 -- cgroup               the tests with `cgroup` in their name, on 6.1
  cargo xtask vm --arch s390x                         the live tests on two big-endian kernels
  cargo xtask vm --verdicts --objects objects/        verdicts and real loads, with objects of your own as well
  cargo xtask vm --arch s390x --verdicts --kernel 7   the same on a big-endian kernel without a JIT compiler
  cargo xtask vm --kernel all -- --list               the tests, as the test binary lists them on each kernel
  cargo xtask vm --kernel /boot/vmlinuz-$(uname -r)   this machine's kernel, with its modules from /lib/modules

Lines of tests that cannot run begin with SKIP. The kernel's console stays in target/vm/<kernel>/console.
exit status: 0 all passed; 1 a test failed, or crashed the kernel; 2 the tests could not be run";

impl Request {
    /// Returns the defaults: the oldest and the newest kernel of an architecture.
    pub fn new(platform: &'static Platform) -> Self {
        Self {
            platform,
            kernels: series(&platform.oldest_and_newest()),
            list: false,
            table: false,
            may_install: true,
            limit: None,
            cpus: 1,
            progs: None,
            verdicts: false,
            objects: None,
            reuse: false,
            test_args: Vec::new(),
        }
    }

    /// Returns the time limit for a kernel of this architecture.
    pub fn limit(&self, platform: &Platform) -> Duration {
        self.limit.unwrap_or(Duration::from_secs(platform.seconds.into()))
    }

    pub fn parse(args: &[String]) -> Outcome<Self> {
        let mut request = Self::new(default_platform());
        let mut kernels = Vec::new();
        let mut words = args.iter();
        while let Some(word) = words.next() {
            let (flag, inline_value) =
                word.split_once('=').map_or((word.as_str(), None), |(f, v)| (f, Some(v)));
            let mut value = |what: &str| {
                let next = inline_value.map(str::to_owned).or_else(|| words.next().cloned());
                next.filter(|v| !v.is_empty()).ok_or_else(|| Failure::Usage(format!("{flag} needs {what}")))
            };
            match flag {
                "--" => {
                    request.test_args = words.cloned().collect();
                    break;
                }
                "--arch" => request.platform = platform(&value("an architecture")?)?,
                "--kernel" => kernels.push(value("a series or a path")?),
                "--timeout" => {
                    request.limit = Some(Duration::from_secs(number(flag, &value("seconds")?)?.into()));
                }
                "--cpus" => request.cpus = number(flag, &value("a number")?)?,
                "--progs" => request.progs = Some(PathBuf::from(value("a directory")?)),
                "--verdicts" => request.verdicts = true,
                "--reuse" => request.reuse = true,
                "--objects" => request.objects = Some(PathBuf::from(value("a directory")?)),
                "--list" => request.list = true,
                "--table" => request.table = true,
                "--no-install" => request.may_install = false,
                _ => {
                    return Err(Failure::Usage(format!(
                        "unknown argument `{word}` (arguments for the tests come after `--`)"
                    )));
                }
            }
        }
        let platform = request.platform;
        request.kernels = match kernels.as_slice() {
            [] if request.verdicts => series(platform.series),
            [] => series(&platform.oldest_and_newest()),
            kernels => kernels.iter().flat_map(|kernel| choices(kernel, platform)).collect(),
        };
        if (request.objects.is_some() || request.reuse) && !request.verdicts {
            return Err(Failure::Usage("--objects and --reuse need --verdicts".to_owned()));
        }
        Ok(request)
    }
}

/// Returns the architecture of a run without `--arch`.
pub fn default_platform() -> &'static Platform {
    let [first, ..] = &PLATFORMS;
    first
}

fn platform(name: &str) -> Outcome<&'static Platform> {
    Platform::named(name).ok_or_else(|| {
        Failure::Usage(format!(
            "--arch: unknown architecture `{name}`, expected one of {}",
            Platform::names()
        ))
    })
}

fn series(names: &[&str]) -> Vec<Choice> {
    names.iter().map(|series| Choice::Series((*series).to_owned())).collect()
}

/// Parses one value of `--kernel`.
pub fn choices(value: &str, platform: &Platform) -> Vec<Choice> {
    if value == "all" {
        return series(platform.series);
    }
    let series = value.strip_suffix(".x").unwrap_or(value);
    let numbers = series.split('.').all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()));
    vec![if numbers { Choice::Series(series.to_owned()) } else { Choice::File(PathBuf::from(value)) }]
}

pub fn number(flag: &str, text: &str) -> Outcome<u32> {
    let number = text.parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| Failure::Usage(format!("{flag}: `{text}` is not a number above 0")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Outcome<Request> {
        Request::parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn kernels_are_series_or_paths() {
        let request = parsed("--kernel 7.x --kernel=boot/vmlinuz-6.1 -- cgroup --exact").unwrap();
        let file = Choice::File(PathBuf::from("boot/vmlinuz-6.1"));
        assert_eq!(request.kernels, [Choice::Series("7".to_owned()), file]);
        assert_eq!(request.test_args, ["cgroup", "--exact"]);
        assert_eq!(parsed("--kernel all").unwrap().kernels.len(), 4);
        assert_eq!(parsed("").unwrap().kernels.len(), 2);
    }

    #[test]
    fn verdicts_are_compared_on_all_kernels() {
        let request = parsed("--verdicts --objects dir").unwrap();
        assert!(request.verdicts);
        assert_eq!(request.kernels.len(), 4);
        assert_eq!(parsed("--verdicts --kernel 6.1").unwrap().kernels.len(), 1);
        assert_eq!(parsed("--arch s390x --verdicts").unwrap().kernels, series(&["6.1", "6.12", "7"]));
    }

    #[test]
    fn each_architecture_has_its_kernels_and_its_time_limit() {
        let request = parsed("--kernel all --arch riscv64").unwrap();
        assert_eq!(request.kernels, series(&["6.12", "7"]));
        let request = parsed("--arch s390x").unwrap();
        assert_eq!(request.kernels, series(&["6.1", "7"]));
        assert!(request.limit(request.platform) > parsed("").unwrap().limit(default_platform()));
        let request = parsed("--arch s390x --timeout 7").unwrap();
        assert_eq!(request.limit(request.platform), Duration::from_secs(7));
    }

    #[test]
    fn invalid_arguments_are_refused() {
        for line in [
            "--objects dir",
            "--reuse",
            "--kernel",
            "--timeout 0",
            "--timeout x",
            "cgroup",
            "--kernel=",
            "--arch vax",
        ] {
            assert!(matches!(parsed(line), Err(Failure::Usage(_))), "{line}");
        }
    }
}
