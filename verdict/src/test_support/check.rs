//! The properties of the analysis that a run can contradict.

use super::generator::generate;
use super::interpreter::{Run, run};
use super::program::GeneratedProgram;
use crate::limits;
use crate::reach::Reach;

/// The runs of a program.
const RUNS: u64 = 12;

/// The counts of a check, to show that a generator writes useful programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "tests read the counts")]
pub struct Agreement {
    /// The runs that end at the exit of the program.
    pub complete_runs: u64,
    /// The complete runs that depend on constants only.
    pub constant_runs: u64,
    /// The instructions that a run executes.
    pub executed: usize,
    /// The dead instructions.
    pub dead: usize,
    /// The reachable instructions.
    pub reachable: usize,
}

/// Generates a program from bytes, analyses the program, and runs it with several inputs. Panics if a run
/// contradicts the analysis:
///
/// * A run executes no dead instruction.
/// * A complete run that depends on constants only is the only path of the most precise verifier. So it
///   executes all reachable instructions.
/// * The branches of all explored paths stay below the limit on steps.
pub fn check_reach(bytes: &[u8]) -> Agreement {
    let program = generate(bytes);
    let reachability = program.analyze();
    let count = program.insns.len();
    let steps = limits::REACH_STEPS_BASE + limits::REACH_STEPS_PER_INSN * count;
    assert!(reachability.branch_count() <= 2 * steps, "{} branches", reachability.branch_count());
    let reach: Vec<Reach> = (0..).take(count).map(|insn| reachability.reach(insn)).collect();
    let has_global = program.functions.iter().skip(1).any(|function| function.is_global);
    let mut agreement = Agreement {
        dead: reach.iter().filter(|reach| **reach == Reach::Dead).count(),
        reachable: reach.iter().filter(|reach| **reach == Reach::Reachable).count(),
        ..Agreement::default()
    };
    for seed in 0..RUNS {
        let run = run(&program, seed);
        let is_constant = run.is_complete && !run.uses_inputs && !has_global;
        agreement.complete_runs += u64::from(run.is_complete);
        agreement.constant_runs += u64::from(is_constant);
        for (insn, (found, executed)) in reach.iter().zip(&run.executed).enumerate() {
            let fail =
                |problem: &str| panic!("run {seed} {problem} {insn}\n{}", listing(&program, &reach, &run));
            match found {
                Reach::Dead if *executed => fail("executes dead instruction"),
                Reach::Reachable if is_constant && !executed => {
                    fail("does not execute reachable instruction");
                }
                _ => {}
            }
            agreement.executed += usize::from(*executed);
        }
    }
    agreement
}

/// Lists a program with the reachability and the execution of each instruction.
fn listing(program: &GeneratedProgram, reach: &[Reach], run: &Run) -> String {
    let head = format!("{:?} {:?} {:?}", program.endian, program.functions, program.loads);
    let found = program.insns.iter().zip(reach).zip(&run.executed).enumerate();
    let lines = found.map(|(number, ((insn, reach), executed))| {
        let mark = if *executed { '*' } else { ' ' };
        let target = i64::from(insn.off) + i64::try_from(number).unwrap_or(0) + 1;
        format!("{mark} {number:3} {insn} -> {target} {reach:?}")
    });
    [head].into_iter().chain(lines).collect::<Vec<_>>().join("\n")
}
