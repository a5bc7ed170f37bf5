//! Postdominators: the instructions that all paths from an instruction to the end of its function pass.

use super::flow::{Flow, Transfer, index, transfer};
use super::visits::Visits;
use crate::limits::POSTDOMINATOR_PASSES;
use core::ops::Range;
use core_relo::insn::Insn;

/// The number of the virtual block at the end of a function.
const END: u32 = 0;

/// The postdominators of the visited blocks of a function.
#[derive(Debug, Default)]
pub(super) struct Postdominators {
    /// The blocks: first and last instruction. The first block is the virtual end.
    blocks: Vec<(u32, u32)>,
    /// For each block, the block that postdominates it immediately.
    immediate: Vec<Option<u32>>,
}

/// The successors of a block: none, one or two.
type Successors = [Option<u32>; 2];

impl Postdominators {
    /// Finds the postdominators in a function. `may_refuse` returns whether the verifier may refuse an
    /// instruction of a called function.
    pub(super) fn find(
        insns: &[Insn],
        flow: &Flow,
        visits: &Visits,
        function: Range<u32>,
        may_refuse: impl Fn(u32) -> bool,
    ) -> Self {
        let blocks = find_blocks(insns, flow, visits, function);
        let real = blocks.iter().skip(1);
        let real = real.map(|(_, last)| successors(insns, visits, &blocks, *last, &may_refuse));
        let successors: Vec<Successors> = core::iter::once([None; 2]).chain(real).collect();
        let immediate = immediate(&successors);
        Self { blocks, immediate }
    }

    /// Returns the first instruction of the block that all paths from the end of an instruction's block pass.
    pub(super) fn after(&self, insn: u32) -> Option<u32> {
        let position = self.blocks.partition_point(|(first, _)| *first <= insn).checked_sub(1)?;
        let block = (*self.immediate.get(position)?)?;
        let (first, _) = self.blocks.get(index(block)).filter(|_| block != END)?;
        Some(*first)
    }
}

/// Returns the visited blocks. The virtual end comes first.
fn find_blocks(insns: &[Insn], flow: &Flow, visits: &Visits, function: Range<u32>) -> Vec<(u32, u32)> {
    let mut blocks = vec![(0, 0)];
    // The first and last instruction of the current block, and the instruction after it.
    let mut current: Option<(u32, u32, u32)> = None;
    for pc in function.filter(|pc| visits.is_visited(*pc)) {
        let first = match current {
            Some((first, _, following)) if following == pc && flow.join(pc).is_none() => first,
            _ => {
                blocks.extend(current.map(|(first, last, _)| (first, last)));
                pc
            }
        };
        let following = match insns.get(index(pc)).map(|insn| transfer(*insn, pc)) {
            Some(Transfer::Following) => pc.checked_add(1),
            Some(Transfer::AfterLoad) => pc.checked_add(2),
            _ => None,
        };
        current = following.map(|following| (first, pc, following));
        if current.is_none() {
            blocks.push((first, pc));
        }
    }
    blocks.extend(current.map(|(first, last, _)| (first, last)));
    blocks
}

/// Returns the blocks after a block with a last instruction.
fn successors(
    insns: &[Insn],
    visits: &Visits,
    blocks: &[(u32, u32)],
    last: u32,
    may_refuse: &impl Fn(u32) -> bool,
) -> Successors {
    let find = |insn: u32| {
        let position = blocks.get(1..)?.binary_search_by_key(&insn, |(first, _)| *first).ok()?;
        u32::try_from(position.checked_add(1)?).ok()
    };
    let Some(insn) = insns.get(index(last)) else { return [None; 2] };
    let end = Some(END).filter(|_| visits.may_be_refused(last));
    let following = last.saturating_add(1);
    match transfer(*insn, last) {
        Transfer::Following => [find(following), end],
        Transfer::AfterLoad => [find(following.saturating_add(1)), end],
        Transfer::Jump(target) => [find(target), end],
        Transfer::Branch(target) => {
            let taken = find(target).filter(|_| visits.is_followed(last, true));
            let not_taken = find(following).filter(|_| visits.is_followed(last, false));
            [taken.or(end), not_taken.or(end)]
        }
        Transfer::Call(start) => [find(following), end.or(Some(END).filter(|_| may_refuse(start)))],
        Transfer::Exit | Transfer::Indirect | Transfer::Refused => [Some(END), None],
    }
}

