//! The analyses of an object's programs, kept for kernels on which the programs are the same.

use super::config::{ConfigData, ConfigUse};
use super::kernel_numbers::{UsedNumbers, split_number};
use super::reachability::Reachability;
use crate::limits;
use alloc::sync::Arc;
use core::hash::{Hash, Hasher};
use core_relo::{Endian, insn::Slot};
use core_relo_object::ProgramIndex;
use hashbrown::HashMap;
use std::sync::{Mutex, PoisonError};

/// The parts of a program's analysis that depend on the kernel. Equal inputs of an object have the same
/// result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AnalysisInput {
    pub(crate) program: ProgramIndex,
    /// The instructions that relocations write, with their indices. Of several for an index, the last counts.
    pub(crate) relocated: Vec<(u32, Slot)>,
    /// Whether the kernel verifies no global function by itself.
    pub(crate) are_functions_static: bool,
    /// For each reference to an extern, in the order of the program's references, whether the extern has an
    /// address.
    pub(crate) externs: Vec<Option<bool>>,
    pub(crate) kconfig: Arc<ConfigData>,
    pub(crate) endian: Endian,
    pub(crate) verifies_uncalled_functions: bool,
    pub(crate) bounds_context: bool,
}

/// Hashes the program and what most kernels differ in.
impl Hash for AnalysisInput {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.program.hash(hasher);
        for insn in self.relocated.iter().map(|(_, slot)| slot.first()) {
            let [code, off] = [u64::from(insn.code), u64::from(insn.off.cast_unsigned())];
            hasher.write_u64(code << 48 | off << 32 | u64::from(insn.imm.cast_unsigned()));
        }
    }
}

impl AnalysisInput {
    /// Returns whether the cache may keep the input. A large input costs more memory than the analysis saves
    /// time.
    fn is_kept(&self) -> bool {
        self.relocated.len() <= limits::KEPT_ANALYSIS_INSNS
            && self.kconfig.unknown.len() <= limits::KEPT_ANALYSIS_CONFIG
    }

    /// Returns the instructions with numbers that relocations write, in order. The result need not depend on
    /// all of the numbers.
    pub(crate) fn relocated_numbers(&self) -> Vec<u32> {
        let with_number = self.relocated.iter().filter(|(_, slot)| split_slot(*slot).1.is_some());
        with_number.map(|(insn, _)| *insn).collect()
    }

    /// Returns the input without the numbers and configuration values that the result need not depend on, and
    /// the numbers of the relocated instructions.
    fn split(&self) -> (Self, Vec<Option<i32>>) {
        let parts = self.relocated.iter().map(|(insn, slot)| {
            let (slot, number) = split_slot(*slot);
            ((*insn, slot), number)
        });
        let (relocated, numbers) = parts.unzip();
        (Self { relocated, externs: self.externs.clone(), kconfig: Arc::default(), ..*self }, numbers)
    }
}

/// Returns an instruction without its number, and the number: see [`split_number`].
fn split_slot(slot: Slot) -> (Slot, Option<i32>) {
    match slot {
        Slot::One(insn) => {
            let (insn, number) = split_number(insn);
            (Slot::One(insn), number)
        }
        Slot::Two(..) => (slot, None),
    }
}

/// A kept analysis.
#[derive(Debug)]
struct KnownAnalysis {
    /// The numbers on which the result depends, by their positions among the relocated instructions.
    numbers: Vec<(usize, Option<i32>)>,
    config: Vec<ConfigUse>,
    result: Arc<Reachability>,
}

impl KnownAnalysis {
    fn is_result_for(&self, input: &AnalysisInput, numbers: &[Option<i32>]) -> bool {
        self.numbers.iter().all(|(position, number)| numbers.get(*position) == Some(number))
            && input.kconfig.meets(&self.config, input.endian)
    }
}

/// The kept analyses, by their inputs without numbers and configuration values.
#[derive(Debug, Default)]
struct KnownAnalyses {
    by_input: HashMap<AnalysisInput, Vec<KnownAnalysis>>,
    count: usize,
}

/// The analyses of an object's programs. Threads may share them.
#[derive(Debug, Default)]
pub(crate) struct AnalysisCache {
    known: Mutex<KnownAnalyses>,
}

