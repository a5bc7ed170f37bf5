//! Basic blocks: the control-flow graph of a function.

use super::{flow::Flow, slot::Slot};
use alloc::vec::Vec;

/// Instructions that run one after the other: only the first is jumped to, only the last jumps.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BasicBlock {
    /// The index of the first instruction.
    pub first: u32,
    /// The index of the last instruction.
    pub last: u32,
    /// The edges to the blocks that may run next.
    pub edges: Vec<BlockEdge>,
}

/// An edge from one basic block to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BlockEdge {
    /// Whether the edge is a jump. Otherwise the instruction after the block runs next.
    pub is_jump: bool,
    /// The position of the next block; `None` if the instruction is not one of the function's.
    pub to: Option<usize>,
}

impl BasicBlock {
    /// Returns the basic blocks of a function, in order. The instructions have ascending indices.
    ///
    /// The edges of an indirect jump are unknown, and left out.
    pub fn find(insns: &[(u32, Slot)]) -> Vec<Self> {
        let targets = jump_targets(insns);
        let mut blocks: Vec<Self> = Vec::new();
        let mut starts_block = true;
        for (index, slot) in insns {
            let is_target = targets.binary_search(index).is_ok();
            match blocks.last_mut().filter(|_| !starts_block && !is_target) {
                Some(block) => block.last = *index,
                None => blocks.push(Self { first: *index, last: *index, edges: Vec::new() }),
            }
            starts_block = slot.first().flow() != Flow::Next;
        }
        let edges: Vec<_> = blocks.iter().map(|block| block.find_edges(insns, &blocks)).collect();
        for (block, edges) in blocks.iter_mut().zip(edges) {
            block.edges = edges;
        }
        blocks
    }

    fn find_edges(&self, insns: &[(u32, Slot)], blocks: &[Self]) -> Vec<BlockEdge> {
        let Ok(position) = insns.binary_search_by_key(&self.last, |(index, _)| *index) else {
            return Vec::new();
        };
        let last = insns.get(position).map(|(_, slot)| slot.first());
        let block_at = |index: u32| blocks.binary_search_by_key(&index, |block| block.first).ok();
        let next = || {
            let index = position.checked_add(1).and_then(|next| insns.get(next)).map(|(index, _)| *index);
            BlockEdge { is_jump: false, to: index.and_then(block_at) }
        };
        let jump = || {
            let target = last.and_then(|insn| insn.jump_target(self.last));
            BlockEdge { is_jump: true, to: target.and_then(block_at) }
        };
        match last.map(super::instruction::Insn::flow) {
            Some(Flow::Next) => alloc::vec![next()],
            Some(Flow::Jump(_)) => alloc::vec![jump()],
            Some(Flow::Branch(_)) => alloc::vec![next(), jump()],
            Some(Flow::Indirect | Flow::Exit) | None => Vec::new(),
        }
    }
}

/// Returns the indices that instructions jump to, sorted.
fn jump_targets(insns: &[(u32, Slot)]) -> Vec<u32> {
    let targets = insns.iter().filter_map(|(index, slot)| slot.first().jump_target(*index));
    let mut targets: Vec<_> = targets.collect();
    targets.sort_unstable();
    targets.dedup();
    targets
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::insn::Insn;

    fn one(code: u8, off: i16) -> Slot {
        Slot::One(Insn { code, off, ..Insn::default() })
    }

    fn edges(block: &BasicBlock) -> Vec<(bool, Option<usize>)> {
        block.edges.iter().map(|edge| (edge.is_jump, edge.to)).collect()
    }

    #[test]
    fn a_loop_with_an_exit_has_three_blocks() {
        let pair = Slot::Two(Insn { code: 0x18, ..Insn::default() }, Insn::default());
        // 10: load; 12: if … goto 15; 13: add; 14: goto 12; 15: exit
        let insns =
            [(10, pair), (12, one(0x15, 2)), (13, one(0x07, 0)), (14, one(0x05, -3)), (15, one(0x95, 0))];
        let blocks = BasicBlock::find(&insns);
        let ranges: Vec<_> = blocks.iter().map(|block| (block.first, block.last)).collect();
        assert_eq!(ranges, [(10, 10), (12, 12), (13, 14), (15, 15)]);
        let edges: Vec<_> = blocks.iter().map(edges).collect();
        assert_eq!(edges[0], [(false, Some(1))]);
        assert_eq!(edges[1], [(false, Some(2)), (true, Some(3))]);
        assert_eq!(edges[2], [(true, Some(1))]);
        assert_eq!(edges[3], []);
    }

    #[test]
    fn edges_out_of_the_function_have_no_block() {
        let blocks = BasicBlock::find(&[(0, one(0x15, 7)), (1, one(0x07, 0))]);
        assert_eq!(edges(&blocks[0]), [(false, Some(1)), (true, None)]);
        assert_eq!(edges(&blocks[1]), [(false, None)]);
        assert_eq!(BasicBlock::find(&[]), []);
    }
}