/// Finds the immediate postdominator of each block, as Cooper, Harvey and Kennedy do.
fn immediate(successors: &[Successors]) -> Vec<Option<u32>> {
    let order = reverse_order(successors);
    let mut rank = vec![u32::MAX; successors.len()];
    for (block, number) in order.iter().zip(0..) {
        if let Some(rank) = rank.get_mut(index(*block)) {
            *rank = number;
        }
    }
    let mut immediate: Vec<Option<u32>> = vec![None; successors.len()];
    if let Some(end) = immediate.first_mut() {
        *end = Some(END);
    }
    for _ in 0..POSTDOMINATOR_PASSES {
        let mut is_changed = false;
        for block in order.iter().skip(1) {
            let of_block = successors.get(index(*block)).copied().unwrap_or([None; 2]);
            let known = of_block.into_iter().flatten();
            let known = known.filter(|next| immediate.get(index(*next)).is_some_and(Option::is_some));
            let new = known.reduce(|a, b| meet(&immediate, &rank, a, b));
            if let Some(old) = immediate.get_mut(index(*block))
                && *old != new
            {
                *old = new;
                is_changed = true;
            }
        }
        if !is_changed {
            return immediate;
        }
    }
    vec![None; successors.len()]
}

/// Returns the nearest block that postdominates both blocks.
fn meet(immediate: &[Option<u32>], rank: &[u32], mut a: u32, mut b: u32) -> u32 {
    let rank = |block: u32| rank.get(index(block)).copied().unwrap_or(u32::MAX);
    let up = |block: u32| immediate.get(index(block)).copied().flatten().unwrap_or(END);
    while a != b {
        if rank(a) > rank(b) {
            a = up(a);
        } else {
            b = up(b);
        }
    }
    a
}

/// Returns the blocks from which the end can be reached, in reverse postorder of the reversed edges: the end
/// comes first.
fn reverse_order(successors: &[Successors]) -> Vec<u32> {
    // The predecessors of all blocks in one list, and the start of each block's part.
    let mut starts: Vec<u32> = [0].into_iter().chain(successors.iter().map(|_| 0)).collect();
    let edges = || {
        successors.iter().zip(0_u32..).flat_map(|(to, from)| to.iter().flatten().map(move |to| (from, *to)))
    };
    for (_, to) in edges() {
        if let Some(count) = starts.get_mut(1..).and_then(|counts| counts.get_mut(index(to))) {
            *count = count.saturating_add(1);
        }
    }
    let mut sum = 0_u32;
    for start in &mut starts {
        sum = sum.saturating_add(*start);
        *start = sum;
    }
    let mut predecessors = vec![0_u32; index(sum)];
    let mut free = starts.clone();
    for (from, to) in edges() {
        if let Some(position) = free.get_mut(index(to)) {
            if let Some(predecessor) = predecessors.get_mut(index(*position)) {
                *predecessor = from;
            }
            *position = position.saturating_add(1);
        }
    }
    let part = |block: u32| {
        let start = index(*starts.get(index(block))?);
        let end = index(*starts.get(index(block).checked_add(1)?)?);
        predecessors.get(start..end)
    };
    // A block outside of the graph has no predecessors.
    let part = |block: u32| part(block).into_iter().flatten();
    let mut is_seen = vec![false; successors.len()];
    let mut order = Vec::with_capacity(successors.len());
    let mut stack = vec![(END, part(END))];
    if let Some(end) = is_seen.first_mut() {
        *end = true;
    }
    while let Some((block, rest)) = stack.last_mut() {
        let Some(predecessor) = rest.next().copied() else {
            order.push(*block);
            stack.pop();
            continue;
        };
        if let Some(is_seen) = is_seen.get_mut(index(predecessor))
            && !core::mem::replace(is_seen, true)
        {
            stack.push((predecessor, part(predecessor)));
        }
    }
    order.reverse();
    order
}
