//! The acceptance tests: the program as it is shipped, on real files, against the tools that people have.
//! Everything that needs only a library's functions is tested beside those.

mod bakeoff;
mod bindings;
mod cli;
mod corpus;
mod corpus_made;
mod crew;
mod db;
mod db_dump;
mod digests;
mod faults;
mod fit;
mod innodb;
mod instruments;
mod interop;
mod jobserver;
mod load;
mod locks;
mod many;
mod mtwrite;
mod numa;
mod old_names;
mod package;
mod place;
mod prefault;
mod progress;
mod survive;
mod swaps;
mod sysstat;
mod systime;
mod tar;
mod timers;
mod trees;
mod vmtasks;
mod web_pages;
mod xjobs;
