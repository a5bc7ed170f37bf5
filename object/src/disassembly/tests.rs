//! Disassembled objects: names, lines, relocations, and hostile instructions.
