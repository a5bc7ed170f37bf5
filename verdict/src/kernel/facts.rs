//! Stub, replaced by the kernel facts.
use super::Answer;
use core_relo::Target;
use std::sync::Arc;
/// Stub.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum InsnFeature {
    Jmp32,
    Atomics,
    LoadSignExtended,
    MoveSignExtended,
    ByteSwap,
    SignedDivision,
    LongJump,
    MayGoto,
    AddressSpaceCast,
    LoadAcquireStoreRelease,
    IndirectJump,
}
impl core::fmt::Display for InsnFeature {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{self:?}")
    }
}
/// Stub.
#[derive(Debug, Default)]
pub struct NameQuery;
#[allow(missing_docs)]
impl NameQuery {
    pub fn function(&mut self, _n: &[u8]) {}
    pub fn typedef(&mut self, _n: &[u8]) {}
    pub fn structure(&mut self, _n: &[u8]) {}
    pub fn variable(&mut self, _n: &[u8]) {}
    pub fn struct_ops(&mut self, _n: &[u8]) {}
}
/// Stub.
#[derive(Debug, Default, Clone)]
#[allow(missing_docs)]
pub struct KernelInputs {
    pub version: Option<KernelVersion>,
    pub kconfig: Option<Arc<str>>,
    pub kallsyms: Option<Arc<str>>,
}
/// Stub.
#[derive(Debug)]
pub struct KernelFacts<'k>(core::marker::PhantomData<&'k ()>);
#[allow(missing_docs)]
pub enum KconfigAnswer {
    Value(String, super::Evidence),
    NotSet(super::Evidence),
    Unknown(String),
}
#[allow(missing_docs)]
impl KernelFacts<'_> {
    pub fn new(_t: &Target<'_>, _q: &NameQuery, _i: &KernelInputs) -> Self {
        Self(core::marker::PhantomData)
    }
    pub fn helper(&self, _n: u32) -> Answer {
        Answer::from_btf(true, "")
    }
    pub fn map_type(&self, _n: u32) -> Answer {
        Answer::from_btf(true, "")
    }
    pub fn program_type(&self, _n: u32) -> Answer {
        Answer::from_btf(true, "")
    }
    pub fn attach_type(&self, _n: u32) -> Answer {
        Answer::from_btf(true, "")
    }
    pub fn function(&self, _n: &[u8], _m: Option<&str>) -> Answer {
        Answer::from_btf(true, "")
    }
    pub fn typedef(&self, _n: &[u8]) -> Answer {
        Answer::from_btf(true, "")
    }
    pub fn structure(&self, _n: &[u8]) -> Answer {
        Answer::from_btf(true, "")
    }
    pub fn kfunc(&self, _n: &[u8]) -> Answer {
        Answer::from_btf(true, "")
    }
    pub fn symbol(&self, _n: &[u8]) -> Answer {
        Answer::from_btf(true, "")
    }
    pub fn variable(&self, _n: &[u8]) -> Answer {
        Answer::from_btf(true, "")
    }
    pub fn struct_ops(&self, _n: &[u8]) -> Answer {
        Answer::from_btf(true, "")
    }
    pub fn instruction_set(&self, _n: InsnFeature) -> Answer {
        Answer::from_btf(true, "")
    }
    pub fn kconfig(&self, _n: &str) -> KconfigAnswer {
        KconfigAnswer::Unknown(String::new())
    }
    pub fn verifies_uncalled_functions(&self) -> Answer {
        Answer::from_btf(true, "")
    }
}
/// Stub.
#[derive(Debug, Clone, Copy)]
pub struct KernelVersion;
impl core::str::FromStr for KernelVersion {
    type Err = ();
    fn from_str(_: &str) -> Result<Self, ()> {
        Err(())
    }
}
