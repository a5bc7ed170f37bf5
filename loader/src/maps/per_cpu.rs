//! The value of one CPU, or of all CPUs at once, in per-CPU maps (`BPF_F_CPU`, `BPF_F_ALL_CPUS`).

use super::{array::ArrayMap, error::MapError, flags::Flags, kind::kinds, table::Table};
use crate::sys::{Cpus, Pod};

impl<K: Pod, V: Pod> Table<K, V, kinds::PerCpuHash> {
    /// Reads a key's value on one CPU. Linux 7.2 can do this, 6.18 cannot; [`get`](Self::get) reads the
    /// values of all CPUs on every kernel.
    pub fn get_on_cpu(&self, key: &K, cpu: u32) -> Result<Option<V>, MapError> {
        let mut value = V::zeroed();
        Ok(self.raw.get_cpu(key.as_bytes(), cpu, value.as_bytes_mut())?.then_some(value))
    }

    /// Writes a key's value on one CPU. The values of the other CPUs stay; in a new element they are zero.
    pub fn insert_on_cpu(&self, key: &K, cpu: u32, value: &V, flags: Flags) -> Result<(), MapError> {
        self.raw.insert_cpus(key.as_bytes(), value.as_bytes(), Cpus::One(cpu), flags.0)
    }

    /// Writes the same value on all CPUs, which takes less memory than [`insert`](Self::insert) with a value
    /// for each.
    pub fn insert_on_all_cpus(&self, key: &K, value: &V, flags: Flags) -> Result<(), MapError> {
        self.raw.insert_cpus(key.as_bytes(), value.as_bytes(), Cpus::All, flags.0)
    }
}

impl<V: Pod> ArrayMap<V, kinds::PerCpuArray> {
    /// Reads the value at `index` on one CPU. Returns `None` beyond the end of the array. Linux 7.2 can do
    /// this, 6.18 cannot; [`get`](Self::get) reads the values of all CPUs on every kernel.
    pub fn get_on_cpu(&self, index: u32, cpu: u32) -> Result<Option<V>, MapError> {
        let mut value = V::zeroed();
        Ok(self.raw.get_cpu(index.as_bytes(), cpu, value.as_bytes_mut())?.then_some(value))
    }

    /// Writes the value at `index` on one CPU. The values of the other CPUs stay.
    pub fn set_on_cpu(&self, index: u32, cpu: u32, value: &V) -> Result<(), MapError> {
        self.raw.insert_cpus(index.as_bytes(), value.as_bytes(), Cpus::One(cpu), 0)
    }

    /// Writes the same value at `index` on all CPUs.
    pub fn set_on_all_cpus(&self, index: u32, value: &V) -> Result<(), MapError> {
        self.raw.insert_cpus(index.as_bytes(), value.as_bytes(), Cpus::All, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::maps::{PerCpuArray, PerCpuHashMap};
    use crate::{live_test_support::map, sys::possible_cpus};
    use core_relo_object::object::MapType;
    use core_relo_test_support::skip;

    /// Returns whether the kernel knows the flags. An error must name them.
    fn is_supported<T: core::fmt::Debug>(result: &Result<T, MapError>) -> bool {
        let Err(e) = result else { return true };
        assert!(e.to_string().contains("Linux 7.2 can do so"), "{e}");
        skip!("{e}");
        false
    }

    #[test]
    fn one_cpu_of_an_element_is_read_and_written() {
        let cpus = usize::try_from(possible_cpus().unwrap()).unwrap();
        let Some(map) = map(MapType::PercpuHash, 4, 12, 8) else { return };
        let table = PerCpuHashMap::<u32, [u32; 3]>::new(map).unwrap();
        if !is_supported(&table.insert_on_all_cpus(&7, &[1, 2, 3], Flags::ANY)) {
            // A refused request writes nothing.
            assert_eq!(table.get(&7), Ok(None));
            table.insert(&7, &vec![[9; 3]; cpus], Flags::ANY).unwrap();
            table.insert_on_cpu(&7, 0, &[4, 5, 6], Flags::ANY).unwrap_err();
            table.get_on_cpu(&7, 0).unwrap_err();
            return assert_eq!(table.get(&7), Ok(Some(vec![[9; 3]; cpus])));
        }
        assert_eq!(table.get(&7), Ok(Some(vec![[1, 2, 3]; cpus])));
        table.insert_on_cpu(&7, 0, &[4, 5, 6], Flags::EXIST).unwrap();
        let mut expected = vec![[1, 2, 3]; cpus];
        expected[0] = [4, 5, 6];
        assert_eq!(table.get(&7), Ok(Some(expected)));
        assert_eq!(table.get_on_cpu(&7, 0), Ok(Some([4, 5, 6])));
        assert_eq!(table.get_on_cpu(&8, 0), Ok(None));
        table.insert_on_cpu(&8, 0, &[1; 3], Flags::ANY).unwrap();
        assert_eq!(
            table.get(&8).unwrap().unwrap().iter().filter(|value| **value == [0; 3]).count(),
            cpus - 1
        );
        let beyond = table.get_on_cpu(&7, 100_000).unwrap_err();
        assert!(beyond.to_string().starts_with("map "), "{beyond}");
        table.insert_on_cpu(&7, 100_000, &[0; 3], Flags::ANY).unwrap_err();
    }

    #[test]
    fn one_cpu_of_an_array_is_read_and_written() {
        let cpus = usize::try_from(possible_cpus().unwrap()).unwrap();
        let Some(map) = map(MapType::PercpuArray, 4, 2, 3) else { return };
        let array = PerCpuArray::<u16>::new(map).unwrap();
        if !is_supported(&array.set_on_all_cpus(1, &5)) {
            return assert_eq!(array.get(1), Ok(Some(vec![0; cpus])));
        }
        array.set_on_cpu(1, 0, &6).unwrap();
        let mut expected = vec![5; cpus];
        expected[0] = 6;
        assert_eq!(array.get(1), Ok(Some(expected)));
        assert_eq!(array.get_on_cpu(1, 0), Ok(Some(6)));
        assert_eq!(array.get_on_cpu(3, 0), Ok(None));
    }
}
