//! The analyses of an object's programs, kept for kernels on which the programs are the same.

use super::reachability::Reachability;
use crate::limits;
use alloc::sync::Arc;
use core::{
    hash::{Hash, Hasher},
    ops::Range,
};
use core_relo::insn::Insn;
use core_relo_object::ProgramIndex;
use hashbrown::HashMap;
use std::sync::{Mutex, PoisonError};

/// The configuration values of a kernel that an object declares.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ConfigData {
    pub(crate) bytes: Vec<u8>,
    /// The parts of `bytes` that are not known.
    pub(crate) unknown: Vec<Range<usize>>,
}

/// The parts of a program's analysis that depend on the kernel. Equal inputs of an object have the same
/// result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AnalysisInput {
    pub(crate) program: ProgramIndex,
    /// The instructions after relocation.
    pub(crate) insns: Vec<Insn>,
    /// Whether the kernel verifies no global function by itself.
    pub(crate) are_functions_static: bool,
    /// For each reference to an extern, in the order of the program's references, whether the extern has an
    /// address.
    pub(crate) externs: Vec<Option<bool>>,
    pub(crate) kconfig: Arc<ConfigData>,
    pub(crate) verifies_uncalled_functions: bool,
    pub(crate) bounds_context: bool,
}

/// Hashes the program and what most kernels differ in.
impl Hash for AnalysisInput {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.program.hash(hasher);
        self.kconfig.bytes.hash(hasher);
        for insn in &self.insns {
            let [code, off] = [u64::from(insn.code), u64::from(insn.off.cast_unsigned())];
            hasher.write_u64(code << 48 | off << 32 | u64::from(insn.imm.cast_unsigned()));
        }
    }
}

impl AnalysisInput {
    /// Returns whether the cache may keep the input. A large input costs more memory than the analysis saves
    /// time.
    fn is_kept(&self) -> bool {
        let ConfigData { bytes, unknown } = &*self.kconfig;
        self.insns.len() <= limits::KEPT_ANALYSIS_INSNS
            && bytes.len() <= limits::KEPT_ANALYSIS_CONFIG
            && unknown.len() <= limits::KEPT_ANALYSIS_CONFIG
    }
}

/// The analyses of an object's programs. Threads may share them.
#[derive(Debug, Default)]
pub(crate) struct AnalysisCache {
    known: Mutex<HashMap<AnalysisInput, Arc<Reachability>>>,
}

impl AnalysisCache {
    /// Returns the result for an input, which `analyze` computes unless the input is known.
    pub(crate) fn find(
        &self,
        input: AnalysisInput,
        analyze: impl FnOnce(&AnalysisInput) -> Reachability,
    ) -> Arc<Reachability> {
        if !input.is_kept() {
            return Arc::new(analyze(&input));
        }
        let lock = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lock().get(&input) {
            return Arc::clone(known);
        }
        // Other threads go on meanwhile.
        let result = Arc::new(analyze(&input));
        let mut known = lock();
        if known.len() < limits::KEPT_ANALYSES {
            known.insert(input, Arc::clone(&result));
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::cell::Cell;

    fn input(program: usize, kconfig: u8) -> AnalysisInput {
        AnalysisInput {
            program: ProgramIndex(program),
            insns: vec![Insn::default()],
            are_functions_static: false,
            externs: Vec::new(),
            kconfig: Arc::new(ConfigData { bytes: vec![kconfig], unknown: Vec::new() }),
            verifies_uncalled_functions: false,
            bounds_context: false,
        }
    }

    /// Kernels differ in the values of the configuration, and in the instructions.
    #[test]
    fn equal_inputs_are_analyzed_once() {
        let (cache, count) = (AnalysisCache::default(), Cell::new(0));
        let analyze = |input| {
            cache.find(input, |_input| {
                count.set(count.get() + 1);
                Reachability::default()
            })
        };
        for _ in 0..2 {
            for input in [input(0, 1), input(1, 1), input(0, 2)] {
                analyze(input);
            }
        }
        assert_eq!(count.get(), 3);
    }

    #[test]
    fn the_cache_has_a_limit() {
        let cache = AnalysisCache::default();
        for program in 0..limits::KEPT_ANALYSES + 5 {
            cache.find(input(program, 0), |_input| Reachability::default());
        }
        assert_eq!(cache.known.lock().unwrap().len(), limits::KEPT_ANALYSES);
    }

    /// A small object may declare a mebibyte of configuration values, which each entry would keep.
    #[test]
    fn large_inputs_are_not_kept() {
        let (cache, size) = (AnalysisCache::default(), limits::KEPT_ANALYSIS_CONFIG + 1);
        let bytes = ConfigData { bytes: vec![0; size], unknown: Vec::new() };
        let unknown = ConfigData { bytes: Vec::new(), unknown: vec![0..1; size] };
        for config in [bytes, unknown] {
            cache.find(AnalysisInput { kconfig: Arc::new(config), ..input(0, 0) }, |_input| {
                Reachability::default()
            });
        }
        let insns = vec![Insn::default(); limits::KEPT_ANALYSIS_INSNS + 1];
        cache.find(AnalysisInput { insns, ..input(0, 0) }, |_input| Reachability::default());
        assert!(cache.known.lock().unwrap().is_empty());
    }
}
