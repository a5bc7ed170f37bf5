//! The configuration values of a kernel on which an analysis depends.
//!
//! Kernels differ in their version at least. Most programs only compare a configuration value with a
//! constant. So a number from the configuration is computed when the analysis looks at it, and a comparison
//! is recorded with its outcome: the result counts for all kernels with the same outcome.

use super::branch::decide;
use super::data::{Data, DataNumber};
use super::memory::extend_loaded_sign;
use super::scalar::Scalar;
use super::step::operate;
use super::value::Value;
use core::ops::Range;
use core_relo::{
    Endian,
    insn::{Class, Insn, alu},
};

/// The operations on a configuration value before a comparison: compilers extend its sign with two shifts.
const OPERATIONS: usize = 4;

/// The configuration values of a kernel that an object declares.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ConfigData {
    pub(crate) bytes: Vec<u8>,
    /// The parts of `bytes` that are not known.
    pub(crate) unknown: Vec<Range<usize>>,
}

/// A part of the configuration values that a program loads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ConfigLoad {
    pub(super) offset: u64,
    pub(super) bytes: u8,
    pub(super) is_signed: bool,
}

/// A number that a program computes from a configuration value and constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ConfigNumber {
    load: ConfigLoad,
    operations: [Option<Insn>; OPERATIONS],
}

/// A comparison of a number with a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ConfigBranch {
    number: ConfigNumber,
    /// The number in the other register.
    other: u64,
    is_on_left: bool,
    insn: Insn,
}

/// A dependence of a result on a configuration value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ConfigUse(Use);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    /// On the value.
    Value(ConfigLoad, DataNumber),
    /// On the outcome of a comparison.
    Branch(ConfigBranch, bool),
}

impl ConfigData {
    /// Returns whether a result with these dependences counts for the kernel.
    pub(crate) fn meets(&self, uses: &[ConfigUse], endian: Endian) -> bool {
        let data = Data { bytes: &self.bytes, unknown: &self.unknown, endian };
        uses.iter().all(|config_use| config_use.holds_for(data))
    }
}

impl ConfigLoad {
    fn read(self, data: Data<'_>) -> DataNumber {
        data.number(self.offset, self.bytes)
    }
}

impl ConfigNumber {
    /// Returns the number that a load gives. `None` unless every verifier knows the number.
    pub(super) fn load(load: ConfigLoad, data: Data<'_>) -> Option<Self> {
        let number = Self { load, operations: [None; OPERATIONS] };
        number.value(data).map(|_| number)
    }

    /// Returns the result of an instruction. `None` for other instructions than those with the number and a
    /// constant as operands, after many instructions, and unless every verifier knows the result.
    pub(super) fn after(mut self, insn: Insn, data: Data<'_>) -> Option<Self> {
        let is_copy = insn.operation() == alu::MOV;
        if !matches!(insn.class(), Class::Alu | Class::Alu64) || insn.source_is_register() != is_copy {
            return None;
        }
        *self.operations.iter_mut().find(|operation| operation.is_none())? = Some(insn);
        self.value(data).map(|_| self)
    }

    /// Returns the load of the configuration value.
    pub(super) const fn loaded(&self) -> ConfigLoad {
        self.load
    }

    /// Returns the number on a kernel. `None` unless every verifier knows the number.
    pub(super) fn value(&self, data: Data<'_>) -> Option<u64> {
        let ConfigLoad { bytes, is_signed, .. } = self.load;
        let DataNumber::Known(loaded) = self.load.read(data) else { return None };
        let loaded = constant(loaded);
        let number = known(if is_signed { extend_loaded_sign(loaded, bytes) } else { loaded })?;
        self.operations.iter().flatten().try_fold(number, |number, insn| {
            let number = constant(number);
            known(operate(data.endian, *insn, [number, number], 0))
        })
    }
}

impl ConfigBranch {
    /// Returns the comparison of a number with an immediate.
    pub(super) const fn with_immediate(number: ConfigNumber, insn: Insn) -> Self {
        Self { number, other: 0, is_on_left: true, insn: Insn { off: 0, ..insn } }
    }

    /// Returns the comparison of a number in one register with a constant in the other. `None` for values
    /// that are not constant.
    pub(super) fn with_register(
        number: ConfigNumber,
        other: Value,
        insn: Insn,
        is_on_left: bool,
    ) -> Option<Self> {
        Some(Self { number, other: known(other)?, is_on_left, insn: Insn { off: 0, ..insn } })
    }

    /// Returns whether the branch is taken on a kernel. `None` if the verifier may follow both directions.
    pub(super) fn is_taken(&self, data: Data<'_>) -> Option<bool> {
        let number = self.number.value(data)?;
        let (left, right) = if self.is_on_left { (number, self.other) } else { (self.other, number) };
        decide(self.insn, constant(left), constant(right))
    }
}

impl ConfigUse {
    /// Returns the dependence on a value.
    pub(super) fn value(load: ConfigLoad, data: Data<'_>) -> Self {
        Self(Use::Value(load, load.read(data)))
    }

    /// Returns the dependence on the outcome of a comparison.
    pub(super) const fn branch(branch: ConfigBranch, is_taken: bool) -> Self {
        Self(Use::Branch(branch, is_taken))
    }

    /// Returns whether the result counts for a kernel.
    fn holds_for(&self, data: Data<'_>) -> bool {
        match self.0 {
            Use::Value(load, number) => load.read(data) == number,
            Use::Branch(branch, is_taken) => branch.is_taken(data) == Some(is_taken),
        }
    }

    /// Returns whether the result depends on a byte of the configuration values.
    #[cfg(any(test, feature = "test-support"))]
    pub(crate) fn reads(&self, byte: u64) -> bool {
        let load = match self.0 {
            Use::Value(load, _) => load,
            Use::Branch(branch, _) => branch.number.load,
        };
        byte.wrapping_sub(load.offset) < load.bytes.into()
    }
}

const fn constant(number: u64) -> Value {
    Value::Scalar(Scalar::constant(number))
}

/// Returns the number of a value about which the analysis knows nothing but the number.
fn known(value: Value) -> Option<u64> {
    let number = value.as_scalar()?.as_constant()?;
    (value == constant(number)).then_some(number)
}