impl AnalysisCache {
    /// Returns the result for an input. Unless the result is known, `analyze` computes it, and returns the
    /// numbers on which the result depends.
    pub(crate) fn find(
        &self,
        input: &AnalysisInput,
        analyze: impl FnOnce(&AnalysisInput) -> (Reachability, UsedNumbers),
    ) -> Arc<Reachability> {
        if !input.is_kept() {
            return Arc::new(analyze(input).0);
        }
        let lock = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let (without_numbers, numbers) = input.split();
        if let Some(known) = lock().by_input.get(&without_numbers)
            && let Some(known) = known.iter().find(|known| known.is_result_for(input, &numbers))
        {
            return Arc::clone(&known.result);
        }
        // Other threads go on meanwhile.
        let (result, used) = analyze(input);
        let result = Arc::new(result);
        let Some(config) = used.config else { return result };
        if result.insn_count() > limits::KEPT_ANALYSIS_INSNS {
            return result;
        }
        let mut known = lock();
        if known.count < limits::KEPT_ANALYSES {
            known.count = known.count.wrapping_add(1);
            let relocated = (0..).zip(&input.relocated).zip(numbers);
            let used = relocated.filter(|((_, (insn, _)), _)| used.relocated.binary_search(insn).is_ok());
            let numbers = used.map(|((position, _), number)| (position, number)).collect();
            let analysis = KnownAnalysis { numbers, config, result: Arc::clone(&result) };
            known.by_input.entry(without_numbers).or_default().push(analysis);
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reach::Reach;
    use core::cell::Cell;
    use core_relo::insn::Insn;

    /// Returns the dependence on no number.
    fn no_numbers() -> UsedNumbers {
        UsedNumbers { relocated: Vec::new(), config: Some(Vec::new()) }
    }

    fn input(program: usize, relocated: u8) -> AnalysisInput {
        AnalysisInput {
            program: ProgramIndex(program),
            relocated: vec![(0, Slot::One(Insn { code: relocated, ..Insn::default() }))],
            are_functions_static: false,
            externs: Vec::new(),
            kconfig: Arc::default(),
            endian: Endian::Little,
            verifies_uncalled_functions: false,
            bounds_context: false,
        }
    }

    /// Kernels differ in the instructions.
    #[test]
    fn equal_inputs_are_analyzed_once() {
        let (cache, count) = (AnalysisCache::default(), Cell::new(0));
        let analyze = |input| {
            cache.find(&input, |_input| {
                count.set(count.get() + 1);
                (Reachability::default(), no_numbers())
            })
        };
        for _ in 0..2 {
            for input in [input(0, 1), input(1, 1), input(0, 2)] {
                analyze(input);
            }
        }
        assert_eq!(count.get(), 3);
    }

    /// Kernels differ in the offsets of fields, which most programs only add to addresses.
    #[test]
    fn inputs_that_differ_in_unused_numbers_are_analyzed_once() {
        let (cache, count) = (AnalysisCache::default(), Cell::new(0));
        let analyze = |used: i32, unused: i32| {
            let copy = |imm| Slot::One(Insn { code: 0xb7, dst: 1, imm, ..Insn::default() });
            let relocated = vec![(3, copy(unused)), (5, copy(used))];
            cache.find(&AnalysisInput { relocated, ..input(0, 0) }, |input| {
                assert_eq!(input.relocated_numbers(), [3, 5]);
                count.set(count.get() + 1);
                (Reachability::default(), UsedNumbers { relocated: vec![5], ..no_numbers() })
            });
            count.get()
        };
        assert_eq!(
            [analyze(1, 1), analyze(1, 2), analyze(2, 1), analyze(2, 2), analyze(1, 3)],
            [1, 1, 2, 2, 2]
        );
    }

    #[test]
    fn the_cache_has_a_limit() {
        let cache = AnalysisCache::default();
        for program in 0..limits::KEPT_ANALYSES + 5 {
            cache.find(&input(program, 0), |_input| (Reachability::default(), no_numbers()));
        }
        assert_eq!(cache.known.lock().unwrap().count, limits::KEPT_ANALYSES);
    }

    #[test]
    fn large_inputs_are_not_kept() {
        let (cache, size) = (AnalysisCache::default(), limits::KEPT_ANALYSIS_CONFIG + 1);
        let find = |input: &AnalysisInput, result: Reachability| {
            cache.find(input, |_input| (result, no_numbers()));
        };
        let config = ConfigData { bytes: Vec::new(), unknown: vec![0..1; size] };
        let unknown = AnalysisInput { kconfig: Arc::new(config), ..input(0, 0) };
        find(&unknown, Reachability::default());
        let relocated = vec![(0, Slot::One(Insn::default())); limits::KEPT_ANALYSIS_INSNS + 1];
        find(&AnalysisInput { relocated, ..input(0, 0) }, Reachability::default());
        let reached = vec![Reach::Dead; limits::KEPT_ANALYSIS_INSNS + 1];
        find(&input(0, 0), Reachability { reached, ..Reachability::default() });
        assert_eq!(cache.known.lock().unwrap().count, 0);
    }
}
