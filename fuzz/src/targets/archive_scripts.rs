//! pg_restore's output about an archive, which anybody may have made: a list of entries, and their SQL with marks between. Each entry is selected
//! once, SQL is only what stood there, in its order.

use database::restore::{ArchiveContents, ArchiveScript, Section};

/// Reads the input as a list, and as the SQL of the entries that it lists; of those with numbers below 64, if it lists none.
pub fn run(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let lists = [Section::PreData, Section::Data, Section::PostData].map(|section| (section, text.to_string()));
    let contents = ArchiveContents::read(&text, &lists);
    assert_eq!(contents.entries.len() % 3, 0, "each section has the same entries");
    let listed: Vec<u64> = contents.entries.iter().map(|entry| entry.id).collect();
    let awaited = if listed.is_empty() { (0..64).collect() } else { listed };
    let script = ArchiveScript::split(input, awaited.iter().copied().collect());
    assert!(script.of_entry.keys().all(|id| awaited.contains(id)), "nobody has asked for this entry");
    let sections = script.of_entry.values().map(|sql| sql.statements.as_slice()).chain([script.prelude.as_slice()]);
    let mut bytes = 0;
    for section in sections {
        bytes += section.len();
        let mut left = input;
        for line in section.split_inclusive(|byte| *byte == b'\n') {
            let at = memchr::memmem::find(left, line).expect("a line that was not there, or not behind the one before");
            left = &left[at + line.len()..];
        }
    }
    assert!(bytes <= input.len(), "nothing comes twice");
}

/// A list, and a script.
pub fn seeds() -> Vec<Vec<u8>> {
    let list = b";\n; Archive created at x\n;     dbname: a b\n;     Dumped from database version: 15.1\n;\n\
        217; 1259 16408 TABLE s t o\n;\tdepends on: 6 7\n219; 0 16408 TABLE DATA s t o\n220; 2613 1 BLOB - 1 o\n\
        227; 2606 16411 CONSTRAINT s t t_pkey o\n;\tdepends on: 217 217\n";
    let script =
        b"--\n-- PostgreSQL database dump\n--\n\n\\restrict x\n\nSET a = 1;\n\n--\n-- TOC entry 7 (class 2606 OID 1)\n\
        -- Dependencies: 3\n-- Name: x\n--\n\nCREATE INDEX x ON t (('\n-- TOC entry 7 (class 1 OID 2)\n-- y'));\n\n\n\
        SET default_tablespace = z;\n\n--\n-- TOC entry 8 (class 0 OID 0)\n-- Name: y\n--\n\nCOPY t FROM stdin;\n\
        -- Completed on 2026\n\n--\n-- PostgreSQL database dump complete\n--\n\n\\unrestrict x\n";
    vec![list.to_vec(), script.to_vec()]
}
