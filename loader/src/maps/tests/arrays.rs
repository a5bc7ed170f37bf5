//! Arrays, queues, stacks, bloom filters.
#![cfg(test)]

use crate::{
    live_test_support::map,
    maps::{Array, BloomFilter, Flags, MapError, PerCpuArray, Queue, Stack},
    sys::possible_cpus,
};
use core_relo_object::object::MapType;

#[test]
fn all_elements_of_an_array_exist_from_the_start() {
    let Some(map) = map(MapType::Array, 4, 12, 5000) else { return };
    let array = Array::<[u32; 3]>::new(map).unwrap();
    assert_eq!(array.get(4999), Ok(Some([0; 3])));
    assert_eq!(array.get(5000), Ok(None));
    array.set(2, &[1, 2, 3]).unwrap();
    array.set_all(4998, &[[4; 3], [5; 3]]).unwrap();
    let values = array.values().unwrap();
    assert_eq!((values.len(), values[2], values[4998], values[4999]), (5000, [1, 2, 3], [4; 3], [5; 3]));
    let set: Vec<_> = array.iter().map(Result::unwrap).filter(|(_, v)| v[0] != 0).map(|(i, _)| i).collect();
    assert_eq!(set, [2, 4998, 4999]);
    assert_eq!(array.len(), 5000);
    assert!(array.set(5000, &[0; 3]).unwrap_err().to_string().contains("beyond max_entries"));
    array.set_all(4999, &[[0; 3], [0; 3]]).unwrap_err();
    array.set_all::<[u32; 3]>(0, &[]).unwrap();
}

#[test]
fn a_per_cpu_array_has_a_value_for_each_cpu() {
    let cpus = usize::try_from(possible_cpus().unwrap()).unwrap();
    let Some(map) = map(MapType::PercpuArray, 4, 2, 3) else { return };
    let array = PerCpuArray::<u16>::new(map).unwrap();
    let values: Vec<u16> = (1..).take(cpus).collect();
    array.set(1, &values).unwrap();
    assert_eq!(array.get(1), Ok(Some(values.clone())));
    array.set_all(2, core::slice::from_ref(&values)).unwrap();
    assert_eq!(array.values(), Ok(vec![vec![0; cpus], values.clone(), values]));
    assert!(matches!(array.set(0, &vec![1; 9999]), Err(MapError::Cpus { found: 9999, .. })));
}

#[test]
fn queues_are_first_in_first_out_and_stacks_last_in_first_out() {
    let (Some(queue), Some(stack)) = (map(MapType::Queue, 0, 4, 2), map(MapType::Stack, 0, 4, 2)) else {
        return;
    };
    Queue::<u32>::open(&stack).unwrap_err();
    let (queue, stack) = (Queue::<u32>::new(queue).unwrap(), Stack::<u32>::new(stack).unwrap());
    for i in 1..=2 {
        queue.push(&i, Flags::ANY).unwrap();
        stack.push(&i, Flags::ANY).unwrap();
    }
    assert!(queue.push(&3, Flags::ANY).unwrap_err().to_string().contains("the map is full"));
    assert_eq!((queue.peek(), stack.peek()), (Ok(Some(1)), Ok(Some(2))));
    queue.push(&3, Flags::EXIST).unwrap();
    assert_eq!((queue.pop(), queue.pop(), queue.pop()), (Ok(Some(2)), Ok(Some(3)), Ok(None)));
    assert_eq!((stack.pop(), stack.pop(), stack.peek()), (Ok(Some(2)), Ok(Some(1)), Ok(None)));
}

#[test]
fn a_bloom_filter_has_no_false_negatives() {
    let Some(map) = map(MapType::BloomFilter, 0, 8, 100) else { return };
    let filter = BloomFilter::<u64>::new(map).unwrap();
    for i in 0..50 {
        filter.insert(&(i * i)).unwrap();
    }
    assert!((0..50u64).all(|i| filter.may_contain(&(i * i)).unwrap()));
    let wrong = (10_000..11_000u64).filter(|i| filter.may_contain(i).unwrap()).count();
    assert!(wrong < 500, "{wrong} of 1000");
}
