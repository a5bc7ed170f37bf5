//! Private pins that loads left when they were killed before they gave the pins their final names.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// The beginning of private names. The id of the process and a number follow.
pub(super) const PRIVATE_PREFIX: &str = "core_relo_";

/// Warns of private pins in a directory whose processes are gone.
///
/// A pin is not removed, because its process may run in another PID namespace.
pub(super) fn warn_of_leftovers(dir: &Path) {
    for path in find_leftovers(dir, |process| Path::new("/proc").join(process).exists()) {
        log::warn!(
            "{}: a load that was killed probably left this pin, and it keeps a map in the kernel: remove the pin if no load is running",
            path.display()
        );
    }
}

fn find_leftovers(dir: &Path, is_running: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    // A directory that cannot be read has no leftovers that this process could remove.
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let mut leftovers: Vec<_> = entries
        .filter(|entry| {
            let name = entry.file_name();
            name.to_str().and_then(owner).is_some_and(|process| !is_running(process))
        })
        .map(|entry| entry.path())
        .collect();
    leftovers.sort();
    leftovers
}

/// Returns the id of the process in a private name.
fn owner(name: &str) -> Option<&str> {
    let (process, number) = name.strip_prefix(PRIVATE_PREFIX)?.split_once('_')?;
    let is_number = |text: &str| text.parse::<u32>().is_ok_and(|number| number.to_string() == text);
    (is_number(process) && is_number(number)).then_some(process)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_private_names_have_an_owner() {
        assert_eq!(owner("core_relo_12_0"), Some("12"));
        let others =
            ["core_relo_live", "core_relo_12", "core_relo_12_x", "core_relo_1_2_3", "core_relo_012_1", "x"];
        assert!(others.iter().all(|name| owner(name).is_none()));
    }

    #[test]
    fn pins_of_running_loads_are_no_leftovers() {
        let dir = std::env::temp_dir().join(format!("core-relo-leftovers-{}", std::process::id()));
        fs::create_dir(&dir).unwrap();
        for name in ["core_relo_12_0", "core_relo_13_0", "map"] {
            fs::write(dir.join(name), "").unwrap();
        }
        let left = find_leftovers(&dir, |process| process == "13");
        assert_eq!(left, [dir.join("core_relo_12_0")]);
        fs::remove_dir_all(&dir).unwrap();
        assert!(find_leftovers(Path::new("/no/such/directory"), |_| false).is_empty());
    }
}
