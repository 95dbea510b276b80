//! The list of targets: one for each parser, one for each round trip.

pub mod archive_index;
pub mod archive_scripts;
pub mod bzip2_container;
pub mod crc32c;
pub mod cut_sizes;
pub mod fleet_envelopes;
pub mod fleet_lines;
pub mod fleet_packets;
pub mod fleet_pairings;
pub mod fleet_payloads;
pub mod gzip_chunks;
pub mod gzip_container;
pub mod host_frames;
pub mod inflate;
pub mod innodb_page;
pub mod job_blocks;
pub mod job_books;
pub mod job_lines;
pub mod job_template;
pub mod kernel_text;
pub mod kernel_types;
pub mod load_scripts;
pub mod lz4_container;
pub mod lzip_container;
pub mod lzma2;
pub mod lzma_container;
pub mod manifest;
pub mod memory_areas;
pub mod memory_map;
pub mod mysql_replies;
pub mod mysql_scripts;
pub mod pack_container;
pub mod postgres_replies;
pub mod round_trip_bz2;
pub mod round_trip_gz;
pub mod round_trip_lz4;
pub mod round_trip_xz;
pub mod round_trip_zst;
pub mod round_trip_zst_blocks;
pub mod row_chunks;
pub mod row_values;
pub mod server_addresses;
pub mod tar_index;
pub mod tar_reader;
pub mod xz_container;
pub mod z_container;
pub mod zip_container;
pub mod zlib_container;
pub mod zstd_blocks;
pub mod zstd_container;

use crate::{job_seeds, seeds};

/// A target with what to begin from.
pub struct Target {
    /// Its name on the command line, and of its directory in `fuzz/corpus/`.
    pub name: &'static str,
    /// Must not panic on any input.
    pub run: fn(&[u8]),
    /// Valid inputs to mutate.
    pub seeds: fn() -> Vec<Vec<u8>>,
}

/// All targets.
pub const TARGETS: &[Target] = &[
    Target { name: "gzip_chunks", run: gzip_chunks::run, seeds: seeds::flips },
    Target { name: "gzip_container", run: gzip_container::run, seeds: seeds::gz },
    Target { name: "zstd_container", run: zstd_container::run, seeds: seeds::zst },
    Target { name: "zstd_blocks", run: zstd_blocks::run, seeds: seeds::zst_blocks },
    Target { name: "bzip2_container", run: bzip2_container::run, seeds: seeds::bz2 },
    Target { name: "lz4_container", run: lz4_container::run, seeds: seeds::lz4 },
    Target { name: "xz_container", run: xz_container::run, seeds: seeds::xz },
    Target { name: "lzip_container", run: lzip_container::run, seeds: seeds::lz },
    Target { name: "lzma_container", run: lzma_container::run, seeds: seeds::lzma },
    Target { name: "z_container", run: z_container::run, seeds: seeds::z },
    Target { name: "zip_container", run: zip_container::run, seeds: seeds::zip },
    Target { name: "zlib_container", run: zlib_container::run, seeds: seeds::zlib },
    Target { name: "pack_container", run: pack_container::run, seeds: seeds::pack },
    Target { name: "kernel_text", run: kernel_text::run, seeds: kernel_text::seeds },
    Target { name: "kernel_types", run: kernel_types::run, seeds: kernel_types::seeds },
    Target { name: "memory_areas", run: memory_areas::run, seeds: memory_areas::seeds },
    Target { name: "memory_map", run: memory_map::run, seeds: seeds::memory_maps },
    Target { name: "host_frames", run: host_frames::run, seeds: host_frames::seeds },
    Target { name: "inflate", run: inflate::run, seeds: seeds::deflate },
    Target { name: "innodb_page", run: innodb_page::run, seeds: innodb_page::seeds },
    Target { name: "lzma2", run: lzma2::run, seeds: lzma2::seeds },
    Target { name: "crc32c", run: crc32c::run, seeds: seeds::plain },
    Target { name: "row_chunks", run: row_chunks::run, seeds: row_chunks::seeds },
    Target { name: "archive_index", run: archive_index::run, seeds: archive_index::seeds },
    Target { name: "archive_scripts", run: archive_scripts::run, seeds: archive_scripts::seeds },
    Target { name: "cut_sizes", run: cut_sizes::run, seeds: seeds::cut_deflate },
    Target { name: "fleet_envelopes", run: fleet_envelopes::run, seeds: fleet_envelopes::seeds },
    Target { name: "fleet_lines", run: fleet_lines::run, seeds: fleet_lines::seeds },
    Target { name: "fleet_packets", run: fleet_packets::run, seeds: fleet_packets::seeds },
    Target { name: "fleet_pairings", run: fleet_pairings::run, seeds: fleet_pairings::seeds },
    Target { name: "fleet_payloads", run: fleet_payloads::run, seeds: fleet_payloads::seeds },
    Target { name: "job_lines", run: job_lines::run, seeds: job_seeds::lines },
    Target { name: "job_books", run: job_books::run, seeds: job_seeds::books },
    Target { name: "job_template", run: job_template::run, seeds: job_seeds::templates },
    Target { name: "job_blocks", run: job_blocks::run, seeds: job_seeds::blocks },
    Target { name: "load_scripts", run: load_scripts::run, seeds: load_scripts::seeds },
    Target { name: "manifest", run: manifest::run, seeds: manifest::seeds },
    Target { name: "mysql_replies", run: mysql_replies::run, seeds: mysql_replies::seeds },
    Target { name: "mysql_scripts", run: mysql_scripts::run, seeds: mysql_scripts::seeds },
    Target { name: "postgres_replies", run: postgres_replies::run, seeds: postgres_replies::seeds },
    Target { name: "row_values", run: row_values::run, seeds: row_values::seeds },
    Target { name: "server_addresses", run: server_addresses::run, seeds: server_addresses::seeds },
    Target { name: "tar_index", run: tar_index::run, seeds: tar_index::seeds },
    Target { name: "tar_reader", run: tar_reader::run, seeds: tar_reader::seeds },
    Target { name: "round_trip_bz2", run: round_trip_bz2::run, seeds: seeds::plain },
    Target { name: "round_trip_gz", run: round_trip_gz::run, seeds: seeds::plain },
    Target { name: "round_trip_lz4", run: round_trip_lz4::run, seeds: seeds::plain },
    Target { name: "round_trip_xz", run: round_trip_xz::run, seeds: seeds::plain },
    Target { name: "round_trip_zst", run: round_trip_zst::run, seeds: seeds::plain },
    Target { name: "round_trip_zst_blocks", run: round_trip_zst_blocks::run, seeds: seeds::plain },
];

#[cfg(test)]
mod tests {
    use super::TARGETS;
    use crate::mutate::mutated;
    use testkit::random::Random;

    #[test]
    fn every_target_takes_its_seeds_and_a_few_mutations() {
        for target in TARGETS {
            let seeds = (target.seeds)();
            assert!(!seeds.is_empty(), "{}", target.name);
            seeds.iter().for_each(|seed| (target.run)(seed));
            let mut random = Random::seeded(1);
            (0..50).for_each(|_| (target.run)(&mutated(&seeds, &mut random)));
            (target.run)(b"");
        }
    }
}
