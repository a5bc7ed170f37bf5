//! The arguments of `cargo xtask vm`.

use std::path::PathBuf;
use std::time::Duration;

use crate::kernels::boot::SERIES;
use crate::system::{Failure, Outcome};

/// The parsed arguments.
#[derive(Debug, Clone)]
pub struct Request {
    pub kernels: Vec<Choice>,
    pub list: bool,
    pub may_install: bool,
    pub limit: Duration,
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

Boots distribution kernels in QEMU and runs the live tests (tests/tests/live.rs) there as root. Installs QEMU and a static busybox
through the system's package manager, and fetches kernels from Debian's mirror into target/kernels/boot/.

  --kernel KERNEL    5.10, 6.1, 6.12, 7.x, another series that the mirror has, `all` for these four, or the path of a
                     bzImage or ELF vmlinux; may be given several times (default: the oldest and the newest, 5.10 and 7.x)
  --list             list the kernels, and which of them are fetched already
  --timeout SECONDS  time limit for each kernel (default: 300)
  --cpus N           processors of the machine (default: 1)
  --progs DIR        the objects for the tests (default: bpf-progs/prebuilt/el)
  --verdicts         load every program of the committed objects on each kernel (default: all four) and on the running one, and
                     compare with the verdicts of `core-relo check`: prints the confusion matrix, and fails on a wrong `loads`
  --objects DIR      further objects for --verdicts: DIR/**/*.bpf.o
  --reuse            with --verdicts: compare with the loads of the last run of each kernel, which boots none of them
  --no-install       do not install QEMU or busybox
  TEST-ARGS          arguments of the test binary: a filter, --list, --exact, --nocapture

examples:
  cargo xtask vm                                      the live tests on the oldest and the newest kernel
  cargo xtask vm --kernel 6.1 -- cgroup               the tests with `cgroup` in their name, on 6.1
  cargo xtask vm --verdicts --objects objects/        verdicts and real loads, with objects of your own as well
  cargo xtask vm --kernel all -- --list               the tests, as the test binary lists them on each kernel
  cargo xtask vm --kernel /boot/vmlinuz-$(uname -r)   this machine's kernel, with its modules from /lib/modules

Lines of tests that cannot run begin with SKIP. The kernel's console stays in target/vm/<kernel>/console.
exit status: 0 all passed; 1 a test failed, or crashed the kernel; 2 the tests could not be run";

/// The default time limit for a kernel, in seconds.
const LIMIT: u64 = 300;

impl Request {
    /// Returns the defaults: the oldest and the newest kernel.
    pub fn new() -> Self {
        let ends = [SERIES.first(), SERIES.last()].into_iter().flatten();
        Self {
            kernels: ends.map(|series| Choice::Series((*series).to_owned())).collect(),
            list: false,
            may_install: true,
            limit: Duration::from_secs(LIMIT),
            cpus: 1,
            progs: None,
            verdicts: false,
            objects: None,
            reuse: false,
            test_args: Vec::new(),
        }
    }

    pub fn parse(args: &[String]) -> Outcome<Self> {
        let mut request = Self::new();
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
                "--kernel" => kernels.extend(choices(&value("a series or a path")?)),
                "--timeout" => request.limit = Duration::from_secs(number(flag, &value("seconds")?)?.into()),
                "--cpus" => request.cpus = number(flag, &value("a number")?)?,
                "--progs" => request.progs = Some(PathBuf::from(value("a directory")?)),
                "--verdicts" => request.verdicts = true,
                "--reuse" => request.reuse = true,
                "--objects" => request.objects = Some(PathBuf::from(value("a directory")?)),
                "--list" => request.list = true,
                "--no-install" => request.may_install = false,
                _ => {
                    return Err(Failure::Usage(format!(
                        "unknown argument `{word}` (arguments for the tests come after `--`)"
                    )));
                }
            }
        }
        if !kernels.is_empty() {
            request.kernels = kernels;
        } else if request.verdicts {
            request.kernels = choices("all");
        }
        if (request.objects.is_some() || request.reuse) && !request.verdicts {
            return Err(Failure::Usage("--objects and --reuse need --verdicts".to_owned()));
        }
        Ok(request)
    }
}

/// Parses one value of `--kernel`.
fn choices(value: &str) -> Vec<Choice> {
    if value == "all" {
        return SERIES.map(|series| Choice::Series(series.to_owned())).to_vec();
    }
    let series = value.strip_suffix(".x").unwrap_or(value);
    let numbers = series.split('.').all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()));
    vec![if numbers { Choice::Series(series.to_owned()) } else { Choice::File(PathBuf::from(value)) }]
}

fn number(flag: &str, text: &str) -> Outcome<u32> {
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
        assert_eq!(parsed("--kernel all").unwrap().kernels.len(), SERIES.len());
        assert_eq!(parsed("").unwrap().kernels.len(), 2);
    }

    #[test]
    fn verdicts_are_compared_on_all_kernels() {
        let request = parsed("--verdicts --objects dir").unwrap();
        assert!(request.verdicts);
        assert_eq!(request.kernels.len(), SERIES.len());
        assert_eq!(parsed("--verdicts --kernel 6.1").unwrap().kernels.len(), 1);
    }

    #[test]
    fn invalid_arguments_are_refused() {
        for line in
            ["--objects dir", "--reuse", "--kernel", "--timeout 0", "--timeout x", "cgroup", "--kernel="]
        {
            assert!(matches!(parsed(line), Err(Failure::Usage(_))), "{line}");
        }
    }
}
