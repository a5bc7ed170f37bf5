//! `cargo xtask bench --agent`: what a small agent costs with core-relo, libbpf-rs and aya, from the packages
//! in `benches/agents/`.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use crate::aya;
use crate::install;
use crate::system::{Failure, Outcome, check, output, read, report_skip, root, target_dir};

/// An agent that loads one object, attaches its programs and reads one ring buffer.
struct Agent {
    /// The directory in `benches/agents`. The package is `agent-` and this name.
    name: &'static str,
    library: &'static str,
    /// Whether the library needs the toolchain of aya.
    needs_aya_toolchain: bool,
}

const AGENTS: [Agent; 3] = [
    Agent { name: "ours", library: "core-relo-loader", needs_aya_toolchain: false },
    Agent { name: "libbpf", library: "libbpf-rs", needs_aya_toolchain: false },
    Agent { name: "aya", library: "aya", needs_aya_toolchain: true },
];

/// The release profile of all agents, which is that of `examples/agent-template`: each key of `Cargo.toml`
/// with its value.
const PROFILE: [ProfileSetting; 4] = [
    ProfileSetting { key: "opt-level", value: "s" },
    ProfileSetting { key: "lto", value: "true" },
    ProfileSetting { key: "codegen-units", value: "1" },
    ProfileSetting { key: "strip", value: "symbols" },
];

/// A setting of the release profile.
struct ProfileSetting {
    key: &'static str,
    value: &'static str,
}

impl ProfileSetting {
    /// Returns the environment variable of cargo that has the setting.
    fn variable(&self) -> String {
        format!("CARGO_PROFILE_RELEASE_{}", self.key.replace('-', "_").to_uppercase())
    }
}

/// What the first build of an agent costs.
struct Costs {
    /// The processor time of the build, in hundredths of a second.
    build_ticks: u64,
    /// The size of the executable without symbols.
    bytes: u64,
    /// The number of crates besides the agent.
    crates: usize,
}

/// Builds the agents from nothing and prints a table.
pub fn run(may_install: bool) -> Outcome {
    let mut rows = Vec::new();
    for agent in &AGENTS {
        match agent.toolchain(may_install) {
            Ok(toolchain) => rows.push((agent.library, agent.build(toolchain.as_deref())?)),
            Err(reason) => report_skip(agent.library, &reason),
        }
    }
    let profile: Vec<_> = PROFILE.iter().map(|s| format!("{} = {}", s.key, s.value)).collect();
    println!("release profile of all: {}", profile.join(", "));
    println!("an agent with       processor time     size  crates");
    for (library, costs) in rows {
        let (seconds, megabytes) = (costs.build_ticks as f64 / 100.0, costs.bytes as f64 / 1e6);
        println!("{library:<18} {seconds:>13.1} s {megabytes:>5.2} MB {:>7}", costs.crates);
    }
    Ok(())
}

impl Agent {
    /// Returns the toolchain that builds the agent, `None` for the current one, or the reason why the agent
    /// cannot be built.
    fn toolchain(&self, may_install: bool) -> Result<Option<String>, String> {
        if self.needs_aya_toolchain {
            return aya::toolchain(may_install);
        }
        let missing = if self.name == "libbpf" { install::libbpf_build_tools(may_install) } else { None };
        missing.map_or(Ok(None), |missing| Err(format!("libbpf cannot be built without {missing}")))
    }

    /// Builds the agent in an empty directory.
    fn build(&self, toolchain: Option<&str>) -> Outcome<Costs> {
        let target = agents_dir().join(self.name);
        let _ = fs::remove_dir_all(&target);
        let command = |verb: &str| {
            let mut command = aya::cargo_of(toolchain);
            command.arg(verb).arg("--manifest-path").arg(self.manifest()).env("CARGO_TARGET_DIR", &target);
            command
        };
        // Downloads are no part of a build.
        check(&mut command("fetch"))?;
        let tree = output(command("tree").args(["--edges", "normal,build", "--prefix", "none"]));
        let tree = tree.ok_or_else(|| format!("{}: `cargo tree` failed", self.manifest().display()))?;
        let before = children_ticks()?;
        let mut build = command("build");
        build.args(["--release", "--quiet"]);
        build.envs(PROFILE.iter().map(|setting| (setting.variable(), setting.value)));
        check(build.env_remove("CARGO_INCREMENTAL"))?;
        let build_ticks = children_ticks()?.saturating_sub(before);
        let executable = target.join("release").join(format!("agent-{}", self.name));
        let bytes =
            fs::metadata(&executable).map_err(|why| format!("{}: {why}", executable.display()))?.len();
        Ok(Costs { build_ticks, bytes, crates: count_crates(&tree).saturating_sub(1) })
    }

    fn manifest(&self) -> PathBuf {
        root().join("benches/agents").join(self.name).join("Cargo.toml")
    }
}

/// Returns the directory for the builds of the agents.
fn agents_dir() -> PathBuf {
    target_dir().join("agents")
}

/// Returns the number of packages in the output of `cargo tree`, which marks repeated ones with `(*)`.
fn count_crates(tree: &str) -> usize {
    let packages = tree.lines().map(|line| line.trim_end_matches(" (*)")).filter(|line| !line.is_empty());
    packages.collect::<BTreeSet<_>>().len()
}

/// Returns the processor time of the ended children of this process, in hundredths of a second.
fn children_ticks() -> Outcome<u64> {
    let stat = read("/proc/self/stat".as_ref())?;
    let ticks = parse_children_ticks(&stat);
    ticks.ok_or_else(|| Failure::Failed("/proc/self/stat: no times of children".to_owned()))
}

/// Returns the sum of `cutime` and `cstime` in a process's `stat`. The name of the process may contain spaces
/// and parentheses.
fn parse_children_ticks(stat: &str) -> Option<u64> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut times = fields.split_whitespace().skip(13).map(str::parse::<u64>);
    Some(times.next()?.ok()? + times.next()?.ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_times_of_children_follow_the_name_of_the_process() {
        let stat = "7 (a) b (c)) S 1 7 7 0 -1 4194304 100 2000 0 0 5 6 700 80 20 0 1 0 123 1000 50";
        assert_eq!(parse_children_ticks(stat), Some(780));
        assert_eq!(parse_children_ticks("7 (a) S 1"), None);
    }

    /// The figures are those that users of the template get.
    #[test]
    fn the_profile_is_that_of_the_template() {
        let manifest = read(&root().join("examples/agent-template/Cargo.toml.liquid")).unwrap();
        let (_, profile) = manifest.split_once("\n[profile.release]\n").unwrap();
        let lines = profile.lines().filter(|line| line.contains(" = "));
        let settings = lines.map(|line| line.split('#').next().unwrap().trim().replace('"', ""));
        let expected = PROFILE.iter().map(|setting| format!("{} = {}", setting.key, setting.value));
        assert_eq!(settings.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
    }

    #[test]
    fn a_package_counts_once() {
        let tree = "agent v0.0.0 (/agent)\nlog v0.4.1\nlibc v0.2.1\nlog v0.4.1 (*)\n\nlibc v0.2.1\n";
        assert_eq!(count_crates(tree), 3);
    }

    #[test]
    fn the_agents_have_packages() {
        for agent in &AGENTS {
            let manifest = read(&agent.manifest()).unwrap();
            assert!(manifest.contains(&format!("name = \"agent-{}\"\n", agent.name)));
            assert!(manifest.contains(&format!("\n{} = ", agent.library)));
        }
    }
}
