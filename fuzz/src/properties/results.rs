//! Properties of the results file of `--resume`: a foreign file stays unchanged, and of a valid file a prefix
//! is kept.

use crate::scratch::Scratch;
use core_relo_cli::fuzzing;

/// The objects of the resumed check.
pub const OBJECTS: [(&str, &[u8]); 2] = [("a.bpf.o", b"a"), ("b.bpf.o", b"b")];

/// Returns the first line of a valid results file.
pub fn header() -> Vec<u8> {
    let file = Scratch::new("header.jsonl", b"");
    fuzzing::open_results(file.path(), &OBJECTS).expect("an empty file can be resumed");
    file.read()
}

/// Opens a results file and checks its content afterwards.
pub fn check(content: &[u8]) {
    let header = header();
    let file = Scratch::new("results.jsonl", content);
    let opened = fuzzing::open_results(file.path(), &OBJECTS);
    let left = file.read();
    let is_ours = content.starts_with(&header);
    match opened {
        Err(error) => {
            assert!(!error.is_empty());
            assert!(left == content, "a file that was refused has changed");
        }
        Ok(kernels) if is_ours => {
            assert!(content.starts_with(&left), "the kept content is no prefix");
            assert!(left.starts_with(&header), "the first line is lost");
            let again = fuzzing::open_results(file.path(), &OBJECTS);
            assert_eq!(again, Ok(kernels), "what is kept reads otherwise");
            assert_eq!(file.read(), left, "what is kept is cut again");
        }
        // The previous run ended while it wrote the first line.
        Ok(kernels) => {
            assert!(header.starts_with(content), "a foreign file was accepted");
            assert_eq!((kernels, left), (0, header));
        }
    }
}
